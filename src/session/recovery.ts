/** Finds out what a command did whose run was killed before it could look: what changed since the scan before it. */
import type { StoreFolders } from './retention.js';
import type { Scan } from './scan.js';
import { differenceOf } from './scan-difference.js';
import { loadScan } from './scan-file.js';
import { readTurns, reopenTurnFile } from './turn-log.js';
import { isSameState, type Turn } from './undo-types.js';

/** Whether the process of a turn that has not ended is still there, as far as can be told. */
export function isLiving({ hasEnded, pid, at }: Pick<Turn, 'hasEnded' | 'pid' | 'at'>): boolean {
  if (hasEnded) return false;
  // In a container each run may get the same number.
  if (pid === process.pid) return at >= Date.now() - process.uptime() * 1000;
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Completes the turns of dead processes. What is found may also be somebody else's work since then, so these changes are
 * marked. Throws what the system says.
 */
export async function recoverTurns(
  { turns, scans }: Pick<StoreFolders, 'turns' | 'scans'>,
  { look, now }: { readonly look: () => Promise<Scan>; readonly now: () => number },
): Promise<void> {
  const dead = readTurns(turns).filter((turn) => turn.openCommands.length > 0 && !isLiving(turn));
  if (dead.length === 0) return;
  const after = await look();
  for (const turn of dead) {
    const writer = reopenTurnFile(turns, turn.number);
    try {
      for (const { id, order, command, scan } of turn.openCommands) {
        const before = loadScan(scans, scan);
        if (before === undefined) writer.append({ type: 'gap', text: `What "${command}" changed is not known.` });
        const found = before === undefined ? [] : differenceOf(before, after);
        for (const each of found) {
          const isUnsure = !turn.changes.some(
            ({ path, after }) => path === each.path && isSameState(after, each.after),
          );
          const how = { how: 'command', command, ...(isUnsure && { isUnsure }) } as const;
          writer.append({ type: 'change', order, at: now(), ...each, ...how });
        }
        writer.append({ type: 'command-end', id });
      }
    } finally {
      writer.close();
    }
  }
}
