/**
 * What the Responses API wants back of a reply: its sealed reasoning, each piece in front of what it led to, and the
 * phase of each text. Kept beside the message, which has the texts and calls themselves, so nothing is kept twice.
 */
import type { Message, Replay, ToolCall } from '../kernel/types.js';
import { asRecord, countOf, type JsonRecord, textOf } from './json.js';

/** Between two texts of one reply. */
export const BETWEEN_TEXTS = '\n\n';

export type ReasoningItem = {
  readonly type: 'reasoning';
  readonly id: string;
  readonly summary: { readonly type: 'summary_text'; readonly text: string }[];
  readonly content?: { readonly type: 'reasoning_text'; readonly text: string }[];
  readonly encrypted_content?: string;
};

/** Whether a text is said on the way or is the answer; later models want it back. */
export type Phase = 'commentary' | 'final_answer';

/** The parts of a reply in their order, as they are kept: a text by its length, a call by its place. */
export type KeptPart =
  | ReasoningItem
  | { readonly type: 'text'; readonly chars: number; readonly phase?: Phase }
  | { readonly type: 'call' };

/** The parts of a reply in their order, as they are sent. */
export type ReplyPart =
  | ReasoningItem
  | { readonly type: 'text'; readonly text: string; readonly phase?: Phase }
  | { readonly type: 'call'; readonly call: ToolCall };

type AssistantMessage = Extract<Message, { role: 'assistant' }>;

/** What to keep; undefined where there is nothing but what the message holds already. */
export function replayOf(origin: string, parts: readonly KeptPart[]): Replay | undefined {
  const isWorthIt = parts.some((part) => part.type === 'reasoning' || (part.type === 'text' && part.phase));
  return isWorthIt ? { origin, items: parts } : undefined;
}

/**
 * The parts of a message. Without a replay of `origin`, or where it does not fit the message any more since that was
 * changed, these are its text and its calls alone.
 */
export function partsOf(message: AssistantMessage, origin: string | undefined): readonly ReplyPart[] {
  const { content, toolCalls = [], replay } = message;
  const kept = replay && replay.origin === origin ? replayedParts(replay.items, content, toolCalls) : undefined;
  if (kept !== undefined) return kept;
  const calls = toolCalls.map((call): ReplyPart => ({ type: 'call', call }));
  return content === '' ? calls : [{ type: 'text', text: content }, ...calls];
}

function replayedParts(
  items: readonly JsonRecord[],
  content: string,
  calls: readonly ToolCall[],
): readonly ReplyPart[] | undefined {
  const parts: ReplyPart[] = [];
  const restCalls = [...calls];
  let at = 0;
  for (const item of items) {
    if (item.type === 'text') {
      const start = at === 0 ? 0 : at + BETWEEN_TEXTS.length;
      if (content.slice(at, start) !== (at === 0 ? '' : BETWEEN_TEXTS)) return undefined;
      at = start + countOf(item.chars);
      const text = content.slice(start, at);
      parts.push({ type: 'text', text, ...phaseOf(item) });
    } else if (item.type === 'call') {
      const call = restCalls.shift();
      if (call === undefined) return undefined;
      parts.push({ type: 'call', call });
    } else {
      const reasoning = reasoningItem(item);
      if (reasoning) parts.push(reasoning);
    }
  }
  return at === content.length && restCalls.length === 0 ? parts : undefined;
}

/** The phase of a text, as a field. */
export function phaseOf({ phase }: JsonRecord): { readonly phase?: Phase } {
  return phase === 'commentary' || phase === 'final_answer' ? { phase } : {};
}

/**
 * A reasoning item in the form in which it can be sent. Undefined for one that holds nothing by itself: an endpoint that
 * stores nothing refuses a request that only names it.
 */
export function reasoningItem(value: unknown): ReasoningItem | undefined {
  const item = asRecord(value);
  if (item?.type !== 'reasoning') return undefined;
  const content = textsIn(item.content).map((text) => ({ type: 'reasoning_text' as const, text }));
  const sealed = textOf(item.encrypted_content);
  if (content.length === 0 && sealed === '') return undefined;
  return {
    type: 'reasoning',
    id: textOf(item.id),
    summary: textsIn(item.summary).map((text) => ({ type: 'summary_text' as const, text })),
    ...(content.length > 0 && { content }),
    ...(sealed !== '' && { encrypted_content: sealed }),
  };
}

function textsIn(parts: unknown): readonly string[] {
  return Array.isArray(parts) ? parts.map((part) => textOf(asRecord(part)?.text)).filter((text) => text !== '') : [];
}
