/** Scans on disk: the newest one spares the next process the reading; the one before a command tells what a killed run did. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from './blob-store.js';
import type { Entry, FileEntry, Scan } from './scan.js';
import type { UnkeptReason } from './undo-types.js';

const NAME = /^[0-9a-f]{24}\.json$/;

/** Short, since there is one for each file: kind and reason or hash first, then what the looks compare. */
type Row = readonly [path: string, what: string, ...numbers: number[]];

/** Stores a scan and gives its name. Throws what the system says. */
export function saveScan(folder: string, { entries, limit }: Scan): string {
  const name = `${randomBytes(12).toString('hex')}.json`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const temp = join(folder, `temp-${process.pid}-${name}`);
  try {
    const rows = [...entries].map(([path, entry]) => rowOf(path, entry));
    writeFileSync(temp, JSON.stringify({ version: 1, limit, rows }), { mode: 0o600, flag: 'wx' });
    renameSync(temp, join(folder, name));
  } catch (thrown) {
    rmSync(temp, { force: true });
    throw thrown;
  }
  return name;
}

/** Undefined where there is none of that name, or it can't be read. */
export function loadScan(folder: string, name: string): Scan | undefined {
  if (!NAME.test(name)) return undefined;
  try {
    const { version, limit, rows } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as {
      version: number;
      limit?: 'files' | 'bytes' | 'time';
      rows: readonly Row[];
    };
    return version === 1 ? { entries: new Map(rows.map(entryOf)), limit } : undefined;
  } catch {
    return undefined;
  }
}

/** By name, newest first; `at`: when it was made or last used, wall clock in milliseconds. */
export function storedScans(folder: string): readonly { readonly name: string; readonly at: number }[] {
  return namesIn(folder)
    .filter((name) => NAME.test(name))
    .flatMap((name) => {
      const stats = statSync(join(folder, name), { throwIfNoEntry: false });
      return stats === undefined ? [] : [{ name, at: stats.mtimeMs }];
    })
    .toSorted((a, b) => b.at - a.at);
}

/** That a scan is used now keeps it, and what it names, from being cleared out. False: it was cleared out before. */
export function touchScan(folder: string, name: string): boolean {
  try {
    utimesSync(join(folder, name), new Date(), new Date());
    return true;
  } catch {
    return false;
  }
}

/** The contents that a scan names. */
export function hashesIn({ entries }: Scan): string[] {
  return [...entries.values()].flatMap((entry) =>
    entry.kind === 'file' && 'hash' in entry.kept ? [entry.kept.hash] : [],
  );
}

function rowOf(path: string, entry: Entry): Row {
  if (entry.kind === 'folder') return [path, entry.isListed ? 'folder' : 'folder?'];
  const { kept, size, mtimeMs, ctimeMs, inode, mode, isSettled } = entry;
  const what = 'hash' in kept ? kept.hash : `!${kept.reason}`;
  return [path, what, size, mtimeMs, ctimeMs, inode, mode, isSettled ? 1 : 0];
}

function entryOf([path, what, ...numbers]: Row): [string, Entry] {
  if (what.startsWith('folder')) return [path, { kind: 'folder', isListed: what === 'folder' }];
  const [size = 0, mtimeMs = 0, ctimeMs = 0, inode = 0, mode = 0, settled = 0] = numbers;
  const kept: FileEntry['kept'] = what.startsWith('!') ? { reason: what.slice(1) as UnkeptReason } : { hash: what };
  return [path, { kind: 'file', size, mtimeMs, ctimeMs, inode, mode, kept, isSettled: settled === 1 }];
}
