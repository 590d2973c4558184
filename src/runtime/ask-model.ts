/** One model call: streams it to the event readers and gives back the whole reply. */
import type { FinishReason, Message, Reply, ToolCall, Usage } from '../kernel/types.js';
import type { ModelDelta, ToolSpec } from '../providers/types.js';
import type { RunContext } from './types.js';

// Providers refuse a history in which a tool name has other characters, so a model's slip must not get into it.
const NAME_CHARACTERS = /[^A-Za-z0-9_-]/g;
const NAME_LENGTH_LIMIT = 64;

type Draft = {
  text: string;
  reasoning: string;
  calls: ToolCall[];
  usage: Usage;
  finishReason: FinishReason | undefined;
};

const emptyDraft = (): Draft => ({
  text: '',
  reasoning: '',
  calls: [],
  usage: { requests: 1, promptTokens: 0, completionTokens: 0, cachedTokens: 0, reasoningTokens: 0, totalTokens: 0 },
  finishReason: undefined,
});

/**
 * Asks the model once, and returns as soon as `ctx.signal` aborts even if the provider does not listen to it.
 * @throws the signal's reason on abort; whatever the provider throws otherwise. What had been shown of a dropped
 * reply is told by a `message` event marked incomplete.
 */
export async function askModel(
  messages: readonly Message[],
  tools: readonly ToolSpec[],
  ctx: RunContext,
): Promise<Reply> {
  let draft = emptyDraft();
  const wake = new AbortController();

  async function read(): Promise<void> {
    for await (const delta of ctx.provider.stream({ model: ctx.model, messages, tools }, wake.signal)) {
      if (wake.signal.aborted) return;
      if (delta.type === 'retry') draft = emptyDraft();
      take(delta, draft, ctx);
    }
  }

  ctx.budget.countRequest();
  try {
    await untilAborted(read(), ctx.signal, wake);
  } catch (thrown) {
    reportIncomplete(draft, ctx);
    throw thrown;
  } finally {
    // The tokens of a dropped reply were spent all the same.
    ctx.budget.addUsage(draft.usage, ctx.model);
  }
  return {
    text: draft.text,
    ...(draft.reasoning === '' ? {} : { reasoning: draft.reasoning }),
    toolCalls: draft.calls,
    finishReason: draft.finishReason ?? 'unknown',
    usage: draft.usage,
  };
}

/** Waits for `work`, or for the signal; then `wake` aborts what is left of the work, and its late end is of no interest. */
function untilAborted(work: Promise<void>, signal: AbortSignal, wake: AbortController): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      wake.abort(signal.reason);
      reject(signal.reason);
    };
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
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
      draft.calls.push(delta.call);
      return;
    case 'usage':
      draft.usage = { requests: 1, ...largest(draft.usage, delta.usage) };
      return;
    case 'retry':
      ctx.budget.countRequest();
      ctx.emit(delta);
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
    promptTokens: Math.max(left.promptTokens, right.promptTokens),
    completionTokens: Math.max(left.completionTokens, right.completionTokens),
    cachedTokens: Math.max(left.cachedTokens, right.cachedTokens),
    reasoningTokens: Math.max(left.reasoningTokens, right.reasoningTokens),
    totalTokens: Math.max(left.totalTokens, right.totalTokens),
  };
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
    return { id, name: name === '' ? 'unnamed' : name, arguments: call.arguments };
  });
  return { ...reply, toolCalls };
}

function freeId(wanted: string, usedIds: ReadonlySet<string>): string {
  let id = wanted;
  for (let count = 2; usedIds.has(id); count += 1) id = `${wanted}_${count}`;
  return id;
}
