/**
 * Keeps the requests of one run within the model's window. Seldom and much rather than often and little, since each
 * step changes what requests begin with, and the provider's cache is lost by it: first old observations become shorter,
 * then a summary takes the place of the older part, and only where that fails it is left out.
 */
import { planCompaction, summaryRequest } from '../context/compact.js';
import { type Extent, fileOf, shrinkable, shrunk } from '../context/shrink.js';
import { createTokenCounter, totalOf } from '../context/tokens.js';
import { roomIn, windowInWords } from '../context/window.js';
import { messageOf, ProviderError } from '../errors.js';
import type { ContextFill, EventBody, WindowSize } from '../events/types.js';
import type { Message, Observation, State, Usage } from '../kernel/types.js';
import { addUsage, NO_USAGE } from '../kernel/usage.js';
import type { ModelRequest, ToolSpec } from '../providers/types.js';
import { keepWhole } from '../tools/keep-whole.js';
import { askModel } from './ask-model.js';
import type { RunContext } from './types.js';

/** A request of so few tokens fits everywhere, and nobody has to be asked for the window. */
const FITS_ANYWHERE_TOKENS = 2_000;
/** Parts of the room: over the first something is done, until the second is reached. */
const FULL_SHARE = 0.9;
const TARGET_SHARE = 0.6;
/** After a refusal nothing is known but that this was too much. */
const REFUSED_SHARE = 0.5;
const REFUSALS_AT_MOST = 3;
/** Less than this part of the room is not worth a request, when one will be due again soon. */
const WORTH_SUMMING_UP_SHARE = 0.1;
const SUMMARY_TRIES = 3;
const SUMMARY_TOKENS = 2_000;
const CHARS_PER_TOKEN = 3;
/** Below this part of our estimate, a report of the endpoint means that it read only a part. */
const CUT_SHARE = 0.5;
const CUT_FROM_TOKENS = 1_000;

type ContextObservation = Extract<Observation, { kind: 'context' }>;
type History = { readonly messages: readonly Message[]; readonly openingCount: number };
type Shorter = History & { readonly operation: 'shrink' | 'summary' | 'trim'; readonly usage?: Usage };

/** What a shortening aims at, and how much there has to be for a summary. */
type Goal = { readonly target: number; readonly reason: 'window' | 'refused'; readonly leastTokens: number };

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
};

/** For one run. What it learns of the model's way to count stays with it. */
export function createFitter(ctx: RunContext): Fitter {
  const counter = createTokenCounter();
  let window: WindowSize | undefined;
  /** What the endpoint counted, by what we estimated. */
  let ratio = 1;
  let refusals = 0;
  let isCutTold = false;
  let counted: number | undefined;

  const estimate = (messages: readonly Message[], tools: readonly ToolSpec[]) =>
    ratio * (counter.ofMessages(messages) + counter.ofTools(tools));

  async function fit(state: State, tools: readonly ToolSpec[]): Promise<ContextObservation | undefined> {
    const tokens = estimate(state.messages, tools);
    if (tokens <= FITS_ANYWHERE_TOKENS) return undefined;
    // A server of one's own may know better later, and what it refused says most.
    if (window?.source !== 'refusal') window = await ctx.window?.();
    if (window === undefined) return undefined;
    const room = roomIn(window.tokens, ctx.options.maxTokens);
    if (tokens <= room * FULL_SHARE) return undefined;
    const leastTokens = (room * WORTH_SUMMING_UP_SHARE) / ratio;
    return shorten(state, tools, { target: room * TARGET_SHARE, reason: 'window', leastTokens });
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
    return shorten(state, tools, { target, reason: 'refused', leastTokens: 0 });
  }

  async function shorten(
    state: State,
    tools: readonly ToolSpec[],
    goal: Goal,
  ): Promise<ContextObservation | undefined> {
    const before = estimate(state.messages, tools);
    const history = await shorter(state, tools, goal);
    const after = history === undefined ? before : estimate(history.messages, tools);
    if (history === undefined || after >= before) return undefined;
    const { messages, openingCount, operation, usage } = history;
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

  async function shorter(state: State, tools: readonly ToolSpec[], goal: Goal): Promise<Shorter | undefined> {
    const isSmallEnough = ({ messages }: History) => estimate(messages, tools) <= goal.target;
    let history: Shorter = { ...state, operation: 'shrink' };
    for (const [extent, rounds] of FIRST_STEPS) {
      history = { ...history, messages: await withShorterResults(history.messages, extent, rounds) };
      if (isSmallEnough(history)) return history;
    }
    // The summary is made of the results as they were.
    history = (await summedUp(state, goal)) ?? history;
    for (const [extent, rounds] of LAST_RESORTS) {
      if (isSmallEnough(history)) break;
      history = { ...history, messages: await withShorterResults(history.messages, extent, rounds) };
    }
    return history;
  }

  async function withShorterResults(
    messages: readonly Message[],
    extent: Extent,
    recentRounds: number,
  ): Promise<readonly Message[]> {
    const changed = [...messages];
    for (const place of shrinkable(messages, extent, recentRounds)) {
      const message = messages[place];
      if (message?.role === 'tool')
        changed[place] = shrunk(
          message,
          extent,
          fileOf(message) ?? (await keepWhole(message.content, message.callId, ctx.toolContext)),
        );
    }
    return changed;
  }

  async function summedUp(state: State, { target, leastTokens }: Goal): Promise<Shorter | undefined> {
    const plan = planCompaction(state.messages, { openingCount: state.openingCount, room: target, counter });
    if (plan === undefined || counter.ofMessages(plan.older) < leastTokens) return undefined;
    const { summary, usage } = await summaryOf(plan.older, target);
    const operation = summary === undefined ? 'trim' : 'summary';
    return { ...plan.historyWith(summary), operation, usage };
  }

  /** Asks for a summary; of less, when the request for it is too long itself. */
  async function summaryOf(
    older: readonly Message[],
    target: number,
  ): Promise<{ readonly summary: string | undefined; readonly usage: Usage }> {
    const text = 'The conversation fills the window of the model: its older part is being summed up.';
    ctx.emit({ type: 'notice', level: 'info', code: 'context-full', text });
    let usage = NO_USAGE;
    for (let share = 1, tries = 0; tries < SUMMARY_TRIES; tries += 1, share /= 2) {
      const messages = summaryRequest(older, Math.floor((target * CHARS_PER_TOKEN * share) / ratio));
      try {
        const request = { ...requestOf(ctx), messages, maxTokens: SUMMARY_TOKENS };
        const reply = await askModel(request, quiet(ctx), (_, lost) => {
          usage = addUsage(usage, lost);
        });
        usage = addUsage(usage, reply.usage);
        return { summary: reply.text.trim() === '' ? undefined : reply.text.trim(), usage };
      } catch (thrown) {
        if (ctx.signal.aborted) throw thrown;
        if (thrown instanceof ProviderError && thrown.failure === 'too-long') continue;
        // The next request will say what is wrong with the endpoint, if it is not only this.
        tellFailedSummary(messageOf(thrown), ctx);
        return { summary: undefined, usage };
      }
    }
    tellFailedSummary('the request for it was too long', ctx);
    return { summary: undefined, usage };
  }

  function replied(request: ModelRequest, usage: Usage): ContextFill {
    refusals = 0;
    const parts = counter.parts(request.messages, request.tools);
    const estimated = totalOf(parts);
    const { promptTokens, cachedTokens } = usage;
    const isCut = isCutShort(promptTokens, estimated, cachedTokens);
    if (isCut && !isCutTold) tellCut(promptTokens, estimated, ctx);
    isCutTold ||= isCut;
    counted = promptTokens > 0 && !isCut ? promptTokens : undefined;
    if (counted !== undefined) ratio = Math.min(Math.max(counted / estimated, LOWEST_RATIO), HIGHEST_RATIO);
    const tokens = counted ?? Math.round(estimated * ratio);
    return { tokens, isEstimate: counted === undefined, ...(window && { window }), parts };
  }

  return { fit, refused, replied };
}

/** An endpoint that counts only what was not in its cache would make us believe that there is room for ever. */
const LOWEST_RATIO = 0.7;
const HIGHEST_RATIO = 3;

/** How much stays of results before the last so many rounds: before a summary is made, and where one was not enough. */
const FIRST_STEPS: readonly (readonly [Extent, number])[] = [
  ['head-and-tail', 2],
  ['line', 2],
  ['head-and-tail', 1],
];
const LAST_RESORTS: readonly (readonly [Extent, number])[] = [
  ['head-and-tail', 1],
  ['line', 1],
  ['head-and-tail', 0],
  ['line', 0],
];

function requestOf({ model, options }: RunContext): Omit<ModelRequest, 'messages'> {
  const { headers, stream } = options;
  return { model, tools: [], ...(headers && { headers }), ...(stream === false && { stream }) };
}

/** A summary is no answer: nobody is shown it as one. */
function quiet(ctx: RunContext): RunContext {
  return { ...ctx, emit: (body) => (SAYS_IT.has(body.type) ? undefined : ctx.emit(body)) };
}

const SAYS_IT: ReadonlySet<EventBody['type']> = new Set(['text-delta', 'reasoning-delta', 'message']);

function tellFailedSummary(why: string, ctx: RunContext): void {
  const text = `The conversation could not be summed up (${why}): its older part is left out.`;
  ctx.emit({ type: 'notice', level: 'warning', code: 'summary-failed', text });
}

function isCutShort(promptTokens: number, estimated: number, cachedTokens: number): boolean {
  return promptTokens >= CUT_FROM_TOKENS && cachedTokens === 0 && promptTokens < estimated * CUT_SHARE;
}

function tellCut(promptTokens: number, estimated: number, ctx: RunContext): void {
  const text =
    `The endpoint read ${promptTokens} tokens of a request of about ${estimated}: its window may be smaller than what was ` +
    "sent, and the beginning lost. Raise the server's window (Ollama: num_ctx), or set CHATCLI_CONTEXT_WINDOW to it.";
  ctx.emit({ type: 'notice', level: 'warning', code: 'context-cut', text });
}
