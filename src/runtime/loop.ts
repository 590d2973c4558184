/**
 * The one loop: lead, worker, planner, refiner, verifier and library user all go through it. It drives the kernel and
 * tells the event stream. What comes next and when to stop is the kernel's; doing it is `perform.ts`'s.
 */
import { addUsage, NO_USAGE, observe, reopen, start } from '../kernel/step.js';
import type { Action, End, Message, Outcome, RunError, State, Step, ToolResult, Usage } from '../kernel/types.js';
import type { Denial } from '../permissions/types.js';
import { ABORT_GRACE_MS, untilAborted } from '../tools/abort.js';
import { createFitter } from './fit.js';
import type { SafePoint } from './options.js';
import { errorOf, offeredBefore, type Performing, perform } from './perform.js';
import { createReplyLimit } from './reply-limit.js';
import { createTurn } from './turn.js';
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
  const { end, state, lost } = await drive(task, ctx);
  for (const input of ctx.options.inbox?.close() ?? []) ctx.emit({ type: 'input', status: 'dropped', ...input });
  const outcome = toOutcome(end, { ...state, usage: addUsage(state.usage, lost) }, ctx);
  const { reason, answer, turns, usage, proof, error } = outcome;
  const durationMs = ctx.now() - startedAt;
  ctx.emit({ type: 'run-end', reason, answer, turns, usage, proof, durationMs, ...(error && { error }) });
  return outcome;
}

function firstStep(task: string, ctx: RunContext): Step {
  const { resumeFrom, history = [] } = ctx.options;
  if (resumeFrom !== undefined) return reopen(resumeFrom);
  // The system prompt is assembled once and never stored in the history, so that every request begins alike.
  const opening: readonly Message[] = [
    ...(ctx.systemPrompt.trim() === '' ? [] : [{ role: 'system' as const, content: ctx.systemPrompt }]),
    ...history,
    { role: 'user', content: task },
  ];
  return start(opening, ctx.limits);
}

async function drive(task: string, ctx: RunContext): Promise<{ end: End; state: State; lost: Usage }> {
  let { state, action } = firstStep(task, ctx);
  const turn = createTurn(ctx, state.turns);
  const fitter = createFitter(ctx);
  const run: Performing = {
    ctx,
    turn,
    usedIds: idsIn(state.messages),
    offered: new Set(),
    lost: NO_USAGE,
    fitter,
    reply: createReplyLimit({ ...ctx, answeredBy: fitter.answeredBy }),
  };
  try {
    // Calls that are open before any request left are those of a stored state.
    if (action.kind === 'act') run.offered = await offeredBefore(state, ctx);
    while (action.kind !== 'finish') {
      const seen = await perform(action, state, run);
      ({ state, action } = observe(state, seen));
      if (seen.kind === 'results') tellNotes(seen.results, state.messages, ctx);
      // A request that did not fit is sent again, shorter: the turn goes on.
      if (action.kind !== 'act' && seen.kind !== 'context') turn.end();
      await tellState(state, seen.kind, action, ctx);
    }
    return { end: action.end, state, lost: run.lost };
  } catch (thrown) {
    // A fault of ours must not take the process down, nor the other workers: it ends this run, and says so.
    turn.end();
    return { end: { reason: 'failed', answer: '', error: errorOf(thrown) }, state, lost: run.lost };
  }
}

/** The kernel may put a note behind a result that the model gets; its `tool-end` went out before that. */
function tellNotes(results: readonly ToolResult[], messages: readonly Message[], { emit }: RunContext): void {
  for (const { callId, output } of results) {
    const recorded = messages.findLast((message) => message.role === 'tool' && message.callId === callId);
    const note = recorded?.content.slice(output.length).trim();
    if (note) emit({ type: 'notice', level: 'warning', code: 'stuck-warning', text: note });
  }
}

function idsIn(messages: readonly Message[]): Set<string> {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  return new Set(calls.map((call) => call.id));
}

const POINTS: Readonly<Record<string, SafePoint>> = {
  reply: 'after-llm',
  results: 'after-tools',
  input: 'after-input',
};

async function tellState(state: State, seen: string, action: Action, ctx: RunContext): Promise<void> {
  const told = stateFor(state, seen, action, ctx);
  if (told === undefined) return;
  try {
    await untilAborted(ctx.signal, ctx.options.onState?.(...told), ABORT_GRACE_MS);
  } catch (thrown) {
    // Whoever keeps states is not waited for any longer; how the run ends is told by what comes next.
    if (thrown !== ctx.signal.reason) throw thrown;
  }
}

function stateFor(state: State, seen: string, action: Action, ctx: RunContext): [State, SafePoint] | undefined {
  if (action.kind === 'finish') {
    // A run that was denied what it needed is not over with its answer: it can be gone on with.
    const endedBy = unmetDenial(action.end, ctx) === undefined ? action.end.reason : 'denied';
    return [{ ...state, endedBy }, 'terminal'];
  }
  const point = POINTS[seen];
  return point && [state, point];
}

/** The root's answer does not count as one while a needed action stands refused. */
function unmetDenial(end: End, ctx: RunContext): Denial | undefined {
  return ctx.parentRunId === undefined && end.reason === 'answered' ? ctx.ledger.unmetDenial() : undefined;
}

/** Why a run ended, where the kernel's word for it does not say what to do. */
const EXPLAINED: Readonly<Partial<Record<Outcome['reason'], (ctx: RunContext) => RunError>>> = {
  'turn-limit': ({ limits, turnLimitHint: hint }) => ({
    kind: 'turn-limit',
    message: `The limit of ${limits.maxTurns} turns is reached.`,
    ...(hint !== undefined && { hint }),
  }),
  stuck: () => ({
    kind: 'stuck',
    message: 'The same call gave the same result five times, with nothing new in between.',
  }),
  denied: () => ({ kind: 'denied', message: 'The same call was denied three times.' }),
};

/** Adds what the harness saw. */
function toOutcome(end: End, state: State, ctx: RunContext): Outcome {
  const unmet = unmetDenial(end, ctx);
  const denied: RunError | undefined = unmet && {
    kind: 'denied',
    message: `${unmet.tool} was denied: ${unmet.subject}`,
    hint: unmet.reason,
  };
  const { bareAnswer = (answer: string) => answer } = ctx.options;
  const error = denied ?? end.error ?? EXPLAINED[end.reason]?.(ctx);
  return {
    reason: unmet === undefined ? end.reason : 'denied',
    answer: end.reason === 'answered' ? bareAnswer(end.answer) : end.answer,
    turns: state.turns,
    usage: state.usage,
    verdicts: [],
    proof: ctx.ledger.proof(),
    ...(error && { error }),
  };
}
