import { execFileSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { calls, fails, says, type Turn } from '../fixtures/model-server.js';
import { makePlace } from './place.js';
import { lastMessageIn, lastResult, resultsIn } from './reading.js';
import { play, type Running, serve, start, until } from './support.js';

const FLAGS = ['--checkpoint', 'run.checkpoint', '--approval-mode', 'auto-edit'];
const WRITE = calls('write_file', { path: 'a.txt', content: 'once\n' });
const HANGS: Turn = { fault: { kind: 'hang' } };
const REFUSED = fails(400, 'No.');
const EDIT = calls('edit_file', { path: 'a.txt', old_string: 'once', new_string: 'twice' });

describe('--checkpoint', () => {
  it('goes on with a run that was killed, and runs nothing again that had run', async () => {
    const place = makePlace();
    const hanging = await serve([WRITE, { fault: { kind: 'hang' } }]);
    const killed = start(['coder', 'x', ...FLAGS], { place, server: hanging });
    await until('the second request', () => hanging.requests.length === 2);
    killed.kill('SIGKILL');
    await killed.ended.catch(() => undefined);
    await hanging.close();

    // Were the write repeated, the edit after it would have nothing to find.
    place.write('a.txt', 'changed by hand\n');
    const resumed = await play([says('Done.')], ['coder', 'x', ...FLAGS], { place });

    expect(resumed).toMatchObject({ exitCode: 0, stdout: 'Done.\n' });
    expect(place.read('a.txt')).toBe('changed by hand\n');
    expect(resumed.requests).toHaveLength(1);
    expect(resultsIn(resumed.requests[0])).toEqual([expect.stringContaining('Created a.txt')]);
  });

  it.each<[string, (run: Running) => void, Turn, readonly string[], number, RegExp]>([
    ['Ctrl-C', (run) => run.kill('SIGINT'), HANGS, [], 130, /cancelled/],
    ['SIGTERM', (run) => run.kill('SIGTERM'), HANGS, [], 143, /cancelled/],
    ['--timeout', () => undefined, HANGS, ['--timeout', '3s'], 5, /time limit/],
    ['a failure of the provider', () => undefined, REFUSED, [], 4, /failed/],
    ['the turn limit', () => undefined, says('So far.'), ['--max-turns', '1'], 5, /turn limit/],
  ])(
    'goes on with a run that %s cut short, when the same command is given again',
    async (_, cut, turn, flags, code, mark) => {
      const place = makePlace();
      const server = await serve([WRITE, turn]);
      const command = ['coder', 'x', ...FLAGS, ...flags];
      const first = start(command, { place, server });
      await until('the second request', () => server.requests.length === 2);
      cut(first);
      expect((await first.ended).exitCode).toBe(code);

      place.write('a.txt', 'changed by hand\n');
      const resumed = await play([says('Done.')], command, { place });
      expect(resumed).toMatchObject({ exitCode: 0, stdout: 'Done.\n' });
      expect(resumed.stderr).toContain('Going on with the run in run.checkpoint.');
      expect(place.read('a.txt')).toBe('changed by hand\n');
      expect(resumed.requests).toHaveLength(1);
      expect(resultsIn(resumed.requests[0])).toEqual([expect.stringContaining('Created a.txt')]);
      expect(lastMessageIn(resumed.requests[0])).toMatch(mark);
    },
  );

  it('goes on with a run that was denied what it needed, once it is allowed', async () => {
    const place = makePlace();
    const command = ['coder', 'x', '--checkpoint', 'run.checkpoint'];
    const first = await play([WRITE, says('I may not.')], command, { place });
    expect(first.exitCode).toBe(6);
    const again = calls('write_file', { path: 'a.txt', content: 'now\n' });
    const second = await play([again, says('Done.')], [...command, '--approval-mode', 'auto-edit'], { place });
    expect(second).toMatchObject({ exitCode: 0, stdout: 'Done.\n' });
    expect(lastMessageIn(second.requests[0])).toMatch(/denied/);
    expect(place.read('a.txt')).toBe('now\n');
  });

  it.each<[string, (folder: string, other: string) => string | undefined, RegExp]>([
    ['lets the model read on in a result that its history names', () => undefined, /19998/],
    [
      'keeps those of other projects closed, also where its history names them',
      (_, other) => other,
      /outside the work/,
    ],
    [
      'follows no link that was put in the place of its results',
      (folder, other) => {
        renameSync(folder, `${folder}.moved`);
        symlinkSync(dirname(other), folder);
        return join(folder, 'other.txt');
      },
      /outside the workspace/,
    ],
  ])('%s', async (_, arrange, expected) => {
    const place = makePlace();
    const command = ['coder', 'x', '--checkpoint', 'run.checkpoint', '--allowed-tools', 'shell'];
    const first = await play([calls('shell', { command: 'seq 1 20000' }), REFUSED], command, { place });
    const named = /\/\S+\/spool\/run-\w{16}-\w{6}\/[\w-]+\.\w+/.exec(lastResult(first))?.[0];
    if (named === undefined) throw new Error(`No file is named: ${first.stderr}`);
    const other = join(dirname(dirname(named)), `run-${'0'.repeat(16)}-OTHER1`, 'other.txt');
    mkdirSync(dirname(other));
    writeFileSync(other, 'of another project\n');

    const path = arrange(dirname(named), other) ?? named;
    await play([calls('shell', { command: `echo ${other}` }), REFUSED], command, { place });
    const resumed = await play([calls('read_file', { path, offset: 19_990 }), says('Done.')], command, { place });
    expect(lastResult(resumed)).toMatch(expected);
  });

  it('counts what the run spent before against the budget', async () => {
    const place = makePlace();
    const command = ['coder', 'x', ...FLAGS, '--max-requests', '1'];
    await play([WRITE], command, { place });
    const second = await play([], command, { place });
    expect(second).toMatchObject({ exitCode: 5, requests: [] });
    expect(second.stderr).toContain('before it was gone on with');
    const third = await play([says('Done.')], [...command, '--max-requests', '2'], { place });
    expect(third).toMatchObject({ exitCode: 0, stdout: 'Done.\n' });
  });

  it('refuses to go on under another task, and names both', async () => {
    const place = makePlace();
    await play([WRITE, REFUSED], ['coder', 'fix the login', ...FLAGS], { place });
    const before = place.read('run.checkpoint');
    const run = await play([says('no')], ['coder', 'write the docs', ...FLAGS], { place });

    expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode: 2, requests: 0 });
    expect(run.stderr).toMatch(/run\.checkpoint is of another task.*"fix the login".*"write the docs".*another file/s);
    expect(place.read('run.checkpoint')).toBe(before);
  });

  it('starts a new run where the stored one was answered, and says so', async () => {
    const place = makePlace({ 'a.txt': 'once\n' });
    await play([says('First.')], ['coder', 'x', ...FLAGS], { place });
    const second = await play([EDIT, says('Second.')], ['coder', 'y', ...FLAGS], { place });

    expect(second.stdout).toBe('Second.\n');
    expect(second.stderr).toContain('The run in run.checkpoint was answered: a new one begins.');
    expect(place.read('a.txt')).toBe('twice\n');
  });

  it('is of no use to another worker, also to one with the same tools', async () => {
    const place = makePlace();
    const asked = (worker: string) => ['coder', 'x', '--worker', worker, ...FLAGS];
    await play([says('First.')], asked('file'), { place });
    const run = await play([says('no')], asked('chat'), { place });

    expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode: 2, requests: 0 });
    expect(run.stderr).toMatch(/another configuration/);
  });

  it('is readable by nobody else, nor is the key that signs it', async () => {
    const place = makePlace();
    await play([says('First.')], ['coder', 'x', ...FLAGS], { place });
    const files = readdirSync(dirname(place.root), { recursive: true, encoding: 'utf8' }).filter((path) =>
      /checkpoint(\.key)?$/.test(path),
    );
    expect(files.map((path) => basename(path)).sort()).toEqual(['checkpoint.key', 'run.checkpoint']);
    const modes = files.map((path) => statSync(join(dirname(place.root), path)).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600]);
  });

  it('goes on with the worker that was picked for the run, and asks for no other', async () => {
    const place = makePlace();
    const env = { CHATCLI_AGENT_PARALLEL_MODE: 'false' };
    const command = ['agent', 'x', ...FLAGS];
    const cut = [says('coder'), WRITE, REFUSED] as const;
    expect((await play(cut, command, { place, env })).exitCode).toBe(4);
    const resumed = await play([says('Done.')], command, { place, env });
    expect(resumed).toMatchObject({ exitCode: 0, stdout: 'Done.\n' });
    expect(resumed.requests).toHaveLength(1);
  });

  it('writes through a link to the file that it leads to, and makes folders that are missing', async () => {
    const place = makePlace({ 'kept/real.checkpoint': '' });
    symlinkSync('kept/real.checkpoint', join(place.root, 'run.checkpoint'));
    await play([says('First.')], ['coder', 'x', ...FLAGS], { place });
    expect(lstatSync(join(place.root, 'run.checkpoint')).isSymbolicLink()).toBe(true);
    expect(place.read('kept/real.checkpoint')).toMatch(/^cc1\./);

    await play([says('First.')], ['coder', 'x', '--checkpoint', 'new/folder/run.checkpoint'], { place });
    expect(place.read('new/folder/run.checkpoint')).toMatch(/^cc1\./);
  });

  it.each<[string, string, RegExp]>([
    ['no name', '', /--checkpoint is empty/],
    ['a pipe', 'pipe', /not a regular file/],
    ['a link to a pipe', 'to-pipe', /not a regular file/],
    ['a folder', 'folder', /is a folder/],
    ['a link that leads nowhere', 'to-nothing', /leads nowhere/],
    ['a link to itself', 'to-itself', /can't be used/],
    ['a path through a file', 'a.txt/run.checkpoint', /is a file, not a folder/],
    ['a folder that can not be made', 'a.txt/new/run.checkpoint', /is a file, not a folder/],
    ['a folder behind a link that leads nowhere', 'to-nothing/run.checkpoint', /can't be used/],
    ['a name that is too long', `new/${'x'.repeat(300)}/run.checkpoint`, /too long/],
    ['a file that is far too long', 'long', /longer than 64 MiB/],
    ['a file of another kind', 'a.txt', /no checkpoint/],
  ])('is refused before any request: %s', async (_, file, message) => {
    const place = makePlace({ 'a.txt': 'text\n', 'folder/b.txt': '', long: '' });
    const at = (name: string) => join(place.root, name);
    execFileSync('mkfifo', [at('pipe')]);
    for (const name of ['pipe', 'nothing', 'itself'])
      symlinkSync(name === 'itself' ? 'to-itself' : name, at(`to-${name}`));
    truncateSync(at('long'), 65 * 1024 * 1024);
    const run = await play([says('no')], ['coder', 'x', '--checkpoint', file], { place });

    expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode: 2, requests: 0 });
    expect(run.stderr).toMatch(message);
    expect(place.read('a.txt')).toBe('text\n');
  });

  it.each<[string, (token: string) => string, readonly string[], RegExp]>([
    ['that is none', () => 'hello', [], /no checkpoint/],
    ['that was changed', (token) => token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')), [], /changed/],
    ['of other limits', (token) => token, ['--max-turns', '3'], /another configuration/],
    ['of another model', (token) => token, ['-m', 'another-model'], /another configuration/],
    ['of another worker', (token) => token, ['--worker', 'file'], /another configuration/],
    ['of another form of the answer', (token) => token, ['--json-schema', 'schema.json'], /another configuration/],
  ])('refuses one %s, before any request', async (_, change, flags, message) => {
    const place = makePlace({ 'schema.json': '{"type":"object"}' });
    await play([says('First.')], ['coder', 'x', ...FLAGS], { place });
    place.write('run.checkpoint', change(place.read('run.checkpoint').trim()));
    const run = await play([says('no')], ['coder', 'x', ...FLAGS, ...flags], { place });

    expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode: 2, requests: 0 });
    expect(run.stderr).toMatch(message);
  });
});
