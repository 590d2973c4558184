import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { asksSomething } from '../../src/tools/shell/watch-command.js';
import { oddSleep, shellPlace } from './shell-bench.js';

describe('a command that waits for an answer', () => {
  it('is stopped when nothing comes, and says how to answer [pain 22]', async () => {
    const [place, sleeper] = [await shellPlace(), oddSleep()];
    const result = await place.run(`printf 'Need to install x. Ok to proceed? (y) '; ${sleeper.command}`);
    expect(result).toMatchObject({ ok: false, code: 'waits-for-input', command: { exitCode: null } });
    expect(result.output).toMatch(
      /\nstopped \(killed\): it seems to wait for an answer to "Need to install x\. Ok to proceed\? \(y\)".*-y/,
    );
    expect(sleeper.alive()).toBe(0);
  }, 40_000);

  it('goes on as long as it computes', async () => {
    const { output } = await (await shellPlace()).run(
      `printf 'Done? '; end=$((SECONDS + 13)); while [ $SECONDS -lt $end ]; do :; done; echo yes`,
    );
    expect(output).toBe('Done? yes\n(cwd: .)\nexit code 0');
  }, 40_000);

  it('is told as such at a time limit that comes first', async () => {
    const { output } = await (await shellPlace()).run({ command: `printf 'Password: '; sleep 30`, timeout_ms: 500 });
    expect(output).toMatch(/\[it seems to wait for an answer to "Password:"/);
    expect(output).toMatch(/timed out after 0\.5 s \(killed\)$/);
  });

  it('has no terminal to ask on', async () => {
    const { output } = await (await shellPlace()).run('exec 9</dev/tty; read -r x </dev/tty; echo "after $?"');
    expect(output).toMatch(/\/dev\/tty: No such device or address/);
  });

  it('finds an environment in which programs do not ask, unless the person has set it otherwise', async () => {
    const show = 'echo $DEBIAN_FRONTEND $PIP_NO_INPUT $GIT_EDITOR $SSH_ASKPASS_REQUIRE';
    const place = await shellPlace();
    expect((await place.run(show)).output).toMatch(/^noninteractive 1 true never\n/);
    const own = { childEnvironment: { PATH: process.env.PATH ?? '', GIT_EDITOR: 'ed' } };
    expect((await place.run(show, own)).output).toMatch(/^noninteractive 1 ed never\n/);
  });

  it.each([
    ...['Password:', "Password for 'https://example.com': ", 'Enter passphrase for key /x: ', 'Username for x: '],
    ...['Overwrite? [y/N] ', 'Are you sure you want to continue connecting (yes/no/[fingerprint])? ', '? Name › '],
    ...['Continue? ', 'Proceed (y/n)? ', 'Press any key to continue . . .', 'Really delete? (yes/no) '],
  ])('is one whose last line is %j', (line) => expect(asksSomething(line)).toBe(true));

  it.each([
    '',
    'Downloading 45%',
    'Compiling...',
    'listening on http://localhost:3000',
    'Password accepted',
    '> tsc -p .',
  ])('is none whose last line is %j', (line) => expect(asksSomething(line)).toBe(false));
});

describe('a signal', () => {
  it.each([
    ['the shell itself', 'kill -9 $$', 'killed by signal SIGKILL (exit code 137)', 'signal'],
    ['a program of the shell', `(kill -9 $BASHPID); exit $?`, 'exit code 137 (as after signal SIGKILL)', 'exit-code'],
    [
      'a program that ran out of memory, say',
      `sh -c 'kill -SEGV $$'; exit $?`,
      'exit code 139 (as after signal SIGSEGV)',
      'exit-code',
    ],
    ['nobody', 'exit 255', 'exit code 255', 'exit-code'],
  ])('that ended %s is named [pain 18]', async (_name, command, status, code) => {
    const result = await (await shellPlace()).run(command);
    expect([result.ok, result.code, result.output.split('\n').at(-1)]).toEqual([false, code, status]);
  });

  it('is for commands first when memory runs out', async () => {
    const { output } = await (await shellPlace()).run('sleep 0.2; cat /proc/self/oom_score_adj');
    expect(output).toMatch(/^500\n/);
  });
});

describe('output without end', () => {
  it('ends the command above a limit [pain 50]', async () => {
    const place = await shellPlace();
    const result = await place.run({ command: `yes ${'y'.repeat(8_000)}`, timeout_ms: 600_000 });
    expect(result).toMatchObject({ ok: false, code: 'output-limit', command: { exitCode: null } });
    expect(result.output).toMatch(
      /\[print less, or into a file\]\n.*\nstopped \(killed\): it had printed more than 1000 MB$/,
    );
  }, 120_000);
});

/** A file system that is full after 64 KB; undefined where we may not mount one. */
function smallDisk(folder: string): string | undefined {
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]).status !== 0) return undefined;
  onTestFinished(() => void spawnSync('umount', ['-l', disk]));
  return disk;
}

describe('a full disk', () => {
  it('keeps no command from its output, and is named where that does not fit [pain 52]', async () => {
    const place = await shellPlace();
    const disk = smallDisk(place.folder);
    const full = { spoolDirectory: async () => disk ?? '/dev/full/none' };
    expect((await place.run('echo hi', full)).output).toMatch(/^hi\n/);
    const { ok, output } = await place.run('seq 1 60000; echo end', full);
    expect(ok).toBe(true);
    expect(output).toMatch(/^1\n2\n[\s\S]*\nend\n\[whole output, 348,898 bytes: /);
    expect(output).toMatch(
      disk === undefined ? /could not be kept: .*(ENOTDIR|ENOENT)/ : /the rest could not be written: ENOSPC/,
    );
  });
});

describe('the folder', () => {
  it('stands in each result, and a cd lasts for its own call [pain 53]', async () => {
    const place = await shellPlace();
    expect((await place.run('cd sub && pwd')).output).toBe(`${place.root}/sub\n(cwd: .)\nexit code 0`);
    expect((await place.run({ command: 'pwd', cwd: 'sub' })).output).toBe(`${place.root}/sub\n(cwd: sub)\nexit code 0`);
    expect((await place.run('pwd')).output).toBe(`${place.root}\n(cwd: .)\nexit code 0`);
    expect(readFileSync('src/tools/shell/tool.md', 'utf8')).toContain('a `cd` lasts for that call only');
  });
});
