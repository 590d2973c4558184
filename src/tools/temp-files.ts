/** Names of our temp files, and taking away those that a killed process left behind. */
import { randomBytes } from 'node:crypto';
import { lstat, readdir, unlink } from 'node:fs/promises';
import type { OpenFolder } from './open-folder.js';
import { isSystemError } from './system-error.js';

const TEMP_NAME = /^\.chatcli-(\d+)-[0-9a-f]+\.tmp$/;
const START_SLACK_MS = 2000; // Clocks of file systems are coarse, and some are of another machine.

/** A new name. The process id lets others tell a leftover of a killed process from the file of a living one. */
export function tempName(): string {
  return `.chatcli-${process.pid}-${randomBytes(6).toString('hex')}.tmp`;
}

/** Removes what killed processes of ours and of this user left in a folder: regular files with our name, nothing else. */
export async function sweepTemps(folder: Pick<OpenFolder, 'at'>): Promise<void> {
  // A folder that can't be listed keeps them: they are in nobody's way.
  const names = await readdir(folder.at('.')).catch(() => []);
  for (const name of names) {
    const pid = TEMP_NAME.exec(name)?.[1];
    if (pid !== undefined) await removeIfStale(folder.at(name), Number(pid)).catch(() => undefined);
  }
}

async function removeIfStale(path: string, pid: number): Promise<void> {
  const found = await lstat(path);
  const isOurs = found.isFile() && (process.getuid === undefined || found.uid === process.getuid());
  const isLeft = pid === process.pid ? found.mtimeMs < startedAtMs() - START_SLACK_MS : !isAlive(pid);
  if (isOurs && isLeft) await unlink(path);
}

/** In a container each start may have the same process id. */
function startedAtMs(): number {
  return Date.now() - process.uptime() * 1000;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return !isSystemError(thrown, 'ESRCH');
  }
}
