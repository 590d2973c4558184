/** Paths of the workspace: how they are shown, and which of their folders are not there yet. */
import { dirname, isAbsolute, relative, sep } from 'node:path';
import { statsOf } from './regular-file.js';

/** Relative to the root with forward slashes; absolute where that would climb out of it. */
export function shownIn(root: string, path: string): string {
  const way = relative(root, path);
  return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way) ? path : way.split(sep).join('/');
}

/** The folders that a write of `path` has to make, outermost first. */
export function missingFolders(path: string): string[] {
  const folder = dirname(path);
  return statsOf(folder) !== undefined || folder === path ? [] : [...missingFolders(folder), folder];
}
