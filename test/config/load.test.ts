import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { processEnvironment } from '../../src/config/environment.js';
import { limitsFor } from '../../src/config/limits.js';
import { type Bench, makeBench } from './bench.js';

let bench: Bench;
beforeEach(async () => {
  bench = await makeBench();
});
afterEach(() => bench.remove());

describe('loadConfig', () => {
  it('gives the defaults where nothing is set', async () => {
    const folder = (...parts: string[]) => path.join(bench.home, ...parts, 'chatcli');
    const expected: Config = {
      provider: { kind: 'none' },
      openaiApi: 'auto',
      toolProtocol: 'auto',
      workers: { parallel: true, maxTurns: 30, timeoutMs: 600_000, own: {}, fromFlags: {} },
      run: {},
      approvalTimeoutMs: 1_800_000,
      sandbox: { setting: 'auto', network: false, readable: [] },
      requests: { maxRetries: 3, firstByteTimeoutMs: 120_000, idleTimeoutMs: 75_000, sendReasoning: 'auto' },
      network: { proxy: {}, headers: {} },
      models: { fallbacks: [] },
      log: { level: 'silent' },
      folders: {
        config: folder('.config'),
        data: folder('.local', 'share'),
        state: folder('.local', 'state'),
        cache: folder('.cache'),
      },
    };
    const loaded = await bench.load();
    expect(loaded.config).toStrictEqual(expected);
    expect(loaded.secretValues).toEqual([]);
    expect(loaded.notices).toEqual([]);
    expect(new Set(Object.values(loaded.origins))).toEqual(new Set(['default']));
  });

  it('gives every setting its field and its unit', async () => {
    const { config } = await bench.load({
      CHATCLI_AGENT_WORKER_MAX_TURNS: '12',
      CHATCLI_AGENT_WORKER_TIMEOUT: '1m',
      CHATCLI_AGENT_PARALLEL_MODE: 'no',
      CHATCLI_AGENT_CODER_MODEL: 'big',
      CHATCLI_AGENT_CODER_MAX_TURNS: '50',
      CHATCLI_AGENT_CODE_REVIEW_TIMEOUT: '2m',
      CHATCLI_MAX_REQUESTS: '9',
      CHATCLI_MAX_TOKENS_TOTAL: '1000',
      CHATCLI_MAX_BUDGET_USD: '0.5',
      CHATCLI_TIMEOUT: '1h',
      CHATCLI_OPENAI_API: 'Responses',
      CHATCLI_APPROVAL_MODE: 'acceptEdits',
      CHATCLI_APPROVAL_TIMEOUT: '7m',
      CHATCLI_SANDBOX: 'Required',
      CHATCLI_SANDBOX_NETWORK: 'on',
      CHATCLI_SANDBOX_READ: ['/opt/a', '/opt/b'].join(path.delimiter),
      CHATCLI_MAX_RETRIES: '0',
      CHATCLI_FIRST_BYTE_TIMEOUT: '5s',
      CHATCLI_IDLE_TIMEOUT: '6s',
      CHATCLI_SEND_REASONING: 'never',
      HTTP_PROXY: 'plain:1',
      ALL_PROXY: 'http://all:2',
      NO_PROXY: 'localhost',
      CHATCLI_HEADERS: 'X-Team: blue',
      CHATCLI_CA_BUNDLE: 'ca.pem',
      NODE_EXTRA_CA_CERTS: 'extra.pem',
      OPENAI_ORG_ID: 'org-1',
      OPENAI_PROJECT_ID: 'proj-1',
      CHATCLI_FALLBACK_MODELS: 'b,c',
      CHATCLI_CONTEXT_WINDOW: '32000',
      CHATCLI_PRICE_INPUT: '0.25',
      CHATCLI_PRICE_OUTPUT: '2',
      CHATCLI_LOG_FILE: 'logs/run.log',
      FORCE_COLOR: '1',
      CHATCLI_HOME: path.join(bench.home, 'own'),
    });
    expect(config).toStrictEqual({
      provider: { kind: 'none' },
      openaiApi: 'responses',
      toolProtocol: 'auto',
      workers: {
        parallel: false,
        maxTurns: 12,
        timeoutMs: 60_000,
        own: { coder: { model: 'big', maxTurns: 50 }, 'code-review': { timeoutMs: 120_000 } },
        fromFlags: {},
      },
      run: { maxRequests: 9, maxTokens: 1_000, maxCostUsd: 0.5, timeoutMs: 3_600_000 },
      approvalMode: 'auto-edit',
      approvalTimeoutMs: 420_000,
      sandbox: { setting: 'required', network: true, readable: ['/opt/a', '/opt/b'] },
      requests: { maxRetries: 0, firstByteTimeoutMs: 5_000, idleTimeoutMs: 6_000, sendReasoning: 'never' },
      network: {
        proxy: { http: 'http://plain:1', https: 'http://all:2', noProxy: 'localhost' },
        headers: { 'x-team': 'blue' },
        caBundle: path.join(bench.cwd, 'ca.pem'),
        nodeExtraCertificates: 'extra.pem',
        organization: 'org-1',
        project: 'proj-1',
      },
      models: { fallbacks: ['b', 'c'], contextWindow: 32_000 },
      price: { inputUsdPerMillion: 0.25, outputUsdPerMillion: 2 },
      log: { level: 'info', file: path.join(bench.cwd, 'logs/run.log') },
      color: true,
      folders: {
        config: path.join(bench.home, 'own'),
        data: path.join(bench.home, 'own', 'data'),
        state: path.join(bench.home, 'own', 'state'),
        cache: path.join(bench.home, 'own', 'cache'),
      },
    } satisfies Config);
  });

  it.each([
    [{}, undefined],
    [{ NO_COLOR: '' }, undefined],
    [{ NO_COLOR: '0' }, false],
    [{ NO_COLOR: '1', FORCE_COLOR: '1' }, false],
    [{ FORCE_COLOR: 'always' }, true],
    [{ FORCE_COLOR: '0' }, false],
    [{ FORCE_COLOR: 'False' }, false],
  ])('reads the colours of %j as %s', async (env, expected) => {
    expect((await bench.load(env)).config.color).toBe(expected);
  });

  it('takes an empty value as not set', async () => {
    await bench.write(bench.userEnvFile, 'CHATCLI_AGENT_WORKER_MAX_TURNS=7\nCHATCLI_TIMEOUT=\n');
    const { config } = await bench.load({
      CHATCLI_AGENT_WORKER_MAX_TURNS: '',
      CHATCLI_MAX_RETRIES: '  ',
      OPENAI_API_KEY: '',
      CHATCLI_AGENT_CODER_TIMEOUT: '',
      CHATCLI_DOTENV: '',
      CHATCLI_HOME: '',
    });
    expect(config.workers).toMatchObject({ maxTurns: 7, own: {} });
    expect(config.requests.maxRetries).toBe(3);
    expect(config.run).toEqual({});
    expect(config.provider).toEqual({ kind: 'none' });
  });

  it('trims what surrounds a value', async () => {
    const { config, secretValues } = await bench.load({ OPENAI_API_KEY: ' sk-12345678\n', CHATCLI_MAX_RETRIES: ' 4 ' });
    expect(config.provider).toMatchObject({ apiKey: 'sk-12345678' });
    expect(config.requests.maxRetries).toBe(4);
    expect(secretValues).toEqual(['sk-12345678']);
  });

  it('prefers flag, environment, --env-file, CHATCLI_DOTENV and the config folder in this order', async () => {
    const names = ['CHATCLI_MAX_REQUESTS', 'CHATCLI_MAX_TOKENS_TOTAL', 'CHATCLI_AGENT_WORKER_MAX_TURNS', 'LOG_LEVEL'];
    const fileOf = (value: string) => [...names, 'CHATCLI_MAX_RETRIES'].map((name) => `${name}=${value}\n`).join('');
    await bench.write(bench.userEnvFile, fileOf('1').replace('LOG_LEVEL=1', 'LOG_LEVEL=debug'));
    const dotenv = await bench.write(
      'b.env',
      'CHATCLI_MAX_REQUESTS=2\nCHATCLI_MAX_TOKENS_TOTAL=2\nCHATCLI_MAX_RETRIES=2\n',
    );
    const envFile = await bench.write('a.env', 'CHATCLI_MAX_REQUESTS=3\nCHATCLI_MAX_TOKENS_TOTAL=3\n');
    const { config, origins } = await bench.load(
      { CHATCLI_DOTENV: 'b.env', CHATCLI_MAX_REQUESTS: '4', CHATCLI_AGENT_WORKER_MAX_TURNS: '4' },
      { envFile: 'a.env', maxTurns: '5' },
    );
    expect(config.workers.maxTurns).toBe(5);
    expect(config.run).toEqual({ maxRequests: 4, maxTokens: 3 });
    expect(config.requests.maxRetries).toBe(2);
    expect(config.log.level).toBe('debug');
    expect(origins).toMatchObject({
      CHATCLI_AGENT_WORKER_MAX_TURNS: 'flag',
      CHATCLI_MAX_REQUESTS: 'environment',
      CHATCLI_MAX_TOKENS_TOTAL: `file:${envFile}`,
      CHATCLI_MAX_RETRIES: `file:${dotenv}`,
      LOG_LEVEL: `file:${bench.userEnvFile}`,
      CHATCLI_IDLE_TIMEOUT: 'default',
    });
  });

  it('prefers CHATCLI_* to OPENAI_* wherever each of them stands', async () => {
    await bench.write(bench.userEnvFile, 'CHATCLI_MODEL=mine\n');
    const { config } = await bench.load({ OPENAI_MODEL: 'ambient', OPENAI_API_KEY: 'sk-12345678' });
    expect(config.provider).toMatchObject({ model: 'mine' });
  });

  it("bounds a worker by flag, then its own variable, then the general one, then its page's", async () => {
    const env = { CHATCLI_AGENT_WORKER_MAX_TURNS: '10', CHATCLI_AGENT_CODER_MAX_TURNS: '20' };
    const turns = async (flags: { maxTurns?: string }, worker: string, page?: { maxTurns: number }) =>
      limitsFor((await bench.load(env, flags)).config.workers, worker, page).maxTurns;
    expect([
      await turns({}, 'file'),
      await turns({}, 'coder'),
      await turns({}, 'coder', { maxTurns: 15 }),
      await turns({}, 'coder', { maxTurns: 25 }),
      await turns({ maxTurns: '40' }, 'coder'),
      await turns({ maxTurns: '40' }, 'coder', { maxTurns: 15 }),
    ]).toEqual([10, 20, 15, 20, 40, 15]);
  });

  it('takes every flag', async () => {
    const { config } = await bench.load(
      {},
      {
        provider: 'groq',
        model: 'm',
        maxTurns: '2',
        timeout: '90',
        maxRequests: '3',
        maxTokensTotal: '4',
        maxBudgetUsd: '5',
        approvalMode: 'plan',
        envFile: await bench.write('keys.env', 'GROQ_API_KEY=groq-key'),
      },
    );
    expect(config.provider).toMatchObject({ name: 'groq', model: 'm' });
    expect(config.workers.fromFlags).toEqual({ maxTurns: 2, model: 'm' });
    expect(config.run).toEqual({ timeoutMs: 90_000, maxRequests: 3, maxTokens: 4, maxCostUsd: 5 });
    expect(config.approvalMode).toBe('read-only');
  });

  it('leaves the process environment alone', async () => {
    const before = processEnvironment();
    const envFile = await bench.write('a.env', 'OPENAI_API_KEY=sk-12345678\nNODE_OPTIONS=--inspect\nFOO=1\n');
    await bench.load({}, { envFile });
    expect(processEnvironment()).toEqual(before);
  });
});

describe('secretValues', () => {
  it('holds every key of every source, used or not, and passwords in URLs', async () => {
    await bench.write(bench.userEnvFile, 'OPENAI_API_KEY=from-the-user-file\nMISTRAL_API_KEY=mistral-key\n');
    const { secretValues } = await bench.load(
      {
        OPENAI_API_KEY: 'from-the-environment',
        CHATCLI_API_KEY: 'general-key',
        ANTHROPIC_API_KEY: 'anthropic-key',
        CHATCLI_BASE_URL: 'https://ann:p%40ss@proxy.example.com/v1',
      },
      { envFile: await bench.write('a.env', 'OPENAI_API_KEY="from-the-named-file"\n') },
    );
    expect([...secretValues].toSorted()).toEqual([
      'anthropic-key',
      'from-the-environment',
      'from-the-named-file',
      'from-the-user-file',
      'general-key',
      'mistral-key',
      'p%40ss',
      'p@ss',
    ]);
  });
});
