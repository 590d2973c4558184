import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createContextWindows } from '../../src/providers/context-window.js';
import { isOwnAddress } from '../../src/providers/local-kind.js';
import { offeredModels } from '../../src/providers/offered.js';

const closers: (() => unknown)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

type Answers = Readonly<Record<string, unknown>>;

/** Answers paths such as `GET /v1/models` with JSON, `POST /api/show NAME` by the model in its body; else 404. */
async function serve(answers: Answers) {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const body = await textOf(request);
    const path = `${request.method} ${request.url}${body === '' ? '' : ` ${JSON.parse(body).model}`}`;
    asked.push(path);
    const answer = answers[path];
    response
      .writeHead(answer === undefined ? 404 : 200)
      .end(answer === undefined ? 'nothing here' : JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}

const listOf = (...data: readonly object[]) => ({ object: 'list', data });

const OLLAMA: Answers = {
  'GET /v1/models': listOf(
    { id: 'loaded:7b', owned_by: 'library' },
    { id: 'set:latest', owned_by: 'library' },
    { id: 'bare', owned_by: 'library' },
  ),
  'GET /api/ps': { models: [{ name: 'loaded:7b', model: 'loaded:7b', context_length: 32_768 }] },
  'POST /api/show loaded:7b': { parameters: 'num_ctx 4096', model_info: { 'qwen2.context_length': 131_072 } },
  'POST /api/show set:latest': { parameters: 'stop "<|im_end|>"\nnum_ctx                        16384\ntemperature 1' },
  'POST /api/show bare': { parameters: 'temperature 1', model_info: { 'llama.context_length': 131_072 } },
};

const LM_STUDIO: Answers = {
  'GET /v1/models': listOf({ id: 'in', owned_by: 'organization_owner' }, { id: 'out', owned_by: 'organization_owner' }),
  'GET /api/v0/models': listOf(
    { id: 'in', state: 'loaded', max_context_length: 131_072, loaded_context_length: 12_000 },
    { id: 'out', state: 'not-loaded', max_context_length: 40_960 },
  ),
};

const LLAMA_CPP: Answers = {
  'GET /v1/models': listOf({ id: 'q w', owned_by: 'llamacpp', meta: { n_ctx_train: 262_144 } }),
  'GET /props?model=q%20w&autoload=false': { default_generation_settings: { n_ctx: 65_536 } },
};

/** The same server with a list that does not say what it is. */
const unnamed = (answers: Answers, ...ids: readonly string[]): Answers => ({
  ...answers,
  'GET /v1/models': listOf(...ids.map((id) => ({ id, owned_by: 'me' }))),
});

describe('the models of an endpoint', () => {
  it.each<[string, Answers, readonly object[]]>([
    ['as names alone', { 'GET /v1/models': listOf({ id: 'a' }, { id: 'b' }) }, [{ id: 'a' }, { id: 'b' }]],
    [
      'of OpenRouter, with windows and prices',
      {
        'GET /v1/models': listOf(
          {
            id: 'x/a',
            context_length: 400_000,
            top_provider: { context_length: 272_000 },
            pricing: { prompt: '0.0000025', completion: '0.00001', input_cache_read: '0.00000025' },
          },
          { id: 'x/free', context_length: 8_192, pricing: { prompt: '0', completion: '0' } },
          { id: 'x/auto', context_length: 2_000_000, pricing: { prompt: '-1', completion: '-1' } },
        ),
      },
      [
        { id: 'x/a', contextTokens: 272_000, price: { input: 2.5, output: 10, cachedInput: 0.25 } },
        { id: 'x/free', contextTokens: 8_192, price: { input: 0, output: 0, cachedInput: 0 } },
        { id: 'x/auto', contextTokens: 2_000_000 },
      ],
    ],
    ['of vLLM', { 'GET /v1/models': listOf({ id: 'a', max_model_len: 16_384 }) }, [{ id: 'a', contextTokens: 16_384 }]],
    [
      'of Groq',
      { 'GET /v1/models': listOf({ id: 'a', context_window: 131_072 }) },
      [{ id: 'a', contextTokens: 131_072 }],
    ],
    [
      'of Mistral',
      { 'GET /v1/models': listOf({ id: 'a', max_context_length: 32_768 }) },
      [{ id: 'a', contextTokens: 32_768 }],
    ],
    [
      'of Ollama',
      OLLAMA,
      [
        { id: 'loaded:7b', contextTokens: 32_768, mostContextTokens: 131_072 },
        { id: 'set:latest', contextTokens: 16_384 },
        { id: 'bare', mostContextTokens: 131_072 },
      ],
    ],
    [
      'of LM Studio',
      LM_STUDIO,
      [
        { id: 'in', contextTokens: 12_000, mostContextTokens: 131_072 },
        { id: 'out', mostContextTokens: 40_960 },
      ],
    ],
    ['of llama.cpp', LLAMA_CPP, [{ id: 'q w', contextTokens: 65_536, mostContextTokens: 262_144 }]],
    [
      'of a newer llama.cpp',
      { 'GET /v1/models': listOf({ id: 'a', owned_by: 'llamacpp', meta: { n_ctx: 16_384, n_ctx_train: 131_072 } }) },
      [{ id: 'a', contextTokens: 16_384, mostContextTokens: 131_072 }],
    ],
    [
      'with windows as texts',
      { 'GET /v1/models': listOf({ id: 'a', context_length: '8192' }, { id: 'b', context_length: 'much' }) },
      [{ id: 'a', contextTokens: 8_192 }, { id: 'b' }],
    ],
    [
      'with windows that no model has',
      { 'GET /v1/models': listOf({ id: 'a', context_length: 1e99 }, { id: 'b', max_model_len: '100000001' }) },
      [{ id: 'a' }, { id: 'b' }],
    ],
    ['with odd entries', { 'GET /v1/models': listOf({ id: 'a', context_length: [] }, {}, { id: 7 }) }, [{ id: 'a' }]],
  ])('%s', async (_, answers, expected) => {
    const { baseUrl } = await serve(answers);
    expect(await offeredModels({ name: 'openai', baseUrl, timeoutMs: 5_000 })).toMatchObject({ models: expected });
    const offer = await offeredModels({ name: 'openai', baseUrl, timeoutMs: 5_000 });
    expect('models' in offer && offer.models).toEqual(expected);
  });

  it.each<[string, Answers, RegExp]>([
    ['has no list', {}, /\/v1\/models answered 404: nothing here$/],
    ['answers something else', { 'GET /v1/models': { ok: true } }, /\/v1\/models holds no list of models\.$/],
  ])('of one that %s are told as missing', async (_, answers, problem) => {
    const { baseUrl } = await serve(answers);
    expect(await offeredModels({ name: 'openai', baseUrl, timeoutMs: 5_000 })).toEqual({
      problem: expect.stringMatching(problem),
    });
  });
});

describe('the window of a model', () => {
  const ownServer = (baseUrl: string, name = 'openai') => ({ name, baseUrl });

  it('is what the person set, and nobody is asked', async () => {
    const { baseUrl, asked } = await serve(OLLAMA);
    const contextWindow = createContextWindows({ setting: 50_000, endpoint: ownServer(baseUrl) });
    expect(await contextWindow('loaded:7b')).toEqual({ tokens: 50_000, source: 'setting' });
    expect(asked).toEqual([]);
  });

  it.each<[string, Answers, string, string, object]>([
    ['of Ollama, loaded', OLLAMA, 'openai', 'loaded:7b', { tokens: 32_768, source: 'endpoint' }],
    ['of Ollama, by its Modelfile, without its tag', OLLAMA, 'ollama', 'set', { tokens: 16_384, source: 'endpoint' }],
    ['of Ollama, untold', OLLAMA, 'ollama', 'bare', { tokens: 8_192, source: 'default' }],
    ['of LM Studio, loaded', LM_STUDIO, 'lmstudio', 'in', { tokens: 12_000, source: 'endpoint' }],
    ['of LM Studio, not loaded', LM_STUDIO, 'openai', 'out', { tokens: 8_192, source: 'default' }],
    [
      'of an Ollama that only its own API tells',
      unnamed(OLLAMA, 'loaded:7b'),
      'openai',
      'loaded:7b',
      { tokens: 32_768, source: 'endpoint' },
    ],
    [
      'of an LM Studio that only its own API tells',
      unnamed(LM_STUDIO, 'out'),
      'openai',
      'out',
      { tokens: 8_192, source: 'default' },
    ],
    [
      'of a llama.cpp that only its own API tells',
      { ...unnamed(LLAMA_CPP, 'q w'), 'GET /props': { default_generation_settings: { n_ctx: 65_536 } } },
      'openai',
      'q w',
      { tokens: 65_536, source: 'endpoint' },
    ],
    [
      'of another server around',
      {
        'GET /v1/models': listOf({ id: 'unheard' }),
        'GET /api/v0/models': listOf({ id: 'unheard' }),
        'GET /props': {},
        'GET /api/ps': { models: 'all' },
      },
      'openai',
      'unheard',
      { tokens: 128_000, source: 'default' },
    ],
    [
      'of a server that tells next to nothing, by the table',
      { 'GET /v1/models': listOf({ id: 'gpt-4.1', context_length: 999 }) },
      'openai',
      'gpt-4.1',
      { tokens: 1_047_576, source: 'table' },
    ],
    [
      'of a server that tells a small one',
      { 'GET /v1/models': listOf({ id: 'gpt-4.1', context_length: 1_000 }) },
      'openai',
      'gpt-4.1',
      { tokens: 1_000, source: 'endpoint' },
    ],
    ['of llama.cpp', LLAMA_CPP, 'llamacpp', 'q w', { tokens: 65_536, source: 'endpoint' }],
    [
      'of a server that tells less than the table',
      { 'GET /v1/models': listOf({ id: 'openai/gpt-oss-120b', max_model_len: 32_768 }) },
      'vllm',
      'openai/gpt-oss-120b',
      { tokens: 32_768, source: 'endpoint' },
    ],
    [
      'of a gateway that tells nothing, by the table',
      { 'GET /v1/models': listOf({ id: 'gpt-4.1' }) },
      'openai',
      'gpt-4.1',
      { tokens: 1_047_576, source: 'table' },
    ],
    ['of a server without a list, by the table', {}, 'openai', 'gpt-4.1', { tokens: 1_047_576, source: 'table' }],
    ['of a server that tells nothing', {}, 'openai', 'unheard', { tokens: 128_000, source: 'default' }],
    ['of a local preset that tells nothing', {}, 'ollama', 'gpt-oss-120b', { tokens: 8_192, source: 'default' }],
  ])('%s', async (_, answers, name, model, expected) => {
    const { baseUrl } = await serve(answers);
    expect(await createContextWindows({ endpoint: ownServer(baseUrl, name) })(model)).toEqual(expected);
  });

  it.each([
    ['gpt-5.4', { tokens: 1_050_000, source: 'table' }],
    ['unheard', { tokens: 128_000, source: 'default' }],
  ])('%s at its maker needs no question', async (model, expected) => {
    // A proxy that is not there would make any question fail, and the answer would be the same; so it is counted.
    const { asked, baseUrl } = await serve({});
    const network = { proxy: { https: baseUrl } };
    const endpoint = { name: 'openai', baseUrl: 'https://api.openai.com/v1', network };
    expect(await createContextWindows({ endpoint })(model)).toEqual(expected);
    expect(asked).toEqual([]);
  });

  it('is asked once where it is known, and a few times where it may still come', async () => {
    const { baseUrl, asked } = await serve(LM_STUDIO);
    const contextWindow = createContextWindows({ endpoint: ownServer(baseUrl, 'lmstudio') });
    await Promise.all([contextWindow('in'), contextWindow('in')]);
    await contextWindow('in');
    expect(asked).toEqual(['GET /v1/models', 'GET /api/v0/models']);
    for (let count = 0; count < 6; count += 1) await contextWindow('out');
    expect(asked).toHaveLength(2 + 3 * 2);
  });

  it('of a server that does not answer is the default, in bounded time', async () => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => {
      server.close();
      server.closeAllConnections();
    });
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const contextWindow = createContextWindows({ endpoint: ownServer(baseUrl), timeoutMs: 50 });
    expect(await contextWindow('m')).toEqual({ tokens: 128_000, source: 'default' });
  });

  it('without an endpoint is by the table or the default', async () => {
    const contextWindow = createContextWindows({});
    expect(await contextWindow('o3')).toEqual({ tokens: 200_000, source: 'table' });
    expect(await contextWindow('scripted')).toEqual({ tokens: 128_000, source: 'default' });
  });
});

describe('an address', () => {
  it.each([
    ['http://127.0.0.1:1/v1', true],
    ['http://localhost/v1', true],
    ['http://10.1.2.3/v1', true],
    ['http://172.31.0.1/v1', true],
    ['http://192.168.1.9/v1', true],
    ['http://[::1]:1/v1', true],
    ['http://[fd00::1]/v1', true],
    ['http://workstation:11434/v1', true],
    ['http://nas.local/v1', true],
    ['http://172.32.0.1/v1', false],
    ['http://8.8.8.8/v1', false],
    ['http://10.example.com/v1', false],
    ['https://api.example.com/v1', false],
    ['nothing', false],
  ])("%s is one of a network of one's own: %s", (baseUrl, expected) => {
    expect(isOwnAddress(baseUrl)).toBe(expected);
  });
});
