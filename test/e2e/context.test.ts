import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { says, type Turn } from '../fixtures/model-server.js';
import { makePlace } from './place.js';
import { streamOf } from './reading.js';
import { chatcli, type PlayedRun, play } from './support.js';

const TASK = 'Three things: rename a to b, test c, and never touch d.';
const FILES = Object.fromEntries(
  Array.from({ length: 30 }, (_, n) => [`f${n}.txt`, `file ${n}\n${'word '.repeat(800)}`]),
);

type Body = {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly tools?: unknown;
};
const bodies = ({ requests }: PlayedRun) =>
  requests.filter(({ method }) => method === 'POST').map((request) => request.body as Body);
const isSummary = ({ messages }: Body) => messages[0]?.content.includes('sum up the work') === true;
const begins = (later: Body, earlier: Body) =>
  JSON.stringify(later.messages.slice(0, earlier.messages.length)) === JSON.stringify(earlier.messages);

/** Reads `rounds` files, one a turn, saying `words` with each, then answers; says what a summary has to say. */
function reader(rounds: number, words = ''): (request: { readonly body: Body }) => Turn {
  let round = 0;
  return ({ body }) => {
    if (isSummary(body)) return { text: 'SUMMARY: a is renamed, c is open.' };
    round += 1;
    if (round > rounds) return { text: 'All three are done.' };
    return {
      text: words && `${words} ${round}`,
      calls: [{ name: 'read_file', arguments: { path: `f${round % 30}.txt` } }],
    };
  };
}

const run = (turns: Parameters<typeof play>[0], window?: number) =>
  play(turns, ['agent', TASK, '--worker', 'file', '--output-format', 'json', '--max-turns', '60'], {
    files: FILES,
    env: { ...(window && { CHATCLI_CONTEXT_WINDOW: String(window) }), CHATCLI_MAX_RETRIES: '0' },
  });

describe('the requests of a run', () => {
  it('begin each with the one before, byte by byte, and offer the same tools', async () => {
    const played = await run(reader(12));
    const sent = bodies(played);
    expect(sent).toHaveLength(13);
    sent.forEach((body, n) => {
      const before = sent[n - 1];
      if (before === undefined) return;
      expect(begins(body, before)).toBe(true);
      expect(JSON.stringify(body.tools)).toBe(JSON.stringify(before.tools));
    });
  });

  it('stay within a small window, and begin anew only where a context event says so', async () => {
    const played = await play(
      reader(25),
      ['agent', TASK, '--worker', 'file', '--output-format', 'stream-json', '--max-turns', '60'],
      { files: FILES, env: { CHATCLI_CONTEXT_WINDOW: '12000' } },
    );
    expect(played.exitCode).toBe(0);
    const events = played.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly type: string; readonly operation?: string });
    const steps = events.filter(({ type }) => type === 'context');
    const sent = bodies(played).filter((body) => !isSummary(body));
    const anew = sent.filter((body, n) => n > 0 && !begins(body, sent[n - 1] ?? body));
    expect(anew).toHaveLength(steps.length);
    expect(steps.length).toBeGreaterThan(0);
    expect(steps.length).toBeLessThan(10);
    expect(Math.max(...sent.map((body) => JSON.stringify(body).length))).toBeLessThan(12_000 * 4.5);
    for (const { messages } of sent) expect(messages[1]).toEqual({ role: 'user', content: TASK });
    expect(events.at(-1)).toMatchObject({
      type: 'result',
      context: { window_tokens: 12_000, window_source: 'setting', shortened: steps.length },
    });
  });

  it('are counted with those of workers that had to be made shorter, beside what fills the window of the lead', async () => {
    const ofWorker = reader(25);
    const tasks = [{ worker: 'file', task: 'Read them all.' }];
    const played = await play(
      (request: { readonly body: Body }): Turn => {
        if (!JSON.stringify(request.body.tools ?? []).includes('"delegate"')) return ofWorker(request);
        const isBack = request.body.messages.some(({ role }) => role === 'tool');
        return isBack ? says('All done.') : { calls: [{ name: 'delegate', arguments: { tasks } }] };
      },
      ['agent', TASK, '--output-format', 'stream-json'],
      { files: FILES, env: { CHATCLI_CONTEXT_WINDOW: '12000' } },
    );
    const { events, result } = streamOf(played);
    const steps = events.filter(({ type }) => type === 'context');
    expect(steps.length).toBeGreaterThan(0);
    expect(steps.every(({ parentRunId }) => parentRunId !== undefined)).toBe(true);
    const ofLead = events.flatMap((event) =>
      event.type === 'usage' && event.parentRunId === undefined && event.context ? [event.context.tokens] : [],
    );
    expect(result).toMatchObject({ result: 'All done.', context: { shortened: steps.length, tokens: ofLead.at(-1) } });
  });

  it('say where a shortened result can be read as a whole', async () => {
    const played = await run(reader(25), 12_000);
    const last = bodies(played).at(-1)?.messages ?? [];
    const [, file = ''] = /is in (\S+)\]$/.exec(last.find(({ role }) => role === 'tool')?.content ?? '') ?? [];
    expect(readFileSync(file, 'utf8')).toContain('│file 1\n');
  });

  it('keep the task word for word where a summary takes the place of the rest', async () => {
    const played = await run(reader(40, 'I thought about it at length. '.repeat(40)), 10_000);
    expect(JSON.parse(played.stdout)).toMatchObject({ subtype: 'success', result: 'All three are done.' });
    expect(bodies(played).filter(isSummary).length).toBeGreaterThan(0);
    const last = bodies(played).at(-1)?.messages ?? [];
    expect(last.some(({ content }) => content.includes('SUMMARY: a is renamed, c is open.'))).toBe(true);
    expect(last).toContainEqual({ role: 'user', content: TASK });
    expect(played.stderr).toContain('summed up');
  });
});

describe('an endpoint', () => {
  it('that refuses a request as too long is asked again, shorter, within three more requests', async () => {
    const play = reader(20);
    let refused = 0;
    const played = await run((request) => {
      if (JSON.stringify(request.body).length < 30_000) return play(request);
      refused += 1;
      const message = "This model's maximum context length is 8192 tokens. Please reduce the length of the messages.";
      return {
        status: 400,
        body: { error: { message, type: 'invalid_request_error', code: 'context_length_exceeded' } },
      };
    });
    expect(JSON.parse(played.stdout)).toMatchObject({ subtype: 'success', result: 'All three are done.' });
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThanOrEqual(3);
  });

  it('that refuses even the shortest request ends the run with exit 4 and its words', async () => {
    const message = 'The prompt is too long.';
    const played = await run(() => ({ status: 400, body: { error: { message, code: 'context_length_exceeded' } } }));
    expect(played.exitCode).toBe(4);
    expect(played.stderr).toContain(message);
    expect(bodies(played)).toHaveLength(1);
  });

  it('that read only a part of a request is warned of once', async () => {
    const usage = { prompt_tokens: 4_096, completion_tokens: 1, total_tokens: 4_097 };
    let turn = 0;
    const big = { 'big.txt': 'word '.repeat(3_400) };
    const played = await play(
      () => {
        turn += 1;
        return turn < 5
          ? { calls: [{ name: 'read_file', arguments: { path: 'big.txt', offset: turn } }], usage }
          : { text: 'Done.', usage };
      },
      ['agent', `${TASK} ${'More words. '.repeat(3_000)}`, '--worker', 'file', '--output-format', 'json'],
      { files: big },
    );
    const { warnings } = JSON.parse(played.stdout) as { warnings: readonly string[] };
    expect(warnings.filter((text) => text.includes('4096 tokens'))).toHaveLength(1);
    expect(played.exitCode).toBe(0);
  });
});

describe('chatcli context', () => {
  it('shows what a run begins with, against the window', async () => {
    const place = makePlace({ 'AGENTS.md': 'Use tabs. '.repeat(100) });
    const env = { OPENAI_API_KEY: 'sk-0123456789abcdef0123', CHATCLI_MODEL: 'gpt-5-mini' };
    const { exitCode, stdout, stderr } = await chatcli(['context'], { place, env });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const [title, , ...rows] = stdout.split('\n');
    expect(title).toBe('coder · gpt-5-mini · window 400,000 tokens (by our table)');
    expect(rows.join('\n')).toMatch(/page of the worker coder +\d{3} .*\n.*AGENTS\.md +2\d\d .*\n\d+ tools +[\d,]+ /);
    expect(rows.join('\n')).toMatch(/before the task .*\nkept for the reply .*\nleft for the conversation .*%\n/);
  });

  it('gives the same as JSON, for the worker and the window that are named', async () => {
    const env = { OPENAI_API_KEY: 'sk-0123456789abcdef0123', CHATCLI_CONTEXT_WINDOW: '8000' };
    const { stdout } = await chatcli(['context', '--worker', 'file', '--output-format', 'json'], { env });
    const shown = JSON.parse(stdout) as { parts: readonly { tokens: number }[]; total_tokens: number };
    expect(shown).toMatchObject({ type: 'context', worker: 'file', window_tokens: 8_000, window_source: 'setting' });
    expect(shown.parts.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(shown.total_tokens);
  });

  it.each([
    ['an unknown worker', ['--worker', 'nobody'], 2],
    ['no provider', [], 3],
  ])('refuses %s', async (_, args, exitCode) => {
    const env = exitCode === 2 ? { OPENAI_API_KEY: 'sk-0123456789abcdef0123' } : {};
    expect((await chatcli(['context', ...args], { env })).exitCode).toBe(exitCode);
  });
});

it('goes on with an answer that was cut off, and prints all of it', async () => {
  const played = await play(
    [{ text: 'One, ', finishReason: 'length' }, says('two.')],
    ['agent', 'Count.', '--worker', 'file'],
  );
  expect(played).toMatchObject({ exitCode: 0, stdout: 'One, two.\n' });
  expect(bodies(played)[1]).toMatchObject({ max_completion_tokens: 16_384 });
});

it('never runs a call that was cut off, and tells the model', async () => {
  const played = await play(
    [
      { calls: [{ name: 'write_file', arguments: '{"path":"out.txt","content":"line1\\nli' }], finishReason: 'length' },
      says('gave up'),
    ],
    ['coder', 'Write.', '--approval-mode', 'auto-edit'],
  );
  expect(played.stdout).toBe('gave up\n');
  expect(existsSync(join(played.place.root, 'out.txt'))).toBe(false);
  expect(bodies(played).at(-1)?.messages.at(-1)?.content).toMatch(/cut off/);
});
