/** Sets the permission bits of a regular file, and of nothing that a link leads to. */
import { closeSync, constants, fchmodSync, fstatSync, openSync, readlinkSync } from 'node:fs';

/** `mode` as it was; set-id bits are not handed out anew. Throws what the system says. */
export function setMode(path: string, mode: number): void {
  if (process.platform === 'win32') return;
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    const isElsewhere = process.platform === 'linux' && readlinkSync(`/proc/self/fd/${file}`) !== path;
    if (!stats.isFile() || stats.nlink > 1 || isElsewhere) throw new Error('it was replaced meanwhile');
    if ((stats.mode & 0o777) !== (mode & 0o777)) fchmodSync(file, (stats.mode & 0o7000) | (mode & 0o777));
  } finally {
    closeSync(file);
  }
}
