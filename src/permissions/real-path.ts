/** Where a path leads on disk; for the policy, which itself looks at no disk. */
import { realpathSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/**
 * `path` (absolute) with all links followed, as far as it exists: what does not exist yet is put behind the deepest
 * existing parent.
 */
export function nearestRealPath(path: string): string {
  let existing = path;
  for (;;) {
    try {
      return join(realpathSync.native(existing), relative(existing, path));
    } catch {
      const parent = dirname(existing);
      if (parent === existing) return path;
      existing = parent;
    }
  }
}

/** Whether a path is a folder, or a link to one. */
export function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
