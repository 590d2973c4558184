/**
 * Puts whole files on disk so that a reader, a crash or a full disk sees the old bytes or the new ones, never a mix. A
 * change is prepared in full beside the file, then takes its place at one stroke, and can be taken back.
 */
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, lstat, open, rename, rm, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { notAFile, readWhole } from './file-read.js';
import { type OpenFolder, openFolder } from './open-folder.js';
import { isSystemError, systemReason } from './system-error.js';
import { sweepTemps, tempName } from './temp-files.js';
import { ToolFailure } from './types.js';
import type { Location, WriteOptions } from './workspace.js';

const TEMP_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
const ATTEMPTS = 3; // A folder that was just made may be taken away again by another call that failed.

/** A change that is prepared and not made yet. It is in nobody's way until `commit`, and must be closed. */
export type PreparedChange = {
  readonly location: Location;
  /** @throws {ToolFailure} `changed-on-disk`, `outside-workspace`, `unwritable`. The file is as it was then. */
  commit(): Promise<void>;
  /**
   * Takes the change back, and what was made for it.
   * @throws {ToolFailure} when a change that was made can't be undone, with how the file is now.
   */
  rollback(): Promise<void>;
  close(): Promise<void>;
};

export type PrepareOptions = WriteOptions & {
  /** Folders (by path) in which leftovers of killed processes were looked for; each is looked at once. */
  readonly swept: Set<string>;
};

/** See `Workspace.write`. */
export async function prepareWrite(
  location: Location,
  bytes: Uint8Array,
  options: PrepareOptions,
): Promise<PreparedChange> {
  return orUnwritable(location, 'written', async () => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await prepareOnce(location, bytes, options);
      } catch (thrown) {
        if (attempt === ATTEMPTS || !isSystemError(thrown, 'ENOENT')) throw thrown;
      }
    }
  });
}

async function prepareOnce(location: Location, bytes: Uint8Array, options: PrepareOptions): Promise<PreparedChange> {
  const folder = await openFolder(dirname(location.path), location.shown);
  const [target, temp] = [folder.at(basename(location.path)), folder.at(tempName())];
  let isMade = false;
  const discard = async () => {
    await rm(temp, { force: true });
    await folder.undo();
  };
  try {
    await sweepOnce(folder, dirname(location.path), options.swept);
    const before = await statOrUndefined(target);
    if (before !== undefined && !before.isFile()) throw notAFile(location, before);
    // A rename would get round a write protection that was put there on purpose.
    if (before !== undefined) await access(target, constants.W_OK);
    await writeTemp(temp, bytes, options.attributes ?? before, options.executable);
    return {
      location,
      commit: () =>
        orUnwritable(location, 'written', async () => {
          await folder.confirm();
          await refuseChanged(location, options);
          await rename(temp, target);
          isMade = true;
          await folder.sync();
        }),
      async rollback() {
        if (isMade) await takeBack(location, folder, { now: bytes, original: options.replaces, before });
        isMade = false;
        await discard();
      },
      close: folder.close,
    };
  } catch (thrown) {
    await discard();
    await folder.close();
    throw thrown;
  }
}

/** See `Workspace.remove`. */
export async function prepareRemoval(location: Location, options: WriteOptions): Promise<PreparedChange> {
  return orUnwritable(location, 'removed', async () => {
    const before = await statOrUndefined(location.path);
    if (before === undefined) throw new ToolFailure('file-missing', `${location.shown} does not exist.`);
    const folder = await openFolder(dirname(location.path), location.shown);
    const target = folder.at(basename(location.path));
    let isMade = false;
    try {
      if (!before.isFile()) throw notAFile(location, before);
      await access(target, constants.W_OK);
    } catch (thrown) {
      await folder.undo();
      await folder.close();
      throw thrown;
    }
    return {
      location,
      commit: () =>
        orUnwritable(location, 'removed', async () => {
          await folder.confirm();
          await refuseChanged(location, options);
          await unlink(target);
          isMade = true;
          await folder.sync();
        }),
      async rollback() {
        if (isMade) await takeBack(location, folder, { now: null, original: options.replaces, before });
        isMade = false;
      },
      close: folder.close,
    };
  });
}

/** What a change made of a file, and what there was; null: no file. Without `original` nothing can be taken back. */
type Made = {
  readonly now: Uint8Array | null;
  readonly original: Uint8Array | null | undefined;
  readonly before: Stats | undefined;
};

async function takeBack(location: Location, folder: OpenFolder, { now, original, before }: Made): Promise<void> {
  const target = folder.at(basename(location.path));
  try {
    if (original === undefined) throw new Error('its old content is not known');
    await folder.confirm();
    // What somebody else made of it meanwhile is theirs.
    await refuseChanged(location, { replaces: now });
    if (original === null) {
      await unlink(target);
    } else {
      const temp = folder.at(tempName());
      try {
        await writeTemp(temp, original, before, undefined);
        await rename(temp, target);
      } catch (thrown) {
        await rm(temp, { force: true });
        throw thrown;
      }
    }
    await folder.sync();
  } catch (cause) {
    const why = cause instanceof ToolFailure ? cause.message : `${systemReason(cause)}.`;
    const state = now === null ? 'removed' : 'changed';
    throw new ToolFailure('not-restored', `${location.shown} is still ${state} and could not be put back: ${why}`, {
      cause,
    });
  }
}

async function orUnwritable<Result>(location: Location, done: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof ToolFailure) throw cause;
    const reason = systemReason(cause);
    throw new ToolFailure('unwritable', `${location.shown} cannot be ${done}: ${reason}. It is as it was.`, { cause });
  }
}

async function sweepOnce(folder: OpenFolder, path: string, swept: Set<string>): Promise<void> {
  if (swept.has(path)) return;
  swept.add(path);
  await sweepTemps(folder);
}

type Attributes = NonNullable<WriteOptions['attributes']>;

async function writeTemp(
  temp: string,
  bytes: Uint8Array,
  attributes: Attributes | undefined,
  executable: boolean | undefined,
): Promise<void> {
  // A new file gets what the umask leaves of 0666; a copy is private until it has its owner and mode.
  const handle = await open(temp, TEMP_FLAGS, attributes === undefined ? 0o666 : 0o600);
  try {
    await handle.writeFile(bytes);
    if (attributes !== undefined) await copyOwnerAndMode(handle, attributes);
    if (executable !== undefined) await setExecutable(handle, executable);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

async function copyOwnerAndMode(handle: FileHandle, wanted: Attributes): Promise<void> {
  const own = await handle.stat();
  let ownerKept = own.uid === wanted.uid && own.gid === wanted.gid;
  if (!ownerKept) {
    ownerKept = await handle.chown(wanted.uid, wanted.gid).then(
      () => true,
      () => false, // Only root may give files away; the content matters more than the owner.
    );
  }
  // Set-id bits belong to the old owner: under another one they would hand out rights.
  await handle.chmod(wanted.mode & (ownerKept ? 0o7777 : 0o777));
}

/** Who may read a program may run it. */
async function setExecutable(handle: FileHandle, executable: boolean): Promise<void> {
  const mode = (await handle.stat()).mode & 0o7777;
  await handle.chmod(executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111);
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
