/** The folder for output that is too long to hand over: made when first needed, one a run, readable by the user only. */
import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';

export function spoolIn(stateFolder: string): () => Promise<string> {
  let folder: Promise<string> | undefined;
  return () => {
    folder ??= makeFolder(join(stateFolder, 'spool'));
    return folder;
  };
}

async function makeFolder(parent: string): Promise<string> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  return mkdtemp(join(parent, 'run-'));
}
