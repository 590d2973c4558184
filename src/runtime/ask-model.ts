/** One model call: streams it to the event readers and gives back the whole reply. */
import { setImmediate as othersTurn } from 'node:timers/promises';
import { BudgetError, messageOf, ProviderError } from '../errors.js';
import { addUsage, NO_USAGE } from '../kernel/step.js';
import type { FinishReason, Replay, Reply, ToolCall, Usage } from '../kernel/types.js';
import type { ModelDelta, ModelRequest } from '../providers/types.js';
import { LONGEST_TIMER_MS } from '../tools/timers.js';
import type { RunContext } from './types.js';

// Providers refuse a history in which a tool name has other characters, so a model's slip must not get into it.
const NAME_CHARACTERS = /[^A-Za-z0-9_-]/g;
const NAME_LENGTH_LIMIT = 64;

/** A provider that never waits would keep timers from firing, so that no limit could end it. */
const DELTAS_IN_A_ROW = 256;

type Draft = {
  /** The one that is asked, which a fallback changes. */
  model: string;
  text: string;
  reasoning: string;
  calls: ToolCall[];
  replay: Replay | undefined;
  usage: Usage;
  finishReason: FinishReason | undefined;
};

const emptyDraft = (model: string): Draft => ({
  model,
  text: '',
  reasoning: '',
  calls: [],
  replay: undefined,
  usage: NO_USAGE,
  finishReason: undefined,
});

/** Told what had arrived of a reply that did not become whole, and what was spent on it. */
export type OnDropped = (text: string, usage: Usage) => void;

/**
 * Asks the model once, and returns as soon as `ctx.signal` aborts even if the provider does not listen to it. The usage
 * of a reply is that of all requests that left for it.
 * @throws the signal's reason on abort; {BudgetError} where another try would be one request too many; whatever the
 * provider throws otherwise. What had been shown of a dropped reply is told by a `message` event marked incomplete.
 */
export async function askModel(
  request: ModelRequest,
  ctx: RunContext,
  onDropped: OnDropped = () => undefined,
): Promise<Reply> {
  let draft = emptyDraft(request.model);
  let spent = NO_USAGE;
  const spend = () => {
    spent = addUsage(spent, draft.usage);
    ctx.budget.addUsage(draft.usage, draft.model);
  };
  const leave = () => {
    spent = { ...spent, requests: spent.requests + 1 };
    ctx.budget.countRequest();
  };
  leave();
  try {
    await guarded(ctx, async (signal, alive) => {
      let count = 0;
      for await (const delta of ctx.provider.stream(request, signal)) {
        count += 1;
        if (count % DELTAS_IN_A_ROW === 0) await othersTurn();
        if (signal.aborted) return;
        // A wait that is announced is no silence.
        alive(delta.type === 'retry' ? delta.waitMs : 0);
        if (delta.type === 'retry' || delta.type === 'fallback') {
          const broken = draft;
          spend();
          draft = emptyDraft(draft.model);
          stopIfSpent(broken, delta.reason, ctx);
          leave();
        }
        take(delta, draft, ctx);
      }
    });
    const { text, reasoning, calls: toolCalls, replay, finishReason } = draft;
    if (finishReason === undefined) {
      throw new ProviderError('protocol', 'The provider ended its reply without saying that it is whole.');
    }
    spend();
    const more = { ...(reasoning !== '' && { reasoning }), ...(replay && { replay }) };
    return { text, ...more, toolCalls, finishReason, usage: spent };
  } catch (thrown) {
    reportIncomplete(draft, ctx);
    // The tokens of a dropped reply were spent all the same.
    spend();
    onDropped(draft.text, spent);
    throw thrown;
  }
}

/** A retry is a request like any other: the budget is looked at before it. */
function stopIfSpent(broken: Draft, reason: string, ctx: RunContext): void {
  const spent = ctx.budget.exhausted();
  if (spent === undefined) return;
  reportIncomplete(broken, ctx);
  throw new BudgetError(`${spent} The last request failed: ${reason}`);
}

/**
 * Does `work` until it ends, the run's signal aborts or, with an idle limit, `alive` was not called for that long and
 * the `quietMs` that its last call announced. The work's own signal is aborted then, and its late end is of no interest.
 */
function guarded(
  ctx: RunContext,
  work: (signal: AbortSignal, alive: (quietMs: number) => void) => Promise<void>,
): Promise<void> {
  const own = new AbortController();
  const { idleTimeoutMs = 0 } = ctx.options;
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const leave = () => {
      clearTimeout(timer);
      ctx.signal.removeEventListener('abort', onAbort);
    };
    const giveUp = (reason: unknown) => {
      leave();
      own.abort(reason);
      reject(reason);
    };
    const onAbort = () => giveUp(ctx.signal.reason);
    const alive = (quietMs: number) => {
      clearTimeout(timer);
      const limitMs = quietMs + idleTimeoutMs;
      if (idleTimeoutMs > 0 && limitMs <= LONGEST_TIMER_MS && !own.signal.aborted)
        timer = setTimeout(() => giveUp(idle(idleTimeoutMs)), limitMs);
    };
    if (ctx.signal.aborted) return onAbort();
    ctx.signal.addEventListener('abort', onAbort, { once: true });
    alive(0);
    work(own.signal, alive).then(resolve, reject).finally(leave);
  });
}

function idle(idleTimeoutMs: number): ProviderError {
  const hint = 'A slow model may need a longer idle time limit.';
  return new ProviderError('network', `The model was silent for ${idleTimeoutMs / 1000} s.`, { hint });
}

function take(delta: ModelDelta, draft: Draft, ctx: RunContext): void {
  switch (delta.type) {
    case 'text':
      draft.text += delta.text;
      ctx.emit({ type: 'text-delta', text: delta.text });
      return;
    case 'reasoning':
      draft.reasoning += delta.text;
      ctx.emit({ type: 'reasoning-delta', text: delta.text });
      return;
    case 'call':
      draft.calls.push(asTexts(delta.call));
      return;
    case 'replay':
      draft.replay = delta.replay;
      return;
    case 'usage':
      draft.usage = { requests: 0, ...largest(draft.usage, delta.usage) };
      return;
    case 'retry':
      ctx.emit(delta);
      return;
    case 'notice':
      ctx.emit({ type: 'notice', level: 'warning', code: delta.code, text: delta.text });
      return;
    case 'fallback':
      draft.model = delta.to;
      ctx.answeredBy?.(delta.to);
      ctx.emit(delta);
      return;
    case 'model':
      draft.model = delta.model;
      ctx.answeredBy?.(delta.model);
      return;
    case 'activity':
      return;
    case 'end':
      draft.finishReason = delta.finishReason;
      return;
    default:
      delta satisfies never;
  }
}

function largest(left: Omit<Usage, 'requests'>, right: Omit<Usage, 'requests'>): Omit<Usage, 'requests'> {
  return {
    promptTokens: Math.max(left.promptTokens, counted(right.promptTokens)),
    completionTokens: Math.max(left.completionTokens, counted(right.completionTokens)),
    cachedTokens: Math.max(left.cachedTokens, counted(right.cachedTokens)),
    reasoningTokens: Math.max(left.reasoningTokens, counted(right.reasoningTokens)),
    totalTokens: Math.max(left.totalTokens, counted(right.totalTokens)),
  };
}

/** A provider of a library user may leave counts out, whatever its type says. */
function counted(count: number): number {
  return Number.isFinite(count) ? Math.round(count) : 0;
}

/** A provider of a library user may give the arguments as a value, or no id. */
function asTexts(call: ToolCall): ToolCall {
  const { id, name, arguments: given }: Readonly<Partial<Record<keyof ToolCall, unknown>>> = call;
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  return { ...call, id: text(id), name: text(name), arguments: typeof given === 'string' ? given : jsonOf(given) };
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch (cause) {
    const message = `The provider gave arguments of a call that can't be written as JSON: ${messageOf(cause)}`;
    throw new ProviderError('protocol', message, { cause });
  }
}

function reportIncomplete(draft: Draft, ctx: RunContext): void {
  if (draft.text === '' && draft.reasoning === '') return;
  ctx.emit({
    type: 'message',
    text: draft.text,
    ...(draft.reasoning === '' ? {} : { reasoning: draft.reasoning }),
    toolCalls: [],
    incomplete: true,
  });
}

/**
 * Makes a reply's calls fit for the history: each gets an id that is new in the conversation, and a name that
 * providers take. `usedIds` grows by them.
 */
export function withUsableCalls(reply: Reply, turn: number, usedIds: Set<string>): Reply {
  const toolCalls = reply.toolCalls.map((call, index) => {
    const id = call.id === '' || usedIds.has(call.id) ? freeId(`call_${turn}_${index}`, usedIds) : call.id;
    usedIds.add(id);
    const name = call.name.trim().replace(NAME_CHARACTERS, '_').slice(0, NAME_LENGTH_LIMIT);
    return { ...call, id, name: name === '' ? 'unnamed' : name };
  });
  return { ...reply, toolCalls };
}

function freeId(wanted: string, usedIds: ReadonlySet<string>): string {
  let id = wanted;
  for (let count = 2; usedIds.has(id); count += 1) id = `${wanted}_${count}`;
  return id;
}
