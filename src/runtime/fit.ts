/**
 * Keeps the requests of one run within the model's window. Seldom and much rather than often and little, since each
 * step changes what requests begin with, and the provider's cache is lost by it: first old results become shorter, then a
 * summary takes the place of the older part, and only where that fails it is left out. Results that the model has not
 * seen yet are the last to be cut, and only to what fits.
 */
import { planCompaction } from '../context/compact.js';
import { type Extent, fairShare, fileOf, HEAD_AND_TAIL, shrinkable, shrunk, startOfRound } from '../context/shrink.js';
import { createTokenCounter, totalOf } from '../context/tokens.js';
import { roomIn, windowInWords } from '../context/window.js';
import type { ProviderError } from '../errors.js';
import type { ContextFill, WindowSize } from '../events/types.js';
import type { Message, Observation, State, Usage } from '../kernel/types.js';
import type { ModelRequest, ToolSpec } from '../providers/types.js';
import { keepWhole } from '../tools/keep-whole.js';
import { planText } from './plan-board.js';
import { askSummary } from './summary.js';
import type { RunContext } from './types.js';

/** A request of so few tokens fits into the smallest window that may be set, and nobody has to be asked for its size. */
const FITS_ANYWHERE_TOKENS = 2_700;
/** Parts of the room: over the first something is done, until the second is reached. */
const FULL_SHARE = 0.9;
const TARGET_SHARE = 0.6;
/** After a refusal nothing is known but that this was too much. */
const REFUSED_SHARE = 0.5;
const REFUSALS_AT_MOST = 3;
/** Less than this part of the room is not worth the request for a summary. */
const WORTH_SUMMING_UP_SHARE = 0.1;
/** Nor is one so soon after the last, whatever came of that. */
const MESSAGES_BETWEEN_SUMMARIES = 6;
const CHARS_PER_TOKEN = 3;
/** Below this part of our estimate, a report of the endpoint means that it read only a part. */
const CUT_SHARE = 0.5;
const CUT_FROM_TOKENS = 1_000;
/** An endpoint that counts only what was not in its cache would make us believe that there is room for ever. */
const LOWEST_RATIO = 0.7;
const HIGHEST_RATIO = 3;

/** How much stays of results before the last so many rounds, step by step. The last round is what the model has not seen. */
const STEPS: readonly (readonly [Extent, number])[] = [
  [HEAD_AND_TAIL, 2],
  ['line', 2],
  [HEAD_AND_TAIL, 1],
  ['line', 1],
];

type ContextObservation = Extract<Observation, { kind: 'context' }>;
type History = { readonly messages: readonly Message[]; readonly openingCount: number };
type Shorter = History & { readonly operation: 'shrink' | 'summary' | 'trim'; readonly usage?: Usage };
/** What all may have together, and what is aimed at for all but the last round, so that the next ones have room. */
type Goal = { readonly limit: number; readonly target: number; readonly reason: 'window' | 'refused' };

export type Fitter = {
  /**
   * A shorter history, where the next request would fill the window; undefined where it fits.
   * @throws what `askModel` throws when the run is stopped.
   */
  readonly fit: (state: State, tools: readonly ToolSpec[]) => Promise<ContextObservation | undefined>;
  /** The same after the endpoint refused a request as too long; undefined where nothing more can be done. */
  readonly refused: (
    error: ProviderError,
    state: State,
    tools: readonly ToolSpec[],
  ) => Promise<ContextObservation | undefined>;
  /** What the endpoint counted of a request that it took. */
  readonly replied: (request: ModelRequest, usage: Usage) => ContextFill;
  /** Another model answers from here on. */
  readonly answeredBy: (model: string) => void;
};

/** For one run. What it learns of the model's way to count stays with it. */
export function createFitter(ctx: RunContext): Fitter {
  const counter = createTokenCounter();
  let { model } = ctx;
  let window: WindowSize | undefined;
  /** What the endpoint counted, by what we estimated. */
  let ratio = 1;
  let refusals = 0;
  let nextSummaryAt = 0;
  const told = new Set<string>();

  const estimate = (messages: readonly Message[], tools: readonly ToolSpec[]) =>
    ratio * (counter.ofMessages(messages) + counter.ofTools(tools));

  function warnOnce(code: string, text: string): void {
    if (!told.has(code)) ctx.emit({ type: 'notice', level: 'warning', code, text });
    told.add(code);
  }

  async function fit(state: State, tools: readonly ToolSpec[]): Promise<ContextObservation | undefined> {
    const tokens = estimate(state.messages, tools);
    if (tokens <= FITS_ANYWHERE_TOKENS) return undefined;
    // A server of one's own may know better later, and what it refused says most.
    if (window?.source !== 'refusal') window = await ctx.window?.(model);
    if (window === undefined) return undefined;
    const room = roomIn(window.tokens, ctx.options.maxTokens);
    if (tokens <= room * FULL_SHARE) return undefined;
    const goal: Goal = { limit: room * FULL_SHARE, target: room * TARGET_SHARE, reason: 'window' };
    const fitted = await shorten(state, tools, goal);
    const left = estimate(fitted?.messages ?? state.messages, tools);
    if (left > window.tokens) warnOnce('window-too-small', tooSmall(left, window.tokens));
    return fitted;
  }

  async function refused(
    error: ProviderError,
    state: State,
    tools: readonly ToolSpec[],
  ): Promise<ContextObservation | undefined> {
    refusals += 1;
    if (refusals > REFUSALS_AT_MOST) return undefined;
    const sent = estimate(state.messages, tools);
    const named = windowInWords(error.message);
    if (named !== undefined) {
      window = { tokens: named, source: 'refusal' };
      // It did not fit, so it was more than that, whatever we thought.
      if (sent < named) ratio *= named / sent;
    }
    const room = named === undefined ? Number.POSITIVE_INFINITY : roomIn(named, ctx.options.maxTokens);
    const target = Math.min(room * TARGET_SHARE, estimate(state.messages, tools) * REFUSED_SHARE);
    return shorten(state, tools, { limit: target, target, reason: 'refused' });
  }

  async function shorten(
    state: State,
    tools: readonly ToolSpec[],
    goal: Goal,
  ): Promise<ContextObservation | undefined> {
    const before = estimate(state.messages, tools);
    const { messages, openingCount, operation, usage } = await shorter(state, tools, goal);
    const after = estimate(messages, tools);
    if (after >= before) return undefined;
    ctx.emit({
      type: 'context',
      operation,
      reason: goal.reason,
      messages: messages.length,
      tokensBefore: Math.round(before),
      tokensAfter: Math.round(after),
      ...(window && { windowTokens: window.tokens }),
    });
    return { kind: 'context', messages, openingCount, ...(usage && { usage }) };
  }

  async function shorter(state: State, tools: readonly ToolSpec[], goal: Goal): Promise<Shorter> {
    const isEnough = ({ messages }: History) => {
      const all = estimate(messages, tools);
      const unseen = ratio * counter.ofMessages(messages.slice(startOfRound(messages, 1)));
      return all <= goal.limit && all - unseen <= goal.target;
    };
    const inSteps = async (from: Shorter): Promise<Shorter> => {
      let history = from;
      for (const [extent, rounds] of STEPS) {
        if (isEnough(history)) return history;
        const messages = await cutTo(history.messages, extent, 0, startOfRound(history.messages, rounds));
        history = { ...history, messages };
      }
      return history;
    };
    let history = await inSteps({ ...state, operation: 'shrink' });
    if (!isEnough(history)) {
      // The summary is made of the results as they were.
      const summedUp = await withSummary(state, goal);
      if (summedUp !== undefined) history = await inSteps(summedUp);
    }
    const over = estimate(history.messages, tools) - goal.limit;
    return over > 0 ? { ...history, messages: await withUnseenCut(history.messages, over / ratio) } : history;
  }

  /** The results of the last round with what is left of the room, shared among the large ones. */
  async function withUnseenCut(messages: readonly Message[], overTokens: number): Promise<readonly Message[]> {
    const from = startOfRound(messages, 1);
    const sizes = messages
      .slice(from)
      .flatMap((message) => (message.role === 'tool' ? [counter.ofMessage(message)] : []));
    const share = fairShare(sizes, sizes.reduce((sum, size) => sum + size, 0) - overTokens);
    let changed = messages;
    for (let place = from; place < messages.length; place += 1) {
      const message = messages[place];
      if (message?.role !== 'tool' || counter.ofMessage(message) <= share) continue;
      const chars = Math.floor((message.content.length * share) / counter.ofMessage(message)) - MARK_CHARS;
      changed = await cutTo(changed, chars > MARK_CHARS ? chars : 'line', place, place + 1);
    }
    return changed;
  }

  async function cutTo(
    messages: readonly Message[],
    extent: Extent,
    from: number,
    to: number,
  ): Promise<readonly Message[]> {
    const changed = [...messages];
    for (const place of shrinkable(messages, extent, from, to)) {
      const message = messages[place];
      if (message?.role !== 'tool') continue;
      const file = fileOf(message) ?? (await keepWhole(message.content, message.callId, ctx.toolContext));
      changed[place] = shrunk(message, extent, file);
    }
    return changed;
  }

  async function withSummary(state: State, { target, reason }: Goal): Promise<Shorter | undefined> {
    const { messages, openingCount } = state;
    const { isLoadedSkill } = ctx.options;
    const plan = planCompaction(messages, { openingCount, room: target, counter, isLoadedSkill });
    const isDue = reason === 'refused' || messages.length >= nextSummaryAt;
    const least = reason === 'refused' ? 0 : (target * WORTH_SUMMING_UP_SHARE) / ratio;
    if (plan === undefined || !isDue || counter.ofMessages(plan.older) < least) return undefined;
    const text = 'The conversation fills the window of the model: its older part is being summed up.';
    ctx.emit({ type: 'notice', level: 'info', code: 'context-full', text });
    const result = await askSummary(plan.older, (target * CHARS_PER_TOKEN) / ratio, { ...ctx, answeredBy });
    if ('problem' in result) {
      const why = `The conversation could not be summed up (${result.problem}): its older part is left out.`;
      ctx.emit({ type: 'notice', level: 'warning', code: 'summary-failed', text: why });
    }
    const summary =
      'text' in result ? [result.text, planText(ctx.plan.steps())].filter(Boolean).join('\n\n') : undefined;
    const history = plan.historyWith(summary);
    nextSummaryAt = history.messages.length + MESSAGES_BETWEEN_SUMMARIES;
    return { ...history, operation: summary === undefined ? 'trim' : 'summary', usage: result.usage };
  }

  function replied(request: ModelRequest, usage: Usage): ContextFill {
    refusals = 0;
    const parts = counter.parts(request.messages, request.tools);
    const estimated = totalOf(parts);
    const { promptTokens, cachedTokens } = usage;
    const isCut = promptTokens >= CUT_FROM_TOKENS && cachedTokens === 0 && promptTokens < estimated * CUT_SHARE;
    if (isCut) warnOnce('context-cut', cutShort(promptTokens, estimated));
    const counted = promptTokens > 0 && !isCut ? promptTokens : undefined;
    if (counted !== undefined) ratio = Math.min(Math.max(counted / estimated, LOWEST_RATIO), HIGHEST_RATIO);
    const tokens = counted ?? Math.round(estimated * ratio);
    return { tokens, isEstimate: counted === undefined, ...(window && { window }), parts };
  }

  function answeredBy(other: string): void {
    if (other === model) return;
    model = other;
    window = undefined;
    ratio = 1;
  }

  return { fit, refused, replied, answeredBy };
}

/** What the line at the end of a shortened result takes. */
const MARK_CHARS = 250;

function tooSmall(tokens: number, windowTokens: number): string {
  return (
    `The request has about ${Math.round(tokens)} tokens, and the window of the model ${windowTokens}: the endpoint may ` +
    'refuse it, or read only its end. Give a shorter task, or set CHATCLI_CONTEXT_WINDOW if the window is larger.'
  );
}

function cutShort(promptTokens: number, estimated: number): string {
  return (
    `The endpoint read ${promptTokens} tokens of a request of about ${estimated}: its window may be smaller than what was ` +
    "sent, and the beginning lost. Raise the server's window (Ollama: num_ctx), or set CHATCLI_CONTEXT_WINDOW to it."
  );
}
