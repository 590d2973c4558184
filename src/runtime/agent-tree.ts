/** The run tree of one run of a library agent: a single worker with the agent's tools, prompt and limits. */

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Emitter, Redactor } from '../events/emitter.js';
import { decide } from '../permissions/policy.js';
import { isFolder, nearestRealPath } from '../permissions/real-path.js';
import { sessionRule } from '../permissions/rules.js';
import { childEnvironment } from '../permissions/secrets.js';
import type { HowToAllow, Rule } from '../permissions/types.js';
import type { Tool } from '../tools/types.js';
import type { Workspace } from '../tools/workspace.js';
import type { Worker } from '../workers/types.js';
import type { CostOf } from './agent-cost.js';
import type { AgentOptions, AskOptions } from './agent-types.js';
import { createBudget } from './budget.js';
import type { RunTree } from './context.js';
import { createLedger } from './ledger.js';
import { runLoop } from './loop.js';
import type { RunOptions } from './options.js';
import type { WorkerLimits } from './types.js';

const DEFAULT_TURNS = 30;
const DEFAULT_TIMEOUT_MS = 600_000;

/** The one worker of a library agent. */
export const AGENT_WORKER = 'agent';

export type TreeParts = {
  readonly options: AgentOptions;
  readonly tools: readonly Tool[];
  readonly systemPrompt: string;
  readonly values: Readonly<Record<string, unknown>>;
  readonly state: Map<string, unknown>;
  readonly workspace: Workspace;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly emitter: Emitter;
  readonly redactor: Redactor;
  readonly costOf: CostOf;
  readonly runOptions: RunOptions;
  readonly ask: AskOptions;
  readonly sessionRules: Rule[];
  readonly newId: () => string;
  readonly now: () => number;
};

export function agentTree(parts: TreeParts): { readonly tree: RunTree; readonly worker: Worker } {
  const { options, tools, workspace, now } = parts;
  const { limits = {}, approve, askUser, approvalMode = 'ask', contextWindow } = options;
  const worker: Worker = {
    name: AGENT_WORKER,
    description: 'An agent of a library user.',
    whenToUse: '',
    tools: tools.map((tool) => tool.name),
    readOnly: false,
    entry: true,
    prompt: parts.systemPrompt,
  };
  const policy = {
    mode: approvalMode,
    rules: { allow: parts.sessionRules, ask: [], deny: [] },
    // Who writes `full-auto` into a program has read what it means: there is no sandbox around a library's tools.
    sandboxed: false,
    skipPermissions: true,
    workerReadOnly: false,
    canAsk: approve !== undefined,
    roots: workspace.roots,
    realPath: nearestRealPath,
    isFolder,
    howToAllow,
  };
  const tree: RunTree = {
    provider: options.provider,
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    workers: new Map([[worker.name, worker]]),
    toolContext: {
      workspace,
      now,
      childEnvironment: childEnvironment(parts.environment),
      spoolDirectory: spoolOnce(workspace),
      mask: parts.redactor.mask,
      values: parts.values,
      state: parts.state,
    },
    emitter: parts.emitter,
    budget: createBudget(limits, parts.costOf),
    ledger: createLedger(),
    now,
    newId: parts.newId,
    mayDelegate: false,
    rootOptions: parts.runOptions,
    runTask: runLoop,
    modelOf: () => options.model ?? '',
    ...(contextWindow !== undefined && { windowOf: async () => ({ tokens: contextWindow, source: 'setting' }) }),
    limitsOf: () => limitsOf(options, parts.ask),
    turnLimitHint: 'More: limits.maxTurns of createAgent.',
    systemPromptOf: () => parts.systemPrompt,
    decide: (request) => decide(request, policy),
    ...(askUser && { askUser: (question, _worker, signal) => askUser(question, signal) }),
    ask: async (question, _worker, signal) => {
      const answer = approve === undefined ? 'no' : await approve(question, signal);
      // Nothing is stored here: `always` is for the life of the agent too. What is answered after the run is no answer to
      // it any more.
      if ((answer === 'session' || answer === 'always') && question.rule !== undefined && !signal.aborted)
        parts.sessionRules.push(sessionRule(question.tool, question.rule));
      return answer;
    },
  };
  return { tree, worker };
}

/** What binds one run. An infinite limit is none, written as a number that JSON has. */
export function limitsOf({ limits = {} }: AgentOptions, ask: AskOptions): WorkerLimits {
  const finite = (limit: number) => Math.min(limit, Number.MAX_SAFE_INTEGER);
  return {
    maxTurns: finite(limits.maxTurns ?? DEFAULT_TURNS),
    timeoutMs: finite(ask.timeoutMs ?? limits.timeoutMs ?? DEFAULT_TIMEOUT_MS),
    ...(limits.maxOutputRetries !== undefined && { maxOutputRetries: finite(limits.maxOutputRetries) }),
  };
}

const howToAllow: HowToAllow = ({ permission }, { isGuarded }) => {
  if (isGuarded) return "Only an `approve` function of createAgent can allow it, in any approvalMode but 'read-only'.";
  const mode = permission === 'write' ? 'auto-edit' : 'full-auto';
  return `To allow it: createAgent with an \`approve\` function and approvalMode 'ask', or with approvalMode '${mode}'.`;
};

function spoolOnce(workspace: Workspace): () => Promise<string> {
  let folder: Promise<string> | undefined;
  return () => {
    folder ??= mkdtemp(join(tmpdir(), 'chatcli-spool-')).then(async (made) => {
      await workspace.allowReading(made);
      return made;
    });
    return folder;
  };
}
