/** Asks a provider again when it failed for a passing reason, and tells of each wait. What may pass, the error says. */
import { ProviderError } from '../errors.js';
import type { ModelDelta, ModelRequest, Provider } from './types.js';
import { wait } from './wait.js';

export type RetryOptions = {
  /** Requests in all, the first included; 4 by default. */
  readonly maxAttempts?: number | undefined;
  /** The longest single wait; 60,000 by default. Where the endpoint asks for more, it fails at once. */
  readonly maxWaitMs?: number | undefined;
  /** Milliseconds since the epoch, to say when to come back. */
  readonly now?: (() => number) | undefined;
  /** Waits `ms`, and ends at once with the signal's reason when it aborts. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
  /** From 0 to 1, for the jitter. */
  readonly random?: (() => number) | undefined;
};

const MAX_ATTEMPTS = 4;
const MAX_WAIT_MS = 60_000;
const FIRST_WAIT_MS = 500;
const YEAR_MS = 365 * 24 * 60 * 60 * 1000;
const JITTER_SHARE = 0.25; // Spreads workers that failed together, and stays near the figure that is shown.

/**
 * The same provider, patient. A `retry` delta comes before each wait and makes void what the stream yielded before it;
 * its `attempt` is the number of the request to come. A stream that breaks in the middle is asked for again whole.
 * @throws {ProviderError} the last failure, when it is not retryable, the attempts are used up, or the wait is too long.
 */
export function withRetry(provider: Provider, options: RetryOptions = {}): Provider {
  const { maxAttempts = MAX_ATTEMPTS, maxWaitMs = MAX_WAIT_MS } = options;
  const { now = Date.now, sleep = wait, random = Math.random } = options;

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelDelta, void, undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        for await (const delta of provider.stream(request, signal)) yield delta;
        return;
      } catch (thrown) {
        signal.throwIfAborted();
        if (!(thrown instanceof ProviderError) || !thrown.retryable) throw thrown;
        if (attempt >= maxAttempts) throw maxAttempts === 1 ? thrown : usedUp(thrown, attempt);
        const waitMs = waitBefore(attempt, thrown.retryAfterMs, random(), maxWaitMs);
        if (waitMs > maxWaitMs) throw tooLate(thrown, waitMs, now());
        yield { type: 'retry', attempt: attempt + 1, maxAttempts, waitMs, reason: thrown.message };
        await sleep(waitMs, signal);
      }
    }
  }

  return { name: provider.name, stream };
}

/**
 * Milliseconds to wait after the `attempt`th failure: doubling, and never less than the endpoint asks for. Above
 * `maxWaitMs` only where it asks for that much.
 */
function waitBefore(attempt: number, retryAfterMs: number | undefined, random: number, maxWaitMs: number): number {
  const leastMs = Math.max(FIRST_WAIT_MS * 2 ** (attempt - 1), retryAfterMs ?? 0);
  return Math.ceil(Math.max(retryAfterMs ?? 0, Math.min(leastMs * (1 + JITTER_SHARE * random), maxWaitMs)));
}

function usedUp(error: ProviderError, attempts: number): ProviderError {
  return rewritten(error, `${error.message} (given up after ${attempts} attempts)`, error.hint);
}

function tooLate(error: ProviderError, waitMs: number, now: number): ProviderError {
  const time = waitMs > YEAR_MS ? '' : `, at ${timeText(now + waitMs)} UTC`;
  const hint = `Come back in ${durationText(waitMs)}${time}.`;
  return rewritten(error, `${error.message} (it asks to wait ${durationText(waitMs)}, too long to wait here)`, hint);
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
}

/** Some endpoints ask for `Infinity`, or for a time that no `Date` can hold. */
function durationText(ms: number): string {
  if (ms > YEAR_MS) return 'more than a year';
  const minutes = Math.ceil(ms / 60_000);
  if (minutes < 2) return `${Math.ceil(ms / 1000)} s`;
  return minutes < 120 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`;
}

function rewritten(error: ProviderError, message: string, hint: string | undefined): ProviderError {
  const { failure, retryable, retryAfterMs, status } = error;
  return new ProviderError(failure, message, { retryable, retryAfterMs, status, hint, cause: error });
}
