import { createHash } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { calls, says, type Turn } from '../fixtures/model-server.js';
import { makePlace, type Place, processesOf } from './place.js';
import { lastResult, resultsIn } from './reading.js';
import { play } from './support.js';

const bytesOf = (place: Place, path: string) => readFileSync(join(place.root, path));

const hashOf = (place: Place, path: string) =>
  createHash('sha256').update(bytesOf(place, path)).digest('hex').slice(0, 16);

const edit = (path: string, old_string: string, new_string: string, more: object = {}) =>
  calls('edit_file', { path, old_string, new_string, ...more });

const work = (turns: readonly Turn[], place: Place) =>
  play([...turns, says('ok')], ['coder', 'x', '--approval-mode', 'auto-edit'], { place });

describe('a file that is changed', () => {
  it('keeps its CRLF line ends, its mode and its missing last line break [pain 4] [pain 5] [H1]', async () => {
    const place = makePlace({ 'run.sh': '#!/bin/sh\r\necho one\r\necho two' });
    chmodSync(join(place.root, 'run.sh'), 0o755);
    expect(hashOf(place, 'run.sh')).toBe('703e3fdb012cbe2e');
    await work([edit('run.sh', 'echo one\necho two', 'echo uno\necho dos\necho tres')], place);

    expect(place.read('run.sh')).toBe('#!/bin/sh\r\necho uno\r\necho dos\r\necho tres');
    expect([hashOf(place, 'run.sh'), statSync(join(place.root, 'run.sh')).mode & 0o777]).toEqual([
      'b2bb4c1f40d14859',
      0o755,
    ]);
  });

  it('keeps its byte order mark, through an edit and when it is written anew [pain 6] [H2]', async () => {
    const place = makePlace({ 'c.toml': Buffer.from('efbbbf6e616d65203d2022c3a9220a', 'hex') });
    await work([edit('c.toml', 'name', 'title')], place);
    expect(bytesOf(place, 'c.toml').toString('hex')).toBe('efbbbf7469746c65203d2022c3a9220a');
    await work(
      [calls('read_file', { path: 'c.toml' }), calls('write_file', { path: 'c.toml', content: 'x = 1\n' })],
      place,
    );

    expect(bytesOf(place, 'c.toml').toString('hex')).toBe('efbbbf78203d20310a');
  });

  it.each([{}, { replace_all: true }])('gets dollar signs as they are written, with %j [pain 2] [H3]', async (more) => {
    const place = makePlace({ 'a.js': 'log("done");\n' });
    await work([edit('a.js', 'log("done");', 'log("$& $$ $` $\' $1");', more)], place);

    expect([bytesOf(place, 'a.js').length, hashOf(place, 'a.js')]).toEqual([23, '6a58e66ce4f6b673']);
  });

  it('is left alone where the text stands twice, with both lines named, until replace_all says so [pain 8] [H4]', async () => {
    const place = makePlace({ 'v.txt': 'a=1\nb=2\na=1\n' });
    let between = '';
    const turns = [edit('v.txt', 'a=1', 'a=9'), edit('v.txt', 'a=1', 'a=9', { replace_all: true }), says('ok')];
    const run = await play(
      (_, index) => {
        if (index === 1) between = hashOf(place, 'v.txt');
        return turns[index] ?? says('ok');
      },
      ['coder', 'x', '--approval-mode', 'auto-edit'],
      { place },
    );

    expect(between).toBe('301b96cc5b807184');
    expect(resultsIn(run.requests[1])[0]).toMatch(/\b1\b[\s\S]*\b3\b/);
    expect(hashOf(place, 'v.txt')).toBe('f70bb7274b282538');
  });

  it('that the text does not stand in is left alone, and the model is shown what is near', async () => {
    const place = makePlace({ 'a.js': 'function total(items) {\n  return items.length;\n}\n' });
    const run = await work([edit('a.js', 'function totals(items) {\n  return items.length;', 'x')], place);

    expect(lastResult(run)).toContain('function total(items)');
    expect(place.read('a.js')).toBe('function total(items) {\n  return items.length;\n}\n');
  });
});

describe('a patch', () => {
  const patched = (...lines: readonly string[]) =>
    calls('apply_patch', { patch: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') });

  it('changes several files, and what it did stands in the progress and in the proof', async () => {
    const place = makePlace({ a: 'one\n', b: 'two\n', c: 'three\n' });
    const turn = patched(
      '*** Update File: a',
      '@@',
      '-one',
      '+1',
      '*** Update File: b',
      '*** Move to: d/b',
      '@@',
      '-two',
      '+2',
      '*** Delete File: c',
    );
    const run = await work([turn], place);

    expect([place.read('a'), place.read('d/b')]).toEqual(['1\n', '2\n']);
    expect(existsSync(join(place.root, 'b')) || existsSync(join(place.root, 'c'))).toBe(false);
    expect(lastResult(run)).toBe('Changed a: line 1.\nMoved b to d/b: line 1.\nDeleted c.');
    for (const text of ['+2 -3', 'moved b → d/b +1 -1', 'deleted c +0 -1']) expect(run.stderr).toContain(text);
  });

  it.each([
    [
      'one of its paths is protected',
      ['*** Update File: b', '*** Move to: .git/hooks/post-commit', '@@', ' two'],
      /protected path/,
    ],
    ['one of its paths is outside', ['*** Add File: ../pwn', '+x'], /outside the workspace/],
    ['it can not be read', ['*** Frob File: b'], /cannot be read/],
    ['one hunk fits nowhere', ['*** Update File: b', '@@', '-zzz', '+x'], /not in the file/],
  ])('changes nothing where %s [pain 7]', async (_, lines, reason) => {
    const place = makePlace({ a: 'one\n', b: 'two\n' });
    const run = await work([patched('*** Update File: a', '@@', '-one', '+1', ...lines)], place);

    expect(lastResult(run)).toMatch(reason);
    expect([place.read('a'), place.read('b')]).toEqual(['one\n', 'two\n']);
    expect([existsSync(join(place.root, '.git/hooks')), existsSync(join(place.root, '../pwn'))]).toEqual([
      false,
      false,
    ]);
  });
});

describe('a command', () => {
  const full = (turns: readonly Turn[], place = makePlace()) =>
    play([...turns, says('ok')], ['coder', 'x', '--dangerously-skip-permissions'], { place });

  it('that leaves a process behind does not wait for it, and the process is stopped [pain 23] [H9]', async () => {
    const run = await full([calls('shell', { command: 'sleep 300 & echo started' })]);
    const [first, second] = run.requests.map(({ at }) => at);

    expect(lastResult(run)).toContain('started');
    expect((second ?? 0) - (first ?? 0)).toBeLessThan(3_000);
    expect(processesOf(run.place)).toEqual([]);
  });

  it.each([
    ['holds its output', ''],
    ['has its output elsewhere', ' </dev/null >/dev/null 2>&1'],
  ])(
    'that leaves its group and %s is stopped as well, however short the command itself is [A45]',
    async (_, output) => {
      const command = (seconds: number) =>
        calls('shell', { command: `setsid sleep ${seconds}${output} & echo started` });
      const run = await full([command(301), command(302), command(303)]);

      expect(resultsIn(run.requests.at(-1)).map((result) => result.split('\n')[1])).toEqual(
        Array.from({ length: 3 }, () =>
          expect.stringMatching(/^\[process \d+ went on in the background .* was stopped/),
        ),
      );
      expect(processesOf(run.place)).toEqual([]);
    },
  );

  it('that takes too long is stopped with all its children, and is no success [A45] [pain 19] [H9]', async () => {
    const place = makePlace();
    let living = -1;
    const turns = [calls('shell', { command: "sh -c 'sleep 321 & sleep 322'", timeout_ms: 500 }), says('ok')];
    const run = await play(
      (_, index) => {
        if (index === 1) living = processesOf(place).filter(({ command }) => command.startsWith('sleep')).length;
        return turns[index] ?? says('ok');
      },
      ['coder', 'x', '--dangerously-skip-permissions', '--output-format', 'stream-json'],
      { place },
    );
    const [first, second] = run.requests.map(({ at }) => at);

    expect(lastResult(run)).toContain('timed out');
    expect((second ?? 0) - (first ?? 0)).toBeLessThan(4_000);
    expect(living).toBe(0);
    expect(run.stdout).toMatch(/"type":"tool-end"[^\n]*"ok":false,"code":"timeout"/);
  });

  it.each([
    ['its exit code', 'echo out; echo err >&2; exit 7', /^out\nerr\n[\s\S]*exit code 7$/],
    ['the signal that ended it', 'kill -9 $$', /SIGKILL[\s\S]*137/],
    ['that it cannot be found', 'no-such-program-here', /not found[\s\S]*exit code 127$/],
    ['its output without control sequences', "printf '\\033[31mred\\033[0m\\n'", /^red\n/],
    ['both ends of a long output', 'seq 1 100000', /^1\n2\n[\s\S]*left out[\s\S]*\n100000\n[\s\S]*exit code 0$/],
  ])('tells the model %s, and a failure is no failure of the run [pain 18]', async (_, command, expected) => {
    const run = await full([calls('shell', { command })]);

    expect(lastResult(run)).toMatch(expected);
    expect(lastResult(run).length).toBeLessThan(31_000);
    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode: 0, stdout: 'ok\n' });
  });

  it('that failed three times may be tried a fourth time', async () => {
    const turns = [1, 2, 3, 4].map((attempt) =>
      calls('shell', { command: `cat n 2>/dev/null; echo ${attempt} >> n; [ ${attempt} = 4 ]` }),
    );
    const run = await full(turns);

    expect(lastResult(run)).toMatch(/exit code 0$/);
    expect(run.exitCode).toBe(0);
  });
});
