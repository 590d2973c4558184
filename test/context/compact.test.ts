import { describe, expect, it } from 'vitest';
import { planCompaction, summaryRequest } from '../../src/context/compact.js';
import { fairShare, fileOf, type Observation, shrinkable, shrunk } from '../../src/context/shrink.js';
import { createTokenCounter } from '../../src/context/tokens.js';
import { roomIn, windowInWords } from '../../src/context/window.js';
import { isPaired } from '../../src/kernel/transcript.js';
import type { Message } from '../../src/kernel/types.js';

const system: Message = { role: 'system', content: 'You work. <instructions>Use tabs.</instructions>' };
const task: Message = { role: 'user', content: 'Rename a, test b, leave c.' };
const round = (id: string, name: string, args: string, content: string): readonly Message[] => [
  { role: 'assistant', content: '', toolCalls: [{ id, name, arguments: args }] },
  { role: 'tool', callId: id, name, content },
];
const reads = (count: number) =>
  Array.from({ length: count }, (_, n) => round(`r${n}`, 'read_file', `{"path":"${n}"}`, 'x '.repeat(400))).flat();
const plan = (messages: readonly Message[], openingCount = 2, room = 2_000) =>
  planCompaction(messages, { openingCount, room, counter: createTokenCounter() });

describe('what a summary takes the place of', () => {
  it('leaves the instruction files, the task, loaded skills and the last plan word for word', () => {
    const messages = [
      system,
      task,
      ...round('s1', 'load_skill', '{"name":"deploy"}', 'Old body.'),
      ...round('p1', 'update_plan', '{"steps":[1]}', 'Plan 1.'),
      ...round('s2', 'load_skill', '{"name":"deploy"}', 'Body of deploy.'),
      ...round('p2', 'update_plan', '{"steps":[2]}', 'Plan 2.'),
      ...reads(8),
    ];
    const { messages: history = [], openingCount } = plan(messages)?.historyWith('SUMMARY') ?? {};
    expect(history.slice(0, openingCount)).toEqual([
      system,
      { role: 'user', content: expect.stringContaining('SUMMARY') },
      task,
    ]);
    expect(history.slice(openingCount ?? 0)).toEqual([
      ...round('s2', 'load_skill', '{"name":"deploy"}', 'Body of deploy.'),
      ...round('p2', 'update_plan', '{"steps":[2]}', 'Plan 2.'),
      ...messages.slice(-4),
    ]);
    expect(isPaired(history)).toBe(true);
  });

  it('leaves no result that only looks like a skill', () => {
    const messages = [
      system,
      task,
      ...round('true', 'load_skill', '{"name":"a"}', 'A.'),
      ...round('forged', 'load_skill', '{"name":"b"}', 'FORGED'),
      ...reads(8),
    ];
    const options = { openingCount: 2, room: 2_000, counter: createTokenCounter() };
    const made = planCompaction(messages, { ...options, isLoadedSkill: ({ callId }) => callId === 'true' });
    const kept = JSON.stringify(made?.historyWith('S').messages);
    expect(kept).toContain('A.');
    expect(kept).not.toContain('FORGED');
  });

  it('is the conversation before the task, too', () => {
    const before: Message[] = [
      { role: 'user', content: 'Earlier question.' },
      { role: 'assistant', content: 'Earlier answer.' },
    ];
    const made = plan([system, ...before, task, ...reads(8)], 4);
    expect(made?.older.slice(0, 2)).toEqual(before);
    expect(JSON.stringify(made?.historyWith('S').messages)).not.toContain('Earlier');
  });

  it.each<[string, readonly Message[]]>([
    ['a task alone', [system, task]],
    ['the last round alone', [system, task, ...reads(1)]],
    [
      'what was summed up before',
      plan([system, task, ...reads(8)])
        ?.historyWith('S')
        .messages.slice(0, 3) ?? [],
    ],
  ])('is nothing where there is only %s', (_, messages) => {
    expect(plan(messages, messages.lastIndexOf(task) + 1)).toBeUndefined();
  });

  it('is asked for in no more characters than it may have', () => {
    const [, asked] = summaryRequest(reads(200), 3_000);
    expect(asked?.content.length).toBeLessThan(3_100);
  });
});

describe('a result that is made shorter', () => {
  const whole: Observation = {
    role: 'tool',
    callId: 'c',
    name: 'read_file',
    content: `head ${'x'.repeat(5_000)} tail`,
  };

  it('keeps head and tail, then one line, and names size and file each time', () => {
    const first = shrunk(whole, 1_800, '/s/f.txt');
    expect(first.content).toMatch(/^head x+\n\[…\]\nx+ tail\n\[.*5010 characters in all; .* \/s\/f\.txt\]$/);
    expect(fileOf(first)).toBe('/s/f.txt');
    const second = shrunk(first, 'line', fileOf(first));
    expect(second.content).toBe('[Left out to save space: 5010 characters; it is in /s/f.txt]');
    expect(fileOf(second)).toBe('/s/f.txt');
  });

  it('splits no character', () => {
    const faces: Observation = { ...whole, content: '😀'.repeat(2_000) };
    for (const chars of [999, 1_000, 1_001]) expect(shrunk(faces, chars, 'f').content).not.toMatch(/\p{Surrogate}/u);
  });

  it.each([
    ['a short one', { ...whole, content: 'short' }, 'line'],
    ['what a skill says', { ...whole, name: 'load_skill' }, 'line'],
    ['the plan', { ...whole, name: 'update_plan' }, 1_800],
    ['one that is a line already', shrunk(whole, 'line', 'f'), 'line'],
  ] as const)('is none for a second time, or of what has to stay: %s', (_, message, extent) => {
    expect(shrinkable([message], extent, 0, 1)).toEqual([]);
  });

  it.each([
    [[10, 20], 100, Number.POSITIVE_INFINITY],
    [[10, 90, 90], 110, 50],
    [[50, 50], 60, 30],
    [[50], -5, 0],
  ])('shares room fairly: of %j within %d each has at most %d', (sizes, room, share) => {
    expect(fairShare(sizes, room)).toBe(share);
  });
});

describe('the window', () => {
  it('keeps a quarter at most for the reply', () => {
    expect(roomIn(128_000)).toBe(128_000 - 8_192);
    expect(roomIn(8_000)).toBe(6_000);
    expect(roomIn(128_000, 1_000)).toBe(127_000);
  });

  it.each([
    ["This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.", 8_192],
    ['prompt is too long: 208310 tokens > 200000 maximum', 200_000],
    ['the request exceeds the available context size (n_ctx = 4096)', 4_096],
    ['The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).', 1_048_576],
    ["This model's maximum prompt length is 131,072 but the request contains 140000 tokens.", 131_072],
    ['Input is too long.', undefined],
    ['context length exceeded: 12', undefined],
  ])('is read from a refusal: %s', (words, tokens) => {
    expect(windowInWords(words)).toBe(tokens);
  });
});
