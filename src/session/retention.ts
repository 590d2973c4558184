/**
 * Keeps the store of a project small: old turns go, then the contents that nothing names. Other processes may be at work
 * in the same store, so nothing young is removed, and what was used while it was being removed comes back.
 */
import { mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { blobPath, namesIn, storedHashes } from './blob-store.js';
import { hashesIn, loadScan, storedScans } from './scan-file.js';
import { readTurns, turnPath } from './turn-log.js';
import type { Turn } from './undo-types.js';

export type StoreFolders = {
  readonly base: string;
  readonly blobs: string;
  readonly turns: string;
  readonly scans: string;
};

export function storeFolders(base: string): StoreFolders {
  return { base, blobs: join(base, 'blobs'), turns: join(base, 'turns'), scans: join(base, 'scans') };
}

export type Retention = { readonly turns: number; readonly bytes: number };

/** What is younger may be of a run that has not written yet what it is for. */
const GRACE_MS = 3600_000;
/** A look at the size of each content takes its time. */
const EVERY_MS = 3600_000;

/** Clears out, at most once an hour. What can't be removed is left for the next time. */
export function sweepNowAndThen(folders: StoreFolders, keep: Retention, now: number): void {
  const marker = join(folders.base, 'swept');
  try {
    const last = statSync(marker, { throwIfNoEntry: false })?.mtimeMs;
    if (last !== undefined && now - last < EVERY_MS && now >= last) return;
    writeFileSync(marker, '', { mode: 0o600 });
    utimesSync(marker, new Date(now), new Date(now));
    sweep(folders, keep, now);
  } catch {
    // The store works without; a full disk, say, is told where something can't be kept.
  }
}

export function sweep(folders: StoreFolders, keep: Retention, now: number): void {
  dropOldTurns(folders, keep);
  dropUnusedScans(folders, now);
  dropUnusedBlobs(folders, now);
}

/** The newest turn always stays. What the scans in use need counts too. */
function dropOldTurns(folders: StoreFolders, keep: Retention): void {
  const counted = new Set<string>();
  const bytesOf = (hashes: readonly string[]) => {
    const fresh = hashes.filter((hash) => !counted.has(hash));
    for (const hash of fresh) counted.add(hash);
    return fresh.reduce((sum, hash) => sum + sizeOf(blobPath(folders.blobs, hash)), 0);
  };
  const [newest] = storedScans(folders.scans);
  let bytes = newest === undefined ? 0 : bytesOf(hashesOfScan(folders, newest.name));
  for (const [index, turn] of readTurns(folders.turns).toReversed().entries()) {
    bytes += bytesOf(hashesOfTurn(folders, turn));
    if (index > 0 && (index >= keep.turns || bytes > keep.bytes))
      rmSync(turnPath(folders.turns, turn.number), { force: true });
  }
}

function hashesOfTurn(folders: StoreFolders, { changes, openCommands }: Turn): string[] {
  const own = changes.flatMap(({ before }) => (before.kind === 'file' ? [before.hash] : []));
  return [...own, ...openCommands.flatMap(({ scan }) => hashesOfScan(folders, scan))];
}

function hashesOfScan({ scans }: StoreFolders, name: string): string[] {
  const stored = loadScan(scans, name);
  return stored === undefined ? [] : hashesIn(stored);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Those stay that a turn may still need to find out what a killed command did, the newest, and the young. */
function dropUnusedScans(folders: StoreFolders, now: number): void {
  const needed = new Set(readTurns(folders.turns).flatMap(({ openCommands }) => openCommands.map(({ scan }) => scan)));
  for (const [index, { name, at }] of storedScans(folders.scans).entries()) {
    if (index > 0 && now - at > GRACE_MS && !needed.has(name)) rmSync(join(folders.scans, name), { force: true });
  }
  dropOldTemps(folders.scans, now);
}

function dropUnusedBlobs(folders: StoreFolders, now: number): void {
  const { blobs } = folders;
  const trash = join(blobs, 'trash');
  const isOld = (path: string) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats !== undefined && now - stats.mtimeMs > GRACE_MS;
  };
  const used = hashesInUse(folders);
  const unused = storedHashes(blobs).filter((hash) => !used.has(hash) && isOld(blobPath(blobs, hash)));
  mkdirSync(trash, { recursive: true, mode: 0o700 });
  for (const hash of unused) renameSync(blobPath(blobs, hash), join(trash, hash));
  // Whoever used one a moment before it was moved has touched it, or has named it by now.
  const usedNow = unused.length > 0 ? hashesInUse(folders) : used;
  for (const hash of namesIn(trash)) {
    const path = join(trash, hash);
    if (usedNow.has(hash) || !isOld(path)) renameSync(path, blobPath(blobs, hash));
    else rmSync(path, { force: true });
  }
  dropOldTemps(blobs, now);
}

function hashesInUse(folders: StoreFolders): Set<string> {
  const scans = storedScans(folders.scans).flatMap(({ name }) => hashesOfScan(folders, name));
  return new Set([...scans, ...readTurns(folders.turns).flatMap((turn) => hashesOfTurn(folders, turn))]);
}

/** What killed processes were writing. */
function dropOldTemps(folder: string, now: number): void {
  for (const name of namesIn(folder)) {
    const path = join(folder, name);
    const stats = name.startsWith('temp-') ? statSync(path, { throwIfNoEntry: false }) : undefined;
    if (stats !== undefined && now - stats.mtimeMs > GRACE_MS) rmSync(path, { force: true });
  }
}
