/** The folder for output that is too long to hand over: made when first needed, one a run, readable by the user only. */
import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';

/** `onMade` is told the folder, so that the model can be let in to read what was cut. */
export function spoolIn(stateFolder: string, onMade: (folder: string) => Promise<void>): () => Promise<string> {
  let folder: Promise<string> | undefined;
  return () => {
    folder ??= makeFolder(join(stateFolder, 'spool'), onMade);
    return folder;
  };
}

async function makeFolder(parent: string, onMade: (folder: string) => Promise<void>): Promise<string> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(parent, 'run-'));
  await onMade(folder);
  return folder;
}
