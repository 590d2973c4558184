/** Waiting for code that is not ours: none of it may hold up a run that is to end. */

/** After an abort, what has begun gets this long: more than a shell needs to end its children (TERM, 2 s, KILL). */
export const ABORT_GRACE_MS = 5_000;

/**
 * What `work` comes to. When `signal` aborts, and `graceMs` more have passed, it is a rejection with the signal's reason;
 * what `work` does after that, a rejection too, is nobody's any more.
 */
export function untilAborted<Value>(
  signal: AbortSignal,
  work: Value | PromiseLike<Value>,
  graceMs = 0,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    // Also without a grace what is done already wins over the abort.
    const onAbort = (): void => {
      timer = setTimeout(() => reject(signal.reason), graceMs);
    };
    const leave = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    Promise.resolve(work).then(resolve, reject).finally(leave);
  });
}
