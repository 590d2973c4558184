/** The permissions of one run: mode and rules from flags and configuration, and what the person adds on the way. */
import type { Config } from '../config/config.js';
import { formatDuration } from '../config/durations.js';
import type { ApprovalAnswer, ApprovalQuestion, ApprovalVerdict } from '../events/types.js';
import { flagHint } from '../permissions/command-hint.js';
import { type FileAccess, fileAccess } from '../permissions/file-access.js';
import type { Place } from '../permissions/place.js';
import { decide, type PolicyContext } from '../permissions/policy.js';
import { parseRule, sessionRule } from '../permissions/rules.js';
import type { ApprovalMode, Decision, Request, Rule, RuleSet } from '../permissions/types.js';
import type { Worker } from '../workers/types.js';
import type { Intent } from './intent.js';

/** Puts a question to the person; `signal` ends the waiting. */
export type PutQuestion = (signal: AbortSignal) => Promise<ApprovalAnswer>;

export type Waiting = {
  readonly question: ApprovalQuestion;
  readonly put: PutQuestion;
  readonly signal: AbortSignal;
  /** Judges the call anew. */
  readonly again: () => Decision;
};

export type Permissions = {
  readonly decide: (request: Request, worker: Pick<Worker, 'readOnly'>) => Decision;
  /** Asks one question at a time, and keeps the rule of an answer that is for more than once. */
  readonly ask: (waiting: Waiting) => Promise<ApprovalAnswer | ApprovalVerdict>;
  /** Of a file that a walk comes by. */
  readonly fileAccess: (path: string) => FileAccess;
};

export type PermissionOptions = {
  readonly mode: ApprovalMode;
  readonly rules: RuleSet;
  readonly place: Place;
  readonly protectedFolders: readonly string[];
  /** Commands run in a sandbox. */
  readonly sandboxed: boolean;
  readonly skipPermissions: boolean;
  /** Whether there is a person to ask. */
  readonly canAsk: boolean;
  /** How long a question may wait for its answer; absent: for ever. */
  readonly timeoutMs?: number | undefined;
  /** Stores a rule for good. */
  readonly store: (rule: string) => Promise<void>;
  /** Told where a rule could not be stored; then it counts for the session. */
  readonly onStoreFailure: (thrown: unknown) => void;
};

export function createPermissions(options: PermissionOptions): Permissions {
  const { rules, place, canAsk, timeoutMs } = options;
  const allow: Rule[] = [...rules.allow];
  const current: RuleSet = { ...rules, allow };
  const context: Omit<PolicyContext, 'workerReadOnly'> = {
    ...place,
    mode: options.mode,
    rules: current,
    protectedFolders: options.protectedFolders,
    sandboxed: options.sandboxed,
    skipPermissions: options.skipPermissions,
    canAsk,
    howToAllow: flagHint,
  };
  let last: Promise<unknown> = Promise.resolve();

  async function askNow({ question, put, signal, again }: Waiting): Promise<ApprovalAnswer | ApprovalVerdict> {
    if (signal.aborted) return 'no';
    // The answer to the question before may have been one to this one too.
    if (again().kind === 'allow') return { answer: 'once', by: 'rule' };
    const answer = await withinTime(put, signal, timeoutMs);
    if (answer === 'session' && question.rule !== undefined) allow.push(sessionRule(question.tool, question.rule));
    if (answer === 'always') await keep(question);
    return answer;
  }

  async function keep({ tool, rule, storedRule }: ApprovalQuestion): Promise<void> {
    if (storedRule === undefined) {
      if (rule !== undefined) allow.push(sessionRule(tool, rule));
      return;
    }
    allow.push(parseRule(storedRule, { kind: 'allow', source: { kind: 'stored', place: 'this answer' } }));
    await options.store(storedRule).catch(options.onStoreFailure);
  }

  return {
    decide: (request, { readOnly }) => decide(request, { ...context, workerReadOnly: readOnly }),
    fileAccess: (path) => fileAccess(path, context),
    ask: (waiting) => {
      if (!canAsk) return Promise.resolve('no');
      const answer = last.then(() => askNow(waiting));
      last = answer.catch(() => undefined);
      return answer;
    },
  };
}

/** With nobody at the terminal, no answer within the time is a `no`. */
async function withinTime(
  put: PutQuestion,
  signal: AbortSignal,
  timeoutMs: number | undefined,
): Promise<ApprovalAnswer | ApprovalVerdict> {
  if (timeoutMs === undefined) return put(signal);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  try {
    const answer = await put(AbortSignal.any([signal, late.signal]));
    if (!late.signal.aborted || signal.aborted || answer !== 'no') return answer;
    return { answer: 'no', by: 'timeout', message: `Nobody answered within ${formatDuration(timeoutMs)}.` };
  } finally {
    clearTimeout(timer);
  }
}

/** The mode of a run. What `full-auto` needs is seen to elsewhere. */
export function modeOf({ kind, flags }: Intent, config: Config, canAsk: boolean): ApprovalMode {
  if (kind === 'chat') return 'read-only';
  if (flags.dangerouslySkipPermissions === true) return 'full-auto';
  return config.approvalMode ?? (canAsk ? 'ask' : 'read-only');
}
