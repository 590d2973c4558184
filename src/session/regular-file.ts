/** Reads a regular file as a whole for the undo store: no link is followed, no pipe waited for, nothing with two names. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync, type Stats } from 'node:fs';
import type { UnkeptReason } from './undo-types.js';

// Windows has neither flag, and no FIFO on a path.
const READ_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export type WholeFile = { readonly bytes: Buffer; readonly stats: Stats };
export type NotRead = { readonly reason: UnkeptReason | 'absent' };

/** `path` is absolute and real. On Linux a link that was put anywhere in it since then is noticed. */
export function readRegular(path: string, maxBytes: number): WholeFile | NotRead {
  let file: number | undefined;
  try {
    // Looked at before it is opened: opening alone can make a device do something.
    const reason = reasonAgainst(lstatSync(path), maxBytes);
    if (reason !== undefined) return { reason };
    file = openSync(path, READ_FLAGS);
    const stats = fstatSync(file);
    const late = reasonAgainst(stats, maxBytes);
    if (late !== undefined) return { reason: late };
    if (process.platform === 'linux' && readlinkSync(`/proc/self/fd/${file}`) !== path) return { reason: 'link' };
    const bytes = readToEnd(file, stats.size, maxBytes);
    return bytes === undefined ? { reason: 'too-large' } : { bytes, stats };
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { reason: 'absent' };
    return { reason: code === 'ELOOP' ? 'link' : 'unreadable' };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** What stands at a path, links not followed; undefined for nothing, and for what can't be looked at. */
export function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    // A part of the path is a file now, say.
    return undefined;
  }
}

export function reasonAgainst(stats: Stats, maxBytes: number): UnkeptReason | undefined {
  if (stats.isSymbolicLink()) return 'link';
  if (!stats.isFile()) return 'special';
  if (stats.nlink > 1) return 'hard-link';
  return stats.size > maxBytes ? 'too-large' : undefined;
}

/** To the end whatever size is stated: files grow. Undefined when that goes beyond `maxBytes`. */
function readToEnd(file: number, size: number, maxBytes: number): Buffer | undefined {
  let buffer = Buffer.allocUnsafe(size + 1);
  let length = 0;
  for (;;) {
    const count = readSync(file, buffer, length, buffer.length - length, null);
    if (count === 0) return buffer.subarray(0, length);
    length += count;
    if (length > maxBytes) return undefined;
    if (length === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
  }
}
