/** Tools, providers and executors of library users may give or throw anything: it ends in a result or an outcome. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { messageOf } from '../../src/errors.js';
import {
  type ModelDelta,
  type Outcome,
  parseEvent,
  type Tool,
  type ToolOutput,
  type ToolResult,
} from '../../src/index.js';
import { calls, disorder, says } from '../fixtures/bench.js';
import { type AgentBenchOptions, agentOver, end, ofType, probe, text } from '../parity/agent-bench.js';

const circle: Record<string, unknown> = {};
circle.itself = circle;
const unprintable = [
  ['an object without a prototype', Object.create(null)],
  [
    'a text that throws',
    {
      toString() {
        throw new Error('no');
      },
    },
  ],
  [
    'a message that throws',
    Object.defineProperty(new Error('x'), 'message', {
      get() {
        throw new Error('getter');
      },
    }),
  ],
  ['a message that is no text', Object.assign(new Error('x'), { message: { a: 1 } })],
  [
    'a proxy that throws',
    new Proxy(
      {},
      {
        get() {
          throw new Error('no');
        },
        getPrototypeOf() {
          throw new Error('no');
        },
      },
    ),
  ],
  ['nothing', undefined],
  ['a symbol', Symbol('s')],
] as const;

async function ran(tool: Tool, options: AgentBenchOptions = {}) {
  const bench = agentOver([calls(['c1', 't', {}]), says('Done.')], { tools: [tool], ...options });
  const outcome = await bench.agent.run('Go.');
  expect(disorder(bench.events)).toEqual([]);
  for (const event of bench.events) parseEvent(event);
  const [ended] = ofType(bench.events, 'tool-end');
  return { ...bench, outcome, ended };
}

describe.each(unprintable)('%s', (_, thrown) => {
  it('has a text when it is thrown', () => {
    expect(typeof messageOf(thrown)).toBe('string');
  });

  it('thrown by a tool is a failed result', async () => {
    const { outcome, ended } = await ran(probe('t', () => Promise.reject(thrown)).tool);
    expect(outcome.reason).toBe('answered');
    expect(ended).toMatchObject({ ok: false, code: 'tool-error' });
  });

  it('thrown by a provider fails the run', async () => {
    const { agent, events } = agentOver([
      async function* () {
        yield text('x');
        throw thrown;
      },
    ]);
    expect(await agent.run('Go.')).toMatchObject({ reason: 'failed', error: { kind: 'internal' } });
    expect(disorder(events)).toEqual([]);
  });
});

describe('what a tool gives back is no result: the model is told, and the run goes on', () => {
  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'expected object'],
    ['null', null, 'expected object'],
    ['a bare text', 'hello', 'expected object'],
    ['no output', { ok: true }, 'output: '],
    ['a number as output', { ok: true, output: 42 }, 'output: '],
    ['an object as output', { ok: true, output: { a: 1 } }, 'output: '],
    ['no ok', { output: 'x' }, 'ok: '],
    ['a display in a circle', { ok: true, output: 'x', display: circle }, 'display: '],
    [
      'a display with other values',
      { ok: true, output: 'x', display: { kind: 'lines', lines: [1n] } },
      'display: lines: 0: ',
    ],
    ['effects that are no list', { ok: true, output: 'x', effects: 'no' }, 'effects: '],
    ['an effect that is none', { ok: true, output: 'x', effects: [null] }, 'effects: 0: '],
    ['touched files that are no list', { ok: true, output: 'x', touched: 'a' }, 'touched: '],
    [
      'a field that throws',
      {
        ok: true,
        get output() {
          throw new Error('in the getter');
        },
      },
      'in the getter',
    ],
  ])('%s', async (_, given, words) => {
    const { outcome, ended } = await ran(probe('t', async () => given as ToolOutput).tool);
    expect(outcome.reason).toBe('answered');
    expect(ended).toMatchObject({ ok: false, code: 'bad-result' });
    expect(ended?.output).toContain(words);
    expect(ended?.output).toContain('A tool returns {ok: true or false, output: TEXT}');
  });
});

describe('the other parts of a tool', () => {
  const throws = () => {
    throw new Error('mine');
  };
  it.each<[string, Partial<Tool>, object]>([
    [
      'a refinement that throws',
      { schema: z.object({}).refine(throws) },
      { code: 'tool-error', output: 't failed: mine' },
    ],
    ['a refinement that rejects', { schema: z.object({}).refine(async () => throws()) }, { code: 'tool-error' }],
    ['an asynchronous refinement that passes', { schema: z.object({}).refine(async () => true) }, { ok: true }],
    [
      'an asynchronous refinement that does not',
      { schema: z.object({}).refine(async () => false, 'not so') },
      { code: 'bad-arguments', output: expect.stringContaining('not so') as string },
    ],
    [
      'subjects that are none',
      { subjects: (() => undefined) as never },
      { code: 'tool-error', output: expect.stringContaining('list of subjects') as string },
    ],
    ['subjects of no known kind', { subjects: (() => [{ kind: 'file', path: 'a' }]) as never }, { code: 'tool-error' }],
    ['subjects that throw', { subjects: throws }, { code: 'tool-error', output: 't failed: mine' }],
    ['a title that is no text', { title: (() => 5) as never }, { ok: true }],
  ])('%s', async (_, fields, expected) => {
    const { outcome, ended } = await ran(probe('t', undefined, fields).tool);
    expect(outcome.reason).toBe('answered');
    expect(ended).toMatchObject({ ok: 'ok' in expected, ...expected });
  });

  it('a preview that is none is left out of the question', async () => {
    const { tool } = probe('t', undefined, { permission: 'write', preview: (async () => circle) as never });
    const { ended, events } = await ran(tool, { approve: async () => 'once' });
    expect(ended?.ok).toBe(true);
    expect(ofType(events, 'approval-request')[0]).not.toHaveProperty('display');
  });

  it('updates that are no text are shown as one', async () => {
    const { tool } = probe('t', async (_, { update }) => {
      update(5n as never);
      return { ok: true, output: 'x' };
    });
    expect(ofType((await ran(tool)).events, 'tool-update').map((event) => event.text)).toEqual(['5']);
  });

  it('effects of a failed call do not come about', async () => {
    const effects = [{ type: 'set-state', key: 'k', value: 1 }, { type: 'mail' }];
    const got: string[] = [];
    const { agent, ended } = await ran(probe('t', async () => ({ ok: false, output: 'Nope.', effects })).tool, {
      effectPolicy: { mode: 'allow-all', allow: [], deny: [] },
      onEffect: ({ type }) => void got.push(type),
    });
    expect([agent.state.size, got, ended?.output]).toEqual([0, [], 'Nope.']);
  });
});

describe('a provider', () => {
  const over = async (...deltas: readonly object[]) => {
    const { tool, ran: got } = probe('t');
    const { agent, events } = agentOver([deltas as readonly ModelDelta[], says('Done.')], { tools: [tool] });
    const outcome: Outcome = await agent.run('Go.');
    for (const event of events) parseEvent(event);
    return { outcome, got, events, agent };
  };

  it.each<[string, object, readonly string[]]>([
    ['arguments as an object', { id: 'a', name: 't', arguments: { text: 'hi' } }, ['hi']],
    ['no arguments', { id: 'a', name: 't' }, ['']],
    ['no id', { name: 't', arguments: '{"text":"hi"}' }, ['hi']],
  ])('may give %s', async (_, call, expected) => {
    const { outcome, got, events } = await over({ type: 'call', call }, { type: 'end', finishReason: 'tool_calls' });
    expect([outcome.reason, got]).toEqual(['answered', expected]);
    expect(disorder(events)).toEqual([]);
  });

  it('whose arguments have no end fails the run, saying so', async () => {
    const { outcome } = await over({ type: 'call', call: { id: 'a', name: 't', arguments: circle } }, end);
    expect(outcome).toMatchObject({ reason: 'failed', error: { kind: 'provider' } });
  });

  it('may leave counts out of its usage: they are 0', async () => {
    const { outcome } = await over(
      text('x'),
      { type: 'usage', usage: { promptTokens: 5, totalTokens: Number.NaN } },
      end,
    );
    expect(outcome.usage).toEqual({
      requests: 1,
      promptTokens: 5,
      completionTokens: 0,
      cachedTokens: 0,
      reasoningTokens: 0,
      totalTokens: 0,
    });
  });

  it('that never waits and never ends is ended by the deadline', async () => {
    const { agent } = agentOver([
      async function* () {
        for (;;) yield { type: 'activity' };
      },
    ]);
    expect(await agent.run('Go.', { timeoutMs: 50 })).toMatchObject({ reason: 'timeout' });
  });
});

describe('a round executor', () => {
  it.each<[string, unknown]>([
    ['null', null],
    ['no output', { callId: 'c1', ok: true }],
    ['a number as output', { callId: 'c1', ok: true, output: 5 }],
    ['no ok', { callId: 'c1', output: 'x' }],
    ['a promise of nothing', Promise.resolve(undefined)],
  ])('that gives %s is told as failed to the model', async (_, given) => {
    const { ended, outcome } = await ran(probe('t').tool, {
      roundExecutor: async function* () {
        yield given as ToolResult;
      },
    });
    expect(outcome.reason).toBe('answered');
    expect(ended).toMatchObject({ ok: false, code: 'executor-failed' });
  });

  it('that yields for ever without waiting is ended by the deadline', async () => {
    const { agent, events } = agentOver([calls(['c1', 't', {}])], {
      tools: [probe('t').tool],
      roundExecutor: async function* () {
        for (;;) yield { callId: 'other', ok: true, output: '' };
      },
    });
    expect(await agent.run('Go.', { timeoutMs: 50 })).toMatchObject({ reason: 'timeout' });
    expect(disorder(events)).toEqual([]);
  });
});
