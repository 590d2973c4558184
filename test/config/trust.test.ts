import { execFile } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTrust, sha256Of, storedTrust, storeTrust, type TrustEntry } from '../../src/config/trust.js';
import { type Bench, makeBench } from './bench.js';

let bench: Bench;
let stateFolder: string;
let file: string;
beforeEach(async () => {
  bench = await makeBench();
  stateFolder = path.join(bench.home, '.local', 'state', 'chatcli');
  file = path.join(stateFolder, 'trust.json');
});
afterEach(() => bench.remove());

const entry = (more: Partial<TrustEntry> = {}): TrustEntry => ({
  isTrusted: true,
  items: new Map(),
  envFiles: new Map(),
  ...more,
});
const open = (cwd = bench.cwd, trustsWorkspace = false) =>
  openTrust({ stateFolder, cwd, home: bench.home, trustsWorkspace });

describe('trust', () => {
  it('is given to nothing by itself', async () => {
    const trust = await open();
    expect(trust).toMatchObject({ root: bench.cwd, isTrusted: false, isHome: false });
    expect(trust.itemState('a', sha256Of('a'))).toBe('new');
  });

  it('counts for the repository, from each of its folders and by every way that leads to it', async () => {
    await bench.write('.git/HEAD', '');
    await mkdir(path.join(bench.cwd, 'a', 'b'), { recursive: true });
    await bench.write('inner/.git', 'gitdir: elsewhere');
    await symlink(bench.cwd, path.join(bench.home, 'link'));
    await storeTrust(stateFolder, bench.cwd, () => entry());
    const trusted = async (...way: readonly string[]) => (await open(path.join(...way))).isTrusted;
    expect(await trusted(bench.cwd, 'a', 'b')).toBe(true);
    expect(await trusted(bench.home, 'link', 'a')).toBe(true);
    expect(await trusted(bench.cwd, 'inner')).toBe(false);
    expect(await trusted(bench.cwd, '..')).toBe(false);
  });

  it('is bound to a content: another one is changed, an unknown one new', async () => {
    await storeTrust(stateFolder, bench.cwd, () =>
      entry({ items: new Map([['x', sha256Of('1')]]), envFiles: new Map([['.env', sha256Of('1')]]) }),
    );
    const trust = await open();
    const states = ['x', 'y', '__proto__', 'toString'].map((name) => trust.itemState(name, sha256Of('1')));
    expect(states).toEqual(['trusted', 'new', 'new', 'new']);
    expect(trust.itemState('x', sha256Of('2'))).toBe('changed');
    expect([trust.envFileState('.env', sha256Of('1')), trust.envFileState('.env', sha256Of('2'))]).toEqual([
      'trusted',
      'changed',
    ]);
  });

  it('of an env file does not make the folder trusted', async () => {
    await storeTrust(stateFolder, bench.cwd, () =>
      entry({ isTrusted: false, items: new Map([['x', 'y']]), envFiles: new Map([['.env', 'z']]) }),
    );
    const trust = await open();
    expect([trust.isTrusted, trust.itemState('x', 'y'), trust.envFileState('.env', 'z')]).toEqual([
      false,
      'new',
      'trusted',
    ]);
  });

  it('for one run covers what is there, but no env file', async () => {
    const trust = await open(bench.cwd, true);
    expect([trust.isTrusted, trust.itemState('x', 'y'), trust.envFileState('.env', 'z')]).toEqual([
      true,
      'trusted',
      'new',
    ]);
    expect((await open()).isTrusted).toBe(false);
  });
});

describe('the store of trust', () => {
  it('is readable by its owner only, and keeps what it does not know', async () => {
    await bench.write(file, '{"version": 1, "later": [1], "folders": {"/other": {"trusted": true, "since": "x"}}}');
    await storeTrust(stateFolder, bench.cwd, () =>
      entry({
        items: new Map([
          ['b', '2'],
          ['__proto__', '1'],
        ]),
      }),
    );
    await storeTrust(stateFolder, '/other', (before) => ({ ...before, isTrusted: false }));
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(
      JSON.parse(
        `{"version": 1, "later": [1], "folders": {"/other": {"trusted": false, "since": "x", "items": {}, "env_files": {}},
          ${JSON.stringify(bench.cwd)}: {"trusted": true, "items": {"__proto__": "1", "b": "2"}, "env_files": {}}}}`,
      ),
    );
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
    await storeTrust(stateFolder, bench.cwd, () => undefined);
    expect([...(await storedTrust(stateFolder)).keys()]).toEqual(['/other']);
  });

  it('loses nothing where many write at once, also from several processes', async () => {
    const program = `
      const { default: lockfile } = await import('proper-lockfile');
      const { readFileSync, writeFileSync } = await import('node:fs');
      for (let count = 0; count < 5; count += 1) {
        const release = await lockfile.lock(process.argv[1], { realpath: false, retries: { retries: 200, minTimeout: 10, maxTimeout: 50 } });
        const content = JSON.parse(readFileSync(process.argv[1], 'utf8'));
        content.count = (content.count ?? 0) + 1;
        writeFileSync(process.argv[1], JSON.stringify(content));
        await release();
      }`;
    await storeTrust(stateFolder, '/first', () => entry());
    const other = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program, file]);
    const roots = Array.from({ length: 12 }, (_root, index) => `/root/${index}`);
    await Promise.all([other, ...roots.map((root) => storeTrust(stateFolder, root, () => entry()))]);
    expect([...(await storedTrust(stateFolder)).keys()].toSorted()).toEqual(['/first', ...roots].toSorted());
    expect(JSON.parse(readFileSync(file, 'utf8')).count).toBe(5);
  });

  it.each([
    ['broken off', '{"version": 1,\n"folders": {', ':2: not valid JSON (CloseBraceExpected).'],
    ['of another version', '{\n"version": 2}', ':2: its version is not 1.'],
    ['without a version', '{}', ':1: its version is not 1.'],
    ['with a list of folders', '{"version": 1, "folders": []}', ':1: here must be a map, not array.'],
    [
      'with trust that is a text',
      '{"version": 1, "folders": {"/a":\n{"trusted": "yes"}}}',
      ':2: here must be true or false, not string.',
    ],
    [
      'with a hash that is no text',
      '{"version": 1, "folders": {"/a": {"items": {"x":\n1}}}}',
      ':2: here must be a text, not number.',
    ],
    ['with a folder twice', '{"version": 1, "folders": {"/a": {},\n"/a": {}}}', ':2: the key "/a" stands there twice.'],
  ])('that is %s keeps every run from starting, and is not overwritten', async (_, content, message) => {
    await bench.write(file, content);
    const { message: told, hint } = await bench.failure();
    expect(told).toBe(`${file}${message}`);
    expect(hint).toBe('Mend it, or remove it: then no folder is trusted.');
    await expect(storeTrust(stateFolder, '/x', () => entry())).rejects.toThrow(`${file}${message}`);
    expect(readFileSync(file, 'utf8')).toBe(content);
  });
});

describe('./.env, once its content is trusted', () => {
  const trusting = async (content: string) => {
    await bench.write('.env', content);
    await storeTrust(stateFolder, bench.cwd, () =>
      entry({ isTrusted: false, envFiles: new Map([['.env', sha256Of(content)]]) }),
    );
  };

  it('counts below all other sources, with our keys only', async () => {
    await trusting(
      'OPENAI_API_KEY=sk-project1\nOPENAI_BASE_URL=http://127.0.0.1:1/v1\nCHATCLI_MAX_REQUESTS=1\nCHATCLI_TIMEOUT=1m\nCHATCLI_HOME=/x\nCHATCLI_DOTENV=/y\nNODE_OPTIONS=--inspect\n',
    );
    await bench.write(bench.userEnvFile, 'CHATCLI_MAX_REQUESTS=2\n');
    const { config, notices, secretValues, origins } = await bench.load({ CHATCLI_TIMEOUT: '2m' });
    expect(config.provider).toMatchObject({ apiKey: 'sk-project1', baseUrl: 'http://127.0.0.1:1/v1' });
    expect(config.run).toEqual({ maxRequests: 2, timeoutMs: 120_000 });
    expect(config.folders.config).toBe(path.dirname(bench.userEnvFile));
    expect(notices).toEqual([]);
    expect(secretValues).toContain('sk-project1');
    expect(origins.OPENAI_API_KEY).toBe(`file:${path.join(bench.cwd, '.env')}`);
  });

  it('is not used with any other content, and one line says so', async () => {
    await trusting('OPENAI_API_KEY=sk-project1\n');
    await bench.write('.env', 'OPENAI_API_KEY=sk-project1\nOPENAI_BASE_URL=http://evil.example.com\n');
    const { config, notices } = await bench.load();
    expect(config.provider).toEqual({ kind: 'none' });
    expect(notices).toEqual([
      {
        code: 'dotenv-not-read',
        text:
          './.env has changed since you trusted it, and is not used (it sets OPENAI_API_KEY, OPENAI_BASE_URL). ' +
          'To use it: --env-file .env for one run, chatcli trust env for every run until it changes, ' +
          `or copy it to ${bench.userEnvFile}.`,
      },
    ]);
  });

  it('is trusted where it lies: the same content in another folder of the repository is not', async () => {
    await bench.write('.git/HEAD', '');
    await trusting('CHATCLI_MAX_REQUESTS=1\n');
    await bench.write('sub/.env', 'CHATCLI_MAX_REQUESTS=1\n');
    expect((await bench.load()).config.run).toEqual({ maxRequests: 1 });
    expect((await bench.load({}, {}, { cwd: path.join(bench.cwd, 'sub') })).config.run).toEqual({});
  });
});
