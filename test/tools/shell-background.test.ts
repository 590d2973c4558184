import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProcessGroups } from '../../src/process.js';
import { createTools } from '../../src/tools/index.js';
import { KEY, oddSleep, shellPlace, until } from './shell-bench.js';

const background = (command: string) => ({ command, background: true });

describe('a command in the background', () => {
  it('gives its id and its first output at once, and goes on', async () => {
    const place = await shellPlace();
    const sleeper = oddSleep();
    const started = await place.run(background(`echo listening; ${sleeper.command}`));
    expect(started).toEqual({
      ok: true,
      output: expect.stringMatching(
        /^listening\n\[it goes on: shell_output \{"id": "b1"\} shows what comes next, shell_stop ends it\]\n\(cwd: \.\)\nb1 is running \(pid \d+, for \d+\.\d s\)$/,
      ),
      display: { kind: 'lines', lines: ['listening'] },
    });
    expect(sleeper.alive()).toBe(1);
  });

  it('that ends in its first moment tells how, as any command does', async () => {
    const place = await shellPlace();
    expect(await place.run({ ...background('echo no; exit 3'), cwd: 'sub' })).toEqual({
      ok: false,
      code: 'exit-code',
      output: 'no\n(cwd: sub)\nb1 ended: exit code 3',
      command: { command: 'echo no; exit 3', exitCode: 3 },
      display: { kind: 'lines', lines: ['no', 'exit code 3'] },
    });
  });

  it.each([{ run_in_background: true }, { is_background: true }, { background: true }])(
    'is one by any of its names: %j',
    async (more) => {
      const place = await shellPlace();
      const sleeper = oddSleep();
      const { output } = await place.run({ command: sleeper.command, ...more });
      expect(output).toContain('b1 is running');
    },
  );

  it('goes on when the call that started it is over, and when the shell has left it', async () => {
    const place = await shellPlace();
    const sleeper = oddSleep();
    await place.run(background(`${sleeper.command} & echo started`));
    await until('the shell has ended', async () => (await place.output({ id: 'b1' })).output.includes('running'));
    expect(sleeper.alive()).toBe(1);
    expect((await place.stop('b1')).output).toContain('b1 ended: stopped');
    expect(sleeper.alive()).toBe(0);
  });

  it('is not bound by a time limit, and says so', async () => {
    const place = await shellPlace();
    const { output } = await place.run({ ...background(oddSleep().command), timeout_ms: 100 });
    expect(output).toContain('[timeout_ms does not bind a command in the background]\n');
    expect((await place.output({ id: 'b1', wait_ms: 0 })).output).toContain('b1 is running');
  });

  it('is told as such to the person who is asked, and in the title', async () => {
    const shell = createTools().get('shell');
    const input = { command: 'npm start', cwd: 'web', background: true };
    expect(shell?.title?.(input)).toBe('npm start (in web) (in the background)');
    expect(await shell?.preview?.(input, {} as never)).toMatchObject({ kind: 'lines' });
    expect(await shell?.preview?.({ command: 'npm start' }, {} as never)).toBeUndefined();
    expect(shell?.subjects(input)).toEqual([{ kind: 'command', command: 'npm start', cwd: 'web' }]);
  });

  it('that cannot be started is a failure and takes no id', async () => {
    const place = await shellPlace();
    const failed = await place.run(background(`echo ${'x'.repeat(200_000)}`));
    expect(failed).toMatchObject({ ok: false, code: 'cannot-start' });
    expect((await place.output()).output).toBe('There are no background commands.');
  });

  it('is one of at most eight', async () => {
    const place = await shellPlace();
    const sleeper = oddSleep();
    for (let count = 0; count < 8; count++) await place.run(background(sleeper.command));
    const refused = await place.run(background(sleeper.command));
    expect(refused).toMatchObject({ ok: false, code: 'too-many', output: expect.stringContaining('Stop one first') });
    expect(sleeper.alive()).toBe(8);
    await place.stop('b3');
    expect((await place.run(background(sleeper.command))).output).toContain('b9 is running');
  }, 20_000);
});

describe('shell_output', () => {
  it('gives only what is new, once', async () => {
    const place = await shellPlace();
    await place.run(background('echo one; while ! test -e go; do sleep 0.05; done; echo two; exit 7'));
    expect((await place.output({ id: 'b1', wait_ms: 0 })).output).toMatch(
      /^\(nothing new\)\n\(b1: echo one; .*\)\nb1 is running/,
    );
    writeFileSync(join(place.root, 'go'), '');
    const last = await place.output({ id: 'b1', wait_ms: 10_000 });
    expect(last.output).toMatch(/^two\n\(b1: .*\)\nb1 (ended: exit code 7|is running.*)$/);
    await until('it has ended', async () => (await place.output({ id: 'b1' })).output.includes('exit code 7'));
    expect(await place.output({ id: 'b1' })).toMatchObject({
      ok: false,
      output: expect.stringMatching(/^\(nothing new\)/),
    });
  });

  it('waits for something new no longer than it takes to come', async () => {
    const place = await shellPlace();
    await place.run(background(`sleep 1; echo ready; ${oddSleep().command}`));
    const start = performance.now();
    expect((await place.output({ id: 'b1', wait_ms: 60_000 })).output).toMatch(/^ready\n/);
    expect(performance.now() - start).toBeLessThan(20_000);
  });

  it('tells the proof of the end once', async () => {
    const place = await shellPlace();
    await place.run(background('sleep 0.8; exit 2'));
    const seen = [];
    for (let looks = 0; looks < 100 && seen.length === 0; looks++) {
      const look = await place.output({ id: 'b1' });
      if (look.output.includes('ended')) seen.push(look.command, (await place.output({ id: 'b1' })).command);
    }
    expect(seen).toEqual([{ command: 'sleep 0.8; exit 2', exitCode: 2 }, undefined]);
  });

  it('shows a line without an end as it stands, and what waits for an answer', async () => {
    const place = await shellPlace();
    const { output } = await place.run(background(`printf 'Continue? [y/N] '; ${oddSleep().command}`));
    expect(output).toMatch(/^Continue\? \[y\/N\] \n\[it seems to wait for an answer to "Continue\? \[y\/N\]"/);
    expect((await place.output({ id: 'b1', wait_ms: 0 })).output).toMatch(/^\(nothing new\)/);
  });

  it('lists all without an id', async () => {
    const place = await shellPlace();
    await place.run(background('exit 4'));
    const sleeper = oddSleep();
    await place.run(background(`echo a\n${sleeper.command}`));
    expect((await place.output()).output).toMatch(
      /^b1 exit code 4: exit 4\nb2 running \(pid \d+, for \d+\.\d s\): echo a; sleep [\d.]+$/,
    );
  });

  it('names the ids that there are for one that there is not', async () => {
    const place = await shellPlace();
    expect((await place.output({ id: 'b1' })).output).toBe('There is no background command "b1". None was started.');
    await place.run(background('true'));
    expect(await place.stop('7')).toMatchObject({
      code: 'unknown-id',
      output: expect.stringContaining('There are: b1.'),
    });
  });

  it('cuts in the middle, and names a private file with all of it', async () => {
    const place = await shellPlace();
    await place.run(background(`while ! test -e go; do sleep 0.05; done; seq 1 20000; ${oddSleep().command}`));
    writeFileSync(join(place.root, 'go'), '');
    const { output } = await place.output({ id: 'b1', wait_ms: 10_000 });
    expect(output).toMatch(/^1\n2\n[\s\S]*bytes left out …\]\n[\s\S]*\n20000\n\[whole output, 108,894 bytes: /);
    expect(Buffer.byteLength(output)).toBeLessThan(19_000);
    const [name = ''] = readdirSync(place.spool);
    expect(statSync(join(place.spool, name)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(place.spool, name), 'utf8')).toMatch(/^1\n2\n[\s\S]*\n20000\n$/);
  });

  it('shows no control sequence and no known secret, also not half a one', async () => {
    const place = await shellPlace();
    const { output } = await place.run(
      background(String.raw`printf '\033]0;title\007\033[31mred\033[0m\n${KEY}\n${KEY.slice(0, 12)}'; sleep 30`),
    );
    expect(output).toMatch(/^red\n\[redacted\]\n…\n/);
    expect(output).not.toContain(KEY.slice(0, 12));
  });

  it('shows nothing on its own once the call is over', async () => {
    const place = await shellPlace();
    await place.run(background('echo a; sleep 0.8; echo b'));
    await until('it has ended', async () => (await place.output({ id: 'b1' })).output.includes('exit code 0'));
    expect(place.updates).toEqual([]);
  });
});

describe('the end', () => {
  it('comes by TERM, then KILL, for all that was started', async () => {
    const place = await shellPlace();
    const [sleeper, stray] = [oddSleep(), oddSleep()];
    await place.run(background(`trap '' TERM; setsid ${stray.command} & while true; do ${sleeper.command}; done`));
    expect([sleeper.alive(), stray.alive()]).toEqual([1, 1]);
    const stopped = await place.stop('b1');
    expect(stopped).toMatchObject({ ok: true, command: { exitCode: null } });
    expect(stopped.output).toMatch(/b1 ended: stopped$/);
    expect([sleeper.alive(), stray.alive()]).toEqual([0, 0]);
    expect((await place.stop('b1')).output).toMatch(/b1 ended: stopped$/);
  });

  it('comes for all that still run when the tools are closed, and names them', async () => {
    const place = await shellPlace();
    const sleeper = oddSleep();
    await place.run(background(sleeper.command));
    await place.run(background('true'));
    expect(await place.background.stopAll()).toEqual([{ id: 'b1', command: sleeper.command }]);
    expect(sleeper.alive()).toBe(0);
    const shell = createTools().get('shell');
    expect(await shell?.close?.()).toEqual([]);
  });

  it('is listed with the groups that must not outlive us, for as long as it runs', async () => {
    const groups = createProcessGroups();
    const living = new Set<number>();
    const watched = {
      ...groups,
      add: (group: number) => void living.add(group),
      remove: (group: number) => void living.delete(group),
    };
    const place = await shellPlace({ groups: watched });
    await place.run(background(oddSleep().command));
    expect(living.size).toBe(1);
    await place.stop('b1');
    expect(living.size).toBe(0);
  });

  it('does not take along what another one runs', async () => {
    const place = await shellPlace();
    const [first, second] = [oddSleep(), oddSleep()];
    await place.run(background(first.command));
    await place.run(background(second.command));
    await place.run('true');
    await place.stop('b1');
    expect([first.alive(), second.alive()]).toEqual([0, 1]);
    expect(existsSync(place.spool)).toBe(false);
  });
});
