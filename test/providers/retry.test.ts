import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../src/errors.js';
import { type RetryOptions, withRetry } from '../../src/providers/retry.js';
import { createScriptedProvider, type ScriptedReply } from '../../src/providers/scripted.js';
import type { ModelDelta } from '../../src/providers/types.js';
import { bench } from '../fixtures/bench.js';

const request = { model: 'm', messages: [], tools: [] };
const overloaded = { kind: 'overloaded', message: 'busy' } as const;
const limited = (retryAfterMs: number) => ({ error: { kind: 'rate-limit', message: 'slow', retryAfterMs } as const });

/** Runs the replies without really waiting; random is 0, so that waits are exact. */
async function run(replies: ScriptedReply[], options: RetryOptions = {}) {
  const scripted = createScriptedProvider(replies);
  const waits: number[] = [];
  const sleep = async (ms: number) => {
    waits.push(ms);
  };
  const provider = withRetry(scripted, { random: () => 0, now: () => 0, sleep, ...options });
  const deltas: ModelDelta[] = [];
  let failure: unknown;
  try {
    for await (const delta of provider.stream(request, new AbortController().signal)) deltas.push(delta);
  } catch (thrown) {
    failure = thrown;
  }
  return { deltas, waits, failure, requests: scripted.requests.length, name: provider.name };
}

describe('a patient provider', () => {
  it('hands on a reply that succeeds', async () => {
    const { deltas, waits, requests, name } = await run([{ text: 'hi' }]);
    expect(deltas).toEqual([
      { type: 'text', text: 'hi' },
      { type: 'end', finishReason: 'stop' },
    ]);
    expect([waits, requests, name]).toEqual([[], 1, 'scripted']);
  });

  it('asks again after a passing failure, and says so before each wait', async () => {
    const { deltas, waits } = await run([{ error: overloaded }, { error: overloaded }, { text: 'hi' }]);
    expect(deltas).toEqual([
      { type: 'retry', attempt: 2, maxAttempts: 4, waitMs: 500, reason: 'busy' },
      { type: 'retry', attempt: 3, maxAttempts: 4, waitMs: 1000, reason: 'busy' },
      { type: 'text', text: 'hi' },
      { type: 'end', finishReason: 'stop' },
    ]);
    expect(waits).toEqual([500, 1000]);
  });

  it('asks for the whole reply again when it breaks in the middle', async () => {
    const { deltas, requests } = await run([
      { text: 'half', error: { kind: 'network', message: 'reset' } },
      { text: 'whole' },
    ]);
    expect(deltas.map((delta) => delta.type)).toEqual(['text', 'retry', 'text', 'end']);
    expect(requests).toBe(2);
  });

  it('gives up after its attempts, with the last words', async () => {
    const { failure, waits, requests } = await run(
      Array.from({ length: 9 }, () => ({ error: { ...overloaded, status: 503 } })),
    );
    expect(failure).toMatchObject({
      failure: 'overloaded',
      status: 503,
      retryable: true,
      message: 'busy (given up after 4 attempts)',
    });
    expect((failure as Error).cause).toMatchObject({ message: 'busy' });
    expect([waits, requests]).toEqual([[500, 1000, 2000], 4]);
  });

  it('asks once where one attempt is all it has', async () => {
    const { failure, requests } = await run([{ error: overloaded }], { maxAttempts: 1 });
    expect(failure).toMatchObject({ message: 'busy' });
    expect(requests).toBe(1);
  });

  it('does not ask again after a failure that stays', async () => {
    const { failure, deltas, requests } = await run([{ error: { kind: 'auth', message: 'no' } }, { text: 'hi' }]);
    expect(failure).toMatchObject({ failure: 'auth', message: 'no' });
    expect([deltas, requests]).toEqual([[], 1]);
  });

  it("lets errors through that are not the endpoint's", async () => {
    const broken = {
      name: 'x',
      stream: () => {
        throw new TypeError('ours');
      },
    };
    const stream = withRetry(broken).stream(request, new AbortController().signal);
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toThrow(TypeError);
  });
});

describe('the wait', () => {
  it('is never shorter than the endpoint asks for', async () => {
    expect((await run([limited(2000), limited(1), { text: 'x' }])).waits).toEqual([2000, 1000]);
  });

  it('doubles up to the longest', async () => {
    const replies = Array.from({ length: 8 }, () => ({ error: overloaded }));
    const { waits } = await run(replies, { maxAttempts: 8, maxWaitMs: 5000 });
    expect(waits).toEqual([500, 1000, 2000, 4000, 5000, 5000, 5000]);
  });

  it('is spread by up to a quarter', async () => {
    const { waits } = await run([{ error: overloaded }, { error: overloaded }, { text: 'x' }], { random: () => 1 });
    expect(waits).toEqual([625, 1250]);
  });

  it('is spread above what the endpoint asks for, too, so that workers do not come back all at once', async () => {
    const replies = [limited(2000), limited(900), { text: 'x' }];
    expect((await run(replies, { random: () => 1, maxWaitMs: 2100 })).waits).toEqual([2100, 1250]);
  });

  it('may be as long as the longest, where the endpoint asks for that', async () => {
    expect((await run([limited(60_000), { text: 'x' }], { random: () => 1 })).waits).toEqual([60_000]);
  });

  it.each<[string, number, number, RegExp]>([
    ['of an hour', 3_600_000, 0, /slow \(it asks to wait 60 min.*Come back in 60 min, at 1970-01-01 01:00 UTC/s],
    ['of a day', 86_400_000, Date.parse('2026-10-21T07:28:00Z'), /Come back in 24 h, at 2026-10-22 07:28 UTC/],
    ['of a year', 31_536_000_000, 0, /Come back in 8760 h, at 1971-01-01 00:00 UTC/],
    ['above a year', 31_536_000_001, 0, /asks to wait more than a year.*Come back in more than a year\.$/],
    ['beyond every date', 9e18, Date.now(), /slow \(it asks to wait more than a year/],
    ['without end', Number.POSITIVE_INFINITY, 0, /slow \(it asks to wait more than a year/],
    ['just above the limit', 60_001, 0, /Come back in 61 s|Come back in 2 min/],
  ])('%s is too long, and it says when to come back', async (_name, retryAfterMs, now, words) => {
    const { failure, waits, requests } = await run([limited(retryAfterMs), { text: 'x' }], { now: () => now });
    expect(failure).toBeInstanceOf(ProviderError);
    expect(failure).toMatchObject({ failure: 'rate-limit', retryAfterMs });
    expect(`${(failure as ProviderError).message} ${(failure as ProviderError).hint}`).toMatch(words);
    expect([waits, requests]).toEqual([[], 1]);
  });

  it('is no silence to a run that has an idle limit', async () => {
    const provider = withRetry(createScriptedProvider([limited(300), { text: 'x' }]));
    const { outcome, events } = await bench({ provider, options: { idleTimeoutMs: 100 } });
    expect(outcome).toMatchObject({ reason: 'answered', answer: 'x' });
    expect(events.filter(({ type }) => type === 'retry')).toHaveLength(1);
  });

  it('really passes', async () => {
    const provider = withRetry(createScriptedProvider([limited(600), { text: 'x' }]));
    const before = performance.now();
    for await (const _delta of provider.stream(request, new AbortController().signal));
    expect(performance.now() - before).toBeGreaterThan(590);
  });

  it('ends at once on abort, with the reason', async () => {
    const scripted = createScriptedProvider([limited(30_000), { text: 'x' }]);
    const controller = new AbortController();
    const reason = new Error('enough');
    const read = async () => {
      for await (const delta of withRetry(scripted).stream(request, controller.signal)) {
        if (delta.type === 'retry') setTimeout(() => controller.abort(reason), 20);
      }
    };
    const before = performance.now();
    await expect(read()).rejects.toBe(reason);
    expect(performance.now() - before).toBeLessThan(2_000);
    expect(scripted.requests).toHaveLength(1);
  });

  it('is not begun when the signal aborted during the request', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const failing = {
      name: 'x',
      // biome-ignore lint/correctness/useYield: it only fails.
      async *stream(): AsyncGenerator<ModelDelta> {
        controller.abort(reason);
        throw new ProviderError('network', 'broke');
      },
    };
    await expect(withRetry(failing).stream(request, controller.signal)[Symbol.asyncIterator]().next()).rejects.toBe(
      reason,
    );
  });
});
