import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { calls, says, type Turn } from '../fixtures/model-server.js';
import { makePlace, processesOf } from './place.js';
import { atTerminal, KEYS, type TerminalOptions, type TerminalRun } from './pseudo-terminal.js';
import { lastResult, resultsIn } from './reading.js';
import { play, serve, until } from './support.js';

const ASKS = 'Allow?';
const TOUCH = calls('shell', { command: 'touch made' });
const DONE = says('That is all.');

const count = (text: string, part: string) => text.split(part).length - 1;

/** Runs the coder with the answer in a file, so that the terminal shows only what stderr does. */
async function atWork(turns: readonly Turn[], flags = '', options: TerminalOptions = {}) {
  const server = await serve(turns);
  const run = atTerminal([], { ...options, server, line: `exec chatcli coder x ${flags} > answer.txt` });
  return { ...run, requests: server.requests };
}

const asked = (run: TerminalRun, times = 1) =>
  until(`it asks, time ${times}`, () => count(run.screen(), ASKS) === times);

describe.concurrent('a question at a terminal', () => {
  it('stands on stderr with the whole command, and "y" lets it run; the answer alone is on stdout', async () => {
    const run = await atWork([TOUCH, DONE]);
    await asked(run);
    expect(run.screen()).toMatch(/coder wants to use shell:\n {2}touch made\n/);
    expect(run.place.has('made')).toBe(false);
    run.type(`y${KEYS.enter}`);
    const { exitCode, screen } = await run.ended;

    expect({ exitCode, answer: run.place.read('answer.txt') }).toEqual({ exitCode: 0, answer: 'That is all.\n' });
    expect(run.place.has('made')).toBe(true);
    expect(screen).not.toContain('That is all.');
    expect(screen).toContain('✓ shell');
  });

  it.each([
    ['"n"', `n${KEYS.enter}`],
    ['Enter alone', KEYS.enter],
    ['another key', `x${KEYS.enter}`],
    ['"yo", which is no "y",', `yo${KEYS.enter}`],
    ['the end of input', KEYS.ctrlD],
  ])('that gets %s means no: nothing runs, and the run goes on to exit 6', async (_, keys) => {
    const run = await atWork([TOUCH, DONE]);
    await asked(run);
    run.type(keys);
    const { exitCode } = await run.ended;

    expect({ exitCode, made: run.place.has('made') }).toEqual({ exitCode: 6, made: false });
    expect(resultsIn(run.requests[1])).toEqual([expect.stringContaining('said no')]);
    expect(run.place.read('answer.txt')).toContain('That is all.');
  });

  it('that gets "s" is not put again for the same command, but for another one', async () => {
    const run = await atWork([TOUCH, TOUCH, calls('shell', { command: 'touch other' }), DONE]);
    await asked(run);
    expect(run.screen()).toContain('shell(touch made)');
    run.type(`s${KEYS.enter}`);
    await asked(run, 2);
    expect(run.requests).toHaveLength(3);
    run.type(`n${KEYS.enter}`);
    const { exitCode } = await run.ended;

    expect({ exitCode, made: run.place.has('made'), other: run.place.has('other') }).toEqual({
      exitCode: 6,
      made: true,
      other: false,
    });
  });

  it('that gets "y" is put again for the same command', async () => {
    const run = await atWork([TOUCH, TOUCH, DONE]);
    await asked(run);
    run.type(`y${KEYS.enter}`);
    await asked(run, 2);
    run.type(`y${KEYS.enter}`);

    expect(await run.ended).toMatchObject({ exitCode: 0 });
  });

  it('that gets Ctrl-C ends the run with exit 130, and nothing runs', async () => {
    const run = await atWork([TOUCH, DONE]);
    await asked(run);
    run.type(KEYS.ctrlC);
    const { exitCode, signal } = await run.ended;

    expect({ exitCode, signal, made: run.place.has('made'), requests: run.requests.length }).toEqual({
      exitCode: 130,
      signal: 0,
      made: false,
      requests: 1,
    });
    expect(run.place.read('answer.txt')).toBe('');
  });

  it('is not answered by keys that were typed before it', async () => {
    const run = await atWork([{ ...TOUCH, delayMs: 900 }, DONE]);
    await until('the model is asked', () => run.requests.length === 1);
    run.type(`y${KEYS.enter}y${KEYS.enter}`);
    await asked(run);
    await sleep(500);
    expect([run.place.has('made'), run.requests.length]).toEqual([false, 1]);
    run.type(`n${KEYS.enter}`);

    expect(await run.ended).toMatchObject({ exitCode: 6 });
    expect(run.place.has('made')).toBe(false);
  });

  it('is put for a change of a file, and shows which', async () => {
    const place = makePlace({ 'a.txt': 'one\n' });
    const run = await atWork([calls('edit_file', { path: 'a.txt', old_string: 'one', new_string: 'two' }), DONE], '', {
      place,
    });
    await asked(run);
    expect(run.screen()).toMatch(/coder wants to use edit_file:\n {2}a\.txt\n/);
    run.type(`y${KEYS.enter}`);
    await run.ended;

    expect(place.read('a.txt')).toBe('two\n');
  });

  it('shows control characters of a command instead of obeying them', async () => {
    const run = await atWork([calls('shell', { command: 'touch made #\u001b[2K\r\u202eharmless' }), DONE]);
    await asked(run);
    expect(run.screen()).toMatch(/touch made #\\u\{1b\}\[2K\\u\{d\}\\u\{202e\}harmless/);
    run.type(`n${KEYS.enter}`);

    expect(await run.ended).toMatchObject({ exitCode: 6 });
  });

  it('of a second call waits for the first one', async () => {
    const both: Turn = { calls: [...(TOUCH.calls ?? []), { name: 'shell', arguments: { command: 'touch second' } }] };
    const run = await atWork([both, DONE]);
    await asked(run);
    run.type(`y${KEYS.enter}`);
    await asked(run, 2);
    run.type(`n${KEYS.enter}`);
    await run.ended;

    expect([run.place.has('made'), run.place.has('second')]).toEqual([true, false]);
  });

  it('for what cannot be undone offers no rule, in any mode', async () => {
    const place = makePlace({ 'build/x': 'x' });
    const run = await atWork([calls('shell', { command: 'rm -rf build' }), DONE], '--dangerously-skip-permissions', {
      place,
    });
    await asked(run);
    expect(run.screen()).not.toContain('[s]');
    run.type(`s${KEYS.enter}`);

    expect(await run.ended).toMatchObject({ exitCode: 6 });
    expect(place.has('build/x')).toBe(true);
  });

  it('of a delegated worker is put as well, by its name', async () => {
    const server = await serve([calls('delegate', { tasks: [{ worker: 'coder', task: 'do it' }] }), TOUCH, DONE, DONE]);
    const run = atTerminal(['agent', 'x'], { server });
    await asked(run);
    expect(run.screen()).toContain('coder wants to use shell:');
    run.type(`y${KEYS.enter}`);

    expect(await run.ended).toMatchObject({ exitCode: 0 });
    expect(run.place.has('made')).toBe(true);
  });

  it('leaves the terminal as it was', async () => {
    const server = await serve([TOUCH, DONE]);
    const run = atTerminal([], {
      server,
      line: 'before=$(stty -g); chatcli coder x; [ "$(stty -g)" = "$before" ] && echo SAME',
    });
    await asked(run);
    run.type(`y${KEYS.enter}`);

    expect((await run.ended).screen).toContain('SAME');
  });

  it('does not outlive its terminal', async () => {
    const run = await atWork([TOUCH, DONE]);
    await asked(run);
    run.kill('SIGHUP');
    await run.ended;
    await until('no process is left', () => processesOf(run.place).length === 0, 3_000);

    expect(run.place.has('made')).toBe(false);
  });

  it('that nobody answers ends with the time limit of the run', async () => {
    const run = await atWork([TOUCH, DONE], '--timeout 1500ms');
    await asked(run);

    expect(await run.ended).toMatchObject({ exitCode: 5 });
    expect(run.place.has('made')).toBe(false);
  });
});

describe.concurrent('at a terminal', () => {
  it.each([
    ['--approval-mode read-only', [TOUCH], 'mode read-only'],
    ['a read-only worker', [TOUCH], 'read-only worker'],
  ])('%s asks nothing and denies', async (what, turns, rule) => {
    const run = await atWork([...turns, DONE], what.startsWith('--') ? what : '--worker file');

    expect(await run.ended).toMatchObject({ exitCode: 6 });
    expect(run.screen()).not.toContain(ASKS);
    expect(resultsIn(run.requests[1])[0]).toContain(rule);
  });

  it.each([
    ['what reads', [calls('list_files'), calls('shell', { command: 'ls' })], ''],
    ['edits with auto-edit', [calls('write_file', { path: 'a', content: 'x' })], '--approval-mode auto-edit'],
    ['what a rule allows', [TOUCH], "--allowed-tools 'shell(touch made)'"],
  ])('%s is not asked about', async (_, turns, flags) => {
    const run = await atWork([...turns, DONE], flags);

    expect(await run.ended).toMatchObject({ exitCode: 0 });
    expect(run.screen()).not.toContain(ASKS);
  });

  it('with stderr in a file nobody is asked, and the denial says what would allow it', async () => {
    const server = await serve([TOUCH, DONE]);
    const run = atTerminal([], { server, line: 'exec chatcli coder x 2> progress.txt' });

    expect(await run.ended).toMatchObject({ exitCode: 6 });
    expect(lastResult({ requests: server.requests } as never)).toContain("--allowed-tools 'shell(touch made)'");
    expect(run.place.read('progress.txt')).not.toContain('\u001b');
  });

  it('a task in words does not wait for the keyboard', async () => {
    const startedAt = Date.now();
    const server = await serve([DONE]);
    const run = atTerminal(['agent', 'x'], { server });

    expect(await run.ended).toMatchObject({ exitCode: 0, screen: expect.stringContaining('That is all.') });
    expect((server.requests[0]?.at ?? 0) - startedAt).toBeLessThan(3_000);
  });

  it('"-" reads the keyboard to its end, and says so', async () => {
    const server = await serve([DONE]);
    const run = atTerminal(['agent', 'explain', '-'], { server });
    await until('it says that it reads', () => run.screen().includes('Ctrl-D'));
    run.type(`typed${KEYS.enter}`);
    run.type(KEYS.ctrlD);

    expect(await run.ended).toMatchObject({ exitCode: 0 });
    expect(server.requests[0]?.body.messages[1].content).toBe('explain\n\nStandard input:\n```\ntyped\n```');
  });

  it('Ctrl-C while a command runs ends it and the command', async () => {
    const run = await atWork([calls('shell', { command: 'sleep 60' })], '--dangerously-skip-permissions');
    await until('the command runs', () => processesOf(run.place).some(({ command }) => command === 'sleep 60'));
    run.type(KEYS.ctrlC);

    expect(await run.ended).toMatchObject({ exitCode: 130 });
    expect(processesOf(run.place)).toEqual([]);
  });

  it.each([
    ['by default', [], {}, true],
    ['with --plain', ['--plain'], {}, false],
    ['with NO_COLOR', [], { NO_COLOR: '1' }, false],
    ['with TERM=dumb', [], { TERM: 'dumb' }, false],
  ])('%s progress has colours or not', async (_, flags, env, isColoured) => {
    const server = await serve([DONE]);
    const run = atTerminal(['agent', 'x', ...flags], { server, env });
    await run.ended;

    expect(run.raw().includes('\u001b[')).toBe(isColoured);
  });
});

describe.concurrent('a question of the model at a terminal', () => {
  const ask = calls('ask_user', { question: 'Which\u001b[2J one?', options: ['the first', 'the second'] });
  const put = (run: TerminalRun) => until('it asks', () => run.screen().includes('Your answer'));

  it.each([
    ['a number', `2${KEYS.enter}`, 'The user answered: the second'],
    ['words', `none of them${KEYS.enter}`, 'The user answered: none of them'],
    ['a number that is none of them', `7${KEYS.enter}`, 'The user answered: 7'],
    ['Enter alone', KEYS.enter, 'gave no answer'],
    ['the end of input', KEYS.ctrlD, 'gave no answer'],
  ])('stands on stderr with its options, and is answered by %s', async (_, keys, result) => {
    const run = await atWork([ask, DONE]);
    await put(run);
    expect(run.screen()).toMatch(/coder asks you:\n {2}Which one\?\n {2}\[1\] the first\n {2}\[2\] the second\n/);
    run.type(keys);
    const { exitCode } = await run.ended;
    expect({ exitCode, answer: run.place.read('answer.txt') }).toEqual({ exitCode: 0, answer: 'That is all.\n' });
    expect(resultsIn(run.requests[1])).toEqual([expect.stringContaining(result)]);
  });

  it('that nobody answers in time is told to the model', async () => {
    const run = await atWork([ask, DONE], '', { env: { CHATCLI_APPROVAL_TIMEOUT: '1s' } });
    expect((await run.ended).exitCode).toBe(0);
    expect(resultsIn(run.requests[1])).toEqual([expect.stringContaining('gave no answer')]);
  });

  it('ends with Ctrl-C', async () => {
    const run = await atWork([ask, DONE]);
    await put(run);
    run.type(KEYS.ctrlC);
    expect((await run.ended).exitCode).toBe(130);
    expect(run.requests).toHaveLength(1);
  });

  it('is offered only there, and a plan is shown as it goes', async () => {
    const steps = (status: string) => ({
      steps: [
        { text: 'Look', status },
        { text: 'Change', status: 'pending' },
      ],
    });
    const run = await atWork([calls('update_plan', steps('active')), calls('update_plan', steps('done')), DONE]);
    const { screen } = await run.ended;
    expect(screen).toContain('● Look\n  ○ Change');
    expect(screen).toContain('✓ Look\n  ○ Change');
    expect(JSON.stringify(run.requests[0])).toContain('"ask_user"');
    const piped = await play([DONE], ['coder', 'x']);
    expect(JSON.stringify(piped.requests[0])).toContain('"update_plan"');
    expect(JSON.stringify(piped.requests[0])).not.toContain('ask_user');
  });
});
