/** For what replaces or removes the whole of a file: it must still be what the model last saw of it. */
import { ToolFailure } from './types.js';
import { hashOf, type Location, type Workspace } from './workspace.js';

/**
 * `known` is what was known of the file before `bytes` were read; where nothing was, anything may be there. What was
 * known stays known: only a look at the file by the model itself opens the way.
 * @throws {ToolFailure} `changed-on-disk`.
 */
export function refuseUnseen(
  workspace: Workspace,
  location: Location,
  { known, bytes }: { readonly known: string | undefined; readonly bytes: Uint8Array },
): void {
  if (known === undefined || known === hashOf(bytes)) return;
  workspace.remember(location, known);
  throw new ToolFailure(
    'changed-on-disk',
    `${location.shown} changed on disk since you last read or wrote it. It was left as it is, so that nobody's work is lost: read it again, then change what is there now.`,
  );
}
