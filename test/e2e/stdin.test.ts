import { describe, expect, it } from 'vitest';
import { says } from '../fixtures/model-server.js';
import { makePlace } from './place.js';
import { taskIn, toolsIn } from './reading.js';
import { chatcli, type PlayOptions, play, serve, start, until } from './support.js';

const TURNS = [says('ok')];

/** A pipe like that of `sleep 100 | …`, whose sleep is ended when `chatcli` has. */
const heldOpen = (command: string) =>
  `mkfifo ../held; sleep 100 > ../held 2>/dev/null & sleeper=$!; ${command} < ../held; code=$?; kill $sleeper; exit $code`;

const ask = (command: readonly string[] | string, options: PlayOptions = {}) => play(TURNS, command, options);

describe('a task given in words', () => {
  it('does not wait for a pipe that stays open and silent', async () => {
    const startedAt = Date.now();
    const run = await ask(heldOpen('chatcli agent hello'));

    expect({ exitCode: run.exitCode, stdout: run.stdout, task: taskIn(run.requests[0]) }).toEqual({
      exitCode: 0,
      stdout: 'ok\n',
      task: 'hello',
    });
    expect((run.requests[0]?.at ?? 0) - startedAt).toBeLessThan(3_000);
    expect(run.ms).toBeLessThan(10_000);
  });

  it('ends by itself although whoever holds its stdin never does', async () => {
    const server = await serve(TURNS);
    const run = start(['agent', 'hello'], { server, stdin: 'held' });

    expect(await run.ended).toMatchObject({ exitCode: 0, stdout: 'ok\n' });
  });

  it.each([
    ['closed', 'chatcli agent hello <&-'],
    ['/dev/null', 'chatcli agent hello </dev/null'],
    ['an empty file', ': > empty; chatcli agent hello <empty'],
    ['an empty pipe', ': | chatcli agent hello'],
    ['a pipe with nothing but blanks', "printf ' \\n' | chatcli agent hello"],
    ['a folder', 'chatcli agent hello <.'],
  ])('is all there is where stdin is %s', async (_, line) => {
    const run = await ask(line);

    expect({ exitCode: run.exitCode, stdout: run.stdout, task: taskIn(run.requests[0]) }).toEqual({
      exitCode: 0,
      stdout: 'ok\n',
      task: 'hello',
    });
  });

  const block = (content: string, fence = '```') => `explain\n\nStandard input:\n${fence}\n${content}\n${fence}`;

  it.each([
    ['a pipe', 'printf ctx | chatcli agent explain', block('ctx')],
    ['a pipe, for the coder,', 'printf ctx | chatcli coder explain', block('ctx')],
    ['a pipe, for a question,', 'printf ctx | chatcli -p explain', block('ctx')],
    ['a file', "printf 'one\\ntwo\\n' > f; chatcli agent explain < f", block('one\ntwo')],
    [
      'a pipe that dawdles after its start',
      '(printf one; sleep 0.5; printf two) | chatcli agent explain',
      block('onetwo'),
    ],
    ['a pipe that is waited for with "-"', '(sleep 0.5; printf late) | chatcli agent explain -', block('late')],
    [
      'a pipe with letters that a read may cut',
      "i=0; (while [ $i -lt 9 ]; do printf '\\303'; sleep 0.02; printf '\\251'; i=$((i+1)); done) | chatcli agent explain",
      block('ééééééééé'),
    ],
    [
      'a pipe with a fence in it',
      "printf '```js\\nx\\n```\\n' | chatcli agent explain",
      block('```js\nx\n```', '````'),
    ],
    ['a pipe with empty lines around it', "printf '\\n\\n  x\\n' | chatcli agent explain", block('\n\n  x')],
  ])('is followed by what stdin holds: %s is appended as a fenced block', async (_, line, task) => {
    const run = await ask(line);

    expect({ exitCode: run.exitCode, stdout: run.stdout, task: taskIn(run.requests[0]) }).toEqual({
      exitCode: 0,
      stdout: 'ok\n',
      task,
    });
  });

  it('gets 9 MB of a pipe whole', async () => {
    const run = await ask(['agent', 'explain'], { stdin: { text: `${'x'.repeat(9 * 1024 * 1024)}END` } });

    expect(run.exitCode).toBe(0);
    expect(taskIn(run.requests[0])).toMatch(/xEND\n```$/);
    expect(taskIn(run.requests[0])).toHaveLength(block('').length + 9 * 1024 * 1024 + 3);
  });
});

describe('a task that stands on stdin alone', () => {
  it.each([
    ['agent', 'echo "do it" | chatcli agent'],
    ['agent -', 'echo "do it" | chatcli agent -'],
    ['coder, from a pipe that starts late,', '(sleep 0.5; echo "do it") | chatcli coder'],
    ['agent, from a file,', 'echo "do it" > f; chatcli agent < f'],
  ])('is taken by %s', async (_, line) => {
    const run = await ask(line);

    expect({ exitCode: run.exitCode, stdout: run.stdout, task: taskIn(run.requests[0]) }).toEqual({
      exitCode: 0,
      stdout: 'ok\n',
      task: 'do it',
    });
  });

  it('of a bare chatcli is a question that changes nothing', async () => {
    const run = await ask('echo "what is this?" | chatcli --output-format json', { files: { a: 'A\n' } });

    expect({ exitCode: run.exitCode, task: taskIn(run.requests[0]), worker: JSON.parse(run.stdout).worker }).toEqual({
      exitCode: 0,
      task: 'what is this?',
      worker: 'chat',
    });
    expect(toolsIn(run.requests[0])).toEqual(['read_file', 'list_files', 'search_files', 'shell']);
  });
});

describe('where there is no task', () => {
  it.each([
    ['bare, with an empty stdin', 'chatcli </dev/null'],
    ['bare, with a closed stdin', 'chatcli <&-'],
    ['bare, with blanks on stdin', 'echo | chatcli'],
    ['agent without words', 'chatcli agent </dev/null'],
    ['coder without words', 'chatcli coder </dev/null'],
    ['agent with an empty word', 'chatcli agent "" </dev/null'],
    ['agent with blanks', 'chatcli agent "  " </dev/null'],
    ['agent with an empty stdin asked for', 'chatcli agent - </dev/null'],
    ['a question that is empty', 'chatcli -p "" </dev/null'],
  ])('%s ends with exit 2 and says how to give one', async (_, line) => {
    const run = await ask(line);

    expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
      exitCode: 2,
      stdout: '',
      requests: 0,
    });
    expect(run.stderr).toContain('There is no task.');
    expect(run.stderr).toContain('chatcli agent "');
  });
});

describe('too much on stdin', () => {
  it.each([
    ['beside words', ['agent', 'explain']],
    ['alone', ['agent']],
  ])('%s ends with exit 2 before anything is sent', async (_, args) => {
    const run = await ask(args, { stdin: { text: 'x'.repeat(11 * 1024 * 1024) } });

    expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
      exitCode: 2,
      stdout: '',
      requests: 0,
    });
    expect(run.stderr).toContain('10 MiB');
  });

  it('that never ends is not read for ever', async () => {
    const run = await ask('yes | chatcli agent explain');

    expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode: 2, requests: 0 });
  });
});

describe('a stdin that takes long', () => {
  it('is waited for where it is the task, and that is said', async () => {
    const place = makePlace();
    const server = await serve(TURNS);
    const run = start(['agent'], { place, server, stdin: 'held' });
    await until('it says that it waits', () => run.stderr().includes('Reading standard input'), 5_000);
    run.kill('SIGINT');

    expect(await run.ended).toMatchObject({ exitCode: 130, stdout: '' });
    expect(server.requests).toEqual([]);
  });

  it('is not touched by --help', async () => {
    expect(await chatcli(['--help'], { stdin: 'held' })).toMatchObject({ exitCode: 0 });
  });
});
