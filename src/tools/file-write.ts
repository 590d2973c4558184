/** Puts whole files on disk so that a reader, a crash or a full disk sees the old bytes or the new ones, never a mix. */
import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, lstat, mkdir, open, realpath, rename, rm, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { notAFile, readWhole } from './file-read.js';
import { foldCase } from './locate.js';
import { isSystemError, systemReason } from './system-error.js';
import { ToolFailure } from './types.js';
import type { Location, WriteOptions } from './workspace.js';

const TEMP_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

/** See `Workspace.write`. */
export async function writeAtomically(location: Location, bytes: Uint8Array, options: WriteOptions): Promise<void> {
  try {
    await replaceFile(location, bytes, options);
  } catch (cause) {
    if (cause instanceof ToolFailure) throw cause;
    const reason = systemReason(cause);
    throw new ToolFailure('unwritable', `${location.shown} cannot be written: ${reason}. It is as it was.`, { cause });
  }
}

async function replaceFile(location: Location, bytes: Uint8Array, options: WriteOptions): Promise<void> {
  const folder = dirname(location.path);
  await mkdir(folder, { recursive: true });
  const before = await statOrUndefined(location.path);
  if (before !== undefined && !before.isFile()) throw notAFile(location, before);
  // A rename would get round a write protection that was put there on purpose.
  if (before !== undefined) await access(location.path, constants.W_OK);
  const folderId = await identityOf(folder, location);

  // The process id lets a later start tell a leftover of a killed process from the file of a living one.
  const temp = join(folder, `.chatcli-${process.pid}-${randomBytes(6).toString('hex')}.tmp`);
  try {
    await writeTemp(temp, bytes, before);
    if ((await identityOf(folder, location)) !== folderId) throw movedAway(location);
    await refuseChanged(location, options);
    await rename(temp, location.path);
  } catch (thrown) {
    await rm(temp, { force: true });
    throw thrown;
  }
  await syncFolder(folder);
}

/** See `Workspace.remove`. */
export async function removeFile(location: Location, options: WriteOptions): Promise<void> {
  try {
    const before = await statOrUndefined(location.path);
    if (before === undefined) throw new ToolFailure('file-missing', `${location.shown} does not exist.`);
    if (!before.isFile()) throw notAFile(location, before);
    await access(location.path, constants.W_OK);
    const folder = dirname(location.path);
    await identityOf(folder, location);
    await refuseChanged(location, options);
    await unlink(location.path);
    await syncFolder(folder);
  } catch (cause) {
    if (cause instanceof ToolFailure) throw cause;
    const reason = systemReason(cause);
    throw new ToolFailure('unwritable', `${location.shown} cannot be removed: ${reason}. It is as it was.`, { cause });
  }
}

async function writeTemp(temp: string, bytes: Uint8Array, before: Stats | undefined): Promise<void> {
  // A new file gets what the umask leaves of 0666; a copy is private until it has its owner and mode.
  const handle = await open(temp, TEMP_FLAGS, before === undefined ? 0o666 : 0o600);
  try {
    await handle.writeFile(bytes);
    if (before !== undefined) await copyOwnerAndMode(handle, before);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

async function copyOwnerAndMode(handle: FileHandle, before: Stats): Promise<void> {
  const own = await handle.stat();
  let ownerKept = own.uid === before.uid && own.gid === before.gid;
  if (!ownerKept) {
    ownerKept = await handle.chown(before.uid, before.gid).then(
      () => true,
      () => false, // Only root may give files away; the content matters more than the owner.
    );
  }
  // Set-id bits belong to the old owner: under another one they would hand out rights.
  await handle.chmod(before.mode & (ownerKept ? 0o7777 : 0o777));
}

/** Device and inode of a folder that is still where the path was resolved to. */
async function identityOf(folder: string, location: Location): Promise<string> {
  if (foldCase(await realpath(folder)) !== foldCase(folder)) throw movedAway(location);
  const { dev, ino } = await stat(folder);
  return `${dev}:${ino}`;
}

function movedAway({ shown }: Location): ToolFailure {
  return new ToolFailure('outside-workspace', `The folder of ${shown} was replaced meanwhile. Nothing was written.`);
}

async function refuseChanged(location: Location, { replaces }: WriteOptions): Promise<void> {
  if (replaces === undefined) return;
  const isSame = replaces === null ? !(await statOrUndefined(location.path)) : await hasBytes(location, replaces);
  if (isSame) return;
  throw new ToolFailure(
    'changed-on-disk',
    `${location.shown} was changed by someone else just now. Nothing was written. Read it again, then repeat the change.`,
  );
}

async function hasBytes(location: Location, expected: Uint8Array): Promise<boolean> {
  try {
    return (await readWhole(location, expected.length)).equals(expected);
  } catch (thrown) {
    if (thrown instanceof ToolFailure) return false;
    throw thrown;
  }
}

async function statOrUndefined(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (thrown) {
    if (isSystemError(thrown, 'ENOENT')) return undefined;
    throw thrown;
  }
}

/** Without this a power cut may forget the rename. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  try {
    const handle = await open(folder, constants.O_RDONLY);
    await handle.sync().finally(() => handle.close());
  } catch {
    // Not every system can do it. The file is in place for all who read it, so this is not a failure of the write.
  }
}
