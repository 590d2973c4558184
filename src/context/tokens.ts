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
  for (let index = 0; index < text.length; index += 1) quarters += QUARTERS[text.charCodeAt(index)] ?? 1;
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

/** Kana, Han with its first extension and its compatibility forms, and Hangul: from, to before. */
const CJK: readonly (readonly [number, number])[] = [
  [0x3040, 0x3100],
  [0x3400, 0x4dc0],
  [0x4e00, 0xa000],
  [0xac00, 0xd7b0],
  [0xf900, 0xfb00],
];

/** Quarters of a token by character code: letters and blanks come many to a token, digits and signs few. */
const QUARTERS = new Uint8Array(0x10000).fill(1);
for (let code = 0x21; code < 0x80; code += 1) if (!/[a-z]/i.test(String.fromCharCode(code))) QUARTERS[code] = 2;
for (const [from, to] of CJK) QUARTERS.fill(4, from, to);
