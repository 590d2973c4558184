import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProcessGroups, exitCodeOf, type ProcessRequest, ProcessStartError, runProcess } from '../src/process.js';

const ENV = { PATH: process.env.PATH ?? '/usr/bin:/bin' };
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'process-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function bash(script: string, more: Partial<ProcessRequest> = {}) {
  return runProcess({ file: 'bash', args: ['--noprofile', '--norc', '-c', script], cwd: folder, env: ENV, ...more });
}

/** A sleep of a length nobody else uses, so that it can be looked for. */
function oddSleep(): { readonly command: string; readonly alive: () => number } {
  const seconds = `300.${Math.floor(Math.random() * 1e9)}`;
  const alive = () =>
    readdirSync('/proc').filter((pid) => {
      if (!/^\d+$/.test(pid)) return false;
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1') === `sleep\0${seconds}\0`;
      } catch {
        return false;
      }
    }).length;
  return { command: `sleep ${seconds}`, alive };
}

async function timed<Value>(work: Promise<Value>): Promise<{ value: Value; ms: number }> {
  const start = performance.now();
  const value = await work;
  return { value, ms: performance.now() - start };
}

describe('what a result says', () => {
  it('carries exit code, both streams and the bytes of both', async () => {
    expect(await bash('echo out; echo error >&2; exit 3')).toEqual({
      exitCode: 3,
      signal: null,
      timedOut: false,
      interrupted: false,
      stdout: 'out\n',
      stderr: 'error\n',
      bytes: 10,
      omittedBytes: 0,
      left: [],
      survivors: [],
      side: '',
    });
  });

  it('names the signal that ended the program', async () => {
    const result = await bash('kill -9 $$');
    expect([result.exitCode, result.signal]).toEqual([null, 'SIGKILL']);
  });

  it('counts 128 and the number of a signal as its exit code', () => {
    expect([exitCodeOf('SIGKILL'), exitCodeOf('SIGTERM'), exitCodeOf('SIGINT')]).toEqual([137, 143, 130]);
  });

  it('gives the child the environment it was told, a mark of its own on Linux, and nothing else', async () => {
    const run = () => runProcess({ file: '/usr/bin/env', args: [], cwd: folder, env: { ONLY: 'this' } });
    const [one, other] = [(await run()).stdout, (await run()).stdout];
    const mark = process.platform === 'linux' ? 'CHATCLI_COMMAND=[0-9a-f-]{36}\n' : '';
    expect(one).toMatch(new RegExp(`^ONLY=this\n${mark}$`));
    if (mark !== '') expect(one).not.toBe(other);
  });

  it('hands arguments over without a shell', async () => {
    const result = await runProcess({ file: 'printf', args: ['%s|', '$HOME', 'a b', ';'], cwd: folder, env: ENV });
    expect(result.stdout).toBe('$HOME|a b|;|');
  });

  it('closes stdin, so that a question is answered by its end at once', async () => {
    const { value, ms } = await timed(bash('read x; echo "got [$x]"'));
    expect(value.stdout).toBe('got []\n');
    expect(ms).toBeLessThan(2_000);
  });

  it('gives text to stdin and closes it', async () => {
    expect((await bash('cat', { input: 'one\ntwo' })).stdout).toBe('one\ntwo');
  });

  it('does not mind a program that never reads its stdin', async () => {
    expect((await bash('exit 0', { input: 'x'.repeat(1_000_000) })).exitCode).toBe(0);
  });

  it('runs without a terminal, so that nothing can ask on one', async () => {
    expect((await bash('echo x > /dev/tty')).exitCode).toBe(1);
  });

  it.each([
    ['a program that does not exist', { file: 'no-such-program-here', args: [] }, 'ENOENT'],
    ['an argument longer than the system takes', { file: 'echo', args: ['x'.repeat(200_000)] }, 'E2BIG'],
  ])('throws for %s', async (_name, what, code) => {
    const failure = await runProcess({ ...what, cwd: folder, env: ENV }).catch((thrown) => thrown);
    expect(failure).toBeInstanceOf(ProcessStartError);
    expect(failure.code).toBe(code);
  });
});

describe('output', () => {
  it('never splits a character that comes in two writes', async () => {
    const pieces: string[] = [];
    const result = await bash(
      String.raw`printf '\xe4\xb8'; sleep 0.1; printf '\xad\xf0\x9f'; sleep 0.1; printf '\x98\x80'`,
      {
        onOutput: (text) => void pieces.push(text),
      },
    );
    expect(pieces).toEqual(['中', '😀']);
    expect(result.stdout).toBe('中😀');
  });

  it('keeps no more of a stream than it was told, and no half character', async () => {
    const result = await bash("printf 'aé%.0s' 1 2 3; printf 'xyz' >&2", { maxBytes: 5 });
    expect([result.stdout, result.stderr, result.bytes, result.omittedBytes]).toEqual(['aéa', 'xyz', 12, 4]);
  });

  it('holds the program back while the taker is busy, and loses nothing', async () => {
    let running = 0;
    let most = 0;
    let length = 0;
    const result = await bash('head -c 3000000 /dev/zero', {
      maxBytes: 0,
      onOutput: async (text) => {
        most = Math.max(most, ++running);
        length += text.length;
        await new Promise((resolve) => setTimeout(resolve, 2));
        running--;
      },
    });
    expect([result.exitCode, result.bytes, length]).toEqual([0, 3_000_000, 3_000_000]);
    // At the program's end node lets the rest of its pipe flow, whoever paused it: a few pieces at once.
    expect(most).toBeLessThan(8);
  });

  it('throws what the taker throws, after the program has ended', async () => {
    const fail = () => {
      throw new Error('taker broke');
    };
    await expect(bash('echo x; touch done', { onOutput: fail })).rejects.toThrow('taker broke');
    await expect(bash('echo x', { onOutput: async () => fail() })).rejects.toThrow('taker broke');
    expect(existsSync(join(folder, 'done'))).toBe(true);
  });

  it('stays flat in memory under endless output', async () => {
    const before = process.memoryUsage.rss();
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage.rss());
    }, 50);
    const result = await bash('yes', { timeoutMs: 2_000, maxBytes: 20_000, onOutput: () => {} });
    clearInterval(watch);
    expect(result.timedOut).toBe(true);
    expect(result.bytes).toBeGreaterThan(10_000_000);
    expect((peak - before) / 1e6).toBeLessThan(100);
  });
});

describe('limits and what is left behind', () => {
  it('kills grandchildren at a timeout, and gives what came until then', async () => {
    const sleep = oddSleep();
    const { value, ms } = await timed(bash(`echo begun; ${sleep.command} & ${sleep.command}`, { timeoutMs: 500 }));
    expect([value.timedOut, value.interrupted, value.signal, value.stdout]).toEqual([
      true,
      false,
      'SIGTERM',
      'begun\n',
    ]);
    expect(value.survivors).toEqual([]);
    expect(ms).toBeLessThan(2_000);
    expect(sleep.alive()).toBe(0);
  });

  it('kills what ignores TERM after 2 s', async () => {
    const sleep = oddSleep();
    const script = `trap '' TERM; ${sleep.command} & ${sleep.command}; ${sleep.command}`;
    const { value, ms } = await timed(bash(script, { timeoutMs: 300 }));
    expect([value.timedOut, value.signal]).toEqual([true, 'SIGKILL']);
    expect(ms).toBeGreaterThan(2_000);
    expect(ms).toBeLessThan(3_600);
    expect(sleep.alive()).toBe(0);
  });

  it('stops at an abort', async () => {
    const sleep = oddSleep();
    const stop = new AbortController();
    const { value, ms } = await timed(
      bash(`echo begun; ${sleep.command}; true`, { signal: stop.signal, onOutput: () => stop.abort() }),
    );
    expect([value.interrupted, value.timedOut, value.stdout]).toEqual([true, false, 'begun\n']);
    expect(ms).toBeLessThan(2_000);
    expect(sleep.alive()).toBe(0);
  });

  it('does not start after an abort', async () => {
    const result = await bash('touch started', { signal: AbortSignal.abort() });
    expect([result.interrupted, result.exitCode]).toEqual([true, null]);
    expect(existsSync(join(folder, 'started'))).toBe(false);
  });

  it.each([
    ['in the background', (command: string) => `${command} & echo started`],
    ['in the background with its output elsewhere', (command: string) => `${command} >/dev/null 2>&1 & echo started`],
    [
      'in a session of its own that holds the output',
      (command: string) => `setsid ${command} & sleep 0.1; echo started`,
    ],
  ])('returns at once when something runs on %s, names it and stops it', async (_name, script) => {
    const sleep = oddSleep();
    const { value, ms } = await timed(bash(script(sleep.command)));
    expect([value.exitCode, value.stdout, value.left.length, value.survivors]).toEqual([0, 'started\n', 1, []]);
    expect(ms).toBeLessThan(1_500);
    expect(sleep.alive()).toBe(0);
  });

  it.runIf(existsSync('/proc/self/environ')).each([
    ['holds the output', (command: string) => `setsid ${command} & echo started`],
    ['has its output elsewhere', (command: string) => `setsid ${command} </dev/null >/dev/null 2>&1 & echo started`],
    [
      'has lost its parent',
      (command: string) => `(setsid sh -c '${command} & exit' </dev/null >/dev/null 2>&1 &); echo started`,
    ],
  ])('names and stops what is in a session of its own and %s, however short the program is', async (_name, script) => {
    const sleep = oddSleep();
    for (let run = 0; run < 5; run++) {
      const { value, ms } = await timed(bash(script(sleep.command)));
      expect([value.exitCode, value.stdout, value.left.length, value.survivors]).toEqual([0, 'started\n', 1, []]);
      expect(ms).toBeLessThan(1_500);
      expect(sleep.alive()).toBe(0);
    }
  });

  it('leaves alone what another run started, and what ran before', async () => {
    const sleep = oddSleep();
    const stop = new AbortController();
    const other = bash(`setsid ${sleep.command} >/dev/null 2>&1 & echo begun; sleep 30`, { signal: stop.signal });
    while (sleep.alive() < 1) await new Promise((resolve) => setTimeout(resolve, 20));
    const result = await bash('true & echo done');
    expect([result.left, sleep.alive()]).toEqual([[], 1]);
    stop.abort();
    await other;
    expect(sleep.alive()).toBe(process.platform === 'linux' ? 0 : 1);
  });

  it('returns when the background process writes without end', async () => {
    const { value, ms } = await timed(bash('yes & echo started', { maxBytes: 1_000 }));
    expect([value.exitCode, value.left.length]).toEqual([0, 1]);
    expect(ms).toBeLessThan(1_500);
  });

  it('lets a process that ends by itself right after finish its work', async () => {
    const result = await bash('echo text | tee >(sleep 0.1; cat > copy) > /dev/null; echo done');
    expect([result.stdout, result.left]).toEqual(['done\n', []]);
    expect(readFileSync(join(folder, 'copy'), 'utf8')).toBe('text\n');
  });

  it('ends a session-leading grandchild at a timeout as well [A45]', async () => {
    const sleep = oddSleep();
    for (const output of ['', ' >/dev/null 2>&1']) {
      const script = `setsid ${sleep.command}${output} & ${sleep.command}`;
      const { value, ms } = await timed(bash(script, { timeoutMs: 300 }));
      expect([value.timedOut, value.survivors]).toEqual([true, []]);
      expect(ms).toBeLessThan(4_000);
      expect(sleep.alive()).toBe(0);
    }
  });

  it('leaves no timer or listener behind', async () => {
    const stop = new AbortController();
    writeFileSync(join(folder, 'x'), '');
    for (let run = 0; run < 20; run++) await bash('cat x', { signal: stop.signal, timeoutMs: 600_000 });
    const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout');
    expect(timers.length).toBeLessThan(10);
  });
});

describe('groups', () => {
  it('lists a group while it lives, so that all can be killed at once', async () => {
    const sleep = oddSleep();
    const groups = createProcessGroups();
    const run = bash(`${sleep.command} & ${sleep.command}; true`, {
      groups,
      onOutput: () => {},
    });
    // The group is listed when the start has come through, which may be after both already run.
    do await new Promise((resolve) => setTimeout(resolve, 20));
    while (sleep.alive() < 2);
    groups.killAll();
    const result = await run;
    expect(result.signal).toBe('SIGKILL');
    expect(sleep.alive()).toBe(0);
    groups.killAll();
  });
});
