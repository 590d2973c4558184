/** What a model may have meant by the name of a file that is not there. */
import { readdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { isSystemError } from './system-error.js';
import { ToolFailure } from './types.js';
import type { Location } from './workspace.js';

const MAX_NAMES = 5;
const MAX_LISTED = 2000; // Names compared; a folder with more is searched with list_files.

/** The failure that says so, with names like it in the same folder. */
export async function missingFile({ path, shown }: Pick<Location, 'path' | 'shown'>): Promise<ToolFailure> {
  const folder = shown.includes('/') ? shown.slice(0, shown.lastIndexOf('/')) : '.';
  let names: readonly string[];
  try {
    names = await readdir(dirname(path));
  } catch (thrown) {
    const why = isSystemError(thrown, 'ENOENT') ? `The folder ${folder} does not exist either.` : '';
    return new ToolFailure('file-missing', `${shown} does not exist. ${why} Use list_files to find the path.`);
  }
  const near = namesLike(basename(path), names);
  const advice =
    near.length === 0
      ? 'Use list_files with a pattern to find the path.'
      : `In ${folder} there is: ${near.join(', ')}.`;
  return new ToolFailure('file-missing', `${shown} does not exist. ${advice}`);
}

function namesLike(wanted: string, names: readonly string[]): readonly string[] {
  return names
    .slice(0, MAX_LISTED)
    .filter((name) => !/[\u0000-\u001f\u007f-\u009f]/.test(name))
    .map((name) => ({ name, distance: distanceOf(wanted.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.max(2, wanted.length / 3) || stemOf(name) === stemOf(wanted))
    .sort((one, other) => one.distance - other.distance)
    .slice(0, MAX_NAMES)
    .map(({ name }) => name);
}

function stemOf(name: string): string {
  return name.toLowerCase().replace(/(?<=.)\..*$/, '');
}

/** Levenshtein's distance: how many characters must be put in, left out or changed. */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const change = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
