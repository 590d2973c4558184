/** Folders whose files decide what runs later, wherever they lie: our own, and those of git outside a `.git`. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Folders } from '../config/folders.js';
import { nearestRealPath } from '../permissions/real-path.js';

/** Absolute, by their own and by their real paths. */
export async function protectedFolders(roots: readonly string[], folders: Folders): Promise<readonly string[]> {
  const gitFolders = await Promise.all(roots.map(gitFoldersOf));
  const all = [folders.config, folders.data, folders.state, folders.cache, ...gitFolders.flat()];
  return [...new Set(all.flatMap((folder) => [folder, nearestRealPath(folder)]))];
}

/** Of a worktree or a submodule, `.git` is a file that names the folder; that one may name another. */
async function gitFoldersOf(root: string): Promise<readonly string[]> {
  const named = /^gitdir:\s*(.+)$/m.exec(await textOf(path.join(root, '.git')))?.[1];
  if (named === undefined) return [];
  const folder = path.resolve(root, named.trim());
  const common = (await textOf(path.join(folder, 'commondir'))).trim();
  return [folder, ...(common === '' ? [] : [path.resolve(folder, common)])];
}

async function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}
