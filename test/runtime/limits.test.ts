import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ProviderError } from '../../src/errors.js';
import type { ModelDelta, ModelRequest } from '../../src/providers/types.js';
import { defineTool } from '../../src/tools/types.js';
import { type Benched, bench, calls, says, type Turn } from '../fixtures/bench.js';

let spool: string;
beforeEach(async () => {
  spool = await mkdtemp(join(tmpdir(), 'chatcli-limits-'));
});
afterEach(() => rm(spool, { recursive: true, force: true }));

const talker = (output: string) =>
  defineTool({
    name: 'talk',
    doc: 'Talks.',
    permission: 'read',
    concurrency: 'parallel',
    schema: z.object({}),
    subjects: () => [],
    run: async () => ({ ok: true, output }),
  });

const resultsIn = ({ requests }: Benched) =>
  (requests.at(-1)?.messages ?? []).flatMap((message) => (message.role === 'tool' ? [message.content] : []));
const notices = ({ events }: Benched) => events.flatMap((event) => (event.type === 'notice' ? [event] : []));

describe('the results of a turn', () => {
  const long = `first line\n${'é'.repeat(30_000)}\nlast line`;

  it('are cut to 20 kB each, head and tail, and say where the whole is', async () => {
    const run = await bench({ turns: [calls(['a', 'talk', {}]), says('ok')], tools: [talker(long)], spool });
    const [result = ''] = resultsIn(run);
    expect(Buffer.byteLength(result)).toBeLessThan(20_300);
    expect(result).toMatch(/^first line\n/);
    expect(result).toMatch(/\nlast line$/);
    const file = /left out; the whole of it is in (\S+) …\]/.exec(result)?.[1] ?? '';
    expect(await readFile(file, 'utf8')).toBe(long);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('say so when the whole could not be kept', async () => {
    const run = await bench({ turns: [calls(['a', 'talk', {}]), says('ok')], tools: [talker(long)] });
    expect(resultsIn(run)[0]).toContain('left out and lost: it could not be kept');
  });

  it('keep calls of the same id apart', async () => {
    const turns = [calls(['a', 'talk', {}]), calls(['a', 'talk', {}]), says('ok')];
    const first = await bench({ turns: [...turns], tools: [talker(long)], spool });
    const second = await bench({ turns: [...turns], tools: [talker(`${long}!`)], spool });
    const files = [...resultsIn(first), ...resultsIn(second)].map((text) => /is in (\S+) …/.exec(text)?.[1] ?? '');
    expect(new Set(files).size).toBe(4);
    expect(await readFile(files[0] ?? '', 'utf8')).toBe(long);
  });

  it('share 200 kB alike when there are many', async () => {
    const many = calls(...Array.from({ length: 40 }, (_, n) => [`c${n}`, 'talk', {}] as const));
    const run = await bench({ turns: [many, says('ok')], tools: [talker('x'.repeat(19_000))], spool });
    const sizes = resultsIn(run).map((text) => text.length);
    expect(sizes).toHaveLength(40);
    expect(Math.max(...sizes)).toBeLessThan(5_300);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(212_000);
  });
});

describe('a reply that is cut off at its length limit', () => {
  const cut = (text: string, completionTokens = 4_096): Turn => [
    { type: 'text', text },
    usage(completionTokens),
    { type: 'end', finishReason: 'length' },
  ];
  const usage = (completionTokens: number): ModelDelta => ({
    type: 'usage',
    usage: {
      promptTokens: 9,
      completionTokens,
      cachedTokens: 0,
      reasoningTokens: 0,
      totalTokens: 9 + completionTokens,
    },
  });
  const limits = ({ requests }: Benched) => requests.map((request) => request.maxTokens);

  it('is gone on with in pieces, with the limit raised once', async () => {
    const run = await bench({ turns: [cut('One, '), cut('two, '), says('three.')] });
    expect(run.outcome).toMatchObject({ reason: 'answered', answer: 'One, two, three.' });
    expect(limits(run)).toEqual([undefined, 16_384, 16_384]);
    expect(notices(run)).toMatchObject([{ code: 'reply-cut', text: expect.stringContaining('raised to 16384') }, {}]);
    expect(run.requests[1]?.messages.slice(-2)).toEqual([
      { role: 'assistant', content: 'One, ' },
      { role: 'user', content: expect.stringContaining('exactly where it stopped') },
    ]);
  });

  it('raises a limit that was set to twice its size, or what was said', async () => {
    const run = await bench({ turns: [cut('One, ', 20_000), says('two.')], options: { maxTokens: 20_000 } });
    expect(limits(run)).toEqual([20_000, 40_000]);
  });

  it.each(['bad-request', 'too-long'] as const)(
    'keeps the limit where the endpoint refuses more (%s)',
    async (kind) => {
      const turns = (request: ModelRequest): Turn => {
        if ((request.maxTokens ?? 0) > 8_192) return new ProviderError(kind, 'max_tokens is too large');
        return request.messages.length < 4 ? cut('One, ') : says('two.');
      };
      const run = await bench({ turns, options: { maxTokens: 8_192 } });
      expect(run.outcome).toMatchObject({ reason: 'answered', answer: 'One, two.' });
      expect(limits(run)).toEqual([8_192, 16_384, 8_192]);
    },
  );

  it('ends the run by a limit after four in a row, with the pieces as a partial answer', async () => {
    const run = await bench({ turns: () => cut('again ') });
    expect(run.requests).toHaveLength(4);
    expect(run.outcome).toMatchObject({ reason: 'budget', answer: 'again '.repeat(4), error: { kind: 'budget' } });
  });

  it('is held against the wanted form only when it is whole', async () => {
    const seen: string[] = [];
    const checkAnswer = (answer: string) => {
      seen.push(answer);
      return { ok: true } as const;
    };
    await bench({ turns: [cut('{"a":'), says('1}')], options: { checkAnswer } });
    expect(seen).toEqual(['{"a":1}']);
  });
});
