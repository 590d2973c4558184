/**
 * The one loop: lead, worker, planner, refiner, verifier and library user all go through it. It drives the kernel:
 * asks the model, runs the calls, and tells the event stream. What comes next and when to stop is the kernel's.
 */
import { DeadlineError, InterruptedError, messageOf, ProviderError } from '../errors.js';
import { NO_USAGE, observe, start } from '../kernel/step.js';
import type {
  Action,
  End,
  FinishReason,
  Message,
  Observation,
  Outcome,
  RunError,
  State,
  Stop,
  Usage,
} from '../kernel/types.js';
import { askModel, withUsableCalls } from './ask-model.js';
import { runRound } from './round.js';
import type { RunContext } from './types.js';

/** Runs one task in one context. Never throws: whatever goes wrong is the outcome, and `run-end` always comes. */
export async function runLoop(task: string, ctx: RunContext): Promise<Outcome> {
  const startedAt = ctx.now();
  ctx.emit({
    type: 'run-start',
    task,
    model: ctx.model,
    cwd: ctx.toolContext.workspace.root,
    maxTurns: ctx.limits.maxTurns,
    timeoutMs: ctx.limits.timeoutMs,
  });
  const { end, state } = await drive(openingMessages(task, ctx), ctx);
  const outcome = toOutcome(end, state, ctx);
  const { reason, answer, turns, usage, proof, error } = outcome;
  ctx.emit({
    type: 'run-end',
    reason,
    answer,
    turns,
    usage,
    proof,
    durationMs: ctx.now() - startedAt,
    ...(error && { error }),
  });
  return outcome;
}

/** The messages a run begins with. The system prompt is assembled once, so that every request begins alike. */
function openingMessages(task: string, ctx: RunContext): readonly Message[] {
  return [
    { role: 'system', content: ctx.systemPrompt },
    { role: 'user', content: task },
  ];
}

async function drive(opening: readonly Message[], ctx: RunContext): Promise<{ end: End; state: State }> {
  const turn = createTurn(ctx);
  let { state, action } = start(opening, { maxTurns: ctx.limits.maxTurns });
  try {
    while (action.kind !== 'finish') {
      const seen = await perform(action, turn, ctx);
      ({ state, action } = observe(state, seen));
      if (action.kind !== 'act') turn.end();
    }
    return { end: action.end, state };
  } catch (thrown) {
    // A fault of ours must not take the process down, nor the other workers: it ends this run, and says so.
    turn.end();
    return { end: { reason: 'failed', answer: '', error: errorOf(thrown) }, state };
  }
}

type Turn = {
  /** Counts one up and emits `turn-start`. */
  begin(purpose: 'turn' | 'summary'): number;
  replied(finishReason: FinishReason, usage: Usage): void;
  /** Emits `turn-end`, if a turn is open. */
  end(): void;
  readonly usedIds: Set<string>;
};

function createTurn(ctx: RunContext): Turn {
  let number = 0;
  let open = false;
  let reply: { finishReason?: FinishReason; usage: Usage } | undefined;
  return {
    usedIds: new Set(),
    begin(purpose) {
      number += 1;
      open = true;
      reply = undefined;
      ctx.emit({ type: 'turn-start', turn: number, purpose });
      return number;
    },
    replied(finishReason, usage) {
      reply = { finishReason, usage };
    },
    end() {
      if (!open) return;
      open = false;
      ctx.emit({ type: 'turn-end', turn: number, usage: NO_USAGE, ...reply });
    },
  };
}

/** Carries out one action: asks the model, or runs the calls. Cancel, deadline and budget are looked at first. */
async function perform(action: Exclude<Action, { kind: 'finish' }>, turn: Turn, ctx: RunContext): Promise<Observation> {
  if (action.kind === 'act') return { kind: 'results', results: await runRound(action.calls, ctx) };
  if (ctx.signal.aborted) return stopFor(ctx.signal.reason);
  const spent = ctx.budget.exhausted();
  if (spent !== undefined) return { kind: 'stop', reason: 'budget', error: { kind: 'budget', message: spent } };

  const number = turn.begin(action.purpose);
  const tools = action.purpose === 'turn' ? ctx.toolSpecs : [];
  try {
    const reply = withUsableCalls(await askModel(action.messages, tools, ctx), number, turn.usedIds);
    turn.replied(reply.finishReason, reply.usage);
    const { text, reasoning, toolCalls } = reply;
    ctx.emit({ type: 'message', text, ...(reasoning && { reasoning }), toolCalls });
    ctx.emit({ type: 'usage', ...ctx.budget.totals() });
    if (reply.finishReason === 'length' && toolCalls.length === 0) reportCut(ctx);
    return { kind: 'reply', ...reply };
  } catch (thrown) {
    return stopFor(thrown);
  }
}

function reportCut(ctx: RunContext): void {
  const text = 'The reply reached its length limit and may be cut off.';
  ctx.emit({ type: 'notice', level: 'warning', code: 'reply-cut', text });
}

/** Whose fault decides the form: a limit and a cancel are endings of their own, the rest is a failure. */
function stopFor(thrown: unknown): Stop {
  if (thrown instanceof DeadlineError)
    return { kind: 'stop', reason: 'timeout', error: { kind: 'timeout', message: thrown.message } };
  if (thrown instanceof InterruptedError) return { kind: 'stop', reason: 'interrupted' };
  return { kind: 'stop', reason: 'failed', error: errorOf(thrown) };
}

function errorOf(thrown: unknown): RunError {
  if (!(thrown instanceof ProviderError)) return { kind: 'internal', message: messageOf(thrown) };
  return { kind: 'provider', message: thrown.message, ...(thrown.hint !== undefined && { hint: thrown.hint }) };
}

/** Adds what the harness saw. The root's answer does not count as one while a needed action stands refused. */
function toOutcome(end: End, state: State, ctx: RunContext): Outcome {
  const isRoot = ctx.parentRunId === undefined;
  const unmet = isRoot && end.reason === 'answered' ? ctx.ledger.unmetDenial() : undefined;
  const denied: RunError | undefined = unmet && {
    kind: 'denied',
    message: `${unmet.tool} was denied: ${unmet.subject}`,
    hint: unmet.reason,
  };
  const error = denied ?? end.error;
  return {
    reason: unmet === undefined ? end.reason : 'denied',
    answer: end.answer,
    turns: state.turns,
    usage: state.usage,
    verdicts: [],
    proof: ctx.ledger.proof(),
    ...(error && { error }),
  };
}
