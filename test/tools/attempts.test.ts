import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type AttemptPolicy, DEFAULT_ATTEMPTS, runAttempts } from '../../src/tools/attempts.js';
import { defineTool, type Tool, type ToolContext, type ToolOutput } from '../../src/tools/types.js';
import { bench } from './bench.js';

type Attempt = (context: ToolContext, number: number) => Promise<ToolOutput>;

const scripted = (attempt: Attempt, fields: Partial<Tool> = {}): Tool => {
  let number = 0;
  return defineTool({
    name: 'probe',
    doc: 'Probes.',
    permission: 'read',
    concurrency: 'parallel',
    schema: z.object({}),
    subjects: () => [],
    run: (_, context) => attempt(context, ++number),
    ...fields,
  });
};

const never: Attempt = () => new Promise(() => undefined);
const done: ToolOutput = { ok: true, output: 'done' };
const busy: ToolOutput = { ok: false, code: 'busy', output: 'Busy.', retryable: true };

/** Its timers are the fake ones, which count what is left open. */
async function attempted(tool: Tool, policy: Partial<AttemptPolicy> = {}, overrides: Partial<ToolContext> = {}) {
  const context = { ...(await bench()).context, ...overrides };
  return runAttempts(tool, {}, context, { ...DEFAULT_ATTEMPTS, ...policy });
}

/** What a promise came to once all timers have run. */
async function afterTimers<Value>(promise: Promise<Value>): Promise<Value> {
  let isSettled = false;
  void promise.finally(() => {
    isSettled = true;
  });
  while (!isSettled) {
    await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(50);
  }
  return promise;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe('a tool', () => {
  it.each<[string, readonly ToolOutput[], number, ToolOutput]>([
    ['is run once when it succeeds', [done], 1, done],
    ['is run again after a failure that may pass', [busy, done], 2, done],
    [
      'is run once when its failure is final',
      [{ ok: false, code: 'no-match', output: 'No.' }, done],
      1,
      { ok: false, code: 'no-match', output: 'No.' },
    ],
    [
      'is given up after its last attempt, and the model is told how often it was tried',
      [busy, busy, done],
      2,
      { ...busy, output: 'Busy. (Tried 2 times.)' },
    ],
  ])('%s', async (_, outputs, attempts, output) => {
    const tool = scripted(async (_context, number) => outputs[number - 1] ?? done);
    expect(await afterTimers(attempted(tool))).toEqual({ attempts, output });
  });

  it('that throws has failed for good', async () => {
    const tool = scripted(() => Promise.reject(new Error('boom')));
    const output = { ok: false, code: 'tool-error', output: 'probe failed: boom' };
    expect(await afterTimers(attempted(tool))).toEqual({ attempts: 1, output });
  });

  it('that throws before it gives a promise has failed as well', async () => {
    const tool = scripted(() => {
      throw new Error('at once');
    });
    expect(await afterTimers(attempted(tool))).toMatchObject({ attempts: 1, output: { code: 'tool-error' } });
  });

  it('waits between two attempts', async () => {
    const starts: number[] = [];
    const tool = scripted(async (_, number) => {
      starts.push(Date.now());
      return number === 1 ? busy : done;
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    await afterTimers(attempted(tool, { backoffMs: 200 }));
    expect((starts[1] ?? 0) - (starts[0] ?? 0)).toBe(200);
  });
});

it('the attempts of a tool are by default two of 15 s, 200 ms apart, without a beat', () => {
  expect(DEFAULT_ATTEMPTS).toEqual({ timeoutMs: 15_000, retries: 1, backoffMs: 200, heartbeatMs: 0 });
});

describe('a time limit', () => {
  it('names the tool and the time, and has a read tried again', async () => {
    const { attempts, output } = await afterTimers(attempted(scripted(never)));
    expect(attempts).toBe(2);
    expect(output).toMatchObject({ ok: false, code: 'timeout' });
    expect(output.output).toMatch(/^probe did not end within its time limit of 15 s .*\(Tried 2 times\.\)$/);
  });

  it.each(['write', 'execute', 'network'] as const)('has nothing of class %s tried again', async (permission) => {
    const { attempts, output } = await afterTimers(attempted(scripted(never, { permission }), { timeoutMs: 300 }));
    expect(attempts).toBe(1);
    expect(output.output).toContain('300 ms');
    expect(output.output).toContain('look before you call it again');
  });

  it('counts for each attempt anew', async () => {
    const tool = scripted((context, number) => (number === 1 ? never(context, number) : Promise.resolve(done)));
    expect(await afterTimers(attempted(tool))).toEqual({ attempts: 2, output: done });
  });

  it('aborts the signal of its attempt only, and ignores what comes of it later', async () => {
    const signals: AbortSignal[] = [];
    const shown: string[] = [];
    const tool = scripted((context, number) => {
      signals.push(context.signal);
      if (number > 1) return Promise.resolve(done);
      return new Promise((resolve) =>
        context.signal.addEventListener('abort', () => {
          context.update('late words');
          resolve({ ok: true, output: 'late' });
        }),
      );
    });
    const { output } = await afterTimers(attempted(tool, {}, { update: (text) => shown.push(text) }));
    expect(output).toEqual(done);
    expect(signals.map((signal) => signal.aborted)).toEqual([true, false]);
    expect(shown).toEqual([]);
  });

  it('ignores an attempt that fails later', async () => {
    const tool = scripted(
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      { permission: 'write' },
    );
    expect(await afterTimers(attempted(tool))).toMatchObject({ attempts: 1, output: { code: 'timeout' } });
  });

  it.each<[string, Partial<Tool>, Partial<AttemptPolicy>]>([
    ['a tool with a limit of its own', { ownTimeout: true }, {}],
    ['a meta tool', { permission: 'meta' }, {}],
    ['any tool, if it is 0', {}, { timeoutMs: 0 }],
  ])('does not bind %s', async (_, fields, policy) => {
    const tool = scripted(
      () => new Promise((resolve) => setTimeout(() => resolve(done), DEFAULT_ATTEMPTS.timeoutMs * 2)),
      fields,
    );
    expect(await afterTimers(attempted(tool, policy))).toEqual({ attempts: 1, output: done });
  });

  it('binds a meta tool that says it has none of its own', async () => {
    const tool = scripted(never, { permission: 'meta', ownTimeout: false });
    expect(await afterTimers(attempted(tool))).toMatchObject({ output: { code: 'timeout' } });
  });
});

describe('an abort', () => {
  it('reaches the attempt under way, whose end counts', async () => {
    const controller = new AbortController();
    const stopped = { ...busy, output: 'Stopped.' };
    const tool = scripted(({ signal }) => {
      setImmediate(() => controller.abort());
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(stopped)));
    });
    const result = await attempted(tool, {}, { signal: controller.signal });
    expect(result).toEqual({ attempts: 1, output: stopped });
  });

  it('makes a throw an interruption', async () => {
    const tool = scripted(() => Promise.reject(new Error('aborted')));
    const { output } = await attempted(tool, {}, { signal: AbortSignal.abort() });
    expect(output).toEqual({ ok: false, code: 'interrupted', output: 'Stopped: interrupted.' });
  });

  it('ends the wait for another attempt at once', async () => {
    const controller = new AbortController();
    const tool = scripted(async () => {
      setImmediate(() => controller.abort());
      return busy;
    });
    const result = await attempted(tool, { backoffMs: 60_000 }, { signal: controller.signal });
    expect(result).toEqual({ attempts: 1, output: busy });
  });
});
