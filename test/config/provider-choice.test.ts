import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Environment } from '../../src/config/environment.js';
import { loadConfig } from '../../src/config/load.js';
import type { ProviderChoice } from '../../src/config/provider-choice.js';
import { VARIABLES, type Variable } from '../../src/config/schema.js';
import { PRESETS } from '../../src/providers/presets.js';
import { type Bench, makeBench } from './bench.js';

let bench: Bench;
beforeAll(async () => {
  bench = await makeBench();
});
afterAll(() => bench.remove());

const OPENAI = {
  kind: 'endpoint',
  name: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  apiKey: 'openai-key',
  model: 'openai-default',
} as const;
const GROQ = {
  kind: 'endpoint',
  name: 'groq',
  baseUrl: 'https://api.groq.com/openai/v1',
  apiKey: 'groq-key',
  model: 'groq-default',
} as const;
const LOCAL_URL = 'http://127.0.0.1:8080/v1';

describe('the presets', () => {
  it('have only key variables that the schema knows as secrets, and the schema knows no other', () => {
    const inSchema = Object.entries<Variable>(VARIABLES).filter(([, { secret }]) => secret);
    const names = inSchema.map(([name]) => name).filter((name) => name !== 'CHATCLI_API_KEY');
    expect(PRESETS.flatMap(({ keyVariable }) => keyVariable ?? []).toSorted()).toEqual(names.toSorted());
  });

  it.each(PRESETS.flatMap(({ name, keyVariable }) => (keyVariable ? [[name, keyVariable] as const] : [])))(
    'of the program itself include %s, chosen by its key',
    async (name, keyVariable) => {
      const { config } = await loadConfig({
        env: { [keyVariable]: 'its-key', OPENAI_MODEL: 'm' },
        cwd: bench.cwd,
        homedir: bench.home,
        platform: 'linux',
      });
      expect(config.provider).toMatchObject({ kind: 'endpoint', name, apiKey: 'its-key', model: 'm' });
    },
  );
});

describe('the provider', () => {
  it.each<[string, Environment, ProviderChoice]>([
    ['is none without any setting', {}, { kind: 'none' }],
    ['is none with a model alone', { OPENAI_MODEL: 'm' }, { kind: 'none', model: 'm' }],
    ['is none with a script alone', { CHATCLI_SCRIPT: 's.json' }, { kind: 'none' }],
    ['is openai with its key', { OPENAI_API_KEY: 'openai-key' }, OPENAI],
    ['is openai with a general key', { CHATCLI_API_KEY: 'mine' }, { ...OPENAI, apiKey: 'mine' }],
    [
      'takes the general key, URL and model before those of openai',
      {
        CHATCLI_API_KEY: 'mine',
        CHATCLI_BASE_URL: 'https://proxy.example.com/v1',
        CHATCLI_MODEL: 'big',
        OPENAI_API_KEY: 'openai-key',
        OPENAI_BASE_URL: LOCAL_URL,
        OPENAI_MODEL: 'small',
      },
      { kind: 'endpoint', name: 'openai', baseUrl: 'https://proxy.example.com/v1', apiKey: 'mine', model: 'big' },
    ],
    [
      'needs no key for a server of this machine',
      { OPENAI_BASE_URL: LOCAL_URL, OPENAI_MODEL: 'm' },
      { ...OPENAI, baseUrl: LOCAL_URL, apiKey: 'none', model: 'm' },
    ],
    [
      'is openai with a base URL, whatever other keys are there, and sends none of them',
      { OPENAI_BASE_URL: LOCAL_URL, GROQ_API_KEY: 'groq-key' },
      { kind: 'endpoint', name: 'openai', baseUrl: LOCAL_URL, apiKey: 'none' },
    ],
    ['is the preset whose key is set', { GROQ_API_KEY: 'groq-key' }, GROQ],
    ['is openai before another preset', { GROQ_API_KEY: 'groq-key', OPENAI_API_KEY: 'openai-key' }, OPENAI],
    [
      'is the first in the order of the presets',
      { OPENROUTER_API_KEY: 'or', GROQ_API_KEY: 'groq-key', OPENAI_MODEL: 'm' },
      { ...GROQ, model: 'm' },
    ],
    [
      'is the one that was named, with its own key',
      { CHATCLI_PROVIDER: 'Groq', GROQ_API_KEY: 'groq-key', OPENAI_API_KEY: 'openai-key' },
      GROQ,
    ],
    [
      'never sends a preset to the URL of openai',
      { CHATCLI_PROVIDER: 'groq', GROQ_API_KEY: 'groq-key', OPENAI_BASE_URL: 'https://openai-proxy.example.com' },
      GROQ,
    ],
    [
      'takes the general URL and key for any preset, and leaves the model open, since others may be served there',
      { CHATCLI_PROVIDER: 'groq', CHATCLI_BASE_URL: 'https://proxy.example.com', CHATCLI_API_KEY: 'mine' },
      { kind: 'endpoint', name: 'groq', baseUrl: 'https://proxy.example.com', apiKey: 'mine' },
    ],
    [
      'leaves the model of a local server open',
      { CHATCLI_PROVIDER: 'ollama', OPENAI_API_KEY: 'openai-key' },
      { kind: 'endpoint', name: 'ollama', baseUrl: 'http://localhost:11434/v1', apiKey: 'none' },
    ],
  ])('%s', async (_, env, expected) => {
    expect((await bench.load(env)).config.provider).toEqual(expected);
  });

  it('is scripted only when named, with the path from the working folder', async () => {
    const env = { CHATCLI_PROVIDER: 'scripted', CHATCLI_SCRIPT: 'replies.json', OPENAI_API_KEY: 'openai-key' };
    expect((await bench.load(env)).config.provider).toEqual({
      kind: 'scripted',
      name: 'scripted',
      scriptPath: path.join(bench.cwd, 'replies.json'),
      model: 'scripted',
    });
  });

  it('is the one of the flag before that of the environment', async () => {
    const env = {
      CHATCLI_PROVIDER: 'openai',
      OPENAI_API_KEY: 'openai-key',
      GROQ_API_KEY: 'groq-key',
      OPENAI_MODEL: 'm',
    };
    const { config } = await bench.load(env, { provider: 'groq', model: 'big' });
    expect(config.provider).toEqual({ ...GROQ, model: 'big' });
  });

  it.each<[string, Environment, RegExp, RegExp]>([
    [
      'a missing key',
      { CHATCLI_PROVIDER: 'groq', OPENAI_API_KEY: 'x' },
      /^GROQ_API_KEY is not set/,
      /--env-file \.env/,
    ],
    ['a missing key of openai', { CHATCLI_PROVIDER: 'openai' }, /^OPENAI_API_KEY is not set/, /config\/chatcli\/\.env/],
    [
      'a public base URL without a key',
      { OPENAI_BASE_URL: 'https://proxy.example.com/v1', GROQ_API_KEY: 'x' },
      /^OPENAI_API_KEY is not set/,
      /Export OPENAI_API_KEY/,
    ],
    ['a missing model', { OPENROUTER_API_KEY: 'x' }, /^OPENAI_MODEL is not set: .*openrouter/, /-m NAME/],
    ['a missing script', { CHATCLI_PROVIDER: 'scripted' }, /^CHATCLI_SCRIPT is not set/, /Set CHATCLI_SCRIPT/],
  ])('names the variable for %s', async (_, env, message, hint) => {
    const error = await bench.failure(env);
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(hint);
  });

  it('names the presets where the name is none of them', async () => {
    const error = await bench.failure({}, { provider: 'gorq' });
    expect(error.message).toBe(
      'CHATCLI_PROVIDER="gorq" from the flag --provider is not valid: allowed is openai, groq, openrouter, ollama, scripted.',
    );
  });
});
