import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { calls, says } from '../fixtures/model-server.js';
import { oddSleep } from '../tools/shell-bench.js';
import { makePlace } from './place.js';
import { jsonOf, lastResult, resultsIn, streamOf, toolsIn } from './reading.js';
import { chatcli, play, serve, start, until } from './support.js';

const ALL = ['coder', 'x', '--dangerously-skip-permissions'];

// Each run is also held to leave no process behind: see `support.ts`.
describe('a background command of a run', () => {
  it('is started, looked at and stopped by the model', async () => {
    const { command } = oddSleep();
    const turns = [
      calls('shell', { command: `echo up; ${command}`, background: true }),
      calls('shell_output', { id: 'b1', wait_ms: 0 }),
      calls('shell_stop', { id: 'b1' }),
      says('done'),
    ];
    const ran = await play(turns, ALL);
    expect(resultsIn(ran.requests.at(-1))).toEqual([
      expect.stringMatching(/^up\n[\s\S]*b1 is running/),
      expect.stringMatching(/^\(nothing new\)\n[\s\S]*b1 is running/),
      expect.stringMatching(/b1 ended: stopped$/),
    ]);
    expect([ran.exitCode, ran.stdout]).toEqual([0, 'done\n']);
    expect(ran.stderr).not.toContain('still ran at the end');
  });

  it('ends with the run, which tells of it before its result', async () => {
    const sleeper = oddSleep();
    const turns = () => [calls('shell', { command: `${sleeper.command} | cat`, background: true }), says('done')];
    const text = await play(turns(), ALL);
    expect(text.stderr).toContain(`The background command b1 still ran at the end and was stopped: ${sleeper.command}`);
    expect([text.exitCode, text.stdout, sleeper.alive()]).toEqual([0, 'done\n', 0]);
    const stream = await play(turns(), [...ALL, '--output-format', 'stream-json']);
    expect(streamOf(stream).events.at(-1)).toMatchObject({ type: 'notice', code: 'tool-ended' });
    expect(streamOf(stream).result).toMatchObject({ type: 'result', result: 'done' });
    expect(sleeper.alive()).toBe(0);
  });

  it('belongs to its turn with all that it changed, and the sandbox with nothing', async () => {
    const place = makePlace();
    place.write('a.txt', 'one');
    const turns = [
      calls('shell', { command: 'sleep 1; echo two > a.txt; touch ready; sleep 300', background: true }),
      calls('shell', { command: 'while [ ! -e ready ]; do sleep 0.05; done' }),
      says('done'),
    ];
    await play(turns, ['coder', 'x', '--approval-mode', 'full-auto'], { place });
    await play([calls('shell', { command: 'sleep 300', background: true }), says('done')], [...ALL], { place });
    const list = jsonOf(await chatcli(['undo', '--output-format', 'json'], { place }));
    expect(list).toMatchObject({
      turns: [{ number: 2, files: { changed: 0, created: 0, deleted: 0 } }, { number: 1 }],
    });
    const undone = await chatcli(['undo', 'last', '--force'], { place });
    expect([undone.exitCode, place.read('a.txt'), place.has('ready')]).toEqual([0, 'one', false]);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('ends with a run that ends by %s', async (signal, exitCode) => {
    const sleeper = oddSleep();
    const server = await serve([
      calls('shell', { command: `trap '' HUP INT; ${sleeper.command}`, background: true }),
      { fault: { kind: 'hang' } },
    ]);
    const run = start(ALL, { server });
    await until('the model is asked again', () => server.requests.length === 2);
    expect(sleeper.alive()).toBe(1);
    run.kill(signal);
    expect((await run.ended).exitCode).toBe(exitCode);
    expect(sleeper.alive()).toBe(0);
  });

  it('is judged as any other command, and can be looked at without a rule of its own', async () => {
    const sleeper = oddSleep();
    const turns = [
      calls('shell', { command: `${sleeper.command} && touch pwn`, background: true }),
      calls('shell', { command: sleeper.command, background: true }),
      calls('shell_output', { id: 'b1', wait_ms: 0 }),
      says('done'),
    ];
    const ran = await play(turns, ['coder', 'x', '--allowed-tools', `shell(${sleeper.command})`]);
    const [denied, started, look] = resultsIn(ran.requests.at(-1));
    expect([denied, started, look]).toEqual([
      expect.stringMatching(/^Denied/),
      expect.stringContaining('b1 is running'),
      expect.stringContaining('b1 is running'),
    ]);
  });

  it('can not be started by whoever may only read', async () => {
    const ran = await play([calls('shell', { command: 'ls', background: true }), says('done')], ['-p', 'x'], {
      files: { 'a.txt': '' },
    });
    expect(lastResult(ran)).toBe('a.txt\n[it only reads, so it was waited for]\n(cwd: .)\nexit code 0');
    expect(toolsIn(ran.requests[0])).not.toContain('shell_output');
  });

  it('does not keep a command from being told what it left running', async () => {
    const sleeper = oddSleep();
    const ran = await play(
      [calls('shell', { command: `${sleeper.command} & echo started` }), says('done')],
      [...ALL, '--output-format', 'json'],
    );
    expect(lastResult(ran)).toMatch(/^started\n\[process \d+ went on .* was stopped; .*"background": true\]\n/);
    expect([jsonOf(ran).exit_code, sleeper.alive()]).toEqual([0, 0]);
  });
});

const LIBRARY = pathToFileURL(resolve('dist/library/index.js')).href;

/** A program of a library user whose agent starts `command` in the background. */
const program = (command: string, end: string) => [
  '--input-type=module',
  '--eval',
  `import { createAgent, createTools, FakeProvider } from '${LIBRARY}';
  const call = { name: 'shell', arguments: { command: '${command}', background: true } };
  const events = [];
  const agent = createAgent({
    provider: FakeProvider([{ toolCalls: [call] }, { text: 'Done.' }]),
    tools: [...createTools().values()],
    approvalMode: 'full-auto',
    onEvent: (event) => void (event.type === 'notice' && events.push(event.text)),
  });
  const { reason } = await agent.run('Go.');
  ${end}`,
];

describe('a background command of a library agent', () => {
  it('outlives the run, and ends when the agent is closed', async () => {
    const { command, alive } = oddSleep();
    const end = `console.log(reason); await agent.close(); console.log(events.join());`;
    const { stdout } = await promisify(execFile)(process.execPath, program(command, end), { env: makePlace().env });
    expect(stdout).toBe(`answered\nThe background command b1 still ran at the end and was stopped: ${command}\n`);
    expect(alive()).toBe(0);
  });

  it('neither keeps the program from its end nor outlives it', async () => {
    const { command, alive } = oddSleep();
    await promisify(execFile)(process.execPath, program(command, ''), { env: makePlace().env, timeout: 20_000 });
    await until('it is gone', () => alive() === 0);
  });

  it('ends with a program that a signal ends', async () => {
    const { command, alive } = oddSleep();
    const child = spawn(process.execPath, program(command, 'setInterval(() => undefined, 1000);'), {
      env: makePlace().env,
      stdio: 'ignore',
    });
    await until('it runs', () => alive() === 1, 20_000);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([null, 'SIGTERM']);
    await until('it is gone', () => alive() === 0);
  });
});
