/**
 * How many tokens a request has, by estimate: a real tokenizer takes 0.75 s to load, and only one model family's would be
 * right. `npm run token-error` holds the estimate against one; what an endpoint reports corrects it during a run.
 */
import type { TokenParts } from '../events/types.js';
import type { Message } from '../kernel/types.js';
import type { ToolSpec } from '../providers/types.js';

/** What a chat template puts around each message. */
const TOKENS_PER_MESSAGE = 4;

export type TokenCounter = {
  readonly ofMessage: (message: Message) => number;
  readonly ofMessages: (messages: readonly Message[]) => number;
  readonly ofTools: (tools: readonly ToolSpec[]) => number;
  readonly parts: (messages: readonly Message[], tools: readonly ToolSpec[]) => TokenParts;
};

/** 1 token for each CJK character, each two digits or signs, and each four letters or blanks; rounded up. */
export function estimateTokens(text: string): number {
  let quarters = 0;
  for (let index = 0; index < text.length; index += 1) quarters += quartersOf(text.charCodeAt(index));
  return Math.ceil(quarters / 4);
}

/** The texts of a message, without what stands around them. */
export function countMessage(message: Message, count: (text: string) => number): number {
  if (message.role !== 'assistant') return count(message.content);
  const calls = (message.toolCalls ?? []).map((call) => count(call.arguments));
  return calls.reduce((sum, part) => sum + part, count(message.content) + count(message.reasoning ?? ''));
}

/** A counter that counts each message and each list of tools once, however many requests they are part of. */
export function createTokenCounter(): TokenCounter {
  const known = new WeakMap<object, number>();
  const once = <Key extends object>(key: Key, count: (key: Key) => number): number => {
    const tokens = known.get(key) ?? count(key);
    known.set(key, tokens);
    return tokens;
  };
  const ofMessage = (message: Message) =>
    once(message, (fresh) => {
      const names = fresh.role === 'assistant' ? (fresh.toolCalls ?? []).map((call) => call.name).join(' ') : '';
      return countMessage(fresh, estimateTokens) + estimateTokens(names) + TOKENS_PER_MESSAGE;
    });
  const ofTools = (tools: readonly ToolSpec[]) =>
    tools.length === 0 ? 0 : once(tools, () => estimateTokens(JSON.stringify(tools)));

  return {
    ofMessage,
    ofMessages: (messages) => messages.reduce((sum, message) => sum + ofMessage(message), 0),
    ofTools,
    parts(messages, tools) {
      const sums = { system: 0, user: 0, assistant: 0, tool: 0 };
      for (const message of messages) sums[message.role] += ofMessage(message);
      const { tool: results, ...rest } = sums;
      return { ...rest, results, tools: ofTools(tools) };
    },
  };
}

/** All parts together. */
export function totalOf({ system, tools, user, assistant, results }: TokenParts): number {
  return system + tools + user + assistant + results;
}

function quartersOf(code: number): number {
  if (code < 0x80) return QUARTERS[code] ?? 1;
  return isCjk(code) ? 4 : 1;
}

/** By ASCII code: letters and blanks come many to a token, digits and signs few. */
const QUARTERS = Uint8Array.from({ length: 0x80 }, (_, code) => (/[\sa-z]/i.test(String.fromCharCode(code)) ? 1 : 2));

/** Kana, Han with its first extension and its compatibility forms, and Hangul. */
function isCjk(code: number): boolean {
  if (code < 0x3040) return false;
  return (
    code <= 0x30ff ||
    (code >= 0x3400 && code <= 0x4dbf) ||
    (code >= 0x4e00 && code <= 0x9fff) ||
    (code >= 0xac00 && code <= 0xd7af) ||
    (code >= 0xf900 && code <= 0xfaff)
  );
}
