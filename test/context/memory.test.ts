import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fullMemory, windowMemory } from '../../src/context/memory.js';
import { estimateTokens } from '../../src/context/tokens.js';
import { openCalls, repair } from '../../src/kernel/transcript.js';
import type { Message } from '../../src/kernel/types.js';

const user = (content: string): Message => ({ role: 'user', content });
const says = (content: string): Message => ({ role: 'assistant', content });
const round = (id: string, chars = 40): readonly Message[] => [
  { role: 'assistant', content: '', toolCalls: [{ id, name: 'read_file', arguments: '' }] },
  { role: 'tool', callId: id, name: 'read_file', content: 'x'.repeat(chars) },
];
const rounds = (count: number, chars = 40) => Array.from({ length: count }, (_, index) => round(`c${index}`, chars));
const system: Message = { role: 'system', content: 'You work.' };

describe('the estimate of tokens', () => {
  it.each([
    ['counts four characters as one', 'abcd', 1],
    ['rounds up', 'abcde', 2],
    ['counts nothing for nothing', '', 0],
    ['counts each Han character', '日本', 2],
    ['counts kana and Hangul', 'かカ한', 3],
    ['counts two digits as one', '2026', 2],
    ['counts two signs as one', '});;', 2],
    ['adds all kinds', '日本 abc 12', 5],
  ])('%s', (_, text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens);
  });
});

describe('full memory', () => {
  it('gives all messages in a list of its own', () => {
    const messages = [user('a'), says('b')];
    const context = fullMemory().context(messages);
    expect(context).toEqual(messages);
    expect(context).not.toBe(messages);
  });
});

describe('window memory', () => {
  it('leaves what fits as it is', () => {
    const messages = [system, user('a'), ...rounds(3).flat()];
    expect(windowMemory().context(messages)).toEqual(messages);
  });

  it('counts reasoning and the arguments of calls', () => {
    const thought: Message = { role: 'assistant', content: '', reasoning: 'r'.repeat(400) };
    const called: Message = {
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'c', name: 'n', arguments: 'a'.repeat(400) }],
    };
    for (const heavy of [thought, called]) {
      expect(windowMemory({ maxTokens: 99 }).context([user('a'), heavy, user('b')])).toEqual([user('b')]);
      expect(windowMemory({ maxTokens: 110 }).context([user('a'), heavy, user('b')])).toHaveLength(3);
    }
  });

  it('counts by the function it is given', () => {
    const memory = windowMemory({ maxTokens: 2, count: () => 1 });
    expect(memory.context([user('long '.repeat(99)), says('b'), user('c'), says('d')])).toEqual([user('c'), says('d')]);
  });

  it('keeps the task, where it stood, and the newest rounds of one long run, also behind a steer', () => {
    const all = rounds(50);
    const messages = [system, user('task'), ...all.slice(0, 25).flat(), user('steer'), ...all.slice(25).flat()];
    const context = windowMemory({ maxTokens: 100 }).context(messages, 2);
    expect(context.slice(0, 2)).toEqual([system, user('task')]);
    expect(context.slice(2)).toEqual(messages.slice(-(context.length - 2)));
    expect(context.slice(-2)).toEqual(round('c49'));
  });

  it('keeps task and last round even when they are over', () => {
    const messages = [user('t'.repeat(4000)), ...round('c1', 4000), ...round('c2', 4000)];
    expect(windowMemory({ maxTokens: 10 }).context(messages)).toEqual([messages[0], ...round('c2', 4000)]);
  });

  it('lets an older task go only with its last round', () => {
    const messages = [user('first'), ...rounds(20).flat(), says('done'), user('second'), says('ok')];
    const context = windowMemory({ maxTokens: 100 }).context(messages);
    expect(context[0]).toEqual(user('first'));
    expect(context).toContainEqual(says('done'));
    const tight = windowMemory({ maxTokens: 4 }).context(messages);
    expect(tight).toEqual([user('second'), says('ok')]);
  });

  it('gives all of it again once the budget is raised', () => {
    const messages = [user('a'), ...rounds(50).flat()];
    expect(windowMemory({ maxTokens: 100 }).context(messages).length).toBeLessThan(messages.length);
    expect(windowMemory({ maxTokens: 10_000 }).context(messages)).toEqual(messages);
  });

  it('trims in steps, so that most requests begin as the one before', () => {
    const memory = windowMemory({ maxTokens: 1000 });
    const messages = [system, user('task'), ...rounds(200).flat()];
    let changes = 0;
    let before: readonly Message[] = [];
    for (let end = 2; end <= messages.length; end += 2) {
      const context = memory.context(messages.slice(0, end), 2);
      if (before.some((message, index) => context[index] !== message)) changes += 1;
      before = context;
    }
    // 2,000 tokens came in, of which 1,000 fit, and each trim makes room for 250.
    expect(changes).toBeGreaterThan(0);
    expect(changes).toBeLessThanOrEqual(5);
  });

  it('walks each message once however many there are', () => {
    let counts = 0;
    const memory = windowMemory({
      maxTokens: 100,
      count: (text) => {
        counts += 1;
        return text.length;
      },
    });
    const messages = Array.from({ length: 10_000 }, (_, index) => (index % 2 === 0 ? user('q') : says('a')));
    expect(memory.context(messages).length).toBeLessThanOrEqual(100);
    memory.context(messages);
    expect(counts).toBe(15_000);
  });

  it('always gives a valid part of the conversation with its task and its last words', () => {
    const piece = fc.oneof(
      fc.string({ maxLength: 60 }).map((text) => [user(text)]),
      fc.string({ maxLength: 60 }).map((text) => [says(text)]),
      fc.tuple(fc.uuid(), fc.nat(200)).map(([id, chars]) => [...round(id, chars)]),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 30 }),
        fc.array(piece, { maxLength: 30 }),
        fc.nat(300),
        (old, now, max) => {
          const task = user('the task');
          const opening = [system, ...old.flat(), task];
          const messages = [...opening, ...now.flat()];
          const context = windowMemory({ maxTokens: max }).context(messages, opening.length);
          expect(context).toContain(task);
          expect(context[0]).toBe(system);
          expect(context.at(-1)).toBe(messages.at(-1));
          expect(messages.filter((message) => context.includes(message))).toEqual(context);
          expect(openCalls(context)).toEqual([]);
          expect(repair(context, 'missing')).toEqual(context);
        },
      ),
    );
  });
});
