import { describe, expect, it } from 'vitest';
import { disorder } from '../fixtures/bench.js';
import { calls, fails, says, type Turn } from '../fixtures/model-server.js';
import { jsonOf, resultsIn, streamOf } from './reading.js';
import { type PlayOptions, play } from './support.js';

const usage = (prompt_tokens: number, completion_tokens: number) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
});

const ANSWER = 'Fixed: sum added one too many.\nThe check passes.';

/** Read, edit, shell, answer. */
const TURNS: readonly Turn[] = [
  { ...calls('read_file', { path: 'sum.js' }), text: 'I read it first.', usage: usage(100, 10) },
  { ...calls('edit_file', { path: 'sum.js', old_string: 'a + b + 1', new_string: 'a + b' }), usage: usage(130, 20) },
  { ...calls('shell', { command: 'node check.js' }), usage: usage(160, 5) },
  { text: [...ANSWER], usage: usage(190, 15) },
];

const OPTIONS: PlayOptions = {
  files: {
    'sum.js': 'module.exports = (a, b) => a + b + 1;\n',
    'check.js':
      'const sum = require("./sum.js"); console.log("sum", sum(1, 2)); process.exit(sum(1, 2) === 3 ? 0 : 1);\n',
  },
};

const fixIt = (...more: readonly string[]) =>
  play(
    TURNS,
    ['coder', 'fix sum', '--approval-mode', 'auto-edit', '--allowed-tools', 'shell(node check.js)', ...more],
    OPTIONS,
  );

describe('a task that is read, edited, checked and answered', () => {
  it('leaves the answer alone on stdout and the progress on stderr', async () => {
    const { exitCode, stdout, stderr, place, requests } = await fixIt();

    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${ANSWER}\n` });
    expect(place.read('sum.js')).toBe('module.exports = (a, b) => a + b;\n');
    expect(resultsIn(requests[3])).toEqual([
      expect.stringContaining('a + b + 1'),
      expect.stringContaining('sum.js'),
      expect.stringMatching(/^sum 3\n[\s\S]*exit code 0$/),
    ]);
    expect(stderr.replace(/\d+ms|\d\.\ds/g, 'TIME').split('\n')).toEqual([
      `● coder mock · ${place.root}`,
      'I read it first.',
      '✓ read_file    sum.js  lines 1-1 of 1 · TIME',
      '✓ edit_file    sum.js  +1 -1 · TIME',
      '    1 - module.exports = (a, b) => a + b + 1;',
      '    1 + module.exports = (a, b) => a + b;',
      '✓ shell        node check.js  exit 0 · TIME',
      '    sum 3',
      '● done · 4 turns · 630 tokens · TIME',
      '  files changed: sum.js',
      '  commands since the last edit: node check.js (exit 0)',
      '',
    ]);
  });

  it('sends requests that only ever grow at their end, with the same tools and the key', async () => {
    const { requests } = await fixIt();

    expect(requests.map(({ body }) => body.messages.length)).toEqual([2, 4, 6, 8]);
    requests.slice(1).forEach(({ body }, index) => {
      const before = requests[index]?.body;
      expect(body.messages.slice(0, before.messages.length)).toEqual(before.messages);
      expect({ ...body, messages: [] }).toEqual({ ...before, messages: [] });
    });
    expect(requests[3]?.body.messages.map(({ role }: { role: string }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
      'tool',
    ]);
    expect(requests[0]?.body).toMatchObject({ model: 'mock', stream: true });
    expect(requests[0]?.headers.authorization).toMatch(/^Bearer sk-e2e-/);
  });

  it('is exactly one JSON value with --output-format json', async () => {
    const run = await fixIt('--output-format', 'json');

    expect(run.exitCode).toBe(0);
    expect(run.stderr).toContain('✓ edit_file');
    expect(jsonOf(run)).toEqual({
      type: 'result',
      subtype: 'success',
      is_error: false,
      exit_code: 0,
      result: ANSWER,
      session_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      worker: 'coder',
      num_turns: 4,
      duration_ms: expect.any(Number),
      usage: {
        requests: 4,
        prompt_tokens: 580,
        completion_tokens: 50,
        cached_tokens: 0,
        reasoning_tokens: 0,
        total_tokens: 630,
      },
      total_cost_usd: null,
      model: 'mock',
      permission_denials: [],
      proof: {
        files_changed: ['sum.js'],
        commands_since_last_edit: [{ command: 'node check.js', exit_code: 0 }],
      },
      context: {
        tokens: expect.any(Number),
        estimated: false,
        parts: Object.fromEntries(
          ['system', 'tools', 'user', 'assistant', 'results'].map((part) => [part, expect.any(Number)]),
        ),
        shortened: 0,
      },
      warnings: [],
    });
  });

  it('is one event a line with --output-format stream-json, each start with one end, and the result last', async () => {
    const run = await fixIt('--output-format', 'stream-json');
    const { events, result } = streamOf(run);

    expect(run.exitCode).toBe(0);
    expect(disorder(events)).toEqual([]);
    expect(
      events.filter(({ type }) => type !== 'text-delta' && type !== 'tool-update').map(({ type }) => type),
    ).toEqual([
      'worker-start',
      'run-start',
      'turn-start',
      'message',
      'usage',
      'tool-start',
      'tool-end',
      'turn-end',
      'turn-start',
      'message',
      'usage',
      'tool-start',
      'tool-end',
      'turn-end',
      'turn-start',
      'message',
      'usage',
      'tool-start',
      'tool-end',
      'turn-end',
      'turn-start',
      'message',
      'usage',
      'turn-end',
      'run-end',
      'worker-end',
    ]);
    expect(events.flatMap((event) => (event.type === 'text-delta' ? event.text : [])).join('')).toBe(
      `I read it first.${ANSWER}`,
    );
    expect(result).toMatchObject({ type: 'result', subtype: 'success', exit_code: 0, result: ANSWER, num_turns: 4 });
    expect(new Set(events.map(({ runId, worker, v }) => `${v} ${worker} ${runId}`)).size).toBe(1);
  });
});

describe('an answer', () => {
  it.each([
    ['blanks and empty lines', '  a\n\n b'],
    ['a line break at its end', 'a\n'],
    ['a control sequence, which is taken out,', '\u001b[31mred\u001b[0m', 'red'],
  ])('with %s is printed as it came, and one newline', async (_, text, shown = text) => {
    expect(await play([says(text)], ['agent', 'x'])).toMatchObject({ exitCode: 0, stdout: `${shown}\n` });
  });
});

describe('a run that fails', () => {
  it.each<[string, readonly Turn[], readonly string[], PlayOptions['env'], object]>([
    ['for the provider', [fails(401, 'no such key')], ['agent', 'x'], {}, { exit_code: 4, subtype: 'error_provider' }],
    [
      'for the configuration',
      [],
      ['agent', 'x'],
      { CHATCLI_MAX_RETRIES: 'many' },
      { exit_code: 3, subtype: 'error_config' },
    ],
    ['for want of a task', [], ['agent'], {}, { exit_code: 2, subtype: 'error_usage' }],
    ['for an unknown worker', [], ['agent', 'x', '--worker', 'nobody'], {}, { exit_code: 2, subtype: 'error_usage' }],
    [
      'for a refused mode',
      [],
      ['agent', 'x', '--approval-mode', 'full-auto', '--sandbox', 'off'],
      {},
      { exit_code: 3, subtype: 'error_config' },
    ],
    [
      'at a turn limit',
      [calls('list_files'), says('so far')],
      ['agent', 'x', '--max-turns', '1'],
      {},
      { exit_code: 5, subtype: 'error_max_turns' },
    ],
    [
      'for a denial',
      [calls('shell', { command: 'touch x' }), says('no luck')],
      ['coder', 'x'],
      {},
      { exit_code: 6, subtype: 'error_denied' },
    ],
  ])('%s ends with a result in JSON too, and says the same on stderr', async (_, turns, args, env, expected) => {
    const json = await play(turns, [...args, '--output-format', 'json'], { env: env ?? {} });
    const stream = await play(turns, [...args, '--output-format', 'stream-json'], { env: env ?? {} });
    const { events, result } = streamOf(stream);

    const common = { type: 'result', is_error: true, ...expected };
    expect([jsonOf(json), result]).toEqual([expect.objectContaining(common), expect.objectContaining(common)]);
    expect([json.exitCode, stream.exitCode]).toEqual([result.exit_code, result.exit_code]);
    expect(Object.keys(result)).toEqual(Object.keys(jsonOf(json)));
    expect(disorder(events)).toEqual([]);
    if (result.error !== undefined) expect(json.stderr).toContain(result.error.message);
  });
});
