/** The scans of one process, one after another: each builds on the one before, the first on that of an earlier process. */
import type { BlobStore } from './blob-store.js';
import { type Entry, type Scan, type ScanOptions, scan } from './scan.js';
import { loadScan, saveScan, storedScans, touchScan } from './scan-file.js';

export type ScanSeries = {
  /** Waits for a scan that is under way. */
  next(options: Pick<ScanOptions, 'limits' | 'withBuilt' | 'stop'>): Promise<Scan>;
  /** Stores a scan, unless it is stored already, and gives its name. Throws what the system says. */
  save(scan: Scan): string;
  /** The newest one. */
  last(): Scan | undefined;
};

export type SeriesOptions = Omit<ScanOptions, 'limits' | 'withBuilt' | 'known' | 'stop'> & {
  readonly store: BlobStore;
  /** Where scans are stored. */
  readonly folder: string;
};

export function createScanSeries({ folder, ...options }: SeriesOptions): ScanSeries {
  let last: Scan | undefined;
  let saved: { readonly name: string; readonly scan: Scan } | undefined;
  let queue: Promise<unknown> = Promise.resolve();

  /** What is known already, after making sure that nobody clears it out meanwhile. */
  function known(): ReadonlyMap<string, Entry> {
    if (saved === undefined) {
      const [newest] = storedScans(folder);
      const scan = newest && touchScan(folder, newest.name) && loadScan(folder, newest.name);
      if (newest && scan) saved = { name: newest.name, scan };
    } else if (!touchScan(folder, saved.name)) {
      saved = undefined;
      options.store.forget();
    }
    return (last ?? saved?.scan)?.entries ?? new Map<string, Entry>();
  }

  return {
    next(wanted) {
      const run = queue.then(async () => {
        last = await scan({ ...options, ...wanted, known: known() });
        return last;
      });
      queue = run.catch(() => undefined);
      return run;
    },
    save(scan) {
      if (saved === undefined || !isSameScan(saved.scan, scan)) saved = { name: saveScan(folder, scan), scan };
      return saved.name;
    },
    last: () => last,
  };
}

/** A file that did not change has the very same entry. */
function isSameScan(one: Scan, other: Scan): boolean {
  if (one.entries.size !== other.entries.size || one.limit !== other.limit) return false;
  for (const [path, entry] of one.entries) {
    const now = other.entries.get(path);
    if (now === entry) continue;
    if (entry.kind !== 'folder' || now?.kind !== 'folder' || entry.isListed !== now.isListed) return false;
  }
  return true;
}
