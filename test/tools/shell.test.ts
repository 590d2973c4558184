import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { childEnvironment } from '../../src/permissions/secrets.js';
import { createProcessGroups } from '../../src/process.js';
import { createHeadTail } from '../../src/tools/shell/head-tail.js';
import { createLiveUpdates } from '../../src/tools/shell/live-updates.js';
import { createSpool } from '../../src/tools/shell/spool.js';
import { createShellTool } from '../../src/tools/shell/tool.js';
import { parametersOf } from '../../src/tools/spec.js';
import type { ToolContext } from '../../src/tools/types.js';
import { createWorkspace } from '../../src/tools/workspace.js';
import { KEY, type ShellPlace, shellPlace } from './shell-bench.js';

const ripgrep = await import('@vscode/ripgrep').then(
  ({ rgPath }) => rgPath as string,
  () => undefined,
);
let place: ShellPlace;
let folder: string;
let root: string;
let spool: string;
let updates: string[];

beforeEach(async () => {
  place = await shellPlace();
  ({ folder, root, spool, updates } = place);
});

const run: ShellPlace['run'] = (input, more) => place.run(input, more);

describe('the result', () => {
  it('carries output, folder and exit code', async () => {
    expect(await run('echo hi')).toEqual({
      ok: true,
      output: 'hi\n(cwd: .)\nexit code 0',
      command: { command: 'echo hi', exitCode: 0 },
      display: { kind: 'lines', lines: ['hi'] },
    });
  });

  it('is an observation when the exit code is not 0', async () => {
    expect(await run('echo no >&2; exit 3')).toEqual({
      ok: false,
      code: 'exit-code',
      output: 'no\n(cwd: .)\nexit code 3',
      command: { command: 'echo no >&2; exit 3', exitCode: 3 },
      display: { kind: 'lines', lines: ['no'] },
    });
  });

  it('names the signal that ended the command', async () => {
    const result = await run('kill -9 $$');
    expect(result).toMatchObject({ ok: false, code: 'signal', command: { exitCode: 137 } });
    expect(result.output).toBe('(no output)\n(cwd: .)\nkilled by signal SIGKILL (exit code 137)');
  });

  it('keeps the order of stdout and stderr', async () => {
    const { output } = await run('for i in 1 2 3; do echo out $i; echo err $i >&2; done');
    expect(output).toBe('out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n(cwd: .)\nexit code 0');
  });

  it.each([
    [
      'a command that does not exist',
      'no-such-command-here',
      /no-such-command-here: command not found\n.*\nexit code 127$/,
    ],
    ['a syntax error', 'if then', /syntax error.*\n(.*\n)+exit code 2$/],
    ['a pipe', 'exit 3 | cat', /exit code 0 \(of the last command\); pipeline: 3, 0$/],
    ['brackets of bash', '[[ a == a ]] && x=(b c) && echo $x', /^b\n/],
    ['a here document', 'cat <<X\na $((1+1))\nX', /^a 2\n/],
  ])('is true for %s', async (_name, command, expected) => {
    expect((await run(command)).output).toMatch(expected);
  });

  it('never says success', async () => {
    expect((await run('true')).output).not.toMatch(/success/i);
  });

  it('shows people the last lines and how many there were', async () => {
    const { display } = await run('seq 1 20; exit 1');
    expect(display).toEqual({
      kind: 'lines',
      lines: ['13', '14', '15', '16', '17', '18', '19', '20'],
      omitted: 12,
    });
  });

  it('cannot be started with a command longer than the system takes, and says what to do', async () => {
    expect(await run(`echo ${'x'.repeat(200_000)}`)).toMatchObject({
      code: 'cannot-start',
      output: expect.stringContaining('write it to a file'),
    });
  });
});

describe('where and with what it runs', () => {
  it('starts each call in the root: a cd lasts for its own call', async () => {
    expect((await run('cd sub; pwd')).output).toBe(`${root}/sub\n(cwd: .)\nexit code 0`);
    expect((await run('pwd')).output).toBe(`${root}\n(cwd: .)\nexit code 0`);
  });

  it('starts in cwd when it is given, and says so', async () => {
    expect((await run({ command: 'pwd', cwd: 'sub' })).output).toBe(`${root}/sub\n(cwd: sub)\nexit code 0`);
  });

  it.each([
    ['outside', '..', 'outside-workspace'],
    ['outside by a link', 'link', 'outside-workspace'],
    ['missing', 'nowhere', 'folder-missing'],
    ['a file', 'file', 'folder-missing'],
  ])('refuses a folder that is %s', async (_name, cwd, code) => {
    symlinkSync('..', join(root, 'link'));
    writeFileSync(join(root, 'file'), '');
    expect(await run({ command: 'touch ran', cwd })).toMatchObject({ ok: false, code });
    expect(existsSync(join(root, 'ran'))).toBe(false);
  });

  it('has no terminal, no keys, no start-up files', async () => {
    writeFileSync(join(root, 'e'), 'echo from BASH_ENV');
    const { output } = await run('env | sort; tty', {
      childEnvironment: childEnvironment({ PATH: process.env.PATH, OPENAI_API_KEY: KEY, BASH_ENV: join(root, 'e') }),
    });
    expect(output).not.toContain(KEY);
    expect(output).not.toContain('from BASH_ENV');
    expect(output).toMatch(/CHATCLI=1\n.*TERM=dumb\n.*not a tty/s);
  });

  it('answers a question with its end at once [pain 22]', async () => {
    const start = performance.now();
    expect((await run('read x; echo "got [$x]"')).output).toMatch(/^got \[\]\n/);
    expect(performance.now() - start).toBeLessThan(2_000);
  });

  it('takes the program of a read-only command from outside the workspace', async () => {
    const bin = join(root, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'ls'), '#!/bin/sh\necho replaced\n');
    chmodSync(join(bin, 'ls'), 0o755);
    symlinkSync(bin, join(folder, 'elsewhere'));
    const environment = { PATH: `${join(folder, 'elsewhere')}:${bin}:${process.env.PATH}` };
    expect((await run('ls sub', { childEnvironment: environment })).output).not.toContain('replaced');
    expect((await run('ls sub; true', { childEnvironment: environment })).output).toContain('replaced');
  });

  it.skipIf(ripgrep === undefined)('lets rg read no secret file', async () => {
    for (const name of ['.env', 'server.pem', 'id_rsa', 'a.txt'])
      writeFileSync(join(root, name), `needle in ${name}\n`);
    writeFileSync(join(root, '.ignore'), '!.env\n');
    const childEnvironment = { PATH: `${dirname(ripgrep ?? '')}:${process.env.PATH}` };
    const found = async (command: string) => (await run(command, { childEnvironment })).output;
    expect(await found('rg needle')).toBe('a.txt:needle in a.txt\n(cwd: .)\nexit code 0');
    expect(await found('rg needle .')).toBe('./a.txt:needle in a.txt\n(cwd: .)\nexit code 0');
    expect(await found('rg -t all needle .')).toBe('./a.txt:needle in a.txt\n(cwd: .)\nexit code 0');
    expect(await found('rg -uu needle . | sort')).toContain('needle in .env');
  });
});

describe('limits', () => {
  it('ends at the time limit with all its children, and tells what came until then', async () => {
    const marker = `300.${Math.floor(Math.random() * 1e9)}`;
    const start = performance.now();
    const result = await run({ command: `echo begun; sleep ${marker} & sleep ${marker}`, timeout_ms: 1_000 });
    expect(performance.now() - start).toBeLessThan(4_000);
    expect(result).toMatchObject({ ok: false, code: 'timeout', command: { exitCode: null } });
    expect(result.output).toMatch(/^begun\n(.*\n)*timed out after 1 s \(killed\)$/);
    expect(spawnSync('pgrep', ['-f', `sleep ${marker}`]).status).not.toBe(0);
  });

  it('ends at an abort', async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 200);
    const result = await run('echo begun; sleep 30; true', { signal: stop.signal });
    expect(result).toMatchObject({ ok: false, code: 'interrupted', command: { exitCode: null } });
    expect(result.output).toMatch(/^begun\n(.*\n)*interrupted \(killed\)$/);
  });

  it('returns at once when something is left in the background, and says that it was stopped', async () => {
    const start = performance.now();
    const { ok, output } = await run('sleep 300 & echo started');
    expect(performance.now() - start).toBeLessThan(2_000);
    expect(ok).toBe(true);
    expect(output).toMatch(
      /^started\n\[process \d+ went on in the background.*was stopped.*\]\n\(cwd: \.\)\nexit code 0$/,
    );
  });

  it('lists its group while it runs', async () => {
    const groups = createProcessGroups();
    const tool = createShellTool({ groups });
    const listed: number[] = [];
    const watched = { ...groups, add: (group: number) => void listed.push(group) };
    expect(tool.name).toBe('shell');
    await createShellTool({ groups: watched }).run({ command: 'true' }, {
      workspace: await createWorkspace({ root }),
      signal: new AbortController().signal,
      childEnvironment: { PATH: process.env.PATH ?? '' },
      mask: (text: string) => text,
      update: () => undefined,
      spoolDirectory: async () => spool,
    } as unknown as ToolContext);
    expect(listed.length).toBe(1);
  });
});

describe('the output', () => {
  it('is cut in the middle, with all of it in a private file that the result names', async () => {
    const { output } = await run('seq 1 20000');
    const path = /\[whole output, 108,894 bytes: (\S+)\]/.exec(output)?.[1] ?? '';
    expect(output).toMatch(/^1\n2\n3\n/);
    expect(output).toMatch(/\n\[… 90,89\d bytes left out …\]\n/);
    expect(output).toMatch(/\n20000\n\[whole output/);
    expect(Buffer.byteLength(output)).toBeLessThan(18_500);
    expect(readFileSync(path, 'utf8')).toBe(Array.from({ length: 20_000 }, (_, index) => `${index + 1}\n`).join(''));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('makes no file for what fits', async () => {
    await run('seq 1 3000');
    expect(existsSync(spool)).toBe(false);
  });

  it('goes on when the file cannot be written, and says so', async () => {
    const broken = { spoolDirectory: async () => Promise.reject(new Error('ENOSPC: no space left on device')) };
    const { ok, output } = await run('seq 1 20000', broken);
    expect(ok).toBe(true);
    expect(output).toMatch(/\n20000\n\[whole output, 108,894 bytes: could not be kept: .*no space left on device\]\n/);
  });

  it('loses control sequences, wherever they are cut [pain 51]', async () => {
    const { output } = await run(
      String.raw`printf 'a\033[?10'; sleep 0.1; printf '49hb\033]0;ti'; sleep 0.1; printf 'tle\007c\033[31md\n'`,
    );
    expect(output).toBe('abcd\n(cwd: .)\nexit code 0');
  });

  it('keeps the last state of a progress line', async () => {
    expect((await run(String.raw`printf '1%%\r50%%\r100%%\ndone\n'`)).output).toMatch(/^100%\ndone\n/);
  });

  it('holds no known secret, neither here, nor in the file, nor on the way', async () => {
    const command = `printf 'a ${KEY.slice(0, 9)}'; sleep 0.1; printf '${KEY.slice(9)} b\\033[0m\\n'; printf '${KEY.slice(0, 5)}\\033[1m${KEY.slice(5)}\\n'; seq 1 9999`;
    const { output, display } = await run(command);
    expect(output).toMatch(/^a \[redacted\] b\n\[redacted\]\n1\n/);
    const files = readdirSync(spool).map((name) => readFileSync(join(spool, name), 'utf8'));
    for (const text of [output, JSON.stringify(display), updates.join(''), ...files]) expect(text).not.toContain(KEY);
  });

  it('is shown while the command runs', async () => {
    await run('echo one; sleep 0.3; echo two');
    expect(updates).toEqual(['one\n', 'two\n']);
  });

  it('stays flat in memory [A46] [pain 50]', async () => {
    const before = process.memoryUsage.rss();
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage.rss());
    }, 50);
    const { output } = await run({ command: 'yes', timeout_ms: 5_000 });
    clearInterval(watch);
    expect((peak - before) / 1e6).toBeLessThan(100);
    expect(output).toMatch(/^y\ny\n[\s\S]*timed out after 5 s \(killed\)$/);
    expect(updates.length).toBeLessThan(60);
  });

  it('goes into its file up to a limit', async () => {
    const { output } = await run('yes | head -c 60000000');
    expect(output).toMatch(/\[whole output, 60,000,000 bytes: .*\(50,000,000 bytes: it holds the first 50 MB only\)\]/);
    const [name = ''] = readdirSync(spool);
    expect(statSync(join(spool, name)).size).toBe(50_000_000);
  });
});

describe('its parts', () => {
  it('head and tail keep whole characters within the limit, however the text comes [A46]', () => {
    const text = 'aé中😀'.repeat(500);
    for (const size of [1, 7, 100, 5_000]) {
      const ends = createHeadTail(1_000);
      const characters = [...text];
      for (let at = 0; at < characters.length; at += size) ends.push(characters.slice(at, at + size).join(''));
      const { head, tail, omittedBytes } = ends.parts();
      expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
      expect(Buffer.byteLength(head + tail) + omittedBytes).toBe(Buffer.byteLength(text));
      expect(Buffer.byteLength(head + tail)).toBeGreaterThan(990);
      expect(Buffer.byteLength(head + tail)).toBeLessThanOrEqual(1_000);
    }
  });

  it('head and tail leave out nothing that fits', () => {
    const ends = createHeadTail(10);
    for (const text of ['abcd', 'efgh', 'ij']) ends.push(text);
    expect(ends.parts()).toEqual({ head: 'abcdefghij', tail: '', omittedBytes: 0 });
    ends.push('k');
    expect(ends.parts()).toEqual({ head: 'abcdef', tail: 'hijk', omittedBytes: 1 });
  });

  it('a spool stops at its limit between characters', async () => {
    mkdirSync(spool);
    const file = createSpool(async () => spool, 10);
    file.write('aaaaaaa');
    file.write('éé');
    const end = await file.finish();
    expect(end).toMatchObject({ bytes: 9, problem: expect.stringContaining('first') });
    expect(readFileSync(end.path ?? '', 'utf8')).toBe('aaaaaaaé');
    expect(file.write('more')).toBeUndefined();
  });

  it('updates come at once and then at a bearable pace', async () => {
    const shown: string[] = [];
    const live = createLiveUpdates((text) => void shown.push(text));
    for (let line = 0; line < 1_000; line++) live.push(`line ${line}\n`);
    live.finish();
    expect(shown.length).toBe(2);
    expect(shown[0]).toBe('line 0\n');
    expect(shown[1]).toMatch(/^\[…\]\n[\s\S]*line 999\n$/);
  });
});

describe('the arguments', () => {
  it.each([
    ['a command', { command: 'ls' }, true],
    ['all of them', { command: 'ls', cwd: 'sub', timeout_ms: 5 }, true],
    ['one that is not known', { command: 'ls', description: 'Lists files' }, true],
    ['a background that is not wanted', { command: 'ls', background: false, run_in_background: null }, true],
    ['no command', {}, false],
    ['an empty command', { command: '' }, false],
  ])('take or refuse %s', (_name, input, fits) => {
    expect(createShellTool().schema.safeParse(input).success).toBe(fits);
  });

  it('that are advertised are only those that there are', () => {
    expect(Object.keys(parametersOf(createShellTool()).properties ?? {})).toEqual([
      'command',
      'cwd',
      'timeout_ms',
      'background',
    ]);
  });
});
