import { describe, expect, it } from 'vitest';
import { type Agent, createAgent, FakeProvider, UsageError } from '../../src/index.js';
import { calls, says } from '../fixtures/bench.js';
import { agentOver, collect, ofType, probe } from '../parity/agent-bench.js';

const sleeps = probe('t', async () => {
  await new Promise((resolve) => setTimeout(resolve, 20));
  return { ok: true, output: 'x' };
});
const twice = () =>
  agentOver((_, index) => (index === 0 ? calls(['c1', 't', {}]) : says('Done.')), { tools: [sleeps.tool] });

describe('leaving the reading of a run early', () => {
  it.each<[string, (agent: Agent) => Promise<unknown>]>([
    [
      'stream, by break',
      async (agent) => {
        for await (const { type } of agent.stream('Go.')) if (type === 'tool-call') break;
      },
    ],
    [
      'stream, by a throw',
      async (agent) => {
        const read = async () => {
          for await (const { type } of agent.stream('Go.')) if (type === 'tool-call') throw new Error('mine');
        };
        await expect(read()).rejects.toThrow('mine');
      },
    ],
    [
      'events, by break',
      async (agent) => {
        for await (const { type } of agent.ask('Go.').events) if (type === 'tool-start') break;
      },
    ],
    ['events, before the first', async (agent) => agent.ask('Go.').events[Symbol.asyncIterator]().return?.()],
    [
      'events, while one is waited for',
      async (agent) => {
        const reader = agent.ask('Go.').events[Symbol.asyncIterator]();
        const items = Array.from({ length: 50 }, () => reader.next());
        await reader.return?.();
        expect((await Promise.all(items)).at(-1)).toEqual({ done: true, value: undefined });
      },
    ],
  ])('cancels it and waits for its end, so that the next one can start at once: %s', async (_, read) => {
    const { agent, events } = twice();
    await read(agent);
    expect(ofType(events, 'run-end').map(({ reason }) => reason)).toEqual(['interrupted']);
    expect(await agent.run('Next.')).toMatchObject({ reason: 'answered' });
  });
});

describe('a second reader of the events of a run', () => {
  it.each([['beside the first'], ['behind it']])('is refused with what to do instead: %s', async (when) => {
    const { agent } = twice();
    const { events, result } = agent.ask('Go.');
    const first = collect(events);
    if (when === 'behind it') await first;
    const refused = collect(events);
    await expect(refused).rejects.toThrow(UsageError);
    await expect(refused).rejects.toThrow('onEvent');
    expect((await first).at(-1)).toMatchObject({ type: 'worker-end' });
    expect(await result).toMatchObject({ reason: 'answered' });
  });
});

it('a reader whose promise rejects is left out from then on, and nothing else comes of it', async () => {
  let got = 0;
  const agent = createAgent({
    provider: FakeProvider([{ text: 'Fine.' }, { text: 'Fine.' }]),
    onEvent: async () => {
      got += 1;
      throw new Error('the database is down');
    },
  });
  const events = await collect(agent.ask('Go.').events);
  expect(await agent.run('Again.')).toMatchObject({ reason: 'answered' });
  expect(ofType(events, 'notice')).toMatchObject([{ code: 'reader-failed' }]);
  expect(got).toBeLessThan(events.length);
});

it.each<[string, unknown, string]>([
  ['a text', 'my reason', 'my reason'],
  ['an error', new Error('because'), 'because'],
  ['a number', 7, '7'],
  ['an object', {}, 'user_cancelled'],
  ['none', undefined, 'This operation was aborted'],
])('the reason of an abort is kept: %s', async (_, given, message) => {
  const { agent } = twice();
  const outcome = await agent.run('Go.', { signal: AbortSignal.abort(given) });
  expect(outcome).toMatchObject({ reason: 'interrupted', error: { message } });
});
