/** The one gate to files: real paths, one lock a path, one known hash a path, atomic byte-faithful writes. */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf, UsageError } from '../errors.js';
import { type AnyChange, changeTogether } from './file-group.js';
import { openRegularFile, readWhole } from './file-read.js';
import { isInside, locateIn } from './locate.js';
import { ToolFailure } from './types.js';

/** Where a path leads, after links. `shown` is relative to the root with forward slashes, for messages. */
export type Location = {
  readonly path: string;
  readonly shown: string;
  readonly exists: boolean;
};

export type WriteOptions = {
  /** The bytes this write was worked out from; `null`: there was no file. Anything else on disk fails the write. */
  readonly replaces?: Uint8Array | null;
  /** Owner and mode, where they are not those of the file that is replaced: of a file that is moved here, say. */
  readonly attributes?: { readonly mode: number; readonly uid: number; readonly gid: number };
  /** Makes it a program, or none; absent: as it was. */
  readonly executable?: boolean;
};

/** One file of a change of several. `bytes` null removes it; `replaces` is what it must hold now, null where none may be. */
export type FileChange = WriteOptions & {
  readonly location: Location;
  readonly bytes: Uint8Array | null;
  readonly replaces: Uint8Array | null;
};

export type Workspace = {
  /** Real path of the folder that relative paths start from. */
  readonly root: string;
  /** `root` first, then the real paths of the folders added with `--add-dir`. */
  readonly roots: readonly string[];
  /**
   * Resolves a path by its deepest existing parent and its links.
   * @throws {ToolFailure} `bad-path`, `outside-workspace`.
   */
  locate(path: string): Promise<Location>;
  /** Opens the gate to one more folder, an existing one of ours, for reading only: output that was too long to hand over. */
  allowReading(folder: string): Promise<void>;
  /**
   * Opens a regular file of any size, for reading in pieces. The caller closes it.
   * @throws {ToolFailure} `file-missing`, `not-a-file`, `unreadable`.
   */
  open(location: Location): Promise<FileHandle>;
  /**
   * The bytes of a regular file.
   * @throws {ToolFailure} `file-missing`, `not-a-file`, `too-large`, `unreadable`.
   */
  read(location: Location, maxBytes: number): Promise<Buffer>;
  /**
   * Replaces or creates a file as a whole: temp file in the same folder, mode kept, rename. Makes parent folders.
   * @throws {ToolFailure} `unwritable`, `not-a-file`, `outside-workspace`, `changed-on-disk`.
   */
  write(location: Location, bytes: Uint8Array, options?: WriteOptions): Promise<void>;
  /**
   * Removes a regular file. `replaces`: the bytes it must still have.
   * @throws {ToolFailure} `file-missing`, `not-a-file`, `outside-workspace`, `changed-on-disk`, `unwritable`.
   */
  remove(location: Location, options?: { readonly replaces?: Uint8Array }): Promise<void>;
  /**
   * Writes and removes several files, each at most once, all or none.
   * @throws {ToolFailure} as `write` and `remove`; `not-restored` where a failure could not be undone in full.
   */
  changeTogether(changes: readonly FileChange[]): Promise<void>;
  /** Runs `work` while no other holder of the same path runs; in the order of the calls. */
  lock<Result>(path: string, work: () => Promise<Result>): Promise<Result>;
  /** The same for several paths at once, which may come in any order. */
  lockAll<Result>(paths: readonly string[], work: () => Promise<Result>): Promise<Result>;
  /** SHA-256 (hex) of what was last read or written here as a whole; undefined when that is not known. */
  knownHash(location: Location): string | undefined;
  /** Notes what a reader that went through `open` saw; undefined when it did not see the whole file. */
  remember(location: Location, hash: string | undefined): void;
};

/**
 * Opens the gate to `root` and to the folders of `addDirs`; relative ones start from the process's folder.
 * @throws {UsageError} when one of them is not a folder.
 */
export async function createWorkspace(options: {
  readonly root: string;
  readonly addDirs?: readonly string[];
  /**
   * Called with the absolute path before a file there is written, with its `next` bytes, or removed, without; if it
   * throws, the file stays as it is.
   */
  readonly keepBefore?: (path: string, next: Uint8Array | undefined) => Promise<void>;
}): Promise<Workspace> {
  const root = await realFolder(options.root);
  const roots = [root, ...(await Promise.all((options.addDirs ?? []).map(realFolder)))];
  const readable: string[] = [];
  const hashes = new Map<string, string>();
  const swept = new Set<string>();
  const lock = createLocks();

  function remember(location: Location, hash: string | undefined): void {
    if (hash === undefined) hashes.delete(location.path);
    else hashes.set(location.path, hash);
  }

  async function change(changes: readonly AnyChange[]): Promise<void> {
    for (const { location } of changes) refuseReadable(roots, location);
    for (const { location, bytes } of changes) await options.keepBefore?.(location.path, bytes ?? undefined);
    await changeTogether(changes, { swept });
    for (const { location, bytes } of changes) remember(location, bytes === null ? undefined : hashOf(bytes));
  }

  return {
    root,
    roots,
    locate: (path) => locateIn([...roots, ...readable], path),
    async allowReading(folder) {
      readable.push(await realFolder(folder));
    },
    open: openRegularFile,
    async read(location, maxBytes) {
      const bytes = await readWhole(location, maxBytes);
      remember(location, hashOf(bytes));
      return bytes;
    },
    write: (location, bytes, writeOptions = {}) => change([{ ...writeOptions, location, bytes }]),
    remove: (location, removeOptions = {}) => change([{ ...removeOptions, location, bytes: null }]),
    changeTogether: change,
    lock,
    lockAll: (paths, work) => lockAll(lock, paths, work),
    knownHash: (location) => hashes.get(location.path),
    remember,
  };
}

export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** A folder that may only be read is behind the gate, and still not the workspace. */
function refuseReadable(roots: readonly string[], location: Location): void {
  if (roots.some((root) => isInside(root, location.path))) return;
  throw new ToolFailure('outside-workspace', `${location.shown} can only be read. Write inside the workspace.`);
}

async function realFolder(path: string): Promise<string> {
  try {
    const real = await realpath(resolve(path));
    if ((await stat(real)).isDirectory()) return real;
  } catch (cause) {
    throw new UsageError(`The folder ${path} cannot be used: ${messageOf(cause)}`, { cause });
  }
  throw new UsageError(`${path} is not a folder.`);
}

/** Always in the same order, so that no two holders wait for each other. */
function lockAll<Result>(
  lock: Workspace['lock'],
  paths: readonly string[],
  work: () => Promise<Result>,
): Promise<Result> {
  const [last, ...others] = [...new Set(paths)].sort().reverse();
  if (last === undefined) return work();
  return others.reduce(
    (inner, path) => () => lock(path, inner),
    () => lock(last, work),
  )();
}

/** One queue a path. A holder that throws lets the next one in. */
function createLocks(): Workspace['lock'] {
  const tails = new Map<string, Promise<void>>();
  return async (path, work) => {
    const run = (tails.get(path) ?? Promise.resolve()).then(work);
    const settled = () => undefined;
    const tail = run.then(settled, settled);
    tails.set(path, tail);
    try {
      return await run;
    } finally {
      if (tails.get(path) === tail) tails.delete(path);
    }
  };
}
