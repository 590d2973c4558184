import { afterEach, describe, expect, it } from 'vitest';
import { apiSwitch, presetNeedsResponses } from '../../src/providers/api-switch.js';
import type { ApiName } from '../../src/providers/failures.js';
import { openaiChat } from '../../src/providers/openai-chat.js';
import { openaiResponses } from '../../src/providers/openai-responses.js';
import { presetNamed } from '../../src/providers/presets.js';
import type { ModelDelta } from '../../src/providers/types.js';
import { fails, says, startModelServer, type Turns } from '../fixtures/model-server.js';

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function bench(turns: Turns, needsResponses: (model: string) => boolean = () => false) {
  const server = await startModelServer(turns, { strict: true });
  const options = { name: 'openai', baseUrl: server.url, apiKey: 'k' };
  const opened: ApiName[] = [];
  const provider = apiSwitch({
    name: 'openai',
    needsResponses,
    open: {
      chat: async () => {
        opened.push('chat');
        return openaiChat(options);
      },
      responses: async () => {
        opened.push('responses');
        return openaiResponses(options);
      },
    },
  });
  closers.push(server.close, provider.close);
  async function ask(model = 'm'): Promise<readonly ModelDelta[]> {
    const deltas: ModelDelta[] = [];
    const request = { model, messages: [{ role: 'user', content: 'hi' } as const], tools: [] };
    for await (const delta of provider.stream(request, new AbortController().signal)) deltas.push(delta);
    return deltas.filter(({ type }) => type !== 'activity');
  }
  const paths = () => server.requests.map(({ path, body }) => `${body.model} ${path.replace('/v1/', '')}`);
  return { ask, opened, paths };
}

const HI = [
  { type: 'text', text: 'hi' },
  { type: 'end', finishReason: 'stop' },
];

describe('which API a model is asked through', () => {
  it('is Chat Completions, and nothing else is opened', async () => {
    const { ask, opened, paths } = await bench(() => says('hi'));
    expect(await ask()).toEqual(HI);
    expect(await ask()).toEqual(HI);
    expect({ opened, paths: paths() }).toEqual({
      opened: ['chat'],
      paths: ['m chat/completions', 'm chat/completions'],
    });
  });

  it('is Responses where the model is known to need it', async () => {
    const { ask, opened, paths } = await bench(
      () => says('hi'),
      (model) => model === 'pro',
    );
    expect(await ask('pro')).toEqual(HI);
    expect({ opened, paths: paths() }).toEqual({ opened: ['responses'], paths: ['pro responses'] });
  });

  it.each<[number, string, string | undefined]>([
    [404, 'This model is only supported in v1/responses and not in v1/chat/completions.', undefined],
    [
      404,
      'This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use v1/completions?',
      undefined,
    ],
    [
      400,
      'Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Please use /v1/responses instead.',
      undefined,
    ],
    [400, 'model "m" is not accessible via the /chat/completions endpoint', 'unsupported_api_for_model'],
  ])('is Responses at once, and from then on, after %i %s', async (status, message, code) => {
    const { ask, paths } = await bench(({ path, body }) =>
      path.endsWith('/responses') || body.model === 'other' ? says('hi') : fails(status, message, code ? { code } : {}),
    );
    expect(await ask()).toEqual(HI);
    expect(await ask()).toEqual(HI);
    expect(await ask('other')).toEqual(HI);
    expect(paths()).toEqual(['m chat/completions', 'm responses', 'm responses', 'other chat/completions']);
  });

  it.each([
    [400, 'bad model'],
    [404, 'no such model'],
    [429, 'too many requests for v1/responses'],
    [500, 'v1/responses is down'],
  ])('stays as it is after %i %s', async (status, message) => {
    const { ask, paths } = await bench(() => fails(status, message));
    await expect(ask()).rejects.toThrow(message);
    expect(paths()).toEqual(['m chat/completions']);
  });

  it('is told in the hint where it was fixed', async () => {
    const server = await startModelServer([fails(404, 'This model is only supported in v1/responses.')]);
    const provider = openaiChat({ name: 'openai', baseUrl: server.url });
    closers.push(server.close, provider.close);
    const pull = provider.stream({ model: 'm', messages: [], tools: [] }, new AbortController().signal);
    await expect(pull[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      failure: 'wrong-api',
      retryable: false,
      hint: expect.stringContaining('CHATCLI_OPENAI_API=responses'),
    });
  });
});

describe('the models of openai that need Responses', () => {
  const openai = presetNamed('openai');
  const needs = presetNeedsResponses(openai, 'https://api.openai.com/v1');

  it.each([
    'o1-pro',
    'o3-pro-2025-06-10',
    'gpt-5-pro',
    'gpt-5.2-pro-2025-12-11',
    'gpt-5-codex',
    'gpt-5.1-codex-max',
    'gpt-5.3-codex',
    'codex-mini-latest',
    'o4-mini-deep-research',
    'computer-use-preview',
    'gpt-5.4',
    'GPT-5.4-mini-2026-03-17',
    'gpt-5.6-terra',
    'gpt-5.10',
    'gpt-6-astra',
  ])('include %s', (model) => {
    expect(needs(model)).toBe(true);
  });

  it.each([
    'gpt-4o',
    'gpt-4.1-mini',
    'gpt-4o-2024-11-20',
    'gpt-5',
    'gpt-5-mini-2025-08-07',
    'gpt-5.1',
    'gpt-5.2-chat-latest',
    'gpt-5.3-chat-latest',
    'o3',
    'o4-mini',
    'gpt-3.5-turbo',
    'gpt-oss-120b',
    'my-gpt-5.4',
    'projector-pro',
  ])('do not include %s', (model) => {
    expect(needs(model)).toBe(false);
  });

  it('are only those at its own address: what stands behind another is not known', () => {
    expect(presetNeedsResponses(openai, 'http://127.0.0.1:8000/v1')('gpt-5.4')).toBe(false);
    expect(presetNeedsResponses(presetNamed('openrouter'), 'https://openrouter.ai/api/v1')('gpt-5.4')).toBe(false);
    expect(presetNeedsResponses(undefined, 'https://api.openai.com/v1')('gpt-5.4')).toBe(false);
  });
});
