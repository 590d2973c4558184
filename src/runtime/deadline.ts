/** Time limits. One can be paused: time a lead spends waiting for its workers is not its own. */
import { DeadlineError } from '../errors.js';
import { LONGEST_TIMER_MS } from '../tools/timers.js';

export type Deadline = {
  readonly pause: () => void;
  readonly resume: () => void;
  /** Ends the limit without expiring. */
  readonly clear: () => void;
};

/** Calls `onExpire` once, `timeoutMs` of unpaused time from now. The timer keeps the process alive until cleared. */
export function createDeadline(timeoutMs: number, now: () => number, onExpire: () => void): Deadline {
  let remainingMs = timeoutMs;
  let startedAt = now();
  let pauses = 0;
  let timer = arm();

  function arm(): NodeJS.Timeout {
    const isWhole = remainingMs <= LONGEST_TIMER_MS;
    const onTimer = () => {
      if (isWhole) return onExpire();
      remainingMs -= LONGEST_TIMER_MS;
      startedAt = now();
      timer = arm();
    };
    return setTimeout(onTimer, Math.min(remainingMs, LONGEST_TIMER_MS));
  }

  return {
    pause: () => {
      pauses += 1;
      if (pauses > 1) return;
      clearTimeout(timer);
      remainingMs = Math.max(0, remainingMs - (now() - startedAt));
    },
    resume: () => {
      pauses -= 1;
      if (pauses > 0) return;
      startedAt = now();
      timer = arm();
    },
    clear: () => clearTimeout(timer),
  };
}

export type TimeLimit = {
  /** Absent: only `signal` ends the work. */
  readonly timeoutMs: number | undefined;
  /** Whose limit it is, for the message: `The worker coder`. */
  readonly whose: string;
  readonly now: () => number;
  /** Ends the work too, with its own reason. */
  readonly signal: AbortSignal;
};

/**
 * Does `work` with a signal that aborts with a `DeadlineError` when the time is over, and with `limit.signal`. Both ties
 * are cut when the work ends, since that signal outlives it.
 */
export async function withTimeLimit<Result>(
  { timeoutMs, whose, now, signal }: TimeLimit,
  work: (signal: AbortSignal, deadline: Deadline | undefined) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const follow = () => controller.abort(signal.reason);
  if (signal.aborted) follow();
  signal.addEventListener('abort', follow, { once: true });
  const expire = (limitMs: number) => () =>
    controller.abort(new DeadlineError(limitMs, `${whose} ran out of its time limit of ${limitMs / 1000} s.`));
  const deadline = timeoutMs === undefined ? undefined : createDeadline(timeoutMs, now, expire(timeoutMs));
  try {
    return await work(controller.signal, deadline);
  } finally {
    deadline?.clear();
    signal.removeEventListener('abort', follow);
  }
}
