/** The errors that are the person's, the machine's or the provider's. The model's own mistakes are tool results. */

import type { Outcome } from './kernel/types.js';

/** What kind of failure, for exit codes and the JSON result. */
export type ErrorKind = 'usage' | 'config' | 'provider' | 'output' | 'interrupted' | 'worker' | 'internal';

export type ProviderErrorKind =
  | 'auth'
  | 'rate-limit'
  | 'overloaded'
  | 'too-long'
  | 'no-tools'
  | 'wrong-api'
  | 'bad-request'
  | 'network'
  | 'protocol'
  | 'refused';

/** Base of the family: `message` says what and where, `hint` what to do now. */
export class ChatcliError extends Error {
  readonly kind: ErrorKind;
  readonly hint: string | undefined;

  constructor(kind: ErrorKind, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.kind = kind;
    this.hint = options.hint;
  }
}

/** Wrong flags or arguments, or a worker that does not exist: exit code 2. */
export class UsageError extends ChatcliError {
  constructor(message: string, options: { hint?: string; cause?: unknown } = {}) {
    super('usage', message, options);
  }
}

/** A variable, file or key that cannot be used: exit code 3. */
export class ConfigError extends ChatcliError {
  constructor(message: string, options: { hint?: string; cause?: unknown } = {}) {
    super('config', message, options);
  }
}

/** The endpoint or the way to it failed: exit code 4. */
export class ProviderError extends ChatcliError {
  readonly failure: ProviderErrorKind;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** Lower bound for the wait before another try, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** HTTP status, where there was one. */
  readonly status: number | undefined;

  constructor(
    failure: ProviderErrorKind,
    message: string,
    options: { retryable?: boolean; retryAfterMs?: number; status?: number; hint?: string; cause?: unknown } = {},
  ) {
    super('provider', message, options);
    this.failure = failure;
    this.retryable =
      options.retryable ?? (failure === 'rate-limit' || failure === 'overloaded' || failure === 'network');
    this.retryAfterMs = options.retryAfterMs;
    this.status = options.status;
  }
}

/** The reason an abort signal carries when a person or the system ends the run. */
export class InterruptedError extends ChatcliError {
  readonly signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP' | undefined;

  constructor(signal?: 'SIGINT' | 'SIGTERM' | 'SIGHUP', message = 'Interrupted.') {
    super('interrupted', message);
    this.signal = signal;
  }
}

/** The reason an abort signal carries when a time limit ends the run; an outcome of its own, not a cancel. */
export class DeadlineError extends ChatcliError {
  readonly timeoutMs: number;

  constructor(timeoutMs: number, message: string) {
    super('internal', message);
    this.timeoutMs = timeoutMs;
  }
}

/** No further request may leave, since what the run may spend is spent; an outcome of its own. */
export class BudgetError extends ChatcliError {
  constructor(message: string) {
    super('internal', message);
  }
}

/** What runs share was destroyed from outside. */
export class WorkerError extends ChatcliError {
  constructor(reason: string) {
    super('worker', `The worker is gone: ${reason}`);
  }
}

/** A run ended without the value it was to give; its outcome says how. */
export class RunEndedError extends ChatcliError {
  readonly outcome: Outcome;

  constructor(outcome: Outcome) {
    super('internal', outcome.error?.message ?? `The run ended with: ${outcome.reason}.`);
    this.outcome = outcome;
  }
}

export type Rejection = 'busy' | 'unknown-tools' | 'no-worker' | 'no-task';

/** A run that was not started. What runs already is not touched. */
export class RejectedError extends ChatcliError {
  readonly reason: Rejection;

  constructor(reason: Rejection, message: string) {
    super('usage', message);
    this.reason = reason;
  }
}

/** A text for a person from whatever was thrown. Never throws: some values throw when they are looked at. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return 'something was thrown that has no text';
  }
}
