import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Bench, makeBench } from './bench.js';

let bench: Bench;
beforeEach(async () => {
  bench = await makeBench();
});
afterEach(() => bench.remove());

const isWindows = process.platform === 'win32';

describe('an env file', () => {
  it('may set our variables, also with export, quotes, comments, CRLF and a byte order mark', async () => {
    await bench.write(
      bench.userEnvFile,
      '\uFEFFexport OPENAI_API_KEY="sk-12345678" # mine\r\nCHATCLI_AGENT_CODER_MODEL=\'big one\'\r\n\r\n# LOG_LEVEL=debug\r\n',
    );
    const { config } = await bench.load();
    expect(config.provider).toMatchObject({ name: 'openai', apiKey: 'sk-12345678' });
    expect(config.workers.own).toEqual({ coder: { model: 'big one' } });
    expect(config.log.level).toBe('silent');
  });

  it('sets nothing else: no CHATCLI_HOME, no CHATCLI_DOTENV, nothing that is not ours', async () => {
    const other = await bench.write('other.env', 'CHATCLI_MAX_REQUESTS=1\n');
    await bench.write(
      bench.userEnvFile,
      `CHATCLI_HOME=/elsewhere\nCHATCLI_DOTENV=${other}\nNODE_OPTIONS=--inspect\nPATH=/evil\n__proto__=x\nFOO=bar\nCHATCLI_TIMEOUT=1m\n`,
    );
    const { config, origins } = await bench.load();
    expect(config.folders.config).toBe(path.dirname(bench.userEnvFile));
    expect(config.run).toEqual({ timeoutMs: 60_000 });
    expect(Object.keys(origins).filter((name) => origins[name] !== 'default')).toEqual(['CHATCLI_TIMEOUT']);
  });

  it('of the config folder is that of CHATCLI_HOME, where one is set', async () => {
    const own = path.join(bench.home, 'own');
    await bench.write(path.join(own, '.env'), 'CHATCLI_MAX_REQUESTS=2\n');
    await bench.write(bench.userEnvFile, 'CHATCLI_MAX_REQUESTS=1\n');
    expect((await bench.load({ CHATCLI_HOME: own })).config.run).toEqual({ maxRequests: 2 });
  });

  it('may be an empty one', async () => {
    const envFile = await bench.write('empty.env', '');
    expect((await bench.load({}, { envFile })).config.provider).toEqual({ kind: 'none' });
  });

  it('that was named must be there', async () => {
    const missing = path.join(bench.cwd, 'no', 'such.env');
    const byFlag = await bench.failure({}, { envFile: 'no/such.env' });
    expect(byFlag.message).toBe(`Cannot read the env file ${missing}, named by --env-file: there is no such file.`);
    const byVariable = await bench.failure({ CHATCLI_DOTENV: missing });
    expect(byVariable.message).toBe(
      `Cannot read the env file ${missing}, named by CHATCLI_DOTENV: there is no such file.`,
    );
    expect((await bench.failure({}, { envFile: '' })).message).toBe('--env-file needs the path of a file.');
  });

  it.each([
    ['a folder', async (file: string) => void (await mkdir(file, { recursive: true })), /^Cannot read the env file/],
    ['too long', (file: string) => bench.write(file, `#${'x'.repeat(64 * 1024)}`), /at most 64 kB\.$/],
    ['UTF-16', (file: string) => bench.write(file, Buffer.from('OPENAI_API_KEY=x', 'utf16le')), /not UTF-8 text\.$/],
  ])('that is %s is an error, wherever it is', async (_, make, message) => {
    const named = path.join(bench.cwd, 'named.env');
    await make(named);
    expect((await bench.failure({}, { envFile: named })).message).toMatch(message);
    await make(bench.userEnvFile);
    expect((await bench.failure()).message).toMatch(message);
  });

  it.skipIf(isWindows)(
    'that may not be read is a notice in the config folder, and an error where it was named',
    async () => {
      // Not even root may read this one.
      const closed = '/proc/sys/vm/compact_memory';
      await mkdir(path.dirname(bench.userEnvFile), { recursive: true });
      if (existsSync(closed)) await symlink(closed, bench.userEnvFile);
      else await writeFile(bench.userEnvFile, 'CHATCLI_MAX_REQUESTS=1\n', { mode: 0 });

      const { config, notices } = await bench.load({ OPENAI_API_KEY: 'sk-12345678' });
      expect(config.provider).toMatchObject({ name: 'openai' });
      expect(config.run).toEqual({});
      expect(notices).toEqual([
        {
          code: 'env-file-unreadable',
          text: expect.stringMatching(/^Cannot read the env file .*\.env: EACCES.*\. Going on without it\.$/),
        },
      ]);
      const named = await bench.failure({}, { envFile: bench.userEnvFile });
      expect(named.message).toMatch(/^Cannot read the env file .*, named by --env-file: EACCES/);
    },
  );

  it.skipIf(isWindows)('may be a pipe where it was named', async () => {
    const pipe = path.join(bench.cwd, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const writing = bench.write('pipe', 'CHATCLI_MAX_REQUESTS=3\n');
    expect((await bench.load({}, { envFile: pipe })).config.run).toEqual({ maxRequests: 3 });
    await writing;
  });
});

describe('./.env', () => {
  const SECRET = 'sk-in-the-project';

  it('is not read, and one notice names its keys and both ways to use it, not the values', async () => {
    await bench.write('.env', `OPENAI_API_KEY=${SECRET}\nCHATCLI_AGENT_CODER_MODEL=evil\nPORT=80\nCHATCLI_HOME=/x\n`);
    const { config, notices, secretValues } = await bench.load();
    expect(config.provider).toEqual({ kind: 'none' });
    expect(config.workers.own).toEqual({});
    expect(secretValues).toEqual([]);
    expect(notices).toEqual([
      {
        code: 'dotenv-not-read',
        text:
          './.env is not read by itself (it sets OPENAI_API_KEY, CHATCLI_AGENT_CODER_MODEL). ' +
          'To use it: --env-file .env for one run, chatcli trust env for every run until it changes, ' +
          `or copy it to ${bench.userEnvFile}.`,
      },
    ]);
  });

  it('cannot redirect a key', async () => {
    await bench.write('.env', 'OPENAI_BASE_URL=http://evil.example.com\nCHATCLI_BASE_URL=http://evil.example.com\n');
    const { config, notices } = await bench.load({ OPENAI_API_KEY: 'sk-12345678' });
    expect(config.provider).toMatchObject({ baseUrl: 'https://api.openai.com/v1' });
    expect(notices.map(({ text }) => text)).toEqual([
      expect.stringContaining('(it sets OPENAI_BASE_URL, CHATCLI_BASE_URL)'),
    ]);
  });

  it.each([
    ['has none of our keys', 'PORT=80\nDATABASE_URL=x\n'],
    ['has only names that every program reads', 'LOG_LEVEL=verbose\nNO_COLOR=1\n'],
    ['has only empty values', 'OPENAI_API_KEY=\n'],
    ['is empty', ''],
    ['is too long to be looked at', `OPENAI_API_KEY=x\n#${'x'.repeat(64 * 1024)}`],
    ['says what is in force anyway', 'OPENAI_API_KEY=sk-12345678\n'],
  ])('is not worth a notice where it %s', async (_, content) => {
    await bench.write('.env', content);
    expect((await bench.load({ OPENAI_API_KEY: 'sk-12345678' })).notices).toEqual([]);
  });

  it('is told of where the environment says something else', async () => {
    await bench.write('.env', 'OPENAI_MODEL=theirs\n');
    expect((await bench.load({ OPENAI_MODEL: 'mine' })).notices).toHaveLength(1);
  });

  it('is read, without a notice, where it was named', async () => {
    await bench.write('.env', 'OPENAI_API_KEY=sk-12345678\n');
    const { config, notices } = await bench.load({}, { envFile: '.env' });
    expect(config.provider).toMatchObject({ name: 'openai' });
    expect(notices).toEqual([]);
  });

  it('may be a folder or be missing', async () => {
    await mkdir(path.join(bench.cwd, '.env'));
    expect((await bench.load()).notices).toEqual([]);
  });

  it.skipIf(isWindows)('is not waited for where it is a pipe, or a link to one', async () => {
    execFileSync('mkfifo', [path.join(bench.cwd, 'pipe')]);
    await symlink('pipe', path.join(bench.cwd, '.env'));
    expect((await bench.load()).notices).toEqual([]);
  });

  it.skipIf(isWindows)('is not read on and on where it is a device', async () => {
    await symlink('/dev/zero', path.join(bench.cwd, '.env'));
    expect((await bench.load()).notices).toEqual([]);
  });
});
