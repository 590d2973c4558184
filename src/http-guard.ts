/** Guards one request: a time limit at a time, the caller's signal, and why it was given up. */
import type { ClientRequest } from 'node:http';
import { type HttpError, timeoutError } from './http-fault.js';
import type { Line } from './http-route.js';

export type Guard = {
  arm(limitMs: number, fault: 'first-byte-timeout' | 'idle-timeout'): void;
  disarm(): void;
  /** No more limits, no more listening to the signal. */
  release(): void;
  wasStopped(): boolean;
  /** What to throw, given what Node reports: the reason of our own stop goes first. */
  explain(cause: unknown): unknown;
};

export type Guarded = {
  readonly outgoing: ClientRequest;
  /** What the request waits for as long as it has no connection. */
  readonly line: Line;
  readonly url: URL;
  readonly signal: AbortSignal | undefined;
  /** The error for what Node reports. */
  readonly faultOf: (cause: unknown) => HttpError;
};

const LONGEST_TIMER_MS = 2_147_483_647; // Node fires at once for anything longer; here it means no limit.

export function createGuard({ outgoing, line, url, signal, faultOf }: Guarded): Guard {
  let timer: NodeJS.Timeout | undefined;
  let stopped: { readonly reason: unknown } | undefined;

  function stop(reason: unknown): void {
    stopped ??= { reason };
    outgoing.destroy();
    line.cut();
  }
  function onAbort(): void {
    stop(signal?.reason);
  }
  function disarm(): void {
    clearTimeout(timer);
    timer = undefined;
  }
  function release(): void {
    disarm();
    signal?.removeEventListener('abort', onAbort);
  }

  signal?.addEventListener('abort', onAbort, { once: true });
  return {
    arm: (limitMs, fault) => {
      clearTimeout(timer);
      if (limitMs > LONGEST_TIMER_MS) return;
      timer = setTimeout(() => stop(timeoutError(fault, limitMs, url)), limitMs);
    },
    disarm,
    release,
    wasStopped: () => stopped !== undefined,
    explain: (cause) => (stopped ? stopped.reason : faultOf(cause)),
  };
}
