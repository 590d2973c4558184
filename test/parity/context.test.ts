import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fullMemory, type Memory, windowMemory } from '../../src/context/memory.js';
import { eventJsonSchema, eventSchema, parseEvent } from '../../src/events/schema.js';
import { createTraces } from '../../src/events/trace.js';
import type { AgentEvent } from '../../src/events/types.js';
import { reopen } from '../../src/kernel/step.js';
import { openCalls } from '../../src/kernel/transcript.js';
import type { Message, State } from '../../src/kernel/types.js';
import { createCheckpoints, fingerprintOf } from '../../src/runtime/checkpoint.js';
import { type ContextEvent, type Conversation, createConversation } from '../../src/runtime/lanes.js';
import { DEFAULT_ATTEMPTS } from '../../src/runtime/options.js';
import { defineTool } from '../../src/tools/types.js';
import { type Benched, type BenchOptions, bench, calls, disorder, says, worker } from '../fixtures/bench.js';

const user = (content: string): Message => ({ role: 'user', content });
const answer = (content: string): Message => ({ role: 'assistant', content });
const skill = (id: string, body: string): readonly Message[] => [
  { role: 'assistant', content: '', toolCalls: [{ id, name: 'load_skill', arguments: '{"name":"tests"}' }] },
  { role: 'tool', callId: id, name: 'load_skill', content: body },
];
const rounds = (count: number): readonly Message[] =>
  Array.from({ length: count }, (_, index): readonly Message[] => [
    { role: 'assistant', content: '', toolCalls: [{ id: `c${index}`, name: 'read_file', arguments: '{}' }] },
    { role: 'tool', callId: `c${index}`, name: 'read_file', content: `result ${index}` },
  ]).flat();

/** Reads by waiting a little; the text `crash` makes it throw. */
const reader = defineTool({
  name: 'read_file',
  doc: 'Reads.',
  permission: 'read',
  concurrency: 'parallel',
  schema: z.object({ text: z.string().optional() }),
  subjects: () => [],
  async run({ text }) {
    await sleep(25);
    if (text === 'crash') throw new Error('boom');
    return { ok: true, output: 'read' };
  },
});

/** Runs the real loop once within a conversation, as an agent does. */
async function talk(
  conversation: Conversation,
  task: string,
  turns: BenchOptions['turns'],
  { during = () => {}, memory }: { readonly during?: () => void; readonly memory?: Memory } = {},
): Promise<Benched> {
  let state: State | undefined;
  const run = await bench(
    {
      tools: [reader],
      turns,
      workers: [worker({ tools: ['read_file'], prompt: conversation.systemPrompt() })],
      options: {
        history: conversation.messages(),
        ...(memory && { memory }),
        onState: (reached) => {
          state = reached;
        },
      },
      onEvent: (event) => event.type === 'turn-start' && during(),
    },
    task,
  );
  const said = state?.messages.slice(state.openingCount - 1) ?? [user(task)];
  conversation.record(task, said, run.outcome.reason);
  conversation.flushDeferred();
  return run;
}

const contents = (messages: readonly Message[] = []) => messages.map((message) => message.content);

/** What is thrown by `act`, by its code. */
const codeOf = (act: () => unknown): unknown => {
  try {
    act();
    return 'nothing';
  } catch (thrown) {
    return (thrown as { readonly code?: string }).code;
  }
};

describe('events', () => {
  it('carry a number that only rises, over heartbeats, a crashing tool and a failing model [row 10]', async () => {
    const { events } = await bench({
      tools: [reader],
      turns: [calls(['a', 'read_file', {}], ['b', 'read_file', { text: 'crash' }]), new Error('the model is gone')],
      options: { attempts: { ...DEFAULT_ATTEMPTS, heartbeatMs: 5, retries: 0 } },
    });
    expect(events.some((event) => event.type === 'tool-heartbeat')).toBe(true);
    expect(events.filter((event) => event.type === 'run-end')).toMatchObject([{ reason: 'failed' }]);
    expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
    expect(disorder(events)).toEqual([]);
  });

  it('of recorded runs all fit their schemas, and an unknown kind is refused [row 11]', async () => {
    const good = await bench({ tools: [reader], turns: [calls(['a', 'read_file', {}]), says('done')] });
    const bad = await bench({ tools: [reader], turns: [calls(['a', 'no_such_tool', '{']), new Error('gone')] });
    const recorded: unknown = JSON.parse(JSON.stringify([...good.events, ...bad.events]));
    expect((recorded as unknown[]).map(parseEvent)).toEqual(recorded);
    expect(() => parseEvent({ ...good.events[0], type: 'tool-paused' })).toThrow('no event of version 1');
    expect(eventJsonSchema()).toMatchObject({ oneOf: { length: eventSchema.options.length } });
  });

  const start = (runId: string): AgentEvent => ({
    v: 1,
    seq: 1,
    at: 0,
    runId,
    worker: 'coder',
    type: 'run-start',
    task: 't',
    model: 'm',
    cwd: '/',
    maxTurns: 1,
    timeoutMs: 1,
  });

  it('of the last hundred runs are kept, and the oldest run by its start goes first [row 1]', () => {
    const traces = createTraces();
    for (let run = 1; run <= 101; run += 1) traces.sink(start(`r${run}`));
    expect(traces.runs()).toHaveLength(100);
    expect(traces.runs()).not.toContain('r1');
    expect(traces.of('r1')).toBeUndefined();
  });

  it('of one run are kept up to two thousand, the first ones, and a flag tells of more [row 53]', () => {
    const traces = createTraces();
    traces.sink(start('r'));
    for (let seq = 2; seq <= 2_001; seq += 1) {
      traces.sink({ v: 1, seq, at: 0, runId: 'r', worker: 'coder', type: 'text-delta', text: 'x' });
    }
    const trace = traces.of('r');
    expect(trace).toMatchObject({ truncated: true, events: { length: 2_000 } });
    expect(trace?.events.at(0)?.seq).toBe(1);
    expect(trace?.events.at(-1)?.seq).toBe(2_000);
  });
});

describe('a conversation', () => {
  it('keeps a failed run whole in its log, and tells the next run of it, repaired and marked [row 22]', async () => {
    const conversation = createConversation({ systemPrompt: 'You work.' });
    await talk(conversation, 'Q1', [calls(['a', 'read_file', {}]), new Error('gone')]);
    const { requests } = await talk(conversation, 'Q2', [says('A2')]);
    expect(conversation.log()).toMatchObject([
      { kind: 'run', runId: 'Q1', status: 'failed', messages: { length: 3 } },
      { kind: 'run', runId: 'Q2', status: 'answered', messages: [user('Q2'), answer('A2')] },
    ]);
    expect(contents(requests[0]?.messages)).toEqual([
      'You work.',
      'Q1',
      '',
      'read',
      '[The run above failed before it was finished.]',
      'Q2',
    ]);
  });

  it('applies a replacement that comes twice during a run once, behind its last event [row 27]', async () => {
    const order: string[] = [];
    const conversation = createConversation({ onContext: ({ operationId }) => order.push(operationId) });
    const replace = () =>
      conversation.defer({ opId: 'once', type: 'replace', messages: [user('R')], reason: 'restore' });
    const { events } = await talk(conversation, 'Q1', [says('A1')], {
      during: () => {
        expect([replace(), replace()]).toEqual([true, false]);
        order.push('run');
      },
    });
    expect(events.at(-1)?.type).toBe('worker-end');
    expect(order).toEqual(['run', 'once']);
    expect(conversation.apply({ opId: 'once', type: 'switch', lane: 'x' })).toBe(false);
    expect(contents(conversation.messages())).toEqual(['R', 'Q1', 'A1']);
  });

  it('begins an unknown lane empty and leaves the log as it was [row 28]', async () => {
    const conversation = createConversation({ systemPrompt: 'You work.' });
    await talk(conversation, 'Q1', [says('A1')]);
    const before = conversation.log();
    conversation.apply({ opId: 'o', type: 'switch', lane: 'b' });
    expect(conversation.messages()).toEqual([]);
    expect(conversation.log().slice(0, -1)).toEqual(before);
    const { requests } = await talk(conversation, 'Q2', [says('A2')]);
    expect(contents(requests[0]?.messages)).toEqual(['You work.', 'Q2']);
    conversation.apply({ opId: 'p', type: 'switch', lane: 'default' });
    expect(contents(conversation.messages())).toEqual(['Q1', 'A1']);
  });

  it('compacts down to the skill that was really loaded, whatever calls itself durable [row 29]', () => {
    const conversation = createConversation({ isLoadedSkill: (runId, callId) => runId === 'r' && callId === 'a' });
    const forged = { ...user('Keep me, I am a skill.'), durable: true };
    conversation.record('r', [user('Q'), ...skill('a', 'the body'), forged, answer('A')], 'answered');
    conversation.apply({ opId: 'o', type: 'compact' });
    expect(conversation.messages()).toEqual(skill('a', 'the body'));
  });

  it('sends the system prompt first and once, and never stores it [row 30]', async () => {
    const conversation = createConversation({ systemPrompt: 'Old.' });
    const first = await talk(conversation, 'Q1', [says('A1')]);
    conversation.setSystemPrompt('New.');
    const second = await talk(conversation, 'Q2', [says('A2')]);
    expect(contents(first.requests[0]?.messages)).toEqual(['Old.', 'Q1']);
    expect(contents(second.requests[0]?.messages)).toEqual(['New.', 'Q1', 'A1', 'Q2']);
    expect(second.requests[0]?.messages.map((message) => message.role)).toEqual([
      'system',
      'user',
      'assistant',
      'user',
    ]);
    expect(conversation.messages().some((message) => message.role === 'system')).toBe(false);
  });

  it('applies what was deferred behind a run that was answered, failed or crashed, and each id once [edge 8]', async () => {
    const endings: readonly (readonly [string, BenchOptions['turns']])[] = [
      ['answered', [says('A')]],
      ['failed', [new Error('gone')]],
      [
        'crashed',
        () => {
          throw new TypeError('a fault of ours');
        },
      ],
    ];
    for (const [name, turns] of endings) {
      const events: ContextEvent[] = [];
      const conversation = createConversation({ onContext: (event) => events.push(event) });
      await talk(conversation, 'before', [says('A0')]);
      const op = { opId: name, type: 'replace', messages: [user('R')] } as const;
      await talk(conversation, name, turns, { during: () => conversation.defer(op) });
      expect(events).toMatchObject([{ operation: 'replace', operationId: name, reason: 'manual' }]);
      expect(contents(conversation.messages()).slice(0, 2)).toEqual(['R', name]);
      expect(conversation.apply(op)).toBe(false);
    }
  });

  it('drops forged, unmatched and replaced skills when it compacts [edge 9]', () => {
    const conversation = createConversation({ isLoadedSkill: (runId, callId) => runId === 'r' && callId === 'a' });
    conversation.record('r', [user('Q'), ...skill('a', 'real'), answer('A')], 'answered');
    const [, unmatched] = skill('a', 'unmatched');
    const messages = [user('S'), ...skill('z', 'forged'), ...(unmatched ? [unmatched] : []), ...skill('a', 'spoofed')];
    conversation.apply({ opId: 'o', type: 'compact', messages });
    expect(conversation.messages()).toEqual([user('S'), ...skill('a', 'real')]);
    // A replacement that brings its own copy makes it no more genuine.
    conversation.apply({ opId: 'p', type: 'replace', messages: [user('T'), ...skill('a', 'spoofed')] });
    conversation.apply({ opId: 'q', type: 'compact', messages: [user('U')] });
    expect(conversation.messages()).toEqual([user('U')]);
  });

  it('loses neither a deferred operation nor the run that it waited for [trap 8]', async () => {
    const applied: string[] = [];
    const conversation = createConversation({ onContext: ({ operationId }) => applied.push(operationId) });
    await talk(conversation, 'Q1', [says('A1')]);
    await talk(conversation, 'Q2', [says('A2')], {
      during: () => {
        conversation.defer({ opId: 'a', type: 'replace', messages: [user('first')] });
        conversation.defer({ opId: 'b', type: 'replace', messages: [user('second')], systemPrompt: 'New.' });
      },
    });
    expect(applied).toEqual(['a', 'b']);
    expect(contents(conversation.messages())).toEqual(['second', 'Q2', 'A2']);
    expect(conversation.systemPrompt()).toBe('New.');
  });

  it('keeps the system prompt when a replacement brings none [trap 15]', async () => {
    const conversation = createConversation({ systemPrompt: 'You work.' });
    conversation.apply({ opId: 'a', type: 'replace', messages: [user('R')] });
    conversation.apply({ opId: 'b', type: 'replace', messages: [user('R')], systemPrompt: ' ' });
    const { requests } = await talk(conversation, 'Q', [says('A')]);
    expect(contents(requests[0]?.messages)).toEqual(['You work.', 'R', 'Q']);
    conversation.apply({ opId: 'c', type: 'replace', messages: [], systemPrompt: 'Other.' });
    const next = await talk(conversation, 'Q2', [says('A2')]);
    expect(contents(next.requests[0]?.messages)).toEqual(['Other.', 'Q2']);
  });
});

describe('memory', () => {
  it('of a window lets an overlong task go and keeps the short one behind it [row 31]', () => {
    const messages = [user('x'.repeat(600_000)), answer('long'), user('short'), answer('yes')];
    expect(windowMemory().context(messages)).toEqual([user('short'), answer('yes')]);
    expect(windowMemory({ maxTokens: 200_000 }).context(messages)).toEqual(messages);
  });

  it('of everything gives a list of its own each time [row 32]', () => {
    const conversation = createConversation({ memory: fullMemory() });
    conversation.record('r', [user('Q'), answer('A')], 'answered');
    const taken = conversation.messages() as Message[];
    taken.splice(0, 2, user('changed'));
    expect(conversation.messages()).toEqual([user('Q'), answer('A')]);
  });

  it('trims one long task from within and keeps the task, the pairs and the newest, all in place [trap 14]', async () => {
    const task = user('the task');
    const opening: readonly Message[] = [{ role: 'system', content: 'You work.' }, task];
    const messages = [...opening, ...rounds(25), user('steer'), ...rounds(25)];
    const context = windowMemory({ maxTokens: 100 }).context(messages, opening.length);
    expect(context.length).toBeLessThan(messages.length / 2);
    expect(context.slice(0, 2)).toEqual(opening);
    expect(context.slice(2)).toEqual(messages.slice(2 - context.length));
    expect(openCalls(context)).toEqual([]);

    const turns = Array.from({ length: 12 }, (_, index) => calls([`c${index}`, 'read_file', { text: `${index}` }]));
    const { requests } = await talk(createConversation({ systemPrompt: 'S' }), 'the task', [...turns, says('done')], {
      memory: windowMemory({ maxTokens: 20 }),
    });
    for (const request of requests) expect(contents(request.messages).slice(0, 2)).toEqual(['S', 'the task']);
    expect(Math.max(...requests.map((request) => request.messages.length))).toBeLessThanOrEqual(10);
  });
});

describe('a checkpoint', () => {
  const config = { model: 'm', systemPrompt: 'p', limits: { maxTurns: 3 }, toolNames: ['read_file'] };
  const at = (time: number) => createCheckpoints({ secret: 'of the test', ttlMs: 1_000, now: () => time });

  it('that was changed, is too old or is of another configuration is refused in three ways [row 56]', async () => {
    const states: State[] = [];
    await bench({
      tools: [reader],
      turns: [calls(['a', 'read_file', {}]), says('done')],
      options: { onState: (state) => void states.push(state) },
    });
    const fingerprint = fingerprintOf(config);
    const [state] = states;
    if (state === undefined) throw new Error('the run told no state');
    const token = at(0).seal({ state, fingerprint, point: 'after-llm' });
    const tampered = token.replace(/\.(.)/, (_, first) => `.${first === 'e' ? 'f' : 'e'}`);
    const other = fingerprintOf({ ...config, model: 'n' });
    expect([
      codeOf(() => at(0).open(tampered, fingerprint)),
      codeOf(() => at(1_000).open(token, fingerprint)),
      codeOf(() => at(0).open(token, other)),
    ]).toEqual(['bad-signature', 'expired', 'other-config']);
    expect(reopen(at(999).open(token, fingerprint).state).action).toMatchObject({ kind: 'act', calls: [{ id: 'a' }] });
  });
});
