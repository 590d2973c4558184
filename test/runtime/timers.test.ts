/** What a run leaves behind while it goes on and when it is over: no timer, no listener; and what its time is not spent on. */
import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createTools, type RoundExecutor } from '../../src/index.js';
import { runLoop } from '../../src/runtime/loop.js';
import { bench, calls, says } from '../fixtures/bench.js';
import { agentOver, ofType, probe } from '../parity/agent-bench.js';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

describe('the beat of a round', () => {
  it.each<[string, RoundExecutor | undefined]>([
    ['each round', undefined],
    [
      'a round whose executor fails',
      // biome-ignore lint/correctness/useYield: it fails before it comes to that.
      async function* () {
        throw new Error('no');
      },
    ],
  ])('ends with %s', async (_, roundExecutor) => {
    const set = vi.spyOn(globalThis, 'setInterval');
    const clear = vi.spyOn(globalThis, 'clearInterval');
    await bench({
      tools: [probe('look').tool],
      turns: [calls(['a', 'look', {}]), calls(['b', 'look', { text: 'b' }]), says('Done.')],
      options: {
        attempts: { timeoutMs: 0, retries: 0, backoffMs: 0, heartbeatMs: 60_000 },
        ...(roundExecutor && { roundExecutor }),
      },
    });
    const beats = set.mock.results.map(({ value }) => value);
    expect(beats).toHaveLength(2);
    expect(clear.mock.calls.map(([timer]) => timer)).toEqual(beats);
  });
});

describe('the signals of a run', () => {
  const ordered: RoundExecutor = async function* (all, run) {
    for (const call of all) yield await run(call);
  };

  it.each<[string, RoundExecutor | undefined]>([
    ['our own rounds', undefined],
    ['the rounds of an executor', ordered],
  ])('gather no listeners over 20 turns, with %s', async (_, roundExecutor) => {
    const outer = new AbortController();
    const own: AbortSignal[] = [];
    const heard: number[] = [];
    const held: number[] = [];
    const tool = probe('look', async (text, { signal }) => {
      own.push(signal);
      return { ok: false, output: text, code: 'busy', retryable: true };
    });
    await bench({
      tools: [tool.tool],
      turns: (request) => {
        const turn = (request.messages.length - 2) / 2;
        return turn < 20 ? calls([`c${turn}`, 'look', { text: `${turn}` }]) : says('Done.');
      },
      signal: outer.signal,
      runTask: (task, ctx) => {
        own.push(ctx.signal);
        return runLoop(task, ctx);
      },
      options: {
        idleTimeoutMs: 60_000,
        attempts: { timeoutMs: 60_000, retries: 1, backoffMs: 0, heartbeatMs: 0 },
        ...(roundExecutor && { roundExecutor }),
        transformRequest: (request) => {
          heard.push(own[0] ? listenersOf(own[0]) : Number.NaN);
          held.push(listenersOf(outer.signal));
          return request;
        },
      },
    });
    expect(heard).toEqual(Array.from({ length: 21 }, () => 0));
    expect(new Set(held)).toEqual(new Set([1]));
    expect([outer.signal, ...own].map(listenersOf)).toEqual([outer.signal, ...own].map(() => 0));
  });
});

describe('the time of a run', () => {
  it('does not go by while a person is asked', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const write = probe('write', undefined, { permission: 'write' });
    const { agent } = agentOver([calls(['a', 'write', {}]), says('Done.')], {
      tools: [write.tool],
      limits: { timeoutMs: 1_000 },
      approve: async () => {
        await vi.advanceTimersByTimeAsync(3_600_000);
        return 'once';
      },
    });
    expect(await agent.run('Write.')).toMatchObject({ reason: 'answered' });
    expect(write.ran).toHaveLength(1);
  });

  it('goes on behind the answer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const write = probe(
      'write',
      async (_, { signal }) => {
        await vi.advanceTimersByTimeAsync(600);
        expect(signal.aborted).toBe(false);
        await vi.advanceTimersByTimeAsync(600);
        return { ok: true, output: `${signal.aborted}` };
      },
      { permission: 'write' },
    );
    const { agent } = agentOver([calls(['a', 'write', {}]), says('never')], {
      tools: [write.tool],
      limits: { timeoutMs: 1_000 },
      approve: async () => 'once',
    });
    expect(await agent.run('Write.')).toMatchObject({ reason: 'timeout' });
  });
});

describe('the time of a tool', () => {
  it('is its own where it has a limit of its own, as the shell has', async () => {
    const shell = createTools().get('shell');
    const { agent, events } = agentOver(
      [calls(['a', 'shell', { command: 'sleep 1 && echo slept' }]), calls(['b', 'look', {}]), says('Done.')],
      {
        tools: [...(shell ? [shell] : []), probe('look', () => new Promise(() => undefined)).tool],
        toolTimeoutMs: 50,
        toolRetries: 0,
        approvalMode: 'full-auto',
      },
    );
    await agent.run('Sleep.');
    expect(ofType(events, 'tool-end')).toMatchObject([
      { name: 'shell', ok: true, output: expect.stringContaining('slept') },
      { name: 'look', ok: false, code: 'timeout' },
    ]);
  });

  it.each(['shell', 'search_files', 'delegate'])('is its own for %s', (name) => {
    expect(createTools().get(name)?.ownTimeout).toBe(true);
  });
});
