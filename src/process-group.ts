/**
 * Process groups: who is in one, who left it but holds its output open or bears its mark, and how to reach them all.
 * Linux knows most, by /proc.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';

/** The groups that live now, so that a program that must end at once can take them along. */
export type ProcessGroups = {
  /** Told before a start, and by what comes back when the group is added, or there will be none. */
  starting?(): () => void;
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

const KILLED_FIRST = '500'; // of 1,000. A browser's tabs have 300.

/**
 * Has Linux kill this process, and what it starts, before us and the person's other programs when memory runs out. A
 * limit of address space in its place would break node, Java and WebAssembly, which reserve far more than they use.
 */
export function preferForKilling(pid: number): void {
  if (process.platform !== 'linux') return;
  orElse(undefined, () => writeFileSync(`/proc/${pid}/oom_score_adj`, KILLED_FIRST));
}

/** CPU time that the members of a group have used, in ticks; undefined without /proc. */
export function cpuTicksOf(group: number): number | undefined {
  if (!existsSync('/proc/self/stat')) return undefined;
  return processIds()
    .map(statOf)
    .reduce((sum, stat) => (stat.group === group ? sum + stat.ticks : sum), 0);
}

/** What a run's processes have in their environment, and hand on to what they start. Only Linux lets others see it. */
export function newMark(): Readonly<Record<string, string>> {
  return process.platform === 'linux' ? { CHATCLI_COMMAND: randomUUID() } : {};
}

/** The living members of a group. Without /proc the group's id stands for all of them. */
export function membersOf(group: number): number[] {
  if (!sendSignal(targetOf(group), 0)) return [];
  if (!existsSync('/proc/self/stat')) return [group];
  return processIds().filter((pid) => {
    const stat = statOf(pid);
    return stat.group === group && stat.isAlive;
  });
}

export type Bearers = {
  readonly pids: readonly number[];
  /** A living process had no environment to be seen, as any has while it becomes another program. */
  readonly isUnsure: boolean;
};

const MAX_CHASES = 5; // Whatever starts and ends faster than we look is not waited for.

/**
 * The living processes that bear a mark, wherever they went. Only those that came after process `first` are looked at,
 * unless `all` are wanted. Takes about 0.3 ms.
 */
export function bearersOf(mark: Readonly<Record<string, string>>, first: number, all: boolean): Bearers {
  const [entry] = Object.entries(mark).map(([name, value]) => `${name}=${value}`);
  const pids = new Set<number>();
  let isUnsure = false;
  let after = first;
  for (let chase = 0; entry !== undefined && chase < MAX_CHASES; chase++) {
    const newest = newestProcess();
    if (newest === after && !(all && chase === 0)) break;
    // Numbers start from the beginning when they are used up.
    const isNew = (pid: number) => (newest < after ? pid > after || pid <= newest : pid > after);
    for (const pid of processIds().filter((pid) => newest === 0 || (all && chase === 0) || isNew(pid))) {
      const environment = environmentOf(pid);
      if (environment?.includes(entry)) pids.add(pid);
      else if (environment === '' && mayBecome(pid)) isUnsure = true;
    }
    // One may have started another and ended before it was looked at.
    after = newest;
  }
  return { pids: [...pids], isUnsure };
}

/** The number of the process that was started last; 0 when that cannot be told. */
function newestProcess(): number {
  return Number(orElse('', () => readFileSync('/proc/loadavg', 'latin1')).split(' ')[4]) || 0;
}

/** Undefined when it is gone, or another user's. */
function environmentOf(pid: number): string | undefined {
  return orElse(undefined, () => readFileSync(`/proc/${pid}/environ`, 'latin1'));
}

const KERNEL_THREADS = 2; // The parent of all of them; they never have an environment.

function mayBecome(pid: number): boolean {
  const { isAlive, parent } = statOf(pid);
  return isAlive && parent !== KERNEL_THREADS;
}

type Stat = { readonly isAlive: boolean; readonly parent: number; readonly group: number; readonly ticks: number };

function statOf(pid: number): Stat {
  // "pid (name) state parent group …", and the name may hold anything, parentheses too.
  const stat = orElse('', () => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state = '', parent, group] = fields;
  const ticks = Number(fields[11]) + Number(fields[12]) || 0;
  // A dead process stays listed until its parent asks for it, which in a container may be never.
  return { isAlive: !['', 'Z', 'X'].includes(state), parent: Number(parent), group: Number(group), ticks };
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
