/** Opens and reads regular files without following links, waiting on pipes or trusting a stated size. */
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink } from 'node:fs/promises';
import { isSystemError, systemReason } from './system-error.js';
import { ToolFailure } from './types.js';
import type { Location } from './workspace.js';

// Windows has neither flag, and no FIFO on a path.
const READ_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** See `Workspace.open`. */
export async function openRegularFile(location: Location): Promise<FileHandle> {
  // Looked at before it is opened: opening alone can make a device do something.
  await refuseOtherKinds(location);
  const handle = await open(location.path, READ_FLAGS).catch((cause: unknown) => {
    throw cannotRead(location, cause);
  });
  try {
    const opened = await handle.stat();
    if (!opened.isFile()) throw notAFile(location, opened);
    await refuseSwapped(handle, location);
    return handle;
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

/** See `Workspace.read`. Reads to the end whatever size is stated: files grow, and some state none. */
export async function readWhole(location: Location, maxBytes: number): Promise<Buffer> {
  const handle = await openRegularFile(location);
  try {
    const { size } = await handle.stat();
    if (size > maxBytes) throw tooLarge(location, size, maxBytes);
    let buffer = Buffer.allocUnsafe(Math.min(size, maxBytes) + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, null);
      if (bytesRead === 0) return buffer.subarray(0, length);
      length += bytesRead;
      if (length > maxBytes) throw tooLarge(location, length, maxBytes);
      if (length === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
    }
  } catch (cause) {
    throw cause instanceof ToolFailure ? cause : cannotRead(location, cause);
  } finally {
    await handle.close();
  }
}

async function refuseOtherKinds(location: Location): Promise<void> {
  const found = await lstat(location.path).catch((cause: unknown) => {
    throw cannotRead(location, cause);
  });
  if (!found.isFile()) throw notAFile(location, found);
}

/** The path was resolved before; whoever put a link in its way since then must not decide what is read. */
async function refuseSwapped(handle: FileHandle, location: Location): Promise<void> {
  if (process.platform === 'linux') {
    const opened = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined);
    if (opened === location.path) return;
    if (opened !== undefined) throw swapped(location);
  }
  const [opened, named] = await Promise.all([handle.stat(), lstat(location.path)]);
  if (opened.dev !== named.dev || opened.ino !== named.ino) throw swapped(location);
}

type Kind = {
  isDirectory(): boolean;
  isFIFO(): boolean;
  isSocket(): boolean;
  isSymbolicLink(): boolean;
};

export function notAFile({ shown }: Location, found: Kind): ToolFailure {
  if (found.isDirectory()) return new ToolFailure('not-a-file', `${shown} is a folder. Use list_files to look inside.`);
  if (found.isSymbolicLink()) return swapped({ shown });
  const kind = found.isFIFO() ? 'a named pipe' : found.isSocket() ? 'a socket' : 'a device';
  return new ToolFailure('not-a-file', `${shown} is ${kind}, not a regular file. It was not opened.`);
}

function swapped({ shown }: Pick<Location, 'shown'>): ToolFailure {
  return new ToolFailure('unreadable', `${shown} was replaced while it was being opened. Try again.`);
}

function cannotRead({ shown }: Location, cause: unknown): ToolFailure {
  if (isSystemError(cause, 'ENOENT')) return new ToolFailure('file-missing', `${shown} does not exist.`, { cause });
  return new ToolFailure('unreadable', `${shown} cannot be read: ${systemReason(cause)}.`, { cause });
}

function tooLarge({ shown }: Location, size: number, maxBytes: number): ToolFailure {
  const limit = `the limit here is ${(maxBytes / 1_000_000).toFixed(0)} MB`;
  return new ToolFailure(
    'too-large',
    `${shown} has ${size} bytes; ${limit}. Read a part of it with read_file, or change it with a shell command.`,
  );
}
