/** Carries out one action of the kernel: asks the model, or runs the calls, and says what was seen. */
import { BudgetError, ChatcliError, DeadlineError, InterruptedError, messageOf, ProviderError } from '../errors.js';
import { addUsage, hasTurnsLeft } from '../kernel/step.js';
import type { Action, Observation, Reply, RunError, State, Stop, Usage } from '../kernel/types.js';
import type { ModelRequest } from '../providers/types.js';
import { untilAborted } from '../tools/abort.js';
import { type OnDropped, withUsableCalls } from './ask-model.js';
import type { Fitter } from './fit.js';
import type { ReplyLimit } from './reply-limit.js';
import { runRound } from './round.js';
import type { QueuedInput } from './steer.js';
import type { Turn } from './turn.js';
import type { RunContext } from './types.js';

/** What one run's actions share. */
export type Performing = {
  readonly ctx: RunContext;
  readonly turn: Turn;
  /** Ids that tool calls of the conversation have; grows. */
  readonly usedIds: Set<string>;
  /** Names of the tools that the last request offered: only these may its calls run. */
  offered: ReadonlySet<string>;
  /** What requests cost whose replies were dropped, so that the kernel never saw them. */
  lost: Usage;
  /** Keeps requests within the model's window. */
  readonly fitter: Fitter;
  /** Limit of a reply, raised once after one was cut off at it. */
  readonly reply: ReplyLimit;
};

/**
 * Cancel and deadline are looked at first, then the budget, then what came in meanwhile, then whether the request fits;
 * then the action is done.
 */
export async function perform(
  action: Exclude<Action, { kind: 'finish' }>,
  state: State,
  run: Performing,
): Promise<Observation> {
  const { ctx } = run;
  if (action.kind === 'act') return { kind: 'results', results: await runRound(action.calls, withOffered(run)) };
  if (ctx.signal.aborted) return stopFor(ctx.signal.reason);
  const spent = ctx.budget.exhausted();
  if (spent !== undefined) return { kind: 'stop', reason: 'budget', error: { kind: 'budget', message: spent } };
  const waiting = action.purpose === 'turn' ? (ctx.options.inbox?.take() ?? []) : [];
  if (waiting.length > 0) return { kind: 'input', texts: deliver(waiting, ctx) };
  let text = '';
  const keepDropped: OnDropped = (dropped, usage) => {
    text = dropped;
    run.lost = addUsage(run.lost, usage);
  };
  try {
    return (await run.fitter.fit(state, toolsFor(action, ctx))) ?? (await ask(action, state, run, keepDropped));
  } catch (thrown) {
    if (thrown instanceof ProviderError && thrown.failure === 'too-long') {
      const shorter = await run.fitter.refused(thrown, state, toolsFor(action, ctx)).catch(stopFor);
      if (shorter !== undefined) return shorter;
    }
    const stop = stopFor(thrown);
    // At a limit what had arrived is worth having; after a cancel or a failure it is only shown as dropped.
    return stop.reason === 'timeout' ? { ...stop, text } : stop;
  }
}

function withOffered({ ctx, offered }: Performing): RunContext {
  if ([...ctx.tools.keys()].every((name) => offered.has(name))) return ctx;
  return { ...ctx, tools: new Map([...ctx.tools].filter(([name]) => offered.has(name))) };
}

async function ask(
  action: Extract<Action, { kind: 'reason' }>,
  state: State,
  run: Performing,
  onDropped: OnDropped,
): Promise<Observation> {
  const { ctx, turn, usedIds } = run;
  const number = turn.begin(action.purpose);
  const request = await requestFor(action, state, ctx);
  run.offered = new Set(request.tools.map((tool) => tool.name));
  const reply = withUsableCalls(await run.reply.ask(request, onDropped), number, usedIds);
  turn.replied(reply.finishReason, reply.usage);
  const { text, reasoning, toolCalls } = reply;
  ctx.emit({
    type: 'message',
    text,
    ...(reasoning && { reasoning }),
    toolCalls,
  });
  ctx.emit({ type: 'usage', ...ctx.budget.totals(), context: run.fitter.replied(request, reply.usage) });
  const isPiece = reply.finishReason === 'length';
  if (isPiece || toolCalls.length > 0 || text.trim() === '' || action.purpose === 'summary')
    return { kind: 'reply', ...reply };
  return finalText(reply, state, ctx);
}

/**
 * The names of the tools that the request behind the open calls of a stored state offered. It is made once more, not
 * sent: whoever takes tools away by `transformRequest` has them taken away from a run that is gone on with as well.
 */
export async function offeredBefore(state: State, ctx: RunContext): Promise<ReadonlySet<string>> {
  const messages = state.messages.slice(
    0,
    state.messages.findLastIndex(({ role }) => role === 'assistant'),
  );
  const before: State = { ...state, phase: 'reason', messages, turns: state.turns - 1 };
  const { tools } = await requestFor({ kind: 'reason', messages, purpose: 'turn' }, before, ctx);
  return new Set(tools.map((tool) => tool.name));
}

function toolsFor(action: Extract<Action, { kind: 'reason' }>, ctx: RunContext): RunContext['toolSpecs'] {
  return action.purpose === 'turn' ? ctx.toolSpecs : NO_TOOLS;
}

const NO_TOOLS: RunContext['toolSpecs'] = [];

async function requestFor(
  action: Extract<Action, { kind: 'reason' }>,
  state: State,
  ctx: RunContext,
): Promise<ModelRequest> {
  const { maxTokens, memory, modelOptions, responseSchema, transformRequest, stream, headers } = ctx.options;
  const request: ModelRequest = {
    model: ctx.model,
    messages: memory?.context(action.messages, state.openingCount) ?? action.messages,
    tools: toolsFor(action, ctx),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(modelOptions && { options: modelOptions }),
    ...(stream === false && { stream }),
    ...(headers && { headers }),
    ...(responseSchema && action.purpose === 'turn' && { responseSchema }),
  };
  return transformRequest === undefined ? request : untilAborted(ctx.signal, transformRequest(request, state));
}

/** A text without calls ends the run, unless something came in while it was made, or its form is refused. */
async function finalText(reply: Reply, state: State, ctx: RunContext): Promise<Observation> {
  const { inbox, checkAnswer } = ctx.options;
  // With no turn left an input could not be answered: then the answer that is there counts.
  if (inbox !== undefined && hasTurnsLeft({ ...state, turns: state.turns + 1 }) && !inbox.sealIfEmpty()) {
    return { kind: 'reply', ...reply, followUps: deliver(inbox.take(), ctx) };
  }
  if (checkAnswer === undefined) return { kind: 'reply', ...reply };
  const check = await untilAborted(ctx.signal, checkAnswer(state.cutAnswer + reply.text));
  const attempt = state.refusals + 1;
  if (check.ok) {
    ctx.emit({ type: 'output-check', status: 'passed', attempt });
    return { kind: 'reply', ...reply };
  }
  ctx.emit({ type: 'output-check', status: 'refused', attempt, feedback: check.feedback });
  return { kind: 'reply', ...reply, refusal: check.feedback };
}

function deliver(inputs: readonly QueuedInput[], ctx: RunContext): readonly string[] {
  for (const input of inputs) ctx.emit({ type: 'input', status: 'taken', ...input });
  return inputs.map((input) => input.text);
}

/** Whose fault decides the form: a limit and a cancel are endings of their own, the rest is a failure. */
function stopFor(thrown: unknown): Stop {
  if (thrown instanceof DeadlineError) {
    return { kind: 'stop', reason: 'timeout', error: { kind: 'timeout', message: thrown.message } };
  }
  if (thrown instanceof BudgetError) {
    return { kind: 'stop', reason: 'budget', error: { kind: 'budget', message: thrown.message } };
  }
  if (thrown instanceof InterruptedError) {
    return { kind: 'stop', reason: 'interrupted', error: { kind: 'interrupted', message: thrown.message } };
  }
  return { kind: 'stop', reason: 'failed', error: errorOf(thrown) };
}

/** What was thrown, as data. */
export function errorOf(thrown: unknown): RunError {
  if (!(thrown instanceof ChatcliError)) return { kind: 'internal', message: messageOf(thrown) };
  const code = 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
  return {
    kind: thrown.kind,
    ...(code !== undefined && { code }),
    message: thrown.message,
    ...(thrown.hint !== undefined && { hint: thrown.hint }),
  };
}
