/** What became of the workspace between two scans. */
import { dirname } from 'node:path';
import { statsOf } from './regular-file.js';
import { type Entry, type FileEntry, type Scan, stateOf } from './scan.js';
import type { PathState } from './undo-types.js';

export type Difference = { readonly path: string; readonly before: PathState; readonly after: PathState };

/** Files and folders that came, went or changed. What a scan did not reach is left out, not taken for gone or new. */
export function differenceOf(before: Scan, after: Scan): readonly Difference[] {
  const differences: Difference[] = [];
  for (const [path, entry] of before.entries) {
    const now = after.entries.get(path);
    if (now === undefined ? statsOf(path) !== undefined : isSame(entry, now)) continue;
    differences.push({ path, before: stateOf(entry), after: stateOf(now) });
  }
  for (const [path, entry] of after.entries) {
    if (before.entries.has(path) || !wasSeen(dirname(path), before)) continue;
    differences.push({ path, before: { kind: 'absent' }, after: stateOf(entry) });
  }
  return differences;
}

/** Whether the scan would have found what is in `folder`: it saw all of it, or that it was not there. */
function wasSeen(folder: string, scan: Scan): boolean {
  const entry = scan.entries.get(folder);
  if (entry !== undefined) return entry.kind === 'folder' ? entry.isListed : true;
  const above = dirname(folder);
  return above !== folder && wasSeen(above, scan);
}

function isSame(one: Entry, other: Entry): boolean {
  if (one.kind === 'folder' || other.kind === 'folder') return one.kind === other.kind;
  const hashes = [one, other].map(hashIn);
  if (hashes[0] !== undefined && hashes[1] !== undefined) return hashes[0] === hashes[1] && one.mode === other.mode;
  // Without both contents the looks decide; a changed time alone may be a copy that was put back.
  return (
    one.size === other.size && one.mtimeMs === other.mtimeMs && one.inode === other.inode && one.mode === other.mode
  );
}

function hashIn({ kept }: FileEntry): string | undefined {
  return 'hash' in kept ? kept.hash : undefined;
}
