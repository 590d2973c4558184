/** What a run of an agent may spend, what it did spend, and how much of it is remembered. */
import { describe, expect, it } from 'vitest';
import { EVENTS_KEPT } from '../../src/events/trace.js';
import { ConfigError, createAgent, FakeProvider, ProviderError } from '../../src/index.js';
import { calls, says } from '../fixtures/bench.js';
import { agentOver, ofType, probe, text } from '../parity/agent-bench.js';

const usageOf = (promptTokens: number, completionTokens: number) => ({
  type: 'usage' as const,
  usage: {
    promptTokens,
    completionTokens,
    cachedTokens: 0,
    reasoningTokens: 0,
    totalTokens: promptTokens + completionTokens,
  },
});
const end = { type: 'end', finishReason: 'stop' } as const;

/** A model that looks at something new each time, for ever; a million tokens in and none out. */
const looks = (_: unknown, index: number) => [
  { type: 'call', call: { id: `c${index}`, name: 'look', arguments: `{"text":"${index}"}` } } as const,
  usageOf(1_000_000, 0),
  end,
];
const look = () => probe('look', async (place) => ({ ok: true, output: `at ${place}` })).tool;

describe('a cost limit', () => {
  it.each<[string, object]>([
    ['by the price that is known of the model', { model: 'gpt-4o' }],
    ['by the price that was given', { model: 'mine', price: { inputUsdPerMillion: 2.5, outputUsdPerMillion: 0 } }],
    [
      'by the given price, also of a model that is known',
      { model: 'o3', price: { inputUsdPerMillion: 2.5, outputUsdPerMillion: 9 } },
    ],
  ])('ends the run %s', async (_, options) => {
    const { agent, requests, events } = agentOver(looks, { tools: [look()], limits: { maxCostUsd: 5 }, ...options });
    const outcome = await agent.run('Look.');
    expect(outcome).toMatchObject({ reason: 'budget', error: { message: expect.stringContaining('5 USD') } });
    expect(requests).toHaveLength(2);
    expect(ofType(events, 'usage').map(({ costUsd }) => costUsd)).toEqual([2.5, 5]);
  });

  it('counts what is written as well', async () => {
    const { agent, events } = agentOver([[text('Done.'), usageOf(1_000, 2_000), end]], {
      price: { inputUsdPerMillion: 1, outputUsdPerMillion: 10 },
    });
    await agent.run('Write.');
    expect(ofType(events, 'usage').map(({ costUsd }) => costUsd)).toEqual([0.021]);
  });

  it.each([
    ['a model that is not known', { model: 'mine', limits: { maxCostUsd: 5 } }, /price of mine is not known/],
    ['no model', { limits: { maxCostUsd: 5 } }, /price of the model is not known/],
  ])('is refused when the agent is made, with %s', (_, options, message) => {
    const make = () => createAgent({ provider: FakeProvider([]), ...options });
    expect(make).toThrow(ConfigError);
    expect(make).toThrow(message);
  });

  it('ends a run that asks another model, whose price is not known', async () => {
    const { agent, requests } = agentOver(looks, {
      tools: [look()],
      model: 'gpt-4o',
      limits: { maxCostUsd: 5 },
      transformRequest: (request) => ({ ...request, model: 'mine' }),
    });
    expect(await agent.run('Look.')).toMatchObject({
      reason: 'budget',
      error: { message: expect.stringMatching(/not known/) },
    });
    expect(requests).toHaveLength(1);
  });

  it.each<[string, object]>([
    ['not given', {}],
    ['Infinity', { limits: { maxCostUsd: Number.POSITIVE_INFINITY } }],
  ])('is none where it is %s: an unknown price is said, and the run goes on', async (_, options) => {
    const { agent, events } = agentOver([says('Done.')], options);
    expect(await agent.run('Go.')).toMatchObject({ reason: 'answered' });
    expect(ofType(events, 'usage').map(({ costUsd }) => costUsd)).toEqual([null]);
  });
});

describe('the limits of a run', () => {
  it('are by default 30 turns and 10 minutes, and are told at its start', async () => {
    const { agent, events } = agentOver(() => says('Done.'));
    await agent.run('First.');
    await agent.run('Second.', { timeoutMs: 5_000 });
    expect(ofType(events, 'run-start')).toMatchObject([
      { maxTurns: 30, timeoutMs: 600_000 },
      { maxTurns: 30, timeoutMs: 5_000 },
    ]);
  });

  it('are those that were given', async () => {
    const { agent, events } = agentOver([says('Done.')], { limits: { maxTurns: 3, timeoutMs: 7_000 } });
    await agent.run('Go.');
    expect(ofType(events, 'run-start')).toMatchObject([{ maxTurns: 3, timeoutMs: 7_000 }]);
  });

  it('of requests and tokens begin anew in each run', async () => {
    const limits = { maxRequests: 2, maxTokens: 8 };
    const { agent, requests } = agentOver(
      (_, index) => (index % 2 === 0 ? calls([`c${index}`, 'look', { text: `${index}` }]) : says('Done.')),
      { tools: [look()], limits },
    );
    for (const task of ['First.', 'Second.']) expect(await agent.run(task)).toMatchObject({ reason: 'answered' });
    expect(requests).toHaveLength(4);
  });
});

describe('the usage of a run', () => {
  it('begins at nothing in each run', async () => {
    const { agent, events } = agentOver(() => [text('Done.'), usageOf(3, 2), end]);
    const outcomes = [await agent.run('First.'), await agent.run('Second.')];
    expect(outcomes.map(({ usage }) => usage)).toMatchObject(
      outcomes.map(() => ({ requests: 1, promptTokens: 3, completionTokens: 2, totalTokens: 5 })),
    );
    expect(ofType(events, 'usage').map(({ usage }) => usage.totalTokens)).toEqual([5, 5]);
  });

  const retry = { type: 'retry', attempt: 2, maxAttempts: 3, waitMs: 1, reason: 'reset' } as const;

  it('counts each request that left, and what was spent on a reply that broke off [row 54] [row 58]', async () => {
    const { agent, events } = agentOver([[text('ha'), usageOf(3, 1), retry, text('whole'), usageOf(3, 2), end]]);
    const outcome = await agent.run('Go.');
    expect(outcome).toMatchObject({
      answer: 'whole',
      usage: { requests: 2, promptTokens: 6, completionTokens: 3, totalTokens: 9 },
    });
    expect(ofType(events, 'run-end')).toMatchObject([{ usage: outcome.usage }]);
    expect(ofType(events, 'usage').at(-1)).toMatchObject({ usage: outcome.usage });
  });

  it.each<[string, () => AsyncIterable<never>, object]>([
    [
      'fails',
      async function* () {
        yield* [];
        throw new ProviderError('network', 'Reset.');
      },
      { reason: 'failed' },
    ],
    ['ends without saying that it is whole', async function* () {}, { reason: 'failed', error: { kind: 'provider' } }],
  ])('counts a last request that %s [row 54]', async (_, breaks, ending) => {
    const { agent } = agentOver(
      [
        calls(['a', 'look', {}]),
        async function* () {
          yield* [text('And th'), usageOf(4, 1)];
          yield* breaks();
        },
      ],
      { tools: [look()] },
    );
    expect(await agent.run('Go.')).toMatchObject({
      ...ending,
      usage: { requests: 2, promptTokens: 7, completionTokens: 3 },
    });
  });

  it('counts no retry that the budget does not allow', async () => {
    const { agent } = agentOver([[text('ha'), usageOf(3, 1), retry, text('never'), end]], {
      limits: { maxRequests: 1 },
    });
    expect(await agent.run('Go.')).toMatchObject({ reason: 'budget', usage: { requests: 1, totalTokens: 4 } });
  });

  it('counts no request where none left', async () => {
    const { agent } = agentOver([]);
    expect(await agent.run('Go.', { signal: AbortSignal.abort() })).toMatchObject({
      reason: 'interrupted',
      usage: { requests: 0 },
    });
  });
});

describe('the trace of a run', () => {
  it(`keeps its first ${EVENTS_KEPT} events, and says that there were more [row 53]`, async () => {
    const pieces = Array.from({ length: EVENTS_KEPT + 1 }, () => text('.'));
    const { agent, events } = agentOver([[...pieces, end]]);
    const { id, result } = agent.ask('Go on and on.');
    await result;
    expect(events.length).toBeGreaterThan(EVENTS_KEPT);
    const trace = agent.traces(id);
    expect([trace?.events.length, trace?.truncated]).toEqual([EVENTS_KEPT, true]);
    expect(trace?.events[0]).toEqual(events[0]);
  });
});
