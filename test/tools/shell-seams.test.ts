import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/tools/shell/sandbox-types.js';
import type { ChangeKeeper } from '../../src/tools/types.js';
import { oddSleep, shellPlace } from './shell-bench.js';

/** Runs programs through `env`, and leaves a file while it is entered. */
function marking(file: string): Sandbox {
  return {
    name: 'marking',
    hasNetwork: true,
    enter: async (start) => {
      writeFileSync(file, '');
      return {
        start: { ...start, file: '/usr/bin/env', args: ['INSIDE=yes', start.file, ...start.args] },
        release: async () => writeFileSync(file, 'released'),
      };
    },
  };
}

describe('a sandbox', () => {
  it.each<[string, object]>([
    ['a command', { command: 'echo $INSIDE' }],
    ['one in the background', { command: 'echo $INSIDE', background: true }],
    ['a pipeline', { command: 'echo $INSIDE | cat' }],
  ])('is entered for %s, and left when that has ended', async (_name, input) => {
    const mark = join((await shellPlace()).folder, 'mark');
    const place = await shellPlace({ sandbox: marking(mark) });
    expect((await place.run(input as { command: string })).output).toMatch(/^yes\n/);
    expect(readFileSync(mark, 'utf8')).toBe('released');
  });

  it.each([false, true])('is left where the command cannot be started (background: %s)', async (background) => {
    const mark = join((await shellPlace()).folder, 'mark');
    const place = await shellPlace({ sandbox: marking(mark) });
    const result = await place.run({ command: `echo ${'x'.repeat(200_000)}`, background });
    expect(result).toMatchObject({ ok: false, code: 'cannot-start' });
    expect(readFileSync(mark, 'utf8')).toBe('released');
  });

  it('is left at a time limit, and when a background command is stopped', async () => {
    const mark = join((await shellPlace()).folder, 'mark');
    const place = await shellPlace({ sandbox: marking(mark) });
    await place.run({ command: oddSleep().command, timeout_ms: 300 });
    expect(readFileSync(mark, 'utf8')).toBe('released');
    await place.run({ command: oddSleep().command, background: true });
    expect(readFileSync(mark, 'utf8')).toBe('');
    await place.stop('b1');
    expect(readFileSync(mark, 'utf8')).toBe('released');
  });
});

describe('a keeper of changes', () => {
  const keeper = (looked: string[]): ChangeKeeper => ({
    aroundCommand: async (command, run) => {
      looked.push(`before ${command}`);
      const result = await run();
      looked.push('after');
      return { result, touched: ['a.txt'], notes: ['2 files were too large to be kept'] };
    },
  });

  it('looks around a command, and its word goes with the result', async () => {
    const [place, looked] = [await shellPlace(), [] as string[]];
    const result = await place.run('echo a > a.txt', { changes: keeper(looked) });
    expect(result).toMatchObject({
      touched: ['a.txt'],
      output: '(no output)\n[2 files were too large to be kept]\n(cwd: .)\nexit code 0',
    });
    expect(looked).toEqual(['before echo a > a.txt', 'after']);
  });

  it('looks around the start of one in the background', async () => {
    const [place, looked] = [await shellPlace(), [] as string[]];
    const result = await place.run({ command: 'echo a > a.txt', background: true }, { changes: keeper(looked) });
    expect([result.touched, looked.length]).toEqual([['a.txt'], 2]);
    expect(existsSync(join(place.root, 'a.txt'))).toBe(true);
  });

  it('is not asked for a command that only reads, but for the same one in a shell that can not be read', async () => {
    const looked: string[] = [];
    await (await shellPlace()).run('ls', { changes: keeper(looked) });
    expect(looked).toEqual([]);
    const unread = await shellPlace({ shell: join((await shellPlace()).folder, 'pwsh') });
    await unread.run('ls', { changes: keeper(looked) });
    expect(looked).toEqual(['before ls']);
  });
});
