/** The folder for output that is too long to hand over: made when first needed, one a run, readable by the user only, and swept a week later. */
import { createHash } from 'node:crypto';
import { lstat, mkdir, mkdtemp, readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';

export type SpoolPlace = {
  readonly stateFolder: string;
  /** Real path of the workspace: what a run read there is for later runs there alone. */
  readonly root: string;
};

/** `onMade` is told the folder, so that the model can be let in to read what was cut. */
export function spoolIn(
  { stateFolder, root }: SpoolPlace,
  onMade: (folder: string) => Promise<void>,
): () => Promise<string> {
  let folder: Promise<string> | undefined;
  return () => {
    folder ??= makeFolder(parentIn(stateFolder), prefixOf(root), onMade);
    return folder;
  };
}

/**
 * The folders of earlier runs in this workspace that `texts` name a file in, for the model of a run that goes on with
 * them. Whatever else is named stays closed: the refusal of a path names it too. Their week begins anew.
 */
export async function earlierSpools({ stateFolder, root }: SpoolPlace, texts: readonly string[]): Promise<string[]> {
  const prefix = join(parentIn(stateFolder), prefixOf(root));
  const folders = texts.flatMap((text) =>
    text.split(prefix).flatMap((after, index) => {
      const rest = index === 0 ? undefined : MADE_UP.exec(after)?.[1];
      return rest === undefined ? [] : [`${prefix}${rest}`];
    }),
  );
  const found: string[] = [];
  for (const folder of new Set(folders)) if (await isKept(folder)) found.push(folder);
  return found;
}

/** What `mkdtemp` adds to a name, and what parts it from a file's: nothing in it leads elsewhere. */
const MADE_UP = /^([A-Za-z0-9]{6})[\\/]/;

/** False for what was swept, and for a link that was put in its place. */
async function isKept(folder: string): Promise<boolean> {
  try {
    if (!(await lstat(folder)).isDirectory()) return false;
    await utimes(folder, new Date(), new Date());
    return true;
  } catch {
    return false;
  }
}

/** Tells the runs of one workspace from those of all others. */
function prefixOf(root: string): string {
  return `run-${createHash('sha256').update(root).digest('hex').slice(0, 16)}-`;
}

function parentIn(stateFolder: string): string {
  return join(stateFolder, 'spool');
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

async function makeFolder(parent: string, prefix: string, onMade: (folder: string) => Promise<void>): Promise<string> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  await sweep(parent);
  const folder = await mkdtemp(join(parent, prefix));
  await onMade(folder);
  return folder;
}
