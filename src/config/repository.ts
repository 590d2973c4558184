/** Which folder a project is: what trust and settings count for. Runs no git: its configuration could run programs. */
import { lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** The nearest folder with a `.git` in it, from `cwd` upwards; `cwd` itself where there is none. */
export async function repositoryRoot(cwd: string): Promise<string> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (await exists(join(folder, '.git'))) return folder;
    if (dirname(folder) === folder) return cwd;
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
