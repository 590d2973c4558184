/** One table from outcome or error to exit code and JSON subtype. */
import { ChatcliError, DeadlineError, InterruptedError } from './errors.js';
import type { OutcomeReason } from './kernel/types.js';

export const EXIT = {
  answered: 0,
  taskFailed: 1,
  usage: 2,
  config: 3,
  provider: 4,
  limit: 5,
  denied: 6,
  hungUp: 129,
  interrupted: 130,
  quit: 131,
  terminated: 143,
} as const;

export type Subtype =
  | 'success'
  | 'error_max_turns'
  | 'error_budget'
  | 'error_timeout'
  | 'error_stuck'
  | 'error_denied'
  | 'error_schema'
  | 'error_provider'
  | 'error_config'
  | 'error_usage'
  | 'error_during_execution'
  | 'interrupted';

export type Ending = { readonly exitCode: number; readonly subtype: Subtype };

const BY_REASON: Readonly<Record<Exclude<OutcomeReason, 'failed'>, Ending>> = {
  answered: { exitCode: EXIT.answered, subtype: 'success' },
  'turn-limit': { exitCode: EXIT.limit, subtype: 'error_max_turns' },
  timeout: { exitCode: EXIT.limit, subtype: 'error_timeout' },
  budget: { exitCode: EXIT.limit, subtype: 'error_budget' },
  stuck: { exitCode: EXIT.limit, subtype: 'error_stuck' },
  denied: { exitCode: EXIT.denied, subtype: 'error_denied' },
  interrupted: { exitCode: EXIT.interrupted, subtype: 'interrupted' },
};

const BY_KIND: Readonly<Record<string, Ending>> = {
  usage: { exitCode: EXIT.usage, subtype: 'error_usage' },
  config: { exitCode: EXIT.config, subtype: 'error_config' },
  provider: { exitCode: EXIT.provider, subtype: 'error_provider' },
  output: { exitCode: EXIT.taskFailed, subtype: 'error_schema' },
  interrupted: { exitCode: EXIT.interrupted, subtype: 'interrupted' },
};

const UNEXPECTED: Ending = { exitCode: EXIT.taskFailed, subtype: 'error_during_execution' };

/** The ending of a run. `errorKind` is the outcome's error kind, which decides where the reason is `failed`. */
export function endingOf(reason: OutcomeReason, errorKind?: string): Ending {
  if (reason !== 'failed') return BY_REASON[reason];
  return (errorKind !== undefined && Object.hasOwn(BY_KIND, errorKind) && BY_KIND[errorKind]) || UNEXPECTED;
}

/** The ending of a command that threw. */
export function endingOfError(thrown: unknown): Ending {
  if (thrown instanceof InterruptedError) return endingOfSignal(thrown.signal);
  if (thrown instanceof DeadlineError) return endingOf('timeout');
  return thrown instanceof ChatcliError ? endingOf('failed', thrown.kind) : UNEXPECTED;
}

/** 130, 143 or 129, by the signal that ended the run. */
export function endingOfSignal(signal: InterruptedError['signal']): Ending {
  const exitCode = signal === 'SIGTERM' ? EXIT.terminated : signal === 'SIGHUP' ? EXIT.hungUp : EXIT.interrupted;
  return { exitCode, subtype: 'interrupted' };
}
