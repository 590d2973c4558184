/** Waiting that an abort ends. */
import { setTimeout } from 'node:timers/promises';

/**
 * Waits `ms`; the timer keeps the process alive, and nothing is left behind.
 * @throws the signal's reason, at once when it aborts.
 */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(ms, undefined, { signal });
  } catch (cause) {
    throw signal.aborted ? signal.reason : cause;
  }
}
