import { mkdirSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { VARIABLES, WORKER_VARIABLES } from '../../src/config/schema.js';
import { PRESETS } from '../../src/providers/presets.js';
import { calls, says } from '../fixtures/model-server.js';
import { makePlace } from './place.js';
import { jsonOf, lastResult } from './reading.js';
import { chatcli, KEY, type PlayOptions, play, serve } from './support.js';

const TURNS = [says('ok')];

const COUNT = 'a whole number';
const DURATION = 'a duration above zero';
const TEXT = 'text without control characters';
const API_KEY = 'a key of printable ASCII characters';

/** A value that no variable of the kind takes, and the start of what is allowed. */
const INVALID: Readonly<Record<string, readonly [value: string, allowed: string]>> = {
  CHATCLI_PROVIDER: ['nobody', 'openai, openrouter'],
  CHATCLI_MODEL: ['a\u0001b', TEXT],
  OPENAI_MODEL: ['a\u0001b', TEXT],
  CHATCLI_API_KEY: ['not a key', API_KEY],
  ...Object.fromEntries(
    PRESETS.flatMap(({ keyVariable }) => (keyVariable ? [[keyVariable, ['not a key', API_KEY]]] : [])),
  ),
  CHATCLI_BASE_URL: ['localhost:8000', 'an http:// or https:// URL'],
  OPENAI_BASE_URL: ['ftp://host/v1', 'an http:// or https:// URL'],
  CHATCLI_SCRIPT: ['a\u0001b', TEXT],
  CHATCLI_AGENT_WORKER_MAX_TURNS: ['0', COUNT],
  CHATCLI_AGENT_WORKER_TIMEOUT: ['soon', DURATION],
  CHATCLI_AGENT_PARALLEL_MODE: ['maybe', 'true, false'],
  CHATCLI_MAX_REQUESTS: ['-1', COUNT],
  CHATCLI_MAX_TOKENS_TOTAL: ['1.5', COUNT],
  CHATCLI_MAX_BUDGET_USD: ['0', 'an amount in US dollars'],
  CHATCLI_TIMEOUT: ['0', DURATION],
  CHATCLI_PRICE_INPUT: ['cheap', 'US dollars per million'],
  CHATCLI_PRICE_OUTPUT: ['-1', 'US dollars per million'],
  CHATCLI_APPROVAL_MODE: ['careful', 'read-only, ask, auto-edit, full-auto'],
  CHATCLI_APPROVAL_TIMEOUT: ['never', DURATION],
  CHATCLI_SHELL: ['a\u0001b', TEXT],
  CHATCLI_UNDO: ['maybe', 'true, false'],
  CHATCLI_FETCH_ALLOW_HOSTS: ['http://localhost:3000', 'hosts with commas'],
  CHATCLI_MAX_RETRIES: ['21', COUNT],
  CHATCLI_FIRST_BYTE_TIMEOUT: ['10 minutes', DURATION],
  CHATCLI_IDLE_TIMEOUT: ['-5s', DURATION],
  HTTPS_PROXY: ['user:pass-word@proxy:port', 'the URL of a proxy'],
  HTTP_PROXY: ['http://proxy:port', 'the URL of a proxy'],
  ALL_PROXY: ['two words', 'the URL of a proxy'],
  CHATCLI_CA_BUNDLE: ['a\u0001b', TEXT],
  CHATCLI_HEADERS: ['X-Team without a colon', 'one "Name: value" a line'],
  OPENAI_ORG_ID: ['größer', 'printable ASCII characters'],
  OPENAI_PROJECT_ID: ['größer', 'printable ASCII characters'],
  CHATCLI_FALLBACK_MODELS: ['a,,b', 'names with commas'],
  CHATCLI_CONTEXT_WINDOW: ['128k', COUNT],
  CHATCLI_OPENAI_API: ['both', 'chat, responses, auto'],
  CHATCLI_TOOL_PROTOCOL: ['xml', 'auto, native, text'],
  CHATCLI_SEND_REASONING: ['sometimes', 'auto, always, never'],
  LOG_LEVEL: ['loud', 'debug, info, warn, error, silent'],
  CHATCLI_LOG_FILE: ['a\u0001b', TEXT],
  CHATCLI_AGENT_CODER_MODEL: ['a\u0001b', TEXT],
  CHATCLI_AGENT_CODER_MAX_TURNS: ['many', COUNT],
  CHATCLI_AGENT_CODER_TIMEOUT: ['10d', DURATION],
};

/** Never shown, since it is or may hold a secret. */
const isHidden = (name: string) => /_API_KEY$|_PROXY$|_HEADERS$/.test(name);

const printed = (value: string) => value.replace('\u0001', '\\u{1}');

describe('a value that is not valid', () => {
  it('stands here for every variable that does not take any text', () => {
    const typed = Object.entries(VARIABLES).flatMap(([name, variable]) =>
      variable.type.safeParse('a\u0001b').success || 'environmentOnly' in variable ? [] : [name],
    );
    const ofWorkers = Object.values(WORKER_VARIABLES).map(({ suffix }) => `CHATCLI_AGENT_CODER_${suffix}`);

    expect(Object.keys(INVALID).toSorted()).toEqual([...typed, ...ofWorkers].toSorted());
  });

  it.concurrent.each(Object.entries(INVALID))(
    'of %s is exit 3: named with its value and what is allowed, and nothing is sent',
    async (name, [value, allowed]) => {
      const run = await play(TURNS, ['agent', 'x'], { env: { [name]: value } });

      expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
        exitCode: 3,
        stdout: '',
        requests: 0,
      });
      expect(run.stderr).toContain(
        `${name}=${isHidden(name) ? `(not shown, ${value.length} characters)` : `"${printed(value)}"`}`,
      );
      expect(run.stderr).toContain(`allowed is ${allowed}`);
      expect(run.stderr.includes(value)).toBe(!isHidden(name) && !value.includes('\u0001'));
    },
  );

  it.each([
    ['--max-turns', '0'],
    ['--timeout', 'soon'],
    ['--max-requests', 'x'],
    ['--max-tokens-total', '-1'],
    ['--max-budget-usd', 'free'],
    ['--approval-mode', 'careful'],
    ['--provider', 'nobody'],
    ['--model', ''],
  ])('of the flag %s is exit 3 as well, and the flag is named', async (flag, value) => {
    const run = await play(TURNS, ['agent', 'x', `${flag}=${value}`]);

    expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
      exitCode: 3,
      stdout: '',
      requests: 0,
    });
    expect(run.stderr).toContain(flag);
    expect(run.stderr).toContain(`"${value}"`);
  });

  it('is told together with all others, in one go', async () => {
    const run = await play(TURNS, ['agent', 'x', '--output-format', 'json'], {
      env: { CHATCLI_MAX_RETRIES: 'x', LOG_LEVEL: 'y', CHATCLI_TIMEOUT: 'z' },
    });

    expect(jsonOf(run)).toMatchObject({
      subtype: 'error_config',
      is_error: true,
      exit_code: 3,
      error: { kind: 'config' },
    });
    for (const name of ['CHATCLI_MAX_RETRIES', 'LOG_LEVEL', 'CHATCLI_TIMEOUT']) expect(run.stderr).toContain(name);
  });

  it('counts as none where it is empty', async () => {
    const run = await play(TURNS, ['agent', 'x'], {
      env: { CHATCLI_MAX_RETRIES: '', LOG_LEVEL: ' ', CHATCLI_AGENT_WORKER_TIMEOUT: '' },
    });

    expect(run.exitCode).toBe(0);
  });
});

describe('where no provider is configured', () => {
  const ports = PRESETS.flatMap(({ local }) => (local ? [local.port] : []));

  it('the run ends with exit 3 and three ways to go on', async () => {
    const taken = await Promise.all(ports.map(isTaken));
    // A local server would be found and asked, as it should be.
    expect(
      ports.filter((_, index) => taken[index]),
      'ports of model servers in use on this machine',
    ).toEqual([]);
    const run = await chatcli(['agent', 'x']);

    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode: 3, stdout: '' });
    const ways = run.stderr.split('\n').filter((line) => line.startsWith('  '));
    expect(ways).toEqual([
      expect.stringContaining('export OPENAI_API_KEY='),
      expect.stringContaining('export OPENAI_BASE_URL='),
      expect.stringContaining('ollama'),
    ]);
    expect(run.ms).toBeLessThan(3_000);
  });

  it('and a provider is named without its key, the key is what is asked for', async () => {
    const run = await chatcli(['agent', 'x', '--provider', 'groq', '-m', 'm']);

    expect(run.exitCode).toBe(3);
    expect(run.stderr).toContain('GROQ_API_KEY');
  });
});

function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    const settle = (taken: boolean) => {
      socket.destroy();
      resolve(taken);
    };
    socket.once('connect', () => settle(true)).once('error', () => settle(false));
  });
}

describe('an env file', () => {
  /** A server, and a place whose file names it. */
  async function placeWithFile(file: 'mine.env' | '.env' | 'settings', more = '') {
    const server = await serve([calls('shell', { command: 'env' }), says('ok')]);
    const content = `OPENAI_BASE_URL=${server.url}\nOPENAI_API_KEY=${KEY}\nOPENAI_MODEL=from-file\n${more}`;
    const place = makePlace(file === 'settings' ? {} : { [file]: content });
    if (file === 'settings') writeFileSync(join(place.settings, '.env'), content);
    return { server, place };
  }

  it.each<[string, 'mine.env' | 'settings', readonly string[], PlayOptions['env']]>([
    ['--env-file', 'mine.env', ['--env-file', 'mine.env'], {}],
    ['--env-file before the command', 'mine.env', ['--env-file', 'mine.env'], {}],
    ['CHATCLI_DOTENV', 'mine.env', [], { CHATCLI_DOTENV: 'mine.env' }],
    ['its place in the config folder', 'settings', [], {}],
  ])('named by %s is read, and reaches no command', async (how, file, flags, env) => {
    const { server, place } = await placeWithFile(
      file,
      'PATH=/nowhere\nCHATCLI_HOME=/nowhere\nSTRANGE=strange-thing\n',
    );
    const words = ['agent', 'x', '--allowed-tools', 'shell(env)', '--output-format', 'json'];
    const run = await chatcli(how.endsWith('command') ? [...flags, ...words] : [...words, ...flags], {
      place,
      env: env ?? {},
    });

    expect(jsonOf(run)).toMatchObject({ subtype: 'success', model: 'from-file' });
    const shown = lastResult({ ...run, requests: server.requests });
    expect(shown).toContain('exit code 0');
    expect(shown).not.toMatch(/strange-thing|nowhere|OPENAI/);
  });

  it('comes after the environment, and that after a flag', async () => {
    const { server, place } = await placeWithFile('mine.env');
    const ask = async (env: PlayOptions['env'], ...flags: readonly string[]) => {
      await chatcli(['-p', 'x', '--env-file', 'mine.env', ...flags], { place, env: env ?? {} });
      return server.requests.at(-1)?.body.model;
    };

    expect([
      await ask({}),
      await ask({ OPENAI_MODEL: 'from-environment' }),
      await ask({ OPENAI_MODEL: 'e' }, '-m', 'from-flag'),
    ]).toEqual(['from-file', 'from-environment', 'from-flag']);
  });

  // Node 20 looks for a flag of this name behind the script too, and acts on it before the program is there: only how
  // the program is started can keep it from that. Hence these run the installed command, as people do.
  it.each([
    ['is not there', 'gone.env'],
    ['is a folder', '.'],
  ])('that is named and %s is exit 3', async (_, file) => {
    const run = await play(TURNS, `chatcli agent x --env-file ${file}`);

    expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode: 3, requests: 0 });
    expect(run.stderr).toContain('named by --env-file');
  });

  it.each([
    ['--env-file mine.env', {}],
    ['--env-file=mine.env', {}],
    ['', { CHATCLI_DOTENV: 'mine.env' }],
  ])('cannot make the program run something: NODE_OPTIONS, with %j', async (flags, env) => {
    const files = {
      'mine.env': 'NODE_OPTIONS=--require ./evil.cjs\n',
      'evil.cjs': 'require("node:fs").writeFileSync("pwned", "")',
    };
    const run = await play(TURNS, `chatcli agent x ${flags}`, { files, env });

    expect({ exitCode: run.exitCode, pwned: run.place.has('pwned') }).toEqual({ exitCode: 0, pwned: false });
  });

  it('with a value that is not valid is named with it', async () => {
    const run = await play(TURNS, ['agent', 'x', '--env-file', 'mine.env'], {
      files: { 'mine.env': 'CHATCLI_MAX_RETRIES=lots\n' },
    });

    expect(run.exitCode).toBe(3);
    expect(run.stderr).toMatch(/CHATCLI_MAX_RETRIES="lots" from the file .*mine\.env/);
  });

  it('of the current folder is not read by itself, which one line says with both ways to use it', async () => {
    const run = await play(TURNS, ['agent', 'x', '--output-format', 'json'], {
      files: { '.env': 'OPENAI_MODEL=sneaky\nDATABASE_URL=x\n' },
    });

    const lines = run.stderr.split('\n').filter((line) => line.includes('.env'));
    expect(lines).toEqual([
      expect.stringMatching(/^warning: \.\/\.env is not read .*OPENAI_MODEL.*--env-file \.env.*copy/),
    ]);
    expect(lines[0]).not.toMatch(/sneaky|DATABASE_URL/);
    expect(jsonOf(run)).toMatchObject({
      subtype: 'success',
      model: 'mock',
      warnings: [expect.stringContaining('./.env is not read')],
    });
  });

  it('of the current folder is named where a run has no provider, since the key may stand there', async () => {
    const place = makePlace({ '.env': 'OPENAI_API_KEY=sk-sneaky-0123456789\n' });
    const run = await chatcli(['agent', 'x'], {
      place,
      env: { OPENAI_API_KEY: undefined, OPENAI_BASE_URL: undefined },
    });
    expect([run.exitCode, run.stderr]).toEqual([
      3,
      expect.stringMatching(/No provider[\s\S]*\.\/\.env is not read.*chatcli trust env/),
    ]);
    expect(run.stderr).not.toContain('sneaky');
  });

  it.each([
    ['has no name of ours', { '.env': 'DATABASE_URL=x\n' }, []],
    ['is named', { '.env': 'CHATCLI_MAX_RETRIES=1\n' }, ['--env-file', '.env']],
  ])('of the current folder that %s is not worth a word', async (_, files, flags) => {
    const run = await play(TURNS, ['agent', 'x', ...flags], { files });

    expect(run.stderr).not.toContain('.env is not read');
  });
});

describe('the folder of a Go program with the same name', () => {
  it('is neither read nor written', async () => {
    const place = makePlace();
    mkdirSync(join(place.home, '.chatcli'));
    writeFileSync(join(place.home, '.chatcli', '.env'), 'CHATCLI_MAX_RETRIES=lots\n');
    const run = await play(TURNS, ['agent', 'x'], { place, env: { CHATCLI_HOME: undefined } });

    expect(run.exitCode).toBe(0);
  });

  it('is refused as CHATCLI_HOME', async () => {
    const place = makePlace();
    const run = await play(TURNS, ['agent', 'x'], { place, env: { CHATCLI_HOME: join(place.home, '.chatcli') } });

    expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode: 3, requests: 0 });
  });
});

describe('the scripted provider', () => {
  const script = (replies: unknown) => ({ 'script.json': JSON.stringify(replies) });

  it('plays its replies without key or network', async () => {
    const files = script([{ toolCalls: [{ name: 'list_files' }] }, { text: 'all from a file' }]);
    const place = makePlace(files);
    const run = await chatcli(['coder', 'x'], {
      place,
      env: { CHATCLI_PROVIDER: 'scripted', CHATCLI_SCRIPT: 'script.json' },
    });

    expect(run).toMatchObject({ exitCode: 0, stdout: 'all from a file\n' });
  });

  it.each<[string, Readonly<Record<string, string>>, PlayOptions['env']]>([
    ['is not named', {}, {}],
    ['is not there', {}, { CHATCLI_SCRIPT: 'gone.json' }],
    ['is no script', script({ anything: 1 }), { CHATCLI_SCRIPT: 'script.json' }],
  ])('whose script %s is exit 3', async (_, files, env) => {
    const run = await chatcli(['coder', 'x', '--provider', 'scripted'], { place: makePlace(files), env: env ?? {} });

    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode: 3, stdout: '' });
    expect(run.stderr).toMatch(/script/i);
  });
});
