/** Process groups: who is in one, who holds its output open, and how to reach them all. Linux knows most, by /proc. */
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The groups that live now, so that a program that must end at once can take them along. */
export type ProcessGroups = {
  add(group: number): void;
  remove(group: number): void;
  /** Sends KILL, or another signal, to every group. Does not wait: fit for an exit handler. */
  killAll(signal?: NodeJS.Signals): void;
};

export function createProcessGroups(): ProcessGroups {
  const groups = new Set<number>();
  return {
    add: (group) => void groups.add(group),
    remove: (group) => void groups.delete(group),
    killAll: (signal = 'SIGKILL') => {
      for (const group of groups) sendSignal(targetOf(group), signal);
    },
  };
}

/** Sends a signal, or with 0 only looks. False when there is no such process, or it is not ours. */
export function sendSignal(target: number, signal: NodeJS.Signals | 0): boolean {
  return orElse(false, () => process.kill(target, signal));
}

/** What `sendSignal` takes for a whole group. Windows has none: there only the first process is reached. */
export function targetOf(group: number): number {
  return process.platform === 'win32' ? group : -group;
}

/** The living members of a group. Without /proc the group's id stands for all of them. */
export function membersOf(group: number): number[] {
  if (!sendSignal(targetOf(group), 0)) return [];
  if (!existsSync('/proc/self/stat')) return [group];
  return processIds().filter((pid) => {
    // "pid (name) state parent group …", and the name may hold anything, parentheses too.
    const stat = orElse('', () => readFileSync(`/proc/${pid}/stat`, 'latin1'));
    const [state, , itsGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A dead process stays listed until its parent asks for it, which in a container may be never.
    return Number(itsGroup) === group && state !== 'Z' && state !== 'X';
  });
}

/** The far ends of a new process's stdout and stderr, e.g. `socket:[4711]`; empty where there is no /proc. */
export function farEndsOf(pid: number): string[] {
  return [1, 2].map((fd) => linkOf(pid, fd)).filter((link) => link.startsWith('socket:') || link.startsWith('pipe:'));
}

/** Processes that have one of `pipes` open, also those that left the group by setsid. Slow: looks at every process. */
export function holdersOf(pipes: readonly string[]): number[] {
  if (pipes.length === 0) return [];
  return processIds().filter((pid) =>
    orElse<string[]>([], () => readdirSync(`/proc/${pid}/fd`)).some((fd) => pipes.includes(linkOf(pid, fd))),
  );
}

function linkOf(pid: number, fd: number | string): string {
  return orElse('', () => readlinkSync(`/proc/${pid}/fd/${fd}`));
}

function processIds(): number[] {
  return orElse<string[]>([], () => readdirSync('/proc'))
    .map(Number)
    .filter(Number.isInteger);
}

/** What `look` gives, or `otherwise` when it throws: processes come and go while one looks at them. */
function orElse<Value>(otherwise: Value, look: () => Value): Value {
  try {
    return look();
  } catch {
    return otherwise;
  }
}
