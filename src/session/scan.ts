/**
 * A look at all files of the workspace: what each is, by name, size and times, and a copy in the store of each that is
 * not there yet. Links are not followed; a tree that did not change costs one look a file and reads nothing.
 */
import { type Dirent, readdirSync, type Stats } from 'node:fs';
import { basename, join } from 'node:path';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { BlobStore } from './blob-store.js';
import { readRegular, reasonAgainst, statsOf } from './regular-file.js';
import type { PathState, UnkeptReason } from './undo-types.js';

/** A file as a scan found it. Equal size, times, inode and mode stand for equal content, if `isSettled`. */
export type FileEntry = {
  readonly kind: 'file';
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly inode: number;
  readonly mode: number;
  /** Of the content, which the store has; else the reason why not. */
  readonly kept: { readonly hash: string } | { readonly reason: UnkeptReason };
  /** False: read so soon after its last change that one more in the same tick of the clock would not show. */
  readonly isSettled: boolean;
};

export type Entry =
  | FileEntry
  /** `isListed`: all that is in it was seen. */
  | { readonly kind: 'folder'; readonly isListed: boolean };

export type Scan = {
  /** By absolute path, folders before what is in them. */
  readonly entries: ReadonlyMap<string, Entry>;
  /** Where a limit ended the look or the copying. */
  readonly limit: 'files' | 'bytes' | 'time' | undefined;
};

export type ScanLimits = {
  /** And folders. */
  readonly files: number;
  /** Of all copies together, and of one. */
  readonly bytes: number;
  readonly fileBytes: number;
  /** For copying. What was copied once is not copied again, so the next look comes further. */
  readonly ms: number;
};

export type ScanOptions = {
  readonly roots: readonly string[];
  /** Folders that are not looked into, by absolute path: our own. */
  readonly excluded: readonly string[];
  readonly limits: ScanLimits;
  /** What earlier looks found. */
  readonly known: ReadonlyMap<string, Entry>;
  readonly store: BlobStore;
  readonly isSecret: (path: string) => boolean;
  /** Whether the project keeps a folder out of version control. */
  readonly isIgnored: (folder: string) => Promise<boolean>;
  /** Whether an empty folder of this name only stands for something that must not come into being. */
  readonly isStandIn?: (name: string) => boolean;
  /** Look into ignored folders of what is built as well. */
  readonly withBuilt: boolean;
  /** Aborted: nothing more is looked at or copied. */
  readonly stop?: AbortSignal | undefined;
  /** Wall clock, in milliseconds. */
  readonly now: () => number;
};

/** What programs can make anew, and what only version control may change. */
const NEVER_LOOKED_INTO = new Set(
  '.git .hg .svn node_modules .venv venv __pycache__ .cache .tox .mypy_cache .pytest_cache .ruff_cache .gradle .next .nuxt .turbo .parcel-cache .terraform'.split(
    ' ',
  ),
);
/** The same where the project ignores them; elsewhere they may be sources. */
const PERHAPS_BUILT = new Set('target dist build out coverage'.split(' '));

/** What a tool is writing at this moment, perhaps in another process. */
const OWN_TEMPORARY = /^\.chatcli-\d+-[0-9a-f]+\.tmp$/;

/** Looking without copying may take this much longer, e.g. on a network disk. */
const LOOK_TIMES = 3;

/** The loop is given back to others this often: a signal must come through. */
const SLICE_MS = 15;

export async function scan(options: ScanOptions): Promise<Scan> {
  const { roots, limits, now, stop } = options;
  const entries = new Map<string, Entry>();
  const startedAt = now();
  const copies = { bytes: 0 };
  let limit: Scan['limit'];
  let count = 0;
  const isOver = () => count >= limits.files || stop?.aborted === true || now() - startedAt > LOOK_TIMES * limits.ms;
  let sliceFrom = performance.now();
  const queue = [...new Set(roots)];
  for (let at = 0; at < queue.length; at++) {
    const folder = queue[at] ?? '';
    const found = limit === 'files' ? undefined : list(folder);
    if (found?.length === 0 && options.isStandIn?.(basename(folder)) === true) continue;
    entries.set(folder, { kind: 'folder', isListed: found !== undefined });
    for (const item of found ?? []) {
      const path = join(folder, item.name);
      if (isOver()) {
        limit = 'files';
        entries.set(folder, { kind: 'folder', isListed: false });
        break;
      }
      count += 1;
      if (item.isDirectory()) {
        if (!(await isSkipped(item.name, path, options))) queue.push(path);
        continue;
      }
      const mayCopy = limit !== 'time' && now() - startedAt <= limits.ms;
      const entry = look(path, { ...options, copies, mayCopy });
      if (entry === undefined) continue;
      entries.set(path, entry);
      if ('reason' in entry.kept && entry.kept.reason === 'beyond-limit') limit ??= mayCopy ? 'bytes' : 'time';
      if (performance.now() - sliceFrom > SLICE_MS) {
        await nextTick();
        sliceFrom = performance.now();
      }
    }
  }
  return { entries, limit };
}

function list(folder: string): readonly Dirent[] | undefined {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return undefined;
  }
}

async function isSkipped(name: string, path: string, { excluded, isIgnored, withBuilt }: ScanOptions) {
  if (NEVER_LOOKED_INTO.has(name) || excluded.includes(path)) return true;
  return !withBuilt && PERHAPS_BUILT.has(name) && (await isIgnored(path));
}

type LookOptions = ScanOptions & { readonly copies: { bytes: number }; readonly mayCopy: boolean };

/** Undefined for what is gone, and for what is named in a way that can't be read back. */
function look(path: string, options: LookOptions): FileEntry | undefined {
  const name = basename(path);
  // In a worktree it is a file, which points to the repository.
  if (name === '.git' || OWN_TEMPORARY.test(name)) return undefined;
  const stats = statsOf(path);
  if (stats === undefined) return undefined;
  const { known, store, limits, copies } = options;
  const seenAt = options.now();
  const before = known.get(path);
  const isKnown = before?.kind === 'file' && before.isSettled && isUntouched(before, stats);
  if (isKnown && 'hash' in before.kept && store.has(before.kept.hash)) {
    copies.bytes += stats.size;
    return before;
  }
  const reason = reasonAgainst(stats, limits.fileBytes) ?? (options.isSecret(path) ? 'secret' : undefined);
  if (reason !== undefined) return entryOf(stats, { reason }, seenAt);
  if (!options.mayCopy || copies.bytes + stats.size > limits.bytes)
    return entryOf(stats, { reason: 'beyond-limit' }, seenAt);
  const read = readRegular(path, limits.fileBytes);
  if ('reason' in read) return read.reason === 'absent' ? undefined : entryOf(stats, { reason: read.reason }, seenAt);
  copies.bytes += read.bytes.length;
  return entryOf(read.stats, keep(read.bytes, store), seenAt);
}

function keep(bytes: Buffer, store: BlobStore): FileEntry['kept'] {
  try {
    return { hash: store.put(bytes) };
  } catch {
    return { reason: 'store-failed' };
  }
}

/** Times of a coarse clock (whole seconds: FAT, HFS+, some network disks) settle later than those of a fine one. */
const SETTLED_MS = { fine: 50, coarse: 2_100 };

function entryOf(stats: Stats, kept: FileEntry['kept'], seenAt: number): FileEntry {
  const { size, mtimeMs, ctimeMs, ino: inode } = stats;
  const margin = ctimeMs % 1000 === 0 ? SETTLED_MS.coarse : SETTLED_MS.fine;
  const isSettled = seenAt - Math.max(mtimeMs, ctimeMs) > margin;
  return { kind: 'file', size, mtimeMs, ctimeMs, inode, mode: stats.mode & 0o7777, kept, isSettled };
}

function isUntouched(entry: FileEntry, { size, mtimeMs, ctimeMs, ino, mode }: Stats): boolean {
  return (
    entry.size === size &&
    entry.mtimeMs === mtimeMs &&
    entry.ctimeMs === ctimeMs &&
    entry.inode === ino &&
    entry.mode === (mode & 0o7777)
  );
}

/** What an entry says of its path. */
export function stateOf(entry: Entry | undefined): PathState {
  if (entry === undefined) return { kind: 'absent' };
  if (entry.kind === 'folder') return { kind: 'folder' };
  if ('reason' in entry.kept) return { kind: 'unkept', reason: entry.kept.reason };
  return { kind: 'file', hash: entry.kept.hash, mode: entry.mode };
}
