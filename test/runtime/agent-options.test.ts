/** That each option of an agent reaches its runs; the conversation and the limits have files of their own. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Effect, EffectPolicy } from '../../src/index.js';
import { calls, says } from '../fixtures/bench.js';
import { agentOver, gate, hangs, ofType, probe, until } from '../parity/agent-bench.js';

afterEach(() => vi.restoreAllMocks());

/** The times of all timers that were set meanwhile, in milliseconds. */
const timersSet = () => {
  const set = vi.spyOn(globalThis, 'setTimeout');
  return () => set.mock.calls.map(([, ms]) => ms);
};

describe('the options for tools', () => {
  const busy = () => probe('look', async () => ({ ok: false, code: 'busy', output: 'Busy.', retryable: true }));

  it('toolTimeoutMs: a tool has so long for one attempt', async () => {
    const tool = probe('look', () => new Promise(() => undefined), { permission: 'meta', ownTimeout: false });
    const { agent, events } = agentOver([calls(['a', 'look', {}]), says('Done.')], {
      tools: [tool.tool],
      toolTimeoutMs: 30,
    });
    expect(await agent.run('Look.')).toMatchObject({ reason: 'answered' });
    expect(ofType(events, 'tool-end')).toMatchObject([
      { code: 'timeout', attempts: 1, output: expect.stringContaining('30 ms') },
    ]);
  });

  it.each([
    ['once more by default', {}, 2],
    ['so often again as toolRetries says', { toolRetries: 3, toolRetryBackoffMs: 1 }, 4],
    ['once if that is 0', { toolRetries: 0 }, 1],
  ])('a failure that may pass is tried %s', async (_, options, attempts) => {
    const tool = busy();
    const { agent, events } = agentOver([calls(['a', 'look', {}]), says('Done.')], { tools: [tool.tool], ...options });
    await agent.run('Look.');
    expect(tool.ran).toHaveLength(attempts);
    expect(ofType(events, 'tool-end')).toMatchObject([{ attempts }]);
  });

  it.each([
    ['200 ms by default', {}, 200],
    ['as long as toolRetryBackoffMs says', { toolRetryBackoffMs: 23 }, 23],
  ])('between two attempts it waits %s', async (_, options, waitMs) => {
    const timers = timersSet();
    const { agent } = agentOver([calls(['a', 'look', {}]), says('Done.')], { tools: [busy().tool], ...options });
    await agent.run('Look.');
    expect(timers().filter((ms) => ms === waitMs)).toHaveLength(1);
  });

  it('toolHeartbeatMs: a run tells that tools are at work', async () => {
    const { opening, open } = gate();
    const tool = probe('look', async () => {
      await opening;
      return { ok: true, output: 'seen' };
    });
    const { agent, events } = agentOver([calls(['a', 'look', {}]), says('Done.')], {
      tools: [tool.tool],
      toolHeartbeatMs: 3,
      onEvent: ({ type }) => type === 'tool-heartbeat' && open(),
    });
    expect(await agent.run('Look.')).toMatchObject({ reason: 'answered' });
    expect(ofType(events, 'tool-heartbeat')[0]).toMatchObject({ callIds: ['a'] });
  });

  it('approvalMode: what it lets pass needs no question', async () => {
    const write = probe('write', undefined, {
      permission: 'write',
      subjects: () => [{ kind: 'path', path: 'new.txt' }],
    });
    const turns = () => [calls(['a', 'write', {}]), says('Done.')];
    const modes = [undefined, 'read-only', 'auto-edit'] as const;
    const reasons = modes.map(async (approvalMode) => {
      const { agent } = agentOver(turns(), { tools: [write.tool], ...(approvalMode && { approvalMode }) });
      return (await agent.run('Write.')).reason;
    });
    expect(await Promise.all(reasons)).toEqual(['denied', 'denied', 'answered']);
    expect(write.ran).toHaveLength(1);
  });
});

describe('the options for requests', () => {
  it('are sent with each of them', async () => {
    const { agent, requests, events } = agentOver(
      (_, index) => (index % 2 === 0 ? calls([`c${index}`, 'look', {}]) : says('Done.')),
      {
        tools: [probe('look').tool],
        model: 'a-model',
        stream: false,
        httpOptions: { headers: { 'x-tenant': 't' } },
        maxTokens: 77,
        modelOptions: { temperature: 0.5 },
      },
    );
    for (const task of ['First.', 'Second.']) await agent.run(task);
    const sent = requests.map(({ model, stream, headers, maxTokens, options }) => ({
      model,
      stream,
      headers,
      maxTokens,
      options,
    }));
    const each = {
      model: 'a-model',
      stream: false,
      headers: { 'x-tenant': 't' },
      maxTokens: 77,
      options: { temperature: 0.5 },
    };
    expect(sent).toEqual([each, each, each, each]);
    expect(ofType(events, 'run-start').map(({ model }) => model)).toEqual(['a-model', 'a-model']);
  });

  it.each([
    ['the tool timeout and a minute by default', {}, 75_000],
    ['the given tool timeout and a minute', { toolTimeoutMs: 120_000 }, 180_000],
    ['the same, if it is 0', { toolTimeoutMs: 120_000, idleTimeoutMs: 0 }, 180_000],
    ['what idleTimeoutMs says', { idleTimeoutMs: 4_321 }, 4_321],
  ])('a model may be silent for %s [row 12]', async (_, options, idleMs) => {
    const timers = timersSet();
    const { agent, requests } = agentOver([hangs()], options);
    const { result } = agent.ask('Go.');
    await until('the model is asked', () => requests.length === 1);
    agent.cancel();
    await result;
    expect(timers()).toContain(idleMs);
  });
});

describe('the options for what is shared', () => {
  it('state: the map that was given is that of tools, of their effects and of the agent', async () => {
    const state = new Map<string, unknown>([['before', 1]]);
    const seen: unknown[] = [];
    const tool = probe('look', async (_, context) => {
      seen.push(context.state);
      return { ok: true, output: 'seen', effects: [{ type: 'set-state', key: 'after', value: 2 }] };
    });
    const { agent } = agentOver([calls(['a', 'look', {}]), says('Done.')], { tools: [tool.tool], state });
    await agent.run('Look.');
    expect([agent.state === state, seen[0] === state]).toEqual([true, true]);
    expect([...state]).toEqual([
      ['before', 1],
      ['after', 2],
    ]);
  });

  it('now: each time is taken from it', async () => {
    let time = 1_000_000;
    const seen: number[] = [];
    const tool = probe('look', async (_, { now }) => {
      time += 500;
      seen.push(now());
      return { ok: true, output: 'seen' };
    });
    const { agent, events } = agentOver([calls(['a', 'look', {}]), says('Done.')], {
      tools: [tool.tool],
      now: () => time,
    });
    await agent.run('Look.');
    expect(seen).toEqual([1_000_500]);
    expect(new Set(events.map(({ at }) => at))).toEqual(new Set([1_000_000, 1_000_500]));
    expect([
      ...ofType(events, 'tool-end'),
      ...ofType(events, 'run-end'),
      ...ofType(events, 'worker-end'),
    ]).toMatchObject([{ durationMs: 500 }, { durationMs: 500 }, { durationMs: 500 }]);
  });
});

describe('the effects of a run', () => {
  const list = (...allow: readonly string[]): EffectPolicy => ({ mode: 'allow-list', allow, deny: [] });
  const wishes = probe('wish', async () => ({
    ok: true,
    output: 'Wished.',
    effects: [{ type: 'A' }, { type: 'B' }, { type: 'C' }],
  }));
  const told: Effect[] = [];
  const wishing = (options: Parameters<typeof agentOver>[1]) =>
    agentOver((_, index) => (index % 2 === 0 ? calls([`c${index}`, 'wish', {}]) : says('Done.')), {
      tools: [wishes.tool],
      onEffect: (effect) => void told.push(effect),
      ...options,
    });
  afterEach(() => void told.splice(0));

  it('onEffect: those that are allowed are handed on', async () => {
    await wishing({ effectPolicy: list('A', 'B') }).agent.run('Wish.');
    expect(told).toEqual([{ type: 'A' }, { type: 'B' }]);
  });

  it('are none of these without a policy', async () => {
    await wishing({}).agent.run('Wish.');
    expect(told).toEqual([]);
  });

  it.each<[string, EffectPolicy, readonly string[]]>([
    ['what both name', list('B', 'C'), ['B']],
    ['no more where the run allows all', { mode: 'allow-all', allow: [], deny: [] }, ['A', 'B']],
    ['less what the run denies', { mode: 'allow-all', allow: [], deny: ['B'] }, ['A']],
    ['nothing where the run denies all', { mode: 'deny-all', allow: [], deny: [] }, []],
  ])(
    'that has a policy of its own are %s, and the next run has the policy of the agent [row 41]',
    async (_, own, types) => {
      const { agent } = wishing({ effectPolicy: list('A', 'B') });
      await agent.run('Wish.', { effectPolicy: own });
      expect(told.map(({ type }) => type)).toEqual(types);
      told.splice(0);
      await agent.run('Wish.');
      expect(told.map(({ type }) => type)).toEqual(['A', 'B']);
    },
  );

  it('can not be made more by a run of an agent without a policy', async () => {
    await wishing({}).agent.run('Wish.', { effectPolicy: { mode: 'allow-all', allow: [], deny: [] } });
    expect(told).toEqual([]);
  });
});
