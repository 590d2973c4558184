/** The permissions of one run: mode and rules from flags and configuration, and what the person adds on the way. */
import type { Config } from '../config/config.js';
import type { ApprovalAnswer, ApprovalQuestion } from '../events/types.js';
import { flagHint } from '../permissions/command-hint.js';
import { decide } from '../permissions/policy.js';
import { isFolder, nearestRealPath } from '../permissions/real-path.js';
import { parseRuleList, sessionRule } from '../permissions/rules.js';
import type { ApprovalMode, Decision, Request, Rule } from '../permissions/types.js';
import type { Worker } from '../workers/types.js';
import type { Intent } from './intent.js';

export type Permissions = {
  readonly mode: ApprovalMode;
  readonly decide: (request: Request, worker: Worker) => Decision;
  /** Asks through `put`, and remembers a rule that was allowed for this session. */
  readonly ask: (question: ApprovalQuestion, put: () => Promise<ApprovalAnswer>) => Promise<ApprovalAnswer>;
};

export type PermissionOptions = {
  readonly intent: Intent;
  readonly mode: ApprovalMode;
  /** Whether commands run in a sandbox. */
  readonly sandboxed: boolean;
  /** Whether there is a person to ask. */
  readonly canAsk: boolean;
  readonly roots: readonly string[];
};

/** @throws {UsageError} for a rule that can't be read. */
export function createPermissions({ intent, mode, sandboxed, canAsk, roots }: PermissionOptions): Permissions {
  const { flags } = intent;
  const allow: Rule[] = [...parseRuleList(flags.allowedTools ?? [])];
  const deny = parseRuleList(flags.disallowedTools ?? []);
  return {
    mode,
    decide: (request, worker) =>
      decide(request, {
        mode,
        sandboxed,
        rules: { allow, deny },
        workerReadOnly: worker.readOnly,
        canAsk,
        roots,
        realPath: nearestRealPath,
        isFolder,
        howToAllow: flagHint,
      }),
    ask: async (question, put) => {
      if (!canAsk) return 'no';
      const answer = await put();
      if (answer === 'session' && question.rule !== undefined) allow.push(sessionRule(question.tool, question.rule));
      return answer;
    },
  };
}

/** The mode of a run. What `full-auto` needs is seen to elsewhere. */
export function modeOf({ kind, flags }: Intent, config: Config, canAsk: boolean): ApprovalMode {
  if (kind === 'chat') return 'read-only';
  if (flags.dangerouslySkipPermissions === true) return 'full-auto';
  return config.approvalMode ?? (canAsk ? 'ask' : 'read-only');
}
