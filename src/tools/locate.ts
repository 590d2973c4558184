/** Where a path really leads, and whether that is inside the workspace. Touches nothing but names and links. */
import { lstat, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { isSystemError } from './system-error.js';
import { ToolFailure } from './types.js';
import type { Location } from './workspace.js';

const MAX_LINK_HOPS = 40; // As many as Linux follows.
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;
const FOLDS_CASE = process.platform === 'darwin' || process.platform === 'win32';

/**
 * Resolves `path` (relative ones start from the first root) by its deepest existing parent and its links.
 * @throws {ToolFailure} `bad-path` for a name that can't be one, `outside-workspace` where it leads out of all roots.
 */
export async function locateIn(roots: readonly string[], path: string): Promise<Location> {
  const root = roots[0];
  if (root === undefined) throw new Error('A workspace has at least one root.');
  refuseBadName(path);
  const real = await resolveLinks(resolve(root, path), path, MAX_LINK_HOPS);
  if (!roots.some((each) => isInside(each, real.path))) {
    const lead = resolve(root, path) === real.path ? path : `${path} leads to ${real.path}, which`;
    throw new ToolFailure(
      'outside-workspace',
      `${lead} is outside the workspace ${root}. Use a path inside it; the person can add a folder with --add-dir.`,
    );
  }
  return { path: real.path, shown: showPath(root, real.path), exists: real.exists };
}

/** Whether `path` is `folder` or below it. Both are absolute. */
export function isInside(folder: string, path: string): boolean {
  const way = relative(foldCase(folder), foldCase(path));
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Relative to the root with forward slashes; absolute where that would climb out of it. */
export function showPath(root: string, path: string): string {
  if (!isInside(root, path)) return path;
  return relative(root, path).split(sep).join('/') || '.';
}

/** These systems keep names apart neither by letter case nor by Unicode form. */
export function foldCase(path: string): string {
  return FOLDS_CASE ? path.normalize('NFC').toLowerCase() : path;
}

function refuseBadName(path: string): void {
  const refuse = (why: string) => {
    throw new ToolFailure('bad-path', `${JSON.stringify(path)} cannot be used as a path: ${why}`);
  };
  if (path === '') refuse('it is empty. Use "." for the workspace itself.');
  if (CONTROL_CHARACTER.test(path)) refuse('it has a control character in it.');
  if (path === '~' || path.startsWith('~/')) {
    refuse('"~" is not expanded. Use a path relative to the workspace; for a folder of that name write "./~".');
  }
  if (process.platform === 'win32') refuseWindowsName(path, refuse);
}

const RESERVED_WINDOWS_NAME = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

function refuseWindowsName(path: string, refuse: (why: string) => void): void {
  if (/^([\\/]{2}|\\\?\?\\)/.test(path)) refuse('network and device paths are not allowed.');
  if (path.replace(/^[A-Za-z]:/, '').includes(':')) refuse('alternate data streams are not allowed.');
  if (path.split(/[\\/]/).some((part) => RESERVED_WINDOWS_NAME.test(part))) refuse('it names a device.');
}

type Real = { readonly path: string; readonly exists: boolean };

async function resolveLinks(path: string, asked: string, hops: number): Promise<Real> {
  try {
    return { path: await realpath(path), exists: true };
  } catch (cause) {
    if (!isSystemError(cause, 'ENOENT')) throw unreachable(asked, cause);
  }
  const target = await linkTarget(path, asked);
  const folder = dirname(path);
  if (target === undefined) {
    const parent = folder === path ? { path } : await resolveLinks(folder, asked, hops);
    return { path: join(parent.path, basename(path)), exists: false };
  }
  if (hops === 0) throw new ToolFailure('bad-path', `${asked} cannot be used: its links go round in a circle.`);
  const from = await resolveLinks(folder, asked, hops - 1);
  return resolveLinks(resolve(from.path, target), asked, hops - 1);
}

/** Where a link that leads to nothing points; undefined where there is nothing at all. */
async function linkTarget(path: string, asked: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
  } catch (cause) {
    if (isSystemError(cause, 'ENOENT')) return undefined;
    throw unreachable(asked, cause);
  }
}

function unreachable(asked: string, cause: unknown): ToolFailure {
  const why = isSystemError(cause, 'ENOTDIR')
    ? 'a part of it is a file, not a folder.'
    : isSystemError(cause, 'ELOOP')
      ? 'its links go round in a circle.'
      : isSystemError(cause, 'EACCES')
        ? 'permission denied.'
        : isSystemError(cause, 'ENAMETOOLONG')
          ? 'it is too long.'
          : String(cause);
  return new ToolFailure('bad-path', `${asked} cannot be used: ${why}`, { cause });
}
