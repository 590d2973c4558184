import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createTokenCounter } from '../../src/context/tokens.js';
import { ProviderError } from '../../src/errors.js';
import { isPaired } from '../../src/kernel/transcript.js';
import type { Message } from '../../src/kernel/types.js';
import type { ModelDelta, ModelRequest } from '../../src/providers/types.js';
import { createInbox } from '../../src/runtime/steer.js';
import { defineTool } from '../../src/tools/types.js';
import { type Benched, bench, calls, disorder, says, type Turn } from '../fixtures/bench.js';

const TASK = 'Do these three: rename a, test b, and write c.';

let spool: string;
beforeEach(async () => {
  spool = await mkdtemp(join(tmpdir(), 'chatcli-fit-'));
});
afterEach(() => rm(spool, { recursive: true, force: true }));

/** A tool whose result for round `n` has `chars` characters and says which round it is of. */
const reader = (chars: number) =>
  defineTool({
    name: 'read',
    doc: 'Reads.',
    permission: 'read',
    concurrency: 'parallel',
    schema: z.object({ n: z.number() }),
    subjects: () => [],
    run: async ({ n }) => ({ ok: true, output: `result ${n}: ${'x'.repeat(chars)} end ${n}` }),
  });

const isSummaryRequest = (request: ModelRequest) => request.messages[0]?.content.includes('sum up the work') === true;

/** Reads in `rounds` rounds, saying `text` with each call, then answers. A request for a summary gets `summary`. */
function model(rounds: number, { text = '', summary = says('SUMMARY: a is renamed.') as Turn } = {}) {
  let round = 0;
  return (request: ModelRequest): Turn => {
    if (isSummaryRequest(request)) return summary;
    round += 1;
    if (round > rounds) return says('Done.');
    const call: ModelDelta = { type: 'call', call: { id: `c${round}`, name: 'read', arguments: `{"n":${round}}` } };
    return [
      ...(text === '' ? [] : [{ type: 'text', text: `${text} ${round}` } as const]),
      call,
      { type: 'end', finishReason: 'tool_calls' },
    ];
  };
}

const tokensOf = ({ messages, tools }: ModelRequest) => {
  const counter = createTokenCounter();
  return counter.ofMessages(messages) + counter.ofTools(tools);
};
const contextEvents = ({ events }: Benched) => events.filter((event) => event.type === 'context');
const notices = ({ events }: Benched) => events.flatMap((event) => (event.type === 'notice' ? [event.code] : []));
const turnsOf = ({ requests }: Benched) => requests.filter((request) => !isSummaryRequest(request));
const beginsWith = (later: readonly Message[], earlier: readonly Message[]) =>
  JSON.stringify(later.slice(0, earlier.length)) === JSON.stringify(earlier);

describe('a run within the window', () => {
  it('only ever adds to its requests', async () => {
    const run = await bench({ turns: model(10), tools: [reader(400)], contextWindow: 32_000, spool }, TASK);
    expect(run.outcome).toMatchObject({ reason: 'answered', answer: 'Done.' });
    expect(contextEvents(run)).toEqual([]);
    expect(
      run.requests.every((each, n) => n === 0 || beginsWith(each.messages, run.requests[n - 1]?.messages ?? [])),
    ).toBe(true);
  });

  it('says what fills the window, and asks for its size only when that may matter', async () => {
    const fillsOf = ({ events }: Benched) => events.flatMap((event) => (event.type === 'usage' ? [event.context] : []));
    const small = await bench({ turns: model(1), tools: [reader(400)], contextWindow: 32_000, spool }, TASK);
    expect(fillsOf(small).every((fill) => fill?.window === undefined)).toBe(true);

    const large = await bench({ turns: model(4), tools: [reader(4_000)], contextWindow: 32_000, spool }, TASK);
    const [first, ...rest] = fillsOf(large);
    expect(first).toMatchObject({ isEstimate: true, parts: { results: 0 } });
    expect(rest.at(-2)).toMatchObject({ isEstimate: true, window: { tokens: 32_000, source: 'setting' } });
    expect(rest.at(-2)?.parts.results).toBeGreaterThan(3_000);
    // The last reply said what it counted.
    expect(rest.at(-1)).toMatchObject({ isEstimate: false, tokens: 3 });
  });
});

describe('a run that fills the window with results', () => {
  it('shortens old results in steps, keeps task and last rounds whole, and stays within', async () => {
    const run = await bench({ turns: model(24), tools: [reader(4_000)], contextWindow: 16_000, spool }, TASK);

    expect(run.outcome).toMatchObject({ reason: 'answered', answer: 'Done.' });
    expect(Math.max(...run.requests.map(tokensOf))).toBeLessThan(16_000);
    const steps = contextEvents(run);
    expect(steps.length).toBeGreaterThan(0);
    expect(steps.length).toBeLessThan(8);
    expect(steps.every((step) => step.operation === 'shrink')).toBe(true);
    // Between two steps requests only grow at their end, so that a cache serves.
    const turns = turnsOf(run);
    const broken = turns.filter((each, n) => n > 0 && !beginsWith(each.messages, turns[n - 1]?.messages ?? []));
    expect(broken).toHaveLength(steps.length);
    for (const { messages } of turns) {
      expect(messages[1]).toEqual({ role: 'user', content: TASK });
      expect(isPaired(messages)).toBe(true);
      const results = messages.filter((message) => message.role === 'tool');
      for (const result of results.slice(-2)) expect(result.content.length).toBeGreaterThan(4_000);
    }
    expect(disorder(run.events)).toEqual([]);
  });

  it('keeps the whole of a shortened result readable in a file that the result names', async () => {
    const run = await bench({ turns: model(24), tools: [reader(4_000)], contextWindow: 16_000, spool }, TASK);
    const first = run.requests.at(-1)?.messages.find((message) => message.role === 'tool');
    const file = /is in (.+)\]$/.exec(first?.content ?? '')?.[1] ?? '';
    expect(first?.content).toMatch(/space: 4\d{3} characters/);
    expect(await readFile(file, 'utf8')).toBe(`result 1: ${'x'.repeat(4_000)} end 1`);
    expect((await readdir(spool)).every((name) => name.startsWith('result-c'))).toBe(true);
  });

  it('goes on where the file cannot be written', async () => {
    const run = await bench({ turns: model(24), tools: [reader(4_000)], contextWindow: 16_000 }, TASK);
    expect(run.outcome.reason).toBe('answered');
    expect(run.requests.at(-1)?.messages.some(({ content }) => content.includes('could not be kept'))).toBe(true);
  });

  it('never asks for a summary while shorter results make room', async () => {
    const run = await bench({ turns: model(24), tools: [reader(12_000)], contextWindow: 12_000, spool }, TASK);
    expect(run.outcome.reason).toBe('answered');
    expect(run.requests.filter(isSummaryRequest)).toEqual([]);
    // What the model has not seen yet comes whole.
    for (const { messages } of run.requests.slice(1))
      expect(messages.findLast(({ role }) => role === 'tool')?.content.length).toBeGreaterThan(12_000);
  });

  it('shortens even the last results when one round alone is too much, and only to what fits', async () => {
    const six = Array.from({ length: 6 }, (_, n) => [`m${n}`, 'read', { n }] as const);
    const many = (calls(...six, ['s', 'short', {}]) as readonly ModelDelta[]).filter(({ type }) => type !== 'usage');
    const short = defineTool({
      ...reader(1),
      name: 'short',
      schema: z.object({}),
      run: async () => ({ ok: true, output: 'S.' }),
    });
    const run = await bench(
      { turns: [many, says('Done.')], tools: [reader(6_000), short], contextWindow: 8_000, spool },
      TASK,
    );
    expect(run.outcome.reason).toBe('answered');
    const [, last] = run.requests;
    expect(last && tokensOf(last)).toBeLessThan(8_000 * 0.75);
    expect(last && tokensOf(last)).toBeGreaterThan(8_000 * 0.5);
    const sizes = last?.messages.flatMap((message) => (message.role === 'tool' ? [message.content.length] : [])) ?? [];
    expect(Math.min(...sizes.slice(0, -1))).toBeGreaterThan(2_500);
    expect(last?.messages.at(-1)?.content).toBe('S.');
  });
});

describe('a run that fills the window with words', () => {
  const text = 'I looked at it. '.repeat(60);

  it('puts a summary in the place of its older part, and keeps the task word for word', async () => {
    const run = await bench(
      { turns: model(40, { text }), tools: [reader(100)], contextWindow: 8_000, spool, maxTurns: 50 },
      TASK,
    );

    expect(run.outcome).toMatchObject({ reason: 'answered', answer: 'Done.' });
    expect(Math.max(...run.requests.map(tokensOf))).toBeLessThan(8_000);
    expect(contextEvents(run).map((event) => event.operation)).toContain('summary');
    const last = run.requests.at(-1)?.messages ?? [];
    expect(last.slice(0, 3)).toEqual([
      { role: 'system', content: 'You work.' },
      { role: 'user', content: expect.stringContaining('SUMMARY: a is renamed.') },
      { role: 'user', content: TASK },
    ]);
    expect(run.events.some((event) => event.type === 'text-delta' && event.text.includes('SUMMARY'))).toBe(false);
    expect(notices(run)).toContain('context-full');
    expect(run.outcome.usage.requests).toBe(run.requests.length);
    expect(disorder(run.events)).toEqual([]);
  });

  it('asks for the summary without tools, with what it has to say and no more than fits', async () => {
    const run = await bench(
      { turns: model(40, { text }), tools: [reader(100)], contextWindow: 8_000, spool, maxTurns: 50 },
      TASK,
    );
    const asked = run.requests.filter(isSummaryRequest);
    expect(asked.length).toBeGreaterThan(0);
    for (const request of asked) {
      expect(request.tools).toEqual([]);
      expect(tokensOf(request)).toBeLessThan(8_000);
      expect(request.messages[1]?.content).toContain('calls read {"n":');
    }
    // The second summary is made with the first in hand.
    expect(asked[1]?.messages[1]?.content).toContain('SUMMARY: a is renamed.');
  });

  it.each<[string, Turn, string]>([
    ['is too long to be asked for', new ProviderError('too-long', 'too long'), 'the request for it was too long'],
    ['fails', new ProviderError('overloaded', 'Busy.'), 'Busy.'],
    ['says nothing', says(' '), 'the model said nothing'],
    [
      'is made of calls',
      [
        { type: 'call', call: { id: 'x', name: 'read', arguments: '{}' } },
        { type: 'end', finishReason: 'tool_calls' },
      ],
      'the model said nothing',
    ],
  ])('leaves the older part out, says so and goes on, when the summary %s', async (_, summary, why) => {
    const run = await bench(
      { turns: model(40, { text, summary }), tools: [reader(100)], contextWindow: 8_000, spool, maxTurns: 50 },
      TASK,
    );
    expect(run.outcome).toMatchObject({ reason: 'answered', answer: 'Done.' });
    expect(contextEvents(run).map((event) => event.operation)).toContain('trim');
    expect(run.events.some((event) => event.type === 'notice' && event.text.includes(why))).toBe(true);
    expect(run.requests.at(-1)?.messages).toContainEqual({ role: 'user', content: TASK });
  });

  it('is not summed up again and again where the task alone nearly fills the window', async () => {
    const task = `${TASK} ${'Mind this. '.repeat(2_000)}`;
    const turns = model(40, { text: 'I looked at it. '.repeat(8) });
    const run = await bench({ turns, tools: [reader(100)], contextWindow: 8_000, spool, maxTurns: 50 }, task);
    expect(run.outcome.reason).toBe('answered');
    expect(run.requests.filter(isSummaryRequest).length).toBeLessThan(8);
  });

  it('keeps what the person added during the run', async () => {
    const inbox = createInbox(() => 'i');
    inbox.push('And leave d alone.', 'steer');
    const run = await bench(
      {
        turns: model(40, { text }),
        tools: [reader(100)],
        contextWindow: 8_000,
        spool,
        maxTurns: 50,
        options: { inbox },
      },
      TASK,
    );
    expect(contextEvents(run).map((event) => event.operation)).toContain('summary');
    expect(run.requests.at(-1)?.messages.slice(2, 4)).toEqual([
      { role: 'user', content: TASK },
      { role: 'user', content: 'And leave d alone.' },
    ]);
  });

  it('has more room for the summary of a model that thinks first', async () => {
    const summaries: (number | undefined)[] = [];
    const play = model(40, { text });
    const turns = (request: ModelRequest): Turn => {
      if (!isSummaryRequest(request)) return play(request);
      summaries.push(request.maxTokens);
      const isCut = (request.maxTokens ?? 0) < 10_000;
      return isCut
        ? [
            { type: 'reasoning', text: 'Hm.' },
            { type: 'end', finishReason: 'length' },
          ]
        : play(request);
    };
    const run = await bench({ turns, tools: [reader(100)], contextWindow: 8_000, spool, maxTurns: 50 }, TASK);
    expect(summaries.slice(0, 2)).toEqual([2_000, 16_000]);
    expect(contextEvents(run).map((event) => event.operation)).toContain('summary');
  });

  it('keeps no summary that is longer than what it stands for', async () => {
    const summary = says('word '.repeat(20_000));
    const run = await bench(
      { turns: model(40, { text, summary }), tools: [reader(100)], contextWindow: 8_000, spool, maxTurns: 50 },
      TASK,
    );
    expect(run.outcome.reason).toBe('answered');
    expect(Math.max(...run.requests.map(tokensOf))).toBeLessThan(8_000);
    expect(run.requests.filter(isSummaryRequest).length).toBeLessThan(8);
  });

  it('warns once where the task alone is more than the window', async () => {
    const run = await bench(
      { turns: model(3), tools: [reader(10)], contextWindow: 4_000, spool },
      `${TASK} ${'Mind this. '.repeat(3_000)}`,
    );
    expect(notices(run).filter((code) => code === 'window-too-small')).toHaveLength(1);
  });

  it('goes by the window of the model that answers', async () => {
    const turns = model(24);
    let isFirst = true;
    const switching = (request: ModelRequest): Turn => {
      const turn = turns(request);
      if (!isFirst || !Array.isArray(turn)) return turn;
      isFirst = false;
      return [{ type: 'fallback', from: 'mock', to: 'small', reason: 'Busy.' }, ...(turn as readonly ModelDelta[])];
    };
    const windows: Record<string, number> = { mock: 200_000, small: 12_000 };
    const run = await bench(
      { turns: switching, tools: [reader(4_000)], windowOf: (name) => windows[name] ?? 0, spool },
      TASK,
    );
    expect(Math.max(...run.requests.map(tokensOf))).toBeLessThan(12_000);
    const last = run.events.findLast((event) => event.type === 'usage');
    expect(last?.context?.window?.tokens).toBe(12_000);
  });

  it('is cancelled while it is summed up', async () => {
    const controller = new AbortController();
    const summary: Turn = async function* () {
      controller.abort(new DOMException('stop', 'AbortError'));
      yield* [];
      await new Promise(() => undefined);
    };
    const run = await bench(
      {
        turns: model(40, { text, summary }),
        tools: [reader(100)],
        contextWindow: 8_000,
        spool,
        signal: controller.signal,
      },
      TASK,
    );
    expect(run.outcome.reason).not.toBe('answered');
    expect(disorder(run.events)).toEqual([]);
  });
});

describe('a request that the endpoint refuses as too long', () => {
  /** Refuses what has more than `limit` tokens by its own count, in these words. */
  const strict = (limit: number, words: string, rounds: number) => {
    const play = model(rounds);
    return (request: ModelRequest): Turn =>
      tokensOf(request) > limit ? new ProviderError('too-long', words) : play(request);
  };

  it.each([
    ['that names its window', "This model's maximum context length is 6000 tokens. However, you requested more."],
    ['that says nothing more', 'Input is too long.'],
  ])('is sent again, shorter, by an endpoint %s', async (_, words) => {
    const run = await bench({ turns: strict(6_000, words, 12), tools: [reader(4_000)], spool }, TASK);
    expect(run.outcome).toMatchObject({ reason: 'answered', answer: 'Done.' });
    expect(contextEvents(run)[0]).toMatchObject({ reason: 'refused' });
    expect(run.requests.length - turnsOf(run).length).toBeLessThanOrEqual(3);
    expect(disorder(run.events)).toEqual([]);
  });

  it('learns the window, so that it is not refused again', async () => {
    const words = "This model's maximum context length is 6000 tokens.";
    const run = await bench({ turns: strict(6_000, words, 12), tools: [reader(4_000)], spool }, TASK);
    expect(contextEvents(run).filter((event) => event.reason === 'refused')).toHaveLength(1);
    const last = run.events.findLast((event) => event.type === 'usage');
    expect(last?.context?.window).toEqual({ tokens: 6_000, source: 'refusal' });
  });

  it('ends the run at once when nothing can be left out', async () => {
    const run = await bench({ turns: () => new ProviderError('too-long', 'Input is too long.') }, TASK);
    expect(run.outcome).toMatchObject({ reason: 'failed', error: { kind: 'provider' } });
    expect(run.requests).toHaveLength(1);
  });

  it('is tried three times more at most, and the failure says so', async () => {
    const play = model(12);
    let refused = 0;
    const turns = (request: ModelRequest): Turn => {
      if (isSummaryRequest(request) || (refused === 0 && request.messages.length < 12)) return play(request);
      refused += 1;
      return new ProviderError('too-long', 'Input is too long.');
    };
    const run = await bench({ turns, tools: [reader(4_000)], spool }, TASK);
    expect(refused).toBe(4);
    expect(run.outcome).toMatchObject({ reason: 'failed', error: { kind: 'provider', message: 'Input is too long.' } });
    expect(disorder(run.events)).toEqual([]);
  });
});

describe('an endpoint that reads only a part', () => {
  const counted = (promptTokens: number): ModelDelta => ({
    type: 'usage',
    usage: { promptTokens, completionTokens: 5, cachedTokens: 0, reasoningTokens: 0, totalTokens: promptTokens + 5 },
  });
  const turns = (promptTokens: number) => {
    const play = model(3);
    return (request: ModelRequest): Turn => [counted(promptTokens), ...(play(request) as readonly ModelDelta[])];
  };
  const long = `${TASK} ${'word '.repeat(8_000)}`;

  it('is warned of once', async () => {
    const run = await bench({ turns: turns(4_096), tools: [reader(10)] }, long);
    expect(notices(run)).toEqual(['context-cut']);
  });

  it('is not suspected when it counts what was sent, or only what was not in its cache', async () => {
    for (const promptTokens of [9_900, 40, 0]) {
      expect(notices(await bench({ turns: turns(promptTokens), tools: [reader(10)] }, long))).toEqual([]);
    }
  });
});
