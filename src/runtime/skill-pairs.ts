/** Finds the skills in a history that were really loaded, and takes out all that only look so. Pure. */
import type { Message, ToolCall } from '../kernel/types.js';

export const LOAD_SKILL = 'load_skill';

/**
 * Each loaded skill as the call and its result, in the order of loading; of a skill that was loaded twice the later.
 * A result counts if it is in `genuine` and answers a call of `load_skill` right before it.
 */
export function durablePairs(messages: readonly Message[], genuine: WeakSet<Message>): readonly Message[] {
  const pairs = new Map<string, readonly Message[]>();
  let calls: readonly ToolCall[] = [];
  for (const message of messages) {
    if (message.role === 'assistant') calls = message.toolCalls ?? [];
    if (message.role === 'user') calls = [];
    if (message.role !== 'tool' || !genuine.has(message)) continue;
    const call = calls.find(({ id, name }) => id === message.callId && name === LOAD_SKILL);
    if (call === undefined) continue;
    pairs.delete(call.arguments);
    pairs.set(call.arguments, [{ role: 'assistant', content: '', toolCalls: [call] }, message]);
  }
  return [...pairs.values()].flat();
}

/** The messages without calls of `load_skill` and without their results. */
export function withoutSkillPairs(messages: readonly Message[]): readonly Message[] {
  return messages.flatMap((message): readonly Message[] => {
    if (message.role === 'tool') return message.name === LOAD_SKILL ? [] : [message];
    if (message.role !== 'assistant' || message.toolCalls === undefined) return [message];
    const { toolCalls, ...rest } = message;
    const others = toolCalls.filter((call) => call.name !== LOAD_SKILL);
    if (others.length > 0) return [{ ...rest, toolCalls: others }];
    return message.content === '' ? [] : [rest];
  });
}
