/**
 * Runs a program in a process group of its own, with limits, and leaves nothing of it behind. What the output means, how
 * it is cleaned and how it is shown is the caller's matter.
 */
import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Bearers,
  bearersOf,
  farEndsOf,
  holdersOf,
  membersOf,
  newMark,
  type ProcessGroups,
  preferForKilling,
  sendSignal,
  targetOf,
} from './process-group.js';
import { letGo, type OutputOptions, readOutput, readSide } from './process-output.js';
import { type ProcessStart, type StartedProcess, startProcess } from './process-start.js';

export { groupsThatEndWithUs } from './process-exit.js';
export { cpuTicksOf, createProcessGroups, type ProcessGroups } from './process-group.js';
export type { OutputStream } from './process-output.js';
export { type ProcessStart, ProcessStartError } from './process-start.js';

const KILL_GRACE_MS = 2_000; // between TERM and KILL after a timeout or an abort.
const GIVE_UP_MS = 1_000; // after KILL: a process in an uninterruptible system call outlives it.
const DRAIN_MS = 250; // after the program's end, for output that is still on its way.
const LEFT_GRACE_MS = 200; // between TERM and KILL for what a program left running.
const POLL_MS = 20;
const REST_MS = 1_000; // between two looks whether what a program left running has ended.
const EXEC_MS = 2; // for a process that becomes another program, which under load takes its time.
const EXEC_LOOKS = 25;
const WRAP_MS = 5_000; // in less no machine uses up all 32,768 process numbers and comes past ours again.

/** On Linux the environment also gets `CHATCLI_COMMAND`, by which this run's processes are told from all others. */
export type ProcessRequest = ProcessStart & {
  /** Aborting it stops the process; the result then says `interrupted`. */
  readonly signal?: AbortSignal;
  /** Counts from the start; no limit unless given. */
  readonly timeoutMs?: number;
  /** Lists the process group while it lives. */
  readonly groups?: ProcessGroups;
  /** Told the group's id, which is the program's own, once it runs. */
  readonly onStart?: (group: number) => void;
  /** Waits for what the program left running too, rather than to stop it. */
  readonly waitsForAll?: boolean;
  /** Does not keep our own process alive. */
  readonly isDetached?: boolean;
} & OutputOptions;

export type ProcessResult = {
  /** Null when a signal ended it, or when an abort came before it started. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly timedOut: boolean;
  readonly interrupted: boolean;
  readonly stdout: string;
  readonly stderr: string;
  /** Bytes that came, both streams together. */
  readonly bytes: number;
  /** Bytes that came and are neither in `stdout` nor in `stderr`. */
  readonly omittedBytes: number;
  /** Ids of processes that went on after the program's end, and were told to stop. */
  readonly left: readonly number[];
  /** Ids of processes that could not be stopped. */
  readonly survivors: readonly number[];
  /** The start of what came by the side pipe. */
  readonly side: string;
};

/** What made us stop waiting. */
type Cause = 'exit' | 'timeout' | 'abort';

type Exit = Pick<ProcessResult, 'exitCode' | 'signal'>;

/** A process under way. */
type Running = {
  /** The group's id, which is the first process's id as well. */
  readonly group: number;
  /** The far ends of its stdout and stderr, as /proc names them: whoever has one open belongs to this run. */
  readonly pipes: readonly string[];
  /** Whoever has it in his environment belongs to this run as well. */
  readonly mark: Readonly<Record<string, string>>;
  readonly startedAt: number;
  readonly exited: Promise<Exit>;
  /** Resolves when the program and both streams have ended. */
  readonly closed: Promise<unknown>;
};

/**
 * Runs one program and waits for its own end, not for the end of what it started: a background process that goes on
 * is given 250 ms and then stopped (`left`). On a timeout or an abort the whole group gets TERM, after 2 s KILL, and
 * at most 1 s later the result comes, whatever lives on (`survivors`).
 * @throws {ProcessStartError} when it cannot be started. A non-zero exit, a signal, a timeout, an abort are results.
 */
export async function runProcess(request: ProcessRequest): Promise<ProcessResult> {
  if (request.signal?.aborted) return { ...NO_EXIT, ...NO_OUTPUT, timedOut: false, interrupted: true };
  const [mark, startedAt] = [newMark(), performance.now()];
  const { child, group, side } = await startListed({ ...request, env: { ...request.env, ...mark } });
  preferForKilling(group);
  if (request.isDetached) for (const part of [child, child.stdout, child.stderr, side]) letGo(part);
  request.onStart?.(group);
  try {
    const exited = new Promise<Exit>((resolve) => {
      child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
    });
    const output = readOutput(
      [
        ['stdout', child.stdout],
        ['stderr', child.stderr],
      ],
      request,
    );
    const sideWord = readSide(side);
    const closed = Promise.all([exited, output.ended]);
    // Only a living process tells its pipes; of one that was faster than we are, the mark is left.
    const ending = await waitForEnd({ group, pipes: farEndsOf(group), mark, startedAt, exited, closed }, request);
    return { ...ending, ...(await output.finish()), side: await sideWord() };
  } finally {
    request.groups?.remove(group);
  }
}

async function startListed(request: ProcessRequest): Promise<StartedProcess> {
  const isListed = request.groups?.starting?.();
  try {
    const started = await startProcess(request);
    request.groups?.add(started.group);
    return started;
  } finally {
    isListed?.();
  }
}

const NO_EXIT: Exit = { exitCode: null, signal: null };
const NO_OUTPUT = { stdout: '', stderr: '', bytes: 0, omittedBytes: 0, left: [], survivors: [], side: '' };

/** Waits for the program's end or brings it about, and makes sure that nothing of it runs on. */
async function waitForEnd(run: Running, request: ProcessRequest) {
  let cause = await firstOf(run.exited, request);
  if (cause === 'exit' && request.waitsForAll) cause = await untilAllEnded(run, request);
  let left: readonly number[] = [];
  let settled = cause === 'exit' ? await settles(run, DRAIN_MS) : await stop(run, KILL_GRACE_MS);
  if (cause === 'exit' && !settled) {
    left = livingOf(run);
    // Nobody there means that our reader is behind, not that somebody still writes.
    settled = left.length > 0 ? await stop(run, LEFT_GRACE_MS) : await within(run.closed, GIVE_UP_MS);
  }
  return {
    ...(await Promise.race([run.exited, NO_EXIT])),
    timedOut: cause === 'timeout',
    interrupted: cause === 'abort',
    left,
    survivors: settled ? [] : livingOf(run),
  };
}

/** Waits on while something that the program started runs. */
async function untilAllEnded(run: Running, request: ProcessRequest): Promise<Cause> {
  while (!(await settles(run, DRAIN_MS))) {
    const rest = delay(REST_MS, undefined, { ref: request.isDetached !== true });
    const timeoutMs = request.timeoutMs && Math.max(request.timeoutMs - (performance.now() - run.startedAt), 0);
    const cause = await firstOf(rest, { ...request, ...(timeoutMs !== undefined && { timeoutMs }) });
    if (cause !== 'exit') return cause;
  }
  return 'exit';
}

/** What comes first: the program's end, its time limit, or the caller's abort. */
function firstOf(
  exited: Promise<unknown>,
  { signal, timeoutMs }: Pick<ProcessRequest, 'signal' | 'timeoutMs'>,
): Promise<Cause> {
  return new Promise((resolve) => {
    const settle = (cause: Cause) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      resolve(cause);
    };
    const onAbort = () => settle('abort');
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => settle('timeout'), timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) settle('abort');
    void exited.then(() => settle('exit'));
  });
}

/** TERM, then KILL, to the group and to whoever left it but holds its pipes or bears its mark. Tells whether all of it ended. */
async function stop(run: Running, graceMs: number): Promise<boolean> {
  for (const [signal, waitMs] of [
    ['SIGTERM', graceMs],
    ['SIGKILL', GIVE_UP_MS],
  ] as const) {
    sendSignal(targetOf(run.group), signal);
    for (const pid of strayOf(run)) sendSignal(pid, signal);
    if (await settles(run, waitMs)) return true;
  }
  return false;
}

/** Whether, within `waitMs`, the program has ended, its pipes are closed and nothing of it runs. */
async function settles(run: Running, waitMs: number): Promise<boolean> {
  const deadline = performance.now() + waitMs;
  if (!(await within(run.closed, waitMs))) return false;
  let looks = 0;
  while (true) {
    const { pids, isUnsure } = markedOf(run);
    const isThere = pids.length > 0 || membersOf(run.group).length > 0;
    if (!isThere && !(isUnsure && looks++ < EXEC_LOOKS)) return true;
    if (performance.now() >= deadline) return false;
    await delay(isThere ? POLL_MS : EXEC_MS);
  }
}

function within(promise: Promise<unknown>, waitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), waitMs);
    void promise.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

function livingOf(run: Running): number[] {
  return [...new Set([...membersOf(run.group), ...strayOf(run)])].sort((a, b) => a - b);
}

/** What belongs to a run, in its group or not, as far as its pipes and its mark tell. Slow: looks at every process. */
function strayOf(run: Running): number[] {
  return [...new Set([...holdersOf(run.pipes), ...markedOf(run).pids])];
}

function markedOf({ mark, group, startedAt }: Running): Bearers {
  return bearersOf(mark, group, performance.now() - startedAt > WRAP_MS);
}

/** The exit code by which a shell tells that `signal` ended a program: 128 and the signal's number. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** The signal that an exit code of a shell stands for, if it does. */
export function signalOf(exitCode: number): NodeJS.Signals | undefined {
  const entry = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128);
  return entry?.[0] as NodeJS.Signals | undefined;
}
