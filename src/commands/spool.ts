/** The folder for output that is too long to hand over: made when first needed, one a run, readable by the user only, and swept a week later. */
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** `onMade` is told the folder, so that the model can be let in to read what was cut. */
export function spoolIn(stateFolder: string, onMade: (folder: string) => Promise<void>): () => Promise<string> {
  let folder: Promise<string> | undefined;
  return () => {
    folder ??= makeFolder(join(stateFolder, 'spool'), onMade);
    return folder;
  };
}

/** Long enough to look at what a run left, short enough not to fill the disk. */
const KEPT_MS = 7 * 24 * 3600 * 1000;

/** Folders of runs that ended long ago; what can't be looked at or removed is left for the next time. */
async function sweep(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const folder = join(parent, name);
    const age = await stat(folder).then(
      (entry) => Date.now() - entry.mtimeMs,
      () => 0,
    );
    if (name.startsWith('run-') && age > KEPT_MS)
      await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

async function makeFolder(parent: string, onMade: (folder: string) => Promise<void>): Promise<string> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  await sweep(parent);
  const folder = await mkdtemp(join(parent, 'run-'));
  await onMade(folder);
  return folder;
}
