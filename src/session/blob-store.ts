/** File contents by their SHA-256, each stored once, readable by the user only. Whole or absent, also after a crash. */
import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

export type BlobStore = {
  readonly folder: string;
  /**
   * Stores the bytes and gives their hash. `isDurable`: on disk, also after a power cut, when this returns.
   * Throws what the system says: a full disk, a folder that can't be written.
   */
  put(bytes: Uint8Array, options?: { readonly isDurable?: boolean }): string;
  /** The bytes; undefined when they are not there, or are not what their name says. */
  get(hash: string): Buffer | undefined;
  /** Whether they were there when this process first asked for any, or were stored since. */
  has(hash: string): boolean;
  /** Looks anew at the next `has`: others may have cleared out. */
  forget(): void;
};

export function createBlobStore(folder: string): BlobStore {
  let known: Set<string> | undefined;
  const made = new Set<string>();
  const all = () => {
    known ??= new Set(storedHashes(folder));
    return known;
  };
  return {
    folder,
    put(bytes, { isDurable = false } = {}) {
      const hash = hashOf(bytes);
      if (!isTouched(blobPath(folder, hash))) write(folder, { hash, bytes, isDurable }, made);
      known?.add(hash);
      return hash;
    },
    get(hash) {
      try {
        const bytes = readFileSync(blobPath(folder, hash));
        return hashOf(bytes) === hash ? bytes : undefined;
      } catch {
        return undefined;
      }
    },
    has: (hash) => all().has(hash),
    forget: () => {
      known = undefined;
    },
  };
}

export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function blobPath(folder: string, hash: string): string {
  return join(folder, hash.slice(0, 2), hash);
}

/** The names of all blobs. */
export function storedHashes(folder: string): string[] {
  return namesIn(folder)
    .filter((name) => /^[0-9a-f]{2}$/.test(name))
    .flatMap((name) => namesIn(join(folder, name)).filter((hash) => /^[0-9a-f]{64}$/.test(hash)));
}

/** Empty where there is no such folder. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** A blob that is used again is as good as new: whoever clears out old ones leaves it (see `sweep`). */
function isTouched(path: string): boolean {
  try {
    // Most are new, and an error takes longer than a look.
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return false;
    const now = new Date();
    utimesSync(path, now, now);
    return true;
  } catch {
    return false;
  }
}

type Bytes = { readonly hash: string; readonly bytes: Uint8Array; readonly isDurable: boolean };

/** `made`: the folders that are known to be there. */
function write(folder: string, { hash, bytes, isDurable }: Bytes, made: Set<string>): void {
  const path = blobPath(folder, hash);
  const temp = join(folder, `temp-${process.pid}-${randomBytes(6).toString('hex')}`);
  try {
    const parent = dirname(path);
    if (!made.has(parent)) mkdirSync(parent, { recursive: true, mode: 0o700 });
    made.add(parent);
    const file = openSync(temp, 'wx', 0o600);
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
      if (isDurable) fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temp, path);
  } catch (thrown) {
    rmSync(temp, { force: true });
    throw thrown;
  }
}
