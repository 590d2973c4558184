import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { calls, says, type Turn } from '../fixtures/model-server.js';
import { type PlayedRun, type PlayOptions, play } from './support.js';

const FILES = { 'a.txt': 'one\ntwo\nthree\n' };

const usage = (total_tokens: number) => ({ prompt_tokens: total_tokens - 1, completion_tokens: 1, total_tokens });

const TURNS: readonly Turn[] = [
  { ...calls('read_file', { path: 'a.txt' }), usage: usage(100) },
  { ...calls('shell', { command: 'cat a.txt' }), usage: usage(200) },
  { ...calls('shell', { command: 'touch x' }), usage: usage(300) },
  { ...calls('shell', { command: 'ls' }), usage: usage(400) },
  { ...says('ok'), usage: usage(500) },
];

// biome-ignore lint/suspicious/noExplicitAny: the shape of each line is what is tested.
type Line = any;

const linesOf = (text: string): Line[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

/** The log of a run that wrote it to `../home/log.jsonl`. */
const logOf = ({ place }: PlayedRun): Line[] => linesOf(readFileSync(join(place.home, 'log.jsonl'), 'utf8'));

const logged = (env: PlayOptions['env'] = {}, turns = TURNS) =>
  play(turns, ['coder', 'x'], { files: FILES, env: { CHATCLI_LOG_FILE: '../home/log.jsonl', ...env } });

describe('the log', () => {
  it('is JSON lines with the level as a word and the time, in a file that only its owner reads', async () => {
    const run = await logged();
    const lines = logOf(run);

    expect(lines.length).toBeGreaterThan(10);
    for (const line of lines) {
      expect(line).toMatchObject({
        level: expect.stringMatching(/^(debug|info|warn|error)$/),
        time: expect.any(String),
        msg: expect.any(String),
      });
      expect(Date.parse(line.time)).toBeGreaterThan(Date.now() - 60_000);
    }
    expect(statSync(join(run.place.home, 'log.jsonl')).mode & 0o777).toBe(0o600);
  });

  it('says "agent turn" with agent, turn and tokens for each turn', async () => {
    const lines = logOf(await logged());

    expect(
      lines
        .filter(({ msg }) => msg === 'agent turn')
        .map(({ level, agent, turn, tokens }) => ({ level, agent, turn, tokens })),
    ).toEqual(
      [100, 200, 300, 400, 500].map((tokens, index) => ({ level: 'info', agent: 'coder', turn: index + 1, tokens })),
    );
  });

  it('says "tool_call" with name and args as a JSON string for each call', async () => {
    const lines = logOf(await logged());

    expect(
      lines
        .filter(({ msg }) => msg === 'tool_call')
        .map(({ level, name, args }) => ({ level, name, args: JSON.parse(args) })),
    ).toEqual([
      { level: 'info', name: 'read_file', args: { path: 'a.txt' } },
      { level: 'info', name: 'shell', args: { command: 'cat a.txt' } },
      { level: 'info', name: 'shell', args: { command: 'touch x' } },
      { level: 'info', name: 'shell', args: { command: 'ls' } },
    ]);
  });

  it('says "tool result" with lines as an integer and a duration with its unit for each call', async () => {
    const results = logOf(await logged()).filter(({ msg }) => msg === 'tool result');

    expect(results).toHaveLength(4);
    for (const { lines, duration } of results) {
      expect(Number.isInteger(lines)).toBe(true);
      expect(duration).toMatch(/^\d+ms$/);
    }
    // Three lines, the folder and the exit code.
    expect(results[1]?.lines).toBe(5);
  });

  it('gives a duration above a second its unit too', async () => {
    const run = await play(
      [calls('shell', { command: 'sleep 1.1' }), says('ok')],
      ['coder', 'x', '--dangerously-skip-permissions'],
      {
        env: { CHATCLI_LOG_FILE: '../home/log.jsonl' },
      },
    );

    expect(logOf(run).find(({ msg }) => msg === 'tool result')?.duration).toMatch(/^(\d+ms|\d+(\.\d+)?s)$/);
  });

  it('grows with each run and never starts anew', async () => {
    const first = await logged();
    const count = logOf(first).length;
    await play(TURNS, ['coder', 'x'], { place: first.place, env: { CHATCLI_LOG_FILE: '../home/log.jsonl' } });

    expect(logOf(first)).toHaveLength(2 * count);
  });

  it('has a line for a retry and for the failure at the end, also of a run that ends badly', async () => {
    const turns = [
      { status: 503, body: 'busy', headers: { 'retry-after': '0' } },
      { status: 401, body: { error: { message: 'bad key' } } },
    ];
    const lines = logOf(await logged({}, turns));

    expect(lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg)).toEqual(['retry']);
    expect(lines.find(({ msg }) => msg === 'run end')).toMatchObject({
      reason: 'failed',
      error: expect.stringContaining('bad key'),
    });
  });

  it.each<[string, readonly string[]]>([
    ['debug', ['debug', 'info']],
    ['info', ['info']],
    ['warn', []],
    ['error', []],
  ])('at LOG_LEVEL=%s holds just that and what is more important', async (level, levels) => {
    const run = await logged({ LOG_LEVEL: level });
    const path = join(run.place.home, 'log.jsonl');
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';

    expect([...new Set(text === '' ? [] : linesOf(text).map((line) => line.level))].toSorted()).toEqual(levels);
  });

  it.each<[string, PlayOptions['env'], readonly string[], boolean]>([
    ['is silent by default', {}, [], false],
    ['goes to stderr with LOG_LEVEL alone', { LOG_LEVEL: 'info' }, [], true],
    ['goes to stderr with --debug', {}, ['--debug'], true],
  ])('%s, and never to stdout', async (_, env, flags, isThere) => {
    const run = await play(TURNS, ['coder', 'x', ...flags], { files: FILES, env: env ?? {} });

    expect(run.stderr.split('\n').some((line) => line.startsWith('{"level"'))).toBe(isThere);
    expect(run.stdout).toMatch(/^\[partial|^ok\n$/);
  });

  it.each([
    ['a path below a file', '/dev/null/log'],
    ['a folder', '.'],
  ])('that cannot be written, being %s, is exit 3 and named', async (_, path) => {
    const run = await play([says('ok')], ['agent', 'x'], { env: { CHATCLI_LOG_FILE: path } });

    expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
      exitCode: 3,
      stdout: '',
      requests: 0,
    });
    expect(run.stderr).toContain('CHATCLI_LOG_FILE');
  });
});
