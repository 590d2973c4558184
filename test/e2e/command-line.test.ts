import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { says } from '../fixtures/model-server.js';
import { makePlace } from './place.js';
import { jsonOf, taskIn } from './reading.js';
import { chatcli, type PlayedRun, type PlayOptions, play } from './support.js';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

const TURNS = [says('ok')];

const run = (...args: readonly string[]) => play(TURNS, args);

describe('what needs no model', () => {
  it.each([
    ['--version', ['--version']],
    ['-V', ['-V']],
    ['--version behind another flag', ['--plain', '--version']],
    ['--version before a command', ['--version', 'agent']],
  ])('%s prints the version alone', async (_, args) => {
    expect(await chatcli(args)).toMatchObject({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
  });

  it.each([
    ['--help', ['--help'], 'Usage: chatcli [options] [command]'],
    ['-h', ['-h'], 'Usage: chatcli [options] [command]'],
    ['agent --help', ['agent', '--help'], 'Usage: chatcli agent [options] [task...]'],
    ['coder -h', ['coder', '-h'], 'Usage: chatcli coder [options] [task...]'],
    ['--help behind a task', ['agent', 'do it', '--help'], 'Usage: chatcli agent [options] [task...]'],
  ])('%s prints help on stdout', async (_, args, usage) => {
    const help = await chatcli(args);

    expect(help).toMatchObject({ exitCode: 0, stderr: '' });
    expect(help.stdout.startsWith(usage)).toBe(true);
  });

  it('--help names every exit code, and how a piped run gets more rights', async () => {
    const { stdout } = await chatcli(['--help']);

    expect(stdout).toMatch(/0 answered, 1 failed, 2 usage, 3 configuration, 4 provider, 5 a limit, 6 denied, 130/);
    expect(stdout).toContain("--approval-mode auto-edit --allowed-tools 'shell(npm test)'");
  });
});

describe('a command line that cannot be meant', () => {
  it.each<[string, readonly string[], string]>([
    ['an unknown flag', ['agent', 'x', '--nope'], '--nope'],
    ['an unknown flag before the command', ['--nope', 'agent', 'x'], '--nope'],
    ['a flag that is not built yet', ['agent', 'x', '--fork-session'], '--fork-session'],
    ['an unknown command', ['frobnicate'], 'frobnicate'],
    ['a command without the word after it', ['policy'], 'A word is missing after "policy"'],
    ['an unknown worker', ['agent', 'x', '--worker', 'nobody'], 'nobody'],
    ['an unknown worker by its other flag', ['coder', 'x', '--agent', 'nobody'], 'nobody'],
    ['an unknown output format', ['agent', 'x', '--output-format', 'yaml'], 'yaml'],
    ['a flag without its value', ['agent', 'x', '--model'], '--model'],
    ['a value for a flag that takes none', ['agent', 'x', '--plain=yes'], '--plain'],
  ])('%s is exit 2, named on stderr, before anything is sent', async (_, args, named) => {
    const { exitCode, stdout, stderr, requests } = await run(...args);

    expect({ exitCode, stdout, requests: requests.length }).toEqual({ exitCode: 2, stdout: '', requests: 0 });
    expect(stderr).toContain(named);
  });

  it('an unknown worker is answered with those there are', async () => {
    const { stderr } = await run('agent', 'x', '--worker', 'nobody');

    for (const name of ['agent', 'coder', 'file', 'planner', 'refiner', 'verifier']) expect(stderr).toContain(name);
  });

  it.each([
    ['is not there', '../gone'],
    ['is a file', 'file.txt'],
  ])('a workspace that %s is refused by name', async (_, folder) => {
    const refused = await play(TURNS, ['agent', 'x', '-C', folder], { files: { 'file.txt': '' } });

    expect([2, 3]).toContain(refused.exitCode);
    expect({ stdout: refused.stdout, requests: refused.requests.length }).toEqual({ stdout: '', requests: 0 });
    expect(refused.stderr).toContain(folder.replace('../', ''));
  });
});

describe('the words of a task', () => {
  it.each<[string, readonly string[], string]>([
    ['one argument', ['agent', 'fix the test'], 'fix the test'],
    ['several arguments', ['agent', 'fix', 'the', 'test'], 'fix the test'],
    ['of a question', ['-p', 'what is it?'], 'what is it?'],
    ['of a question by its long flag', ['--print', 'what is it?'], 'what is it?'],
    ['behind "--"', ['agent', '--', '--approval-mode=full-auto'], '--approval-mode=full-auto'],
    ['behind "--", with a flag before it', ['agent', '--plain', '--', '--help'], '--help'],
    ['behind a list flag, which takes one value', ['coder', '--allowed-tools', 'shell(npm test)', 'fix it'], 'fix it'],
    ['between list flags', ['coder', '--allowed-tools', 'edit', 'fix it', '--disallowed-tools', 'shell'], 'fix it'],
    ['before flags', ['agent', 'fix it', '--plain', '--max-turns', '3'], 'fix it'],
    ['that name a command', ['agent', 'coder'], 'coder'],
    ['with a slash', ['agent', '/etc/hosts is what?'], '/etc/hosts is what?'],
  ])('%s arrive as they are', async (_, args, task) => {
    const { exitCode, requests } = await run(...args);

    expect({ exitCode, task: taskIn(requests[0]) }).toEqual({ exitCode: 0, task });
  });
});

describe('a flag', () => {
  it.each<[string, readonly string[]]>([
    ['behind the command', ['agent', 'x', '--output-format', 'json', '-m', 'other', '--worker', 'file']],
    ['before the command', ['--output-format', 'json', '-m', 'other', '--worker', 'file', 'agent', 'x']],
    ['on both sides', ['-m', 'other', 'agent', '--output-format=json', 'x', '--worker=file']],
    ['without a command', ['--output-format', 'json', '-p', 'x', '-m', 'other', '--worker', 'file']],
    [
      'of the command before one that stands before it',
      [
        '-m',
        'wrong',
        '--output-format',
        'text',
        'agent',
        'x',
        '-m',
        'other',
        '--output-format',
        'json',
        '--worker',
        'file',
      ],
    ],
  ])('counts %s', async (_, args) => {
    const answered = await run(...args);

    expect(jsonOf(answered)).toMatchObject({ type: 'result', subtype: 'success', model: 'other', worker: 'file' });
    expect(answered.requests[0]?.body.model).toBe('other');
  });

  it('-C works in another folder, relative to the current one', async () => {
    const files = { 'sub/a.txt': 'A\n' };
    const turns = [{ calls: [{ name: 'list_files' }] }, says('ok')];
    const { requests } = await play(turns, ['agent', 'x', '-C', 'sub'], { files });

    expect(requests[1]?.body.messages.at(-1).content).toContain('a.txt');
    expect(requests[0]?.body.messages[0].content).toMatch(/Workspace: .*\/work\/sub /);
  });

  it('--verbose shows the whole output of tools, otherwise a few lines of it', async () => {
    const files = { 'long.txt': Array.from({ length: 60 }, (_, index) => `line ${index + 1}.\n`).join('') };
    const turns = [{ calls: [{ name: 'shell', arguments: { command: 'cat long.txt' } }] }, says('ok')];
    const quiet = await play(turns, ['agent', 'x'], { files });
    const verbose = await play(turns, ['agent', 'x', '--verbose'], { files });

    expect([quiet, verbose].map(({ stderr }) => stderr.match(/line \d+\./g)?.length)).toEqual([expect.any(Number), 60]);
    expect(quiet.stderr.match(/line \d+\./g)?.length).toBeLessThan(20);
  });

  it.each<[string, readonly string[], PlayOptions['env'], boolean]>([
    ['a pipe', [], {}, false],
    ['a pipe with FORCE_COLOR', [], { FORCE_COLOR: '1' }, true],
    ['a pipe with FORCE_COLOR and NO_COLOR', [], { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
    ['a pipe with FORCE_COLOR and --plain', ['--plain'], { FORCE_COLOR: '1' }, false],
  ])('and variable for colours: %s', async (_, flags, env, isColoured) => {
    const { stdout, stderr } = await play(TURNS, ['agent', 'x', ...flags], { env: env ?? {} });

    expect([stdout, stderr.includes('\u001b[')]).toEqual(['ok\n', isColoured]);
  });
});

describe('the instruction files of a project', () => {
  const systemPrompt = ({ requests }: PlayedRun): string => requests[0]?.body.messages[0].content;

  it('are told to every worker, the nearest last', async () => {
    const place = makePlace({
      'AGENTS.md': 'Use tabs.\n',
      'sub/AGENTS.md': 'Use blanks.\n',
      '.git/HEAD': 'ref: refs/heads/main\n',
    });
    const prompt = systemPrompt(await play(TURNS, ['coder', 'x', '-C', 'sub'], { place }));

    expect(prompt).toMatch(/Use tabs\.[\s\S]*Use blanks\./);
  });
});
