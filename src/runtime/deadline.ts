/** A time limit that can be paused: time a lead spends waiting for its workers is not its own. */

export type Deadline = {
  readonly pause: () => void;
  readonly resume: () => void;
  /** Ends the limit without expiring. */
  readonly clear: () => void;
};

// setTimeout takes at most a signed 32-bit number of milliseconds and fires at once above that.
const LONGEST_TIMER_MS = 2_147_483_647;

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
