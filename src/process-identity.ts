/** Which process a number means, for lists that outlive the process that wrote them: numbers are given again. */
import { readFileSync } from 'node:fs';

/** A text that no other process has with that number until the system restarts; empty where there is no such process. */
export function identityOf(pid: number): string {
  try {
    // "pid (name) state …": the start time is the 22nd field, the state the third.
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ['Z', 'X'].includes(fields[0] ?? '') ? '' : (fields[19] ?? '');
  } catch {
    return '';
  }
}
