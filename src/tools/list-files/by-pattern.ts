/** The paths below a folder that fit a glob. */
import { relative, sep } from 'node:path';
import { globMatcher } from '../glob.js';
import { showPath } from '../locate.js';
import { type FolderReader, safeName, walk } from '../walk.js';

const MAX_SHOWN = 500;
const MAX_VISITED = 200_000; // A few seconds; a home folder has more.

export type Listing = { readonly lines: readonly string[]; readonly notes: readonly string[] };

export async function listByPattern(options: {
  readonly reader: FolderReader;
  readonly root: string;
  readonly base: string;
  readonly pattern: string;
  readonly hidden: boolean;
  readonly depth: number;
  readonly signal: AbortSignal;
}): Promise<Listing> {
  const { reader, root, base, signal, depth } = options;
  const fits = await globMatcher(options.pattern, { hidden: options.hidden });
  // `src/**` means what is in there, and `**/*` would show every folder twice over.
  const wantsFolders = !/\*\*(\/\*)?$/.test(options.pattern);
  const lines: string[] = [];
  const notes: string[] = [];
  let visited = 0;
  for await (const { path, kind } of walk(reader, base, { signal, maxDepth: depth })) {
    visited++;
    if ((kind !== 'folder' || wantsFolders) && fits(relative(base, path).split(sep).join('/'))) {
      if (lines.length === MAX_SHOWN) {
        notes.push(`cut at ${MAX_SHOWN} paths; give a narrower pattern or path`);
        break;
      }
      lines.push(safeName(showPath(root, path)) + (kind === 'folder' ? '/' : ''));
    }
    if (visited === MAX_VISITED) {
      notes.push(`stopped after ${MAX_VISITED} entries; give a path below`);
      break;
    }
  }
  return { lines, notes };
}
