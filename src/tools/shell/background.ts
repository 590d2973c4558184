/** Commands that go on while the model does: started, looked at, stopped. Shared by all workers; none outlives the run. */
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../errors.js';
import { type ProcessGroups, type ProcessResult, type ProcessStart, runProcess } from '../../process.js';
import { type ToolContext, ToolFailure } from '../types.js';
import { type Captured, createCapture, OUTPUT_LIMIT_BYTES } from './capture.js';
import { createHeadTail } from './head-tail.js';
import { enter, explainStart } from './run-command.js';
import type { Sandbox } from './sandbox-types.js';
import { FLOOD_CHARACTERS } from './watch-command.js';

const MAX_RUNNING = 8;
const MAX_ENDED = 16; // that are still known by their id.
const FIRST_LOOK_MS = 500;
const POLL_MS = 25;
const QUIET_MS = 200; // after which what came is taken for all that comes now.
const FLOOD = 'flood';
const NEWS_MS = 1_000; // for the rest of what begins to come.

export type BackgroundStart = {
  readonly command: string;
  /** Relative to the workspace. */
  readonly cwd: string;
  readonly start: ProcessStart;
  readonly sandbox?: Sandbox | undefined;
};

export type Ended = {
  /** Undefined when we could not follow it to its end, for `problem`. */
  readonly result: ProcessResult | undefined;
  readonly problem?: string;
  /** We stopped it, since it printed without end. */
  readonly isFlood?: boolean;
  readonly afterMs: number;
};

export type Look = {
  readonly id: string;
  readonly command: string;
  readonly cwd: string;
  readonly pid: number;
  readonly ms: number;
  /** What is new since the last look. */
  readonly news: Pick<Captured, 'head' | 'tail' | 'omittedBytes'>;
  /** The line that has no end yet. */
  readonly openLine: string;
  /** All bytes that came, and the file that they are in. */
  readonly whole: Pick<Captured, 'bytes' | 'spool'>;
  readonly ended: Ended | undefined;
  /** Whether its end was not told before. */
  readonly isEndNew: boolean;
};

export type BackgroundCommands = {
  /**
   * Starts a command, and gives what it prints in its first moment.
   * @throws {ToolFailure} when it cannot be started, or too many run.
   */
  start(start: BackgroundStart, context: ToolContext): Promise<Look>;
  /**
   * What is new; waits for it for at most `waitMs`.
   * @throws {ToolFailure} for an id that nobody has.
   */
  look(id: string, waitMs: number, signal: AbortSignal): Promise<Look>;
  /** Resolves when it has ended; undefined where it has. */
  endOf(id: string): Promise<void> | undefined;
  /** Stops one, if it still runs, and waits for its end. */
  stop(id: string): Promise<Look>;
  /** All that are known, in the order of their start; no news is taken by it. */
  list(): readonly Pick<Look, 'id' | 'command' | 'pid' | 'ms' | 'ended'>[];
  /** Stops all, and gives the commands that still ran. */
  stopAll(): Promise<readonly { readonly id: string; readonly command: string }[]>;
};

type Job = BackgroundStart & {
  readonly id: string;
  pid: number;
  readonly startedAt: number;
  readonly capture: ReturnType<typeof createCapture>;
  readonly stopper: AbortController;
  news: ReturnType<typeof createHeadTail>;
  lastAt: number;
  shownLine: string;
  ended: Ended | undefined;
  isEndTold: boolean;
  done: Promise<void>;
};

export function createBackgroundCommands(groups?: ProcessGroups): BackgroundCommands {
  const jobs = new Map<string, Job>();
  let started = 0;

  function find(id: string): Job {
    const job = jobs.get(id);
    if (job !== undefined) return job;
    const known = jobs.size === 0 ? 'None was started.' : `There are: ${[...jobs.keys()].join(', ')}.`;
    throw new ToolFailure('unknown-id', `There is no background command "${id}". ${known}`);
  }

  function makeRoom(): void {
    const running = [...jobs.values()].filter((job) => job.ended === undefined);
    if (running.length >= MAX_RUNNING) {
      const list = running.map(({ id, command }) => `${id} (${command.slice(0, 60)})`).join(', ');
      throw new ToolFailure('too-many', `${MAX_RUNNING} background commands run already: ${list}. Stop one first.`);
    }
    const ended = [...jobs.values()].filter((job) => job.ended !== undefined);
    for (const job of ended.slice(0, Math.max(0, ended.length - MAX_ENDED + 1))) jobs.delete(job.id);
  }

  return {
    async start(start, context) {
      makeRoom();
      const job = createJob(`b${++started}`, start, context);
      jobs.set(job.id, job);
      try {
        await launch(job, groups);
      } catch (thrown) {
        jobs.delete(job.id);
        throw thrown;
      }
      await Promise.race([job.done, delay(FIRST_LOOK_MS)]);
      return lookAt(job);
    },
    async look(id, waitMs, signal) {
      const job = find(id);
      await untilNews(job, waitMs, signal);
      return lookAt(job);
    },
    endOf: (id) => {
      const job = jobs.get(id);
      return job?.ended === undefined ? job?.done : undefined;
    },
    async stop(id) {
      const job = find(id);
      job.stopper.abort();
      await job.done;
      return lookAt(job);
    },
    list: () => [...jobs.values()].map((job) => ({ ...job, ms: ageOf(job) })),
    async stopAll() {
      const running = [...jobs.values()].filter((job) => job.ended === undefined);
      for (const job of running) job.stopper.abort();
      await Promise.all(running.map((job) => job.done));
      return running.map(({ id, command }) => ({ id, command }));
    },
  };
}

function createJob(id: string, start: BackgroundStart, { mask, spoolDirectory }: ToolContext): Job {
  const now = performance.now();
  const onText = (text: string) => job.news.push(text);
  const job: Job = {
    ...start,
    id,
    pid: 0,
    startedAt: now,
    // Nothing is shown on its own: the call that started it has ended by then.
    capture: createCapture({ mask, spoolDirectory, onText }),
    stopper: new AbortController(),
    news: createHeadTail(OUTPUT_LIMIT_BYTES),
    lastAt: now,
    shownLine: '',
    ended: undefined,
    isEndTold: false,
    done: Promise.resolve(),
  };
  return job;
}

/** Resolves once the command runs. */
async function launch(job: Job, groups: ProcessGroups | undefined): Promise<void> {
  const entered = await enter(job.sandbox, job.start);
  let characters = 0;
  let onStart: (pid: number) => void = () => undefined;
  const started = new Promise<void>((resolve) => {
    onStart = (pid) => {
      job.pid = pid;
      resolve();
    };
  });
  const running = runProcess({
    ...entered.start,
    signal: job.stopper.signal,
    maxBytes: 0,
    waitsForAll: true,
    isDetached: true,
    onStart: (pid) => onStart(pid),
    onOutput: (text, stream) => {
      job.lastAt = performance.now();
      characters += text.length;
      if (characters > FLOOD_CHARACTERS) job.stopper.abort(FLOOD);
      return job.capture.take(text, stream);
    },
    ...(groups !== undefined && { groups }),
  });
  job.done = follow(job, running, entered.release);
  await Promise.race([started, running]).catch(explainStart);
}

/** Never rejects. */
async function follow(job: Job, running: Promise<ProcessResult>, release: () => Promise<void>): Promise<void> {
  let result: ProcessResult | undefined;
  let problem: string | undefined;
  try {
    result = await running;
  } catch (thrown) {
    problem = messageOf(thrown);
  }
  try {
    await job.capture.finish();
    await release();
  } catch (thrown) {
    problem = messageOf(thrown);
  }
  const isFlood = job.stopper.signal.reason === FLOOD;
  job.ended = { result, afterMs: ageOf(job), ...(problem !== undefined && { problem }), ...(isFlood && { isFlood }) };
}

function ageOf({ startedAt, ended }: Job): number {
  return ended?.afterMs ?? performance.now() - startedAt;
}

async function untilNews(job: Job, waitMs: number, signal: AbortSignal): Promise<void> {
  let deadline = performance.now() + waitMs;
  let hasNews = false;
  while (job.ended === undefined && !signal.aborted && performance.now() < deadline) {
    if (!hasNews && isNew(job)) {
      hasNews = true;
      deadline = Math.min(deadline, performance.now() + NEWS_MS);
    }
    if (hasNews && performance.now() - job.lastAt >= QUIET_MS) return;
    await delay(POLL_MS);
  }
}

function isNew(job: Job): boolean {
  return job.news.bytes() > 0 || job.capture.openLine() !== job.shownLine;
}

function lookAt(job: Job): Look {
  const openLine = job.ended === undefined ? job.capture.openLine() : '';
  const isEndNew = job.ended !== undefined && !job.isEndTold;
  const look: Look = {
    id: job.id,
    command: job.command,
    cwd: job.cwd,
    pid: job.pid,
    ms: ageOf(job),
    news: job.news.parts(),
    openLine: openLine === job.shownLine ? '' : openLine,
    whole: job.capture.soFar(),
    ended: job.ended,
    isEndNew,
  };
  job.news = createHeadTail(OUTPUT_LIMIT_BYTES);
  job.shownLine = openLine;
  job.isEndTold ||= isEndNew;
  return look;
}
