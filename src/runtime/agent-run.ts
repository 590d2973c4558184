/** One run of a library agent: what it starts from, what it is held to, and what of it stays in the conversation. */
import { UsageError } from '../errors.js';
import { type Emitter, maskStrings, type Redactor } from '../events/emitter.js';
import { canGoOn, taskOf } from '../kernel/transcript.js';
import type { Message, Outcome, State } from '../kernel/types.js';
import type { Rule } from '../permissions/types.js';
import type { Tool } from '../tools/types.js';
import type { CostOf } from './agent-cost.js';
import { AGENT_WORKER, agentTree, limitsOf } from './agent-tree.js';
import type { AgentOptions, AskOptions } from './agent-types.js';
import { CheckpointError, type Checkpoints, fingerprintOf, type OpenedCheckpoint } from './checkpoint.js';
import { runWorker } from './dispatch.js';
import { DEFAULT_EFFECTS, type EffectPolicy, intersect } from './effects.js';
import type { Conversation } from './lanes.js';
import { type AttemptPolicy, DEFAULT_ATTEMPTS, type RunOptions, type SafePoint } from './options.js';
import type { ActiveRun } from './run-slot.js';
import type { AnswerForm } from './typed.js';
import type { WorkerHost } from './worker-host.js';

/** What the process gives, so that nothing here reads it. */
export type AgentSurroundings = {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly redactor: Redactor;
  /** By the table of known prices. */
  readonly costOf: CostOf;
};

/** What all runs of an agent share. */
export type AgentParts = {
  readonly options: AgentOptions;
  readonly surroundings: AgentSurroundings;
  readonly conversation: Conversation;
  readonly host: WorkerHost;
  readonly emitter: Emitter;
  readonly checkpoints: Checkpoints | undefined;
  readonly state: Map<string, unknown>;
  readonly costOf: CostOf;
  /** What a person allowed for the life of the agent. */
  readonly sessionRules: Rule[];
  readonly newId: () => string;
  readonly now: () => number;
  /** Told each checkpoint token. */
  readonly onCheckpoint: (token: string) => void;
};

/** What one run was started with; later changes of the agent do not reach it. */
export type RunStart = {
  readonly task: string;
  readonly ask: AskOptions;
  readonly systemPrompt: string;
  readonly tools: readonly Tool[];
  /** Whether `load_skill` is offered too, if there are skills. */
  readonly offersSkills: boolean;
  readonly values: Readonly<Record<string, unknown>>;
  readonly form: AnswerForm | undefined;
};

/** An idle limit of 0 means the tool timeout and a minute. */
const IDLE_SLACK_MS = 60_000;

/**
 * Runs the task, and puts what was said into the conversation.
 * @throws {CheckpointError} {UsageError} {Error} before its first event, when the run can't start: a token, a workspace
 * or a tool's schema that can't be used.
 */
export async function runAgent(parts: AgentParts, start: RunStart, run: ActiveRun): Promise<Outcome> {
  const { options, conversation, surroundings, emitter, state, newId, now } = parts;
  const hosted = await parts.host.get();
  const { workspace } = hosted;
  const skills = start.offersSkills ? hosted.skills : undefined;
  const systemPrompt = [start.systemPrompt, skills?.index ?? '', start.form?.instructions ?? '']
    .filter((text) => text !== '')
    .join('\n\n');
  const tools = skills === undefined ? start.tools : [...start.tools, skills.toolFor(run.id)];
  const fingerprint = fingerprintOf({
    model: options.model ?? '',
    systemPrompt,
    limits: limitsOf(options, start.ask),
    toolNames: tools.map((tool) => tool.name),
    output: start.form?.schema,
  });
  const stored = storedRun(parts, start.ask, fingerprint);
  const resumeFrom = stored?.state;
  const task = resumeFrom === undefined ? start.task : taskOf(resumeFrom);
  const beganAs = stored?.runId ?? run.id;
  const history = conversation.messages();
  const emit = emitter.forRun({ runId: run.id, worker: AGENT_WORKER });
  let last = resumeFrom;
  const runOptions: RunOptions = {
    ...sharedOptions(options, start.ask),
    ...(start.form && heldTo(start.form)),
    ...(resumeFrom && { resumeFrom }),
    history,
    isLoadedSkill: (result) => parts.host.isLoadedSkill(run.id, result.callId) || conversation.isLoadedSkill(result),
    inbox: run.inbox,
    onState: (reached: State, point: SafePoint) => {
      last = reached;
      if (parts.checkpoints === undefined) return;
      const token = parts.checkpoints.seal({ state: reached, fingerprint, point, runId: beganAs });
      parts.onCheckpoint(token);
      emit({ type: 'checkpoint', point, token });
    },
  };
  const { values } = start;
  const { sessionRules, costOf } = parts;
  const own = {
    costOf,
    sessionRules,
    options,
    tools,
    systemPrompt,
    values,
    state,
    workspace,
    emitter,
    runOptions,
    newId,
    now,
  };
  const { tree, worker } = agentTree({ ...surroundings, ...own, ask: start.ask });
  if (resumeFrom !== undefined) tree.budget.countEarlier(resumeFrom.usage, tree.modelOf(worker));
  const job = { worker, task, index: 0, total: 1, signal: run.signal, runId: run.id };
  const outcome = await runWorker(tree, job);
  const before = resumeFrom === undefined ? history : conversationBefore(resumeFrom);
  // As in the events: a key that the model repeats is not for whoever keeps or shows what it said.
  const { mask } = surroundings.redactor;
  if (last !== undefined) takeOver(maskStrings(conversationBefore(last), mask), before, parts);
  const said = last?.messages.slice(last.openingCount - 1) ?? [{ role: 'user' as const, content: task }];
  conversation.record(run.id, maskStrings(said, mask), outcome.reason, beganAs);
  return maskStrings(outcome, mask);
}

/** What was said before the task of a run. */
function conversationBefore({ messages, openingCount }: State): readonly Message[] {
  return messages.slice(0, openingCount - 1).filter(({ role }) => role !== 'system');
}

/** What a run made of the conversation before it, to fit the window, stays: else the next run would do it again. */
function takeOver(after: readonly Message[], before: readonly Message[], { conversation, newId }: AgentParts): void {
  if (JSON.stringify(after) === JSON.stringify(before)) return;
  conversation.apply({ opId: newId(), type: 'compact', messages: after, reason: 'window' });
}

/** A run that is gone on with brings along the conversation that it began with, if there is none here. */
function storedRun(
  { checkpoints, conversation, newId }: AgentParts,
  ask: AskOptions,
  fingerprint: string,
): OpenedCheckpoint | undefined {
  if (ask.checkpoint === undefined) return undefined;
  if (checkpoints === undefined) {
    const hint = 'Make it with `checkpoints`, and with the secret that the token was sealed with.';
    throw new UsageError('This agent was made without `checkpoints`: it can open none.', { hint });
  }
  const stored = checkpoints.open(ask.checkpoint, fingerprint);
  const { state } = stored;
  if (!canGoOn(state)) {
    throw new CheckpointError('bad-state', 'The run of this checkpoint was answered: there is nothing to go on with.');
  }
  if (conversation.messages().length === 0) {
    const messages = conversationBefore(state);
    if (messages.length > 0) conversation.apply({ opId: newId(), type: 'restore', messages, reason: 'restore' });
  }
  return stored;
}

function heldTo({ check, bare, schema }: AnswerForm): RunOptions {
  return { checkAnswer: check, bareAnswer: bare, responseSchema: schema };
}

/** What the agent and one run say together; the run wins. */
function sharedOptions(options: AgentOptions, ask: AskOptions): RunOptions {
  const attempts = attemptsOf(options);
  const maxTokens = ask.maxTokens ?? options.maxTokens;
  const { roundExecutor, transformRequest, memory, effectPolicy, onEffect, stream, httpOptions } = options;
  return {
    ...(roundExecutor && { roundExecutor }),
    ...(transformRequest && { transformRequest }),
    effects: { policy: policyOf(effectPolicy, ask.effectPolicy), ...(onEffect && { onEffect }) },
    ...(stream === false && { stream }),
    ...(httpOptions?.headers && { headers: httpOptions.headers }),
    ...(memory && { memory }),
    ...(maxTokens !== undefined && { maxTokens }),
    modelOptions: { ...options.modelOptions, ...ask.modelOptions },
    attempts,
    idleTimeoutMs: options.idleTimeoutMs || attempts.timeoutMs + IDLE_SLACK_MS,
  };
}

/** A run is a child of its agent: it may only have less. */
function policyOf(policy: EffectPolicy = DEFAULT_EFFECTS, own?: EffectPolicy): EffectPolicy {
  return own === undefined ? policy : intersect(policy, own);
}

function attemptsOf(options: AgentOptions): AttemptPolicy {
  return {
    timeoutMs: options.toolTimeoutMs ?? DEFAULT_ATTEMPTS.timeoutMs,
    retries: options.toolRetries ?? DEFAULT_ATTEMPTS.retries,
    backoffMs: options.toolRetryBackoffMs ?? DEFAULT_ATTEMPTS.backoffMs,
    heartbeatMs: options.toolHeartbeatMs ?? DEFAULT_ATTEMPTS.heartbeatMs,
  };
}
