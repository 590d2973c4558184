import { afterEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/errors.js';
import type { Message } from '../../src/kernel/types.js';
import { type OpenaiChatOptions, openaiChat } from '../../src/providers/openai-chat.js';
import { withRetry } from '../../src/providers/retry.js';
import type { ModelDelta, ModelRequest } from '../../src/providers/types.js';
import { calls, fails, type ModelServerOptions, says, startModelServer, type Turns } from '../fixtures/model-server.js';
import { failureOf, read } from './reading.js';

const KEY = 'sk-test-0123456789';
const TOOL = { name: 'read_file', description: 'Reads a file.', parameters: { type: 'object', properties: {} } };
const SCHEMA = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function bench(turns: Turns, options: Partial<OpenaiChatOptions> = {}, serverOptions: ModelServerOptions = {}) {
  const server = await startModelServer(turns, serverOptions);
  const provider = openaiChat({
    name: 'openai',
    baseUrl: server.url,
    apiKey: KEY,
    keyVariable: 'OPENAI_API_KEY',
    ...options,
  });
  closers.push(server.close, provider.close);
  return {
    server,
    provider,
    ask: (request: Partial<ModelRequest> = {}, signal?: AbortSignal) => read(provider, request, signal),
  };
}

const TEXT_HI: ModelDelta[] = [
  { type: 'text', text: 'hi' },
  { type: 'end', finishReason: 'stop' },
];

describe('a request', () => {
  it('is plain Chat Completions, with the key in its header', async () => {
    const { server, ask } = await bench([says('hi')], { organization: 'org', headers: { 'x-mine': '1' } });
    const messages: Message[] = [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'U' },
    ];
    await ask({ messages, tools: [TOOL], maxTokens: 100 });
    expect(server.requests[0]?.body).toEqual({
      model: 'm',
      messages,
      tools: [{ type: 'function', function: TOOL }],
      max_tokens: 100,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      path: '/v1/chat/completions',
      headers: {
        authorization: `Bearer ${KEY}`,
        'openai-organization': 'org',
        'x-mine': '1',
        'content-type': 'application/json',
      },
    });
  });

  it('offers no tools where there are none, and sends no key where there is none', async () => {
    const { server, ask } = await bench([says('hi')], { apiKey: undefined });
    await ask();
    expect(server.requests[0]?.body).not.toHaveProperty('tools');
    expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('carries the schema of its answer, not strict', async () => {
    const { server, ask } = await bench([says('hi')]);
    await ask({ responseSchema: SCHEMA });
    expect(server.requests[0]?.body.response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', schema: SCHEMA, strict: false },
    });
  });

  it('carries further options as they are, where they do not go against ours', async () => {
    const { server, ask } = await bench([says('hi')]);
    const options = {
      temperature: 0.2,
      seed: 7,
      model: 'other',
      stream: false,
      tools: [1],
      tool_choice: 'auto',
      x: null,
    };
    await ask({ options });
    expect(server.requests[0]?.body).toEqual({
      temperature: 0.2,
      seed: 7,
      x: null,
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('carries a choice among tools where it offers some', async () => {
    const { server, ask } = await bench([says('hi')]);
    await ask({ tools: [TOOL], options: { tool_choice: 'required', parallel_tool_calls: false } });
    expect(server.requests[0]?.body).toMatchObject({ tool_choice: 'required', parallel_tool_calls: false });
    expect(server.requests[0]?.body.tools).toEqual([{ type: 'function', function: TOOL }]);
  });

  it('is not sent before somebody reads', async () => {
    const { server, provider } = await bench([says('hi')]);
    provider.stream({ model: 'm', messages: [], tools: [] }, new AbortController().signal);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.requests).toHaveLength(0);
  });

  it('carries a base URL with a slash at its end', async () => {
    const { server } = await bench([says('hi')]);
    const provider = openaiChat({ name: 'x', baseUrl: `${server.url}/` });
    closers.push(provider.close);
    expect(await read(provider)).toEqual(TEXT_HI);
    expect(server.requests[0]?.path).toBe('/v1/chat/completions');
  });

  it('of a base URL that is none is refused at once', () => {
    expect(() => openaiChat({ name: 'x', baseUrl: '127.0.0.1:8000' })).toThrow(ConfigError);
  });

  it('begins with the bytes of the one before it', async () => {
    const { server, ask } = await bench([says('a'), says('b')]);
    const messages: Message[] = [
      { role: 'user', content: 'U' },
      {
        role: 'assistant',
        content: '',
        reasoning: 'hm',
        toolCalls: [{ id: 'k', name: 'read_file', arguments: '{"a"' }],
      },
      { role: 'tool', callId: 'k', name: 'read_file', content: 'R' },
    ];
    await ask({ messages: messages.slice(0, 1), tools: [TOOL] });
    await ask({ messages, tools: [TOOL] });
    const [first, second] = server.requests.map((request) => request.body);
    expect(JSON.stringify(second.messages.slice(0, 1))).toBe(JSON.stringify(first.messages));
    expect(JSON.stringify(second.tools)).toBe(JSON.stringify(first.tools));
  });

  it('uses one connection for a whole conversation', async () => {
    const { server, ask } = await bench(() => says('hi'));
    for (let count = 0; count < 5; count += 1) expect(await ask()).toEqual(TEXT_HI);
    expect(server.connections()).toBe(1);
  });

  it.each([
    ['with a broken call', [{ id: 'k', name: 'read_file', arguments: '{"path":' }]],
    [
      'with two calls',
      [
        { id: 'k', name: 'read_file', arguments: '{}' },
        { id: 'l', name: 'read_file', arguments: '' },
      ],
    ],
  ])('of a history %s is taken by the pickiest endpoint', async (_name, toolCalls) => {
    const { ask } = await bench([says('hi')], {}, { strict: true });
    const results = toolCalls.map(({ id, name }): Message => ({ role: 'tool', callId: id, name, content: 'R' }));
    expect(
      await ask({
        messages: [{ role: 'user', content: 'U' }, { role: 'assistant', content: '', toolCalls }, ...results],
      }),
    ).toEqual(TEXT_HI);
  });
});

describe('a parameter that the endpoint does not take', () => {
  it.each([
    ['stream_options', 400, 'Unrecognized request argument supplied: stream_options'],
    ['stream_options', 422, 'body.stream_options: Extra inputs are not permitted'],
  ])('%s (%i) is left out from then on', async (_name, status, message) => {
    const { server, ask } = await bench(({ body }) => (body.stream_options ? fails(status, message) : says('hi')));
    expect(await ask()).toEqual(TEXT_HI);
    expect(await ask()).toEqual(TEXT_HI);
    expect(server.requests.map((request) => 'stream_options' in request.body)).toEqual([true, false, false]);
  });

  it('max_tokens is sent under its new name', async () => {
    const message =
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    const { server, ask } = await bench(({ body }) => (body.max_tokens ? fails(400, message) : says('hi')));
    expect(await ask({ maxTokens: 9 })).toEqual(TEXT_HI);
    expect(server.requests.map((request) => request.body.max_completion_tokens)).toEqual([undefined, 9]);
  });

  it.each([
    [400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."],
    [400, 'json mode cannot be combined with tool/function calling'],
    [422, 'body.response_format: Extra inputs are not permitted'],
  ])('response_format (%i, %s) is left out from then on', async (status, message) => {
    const { server, ask } = await bench(({ body }) => (body.response_format ? fails(status, message) : says('hi')));
    expect(await ask({ responseSchema: SCHEMA })).toEqual(TEXT_HI);
    expect(await ask({ responseSchema: SCHEMA })).toEqual(TEXT_HI);
    expect(server.requests.map((request) => 'response_format' in request.body)).toEqual([true, false, false]);
  });

  it('response_format is not blamed where none was sent', async () => {
    const { server, ask } = await bench([fails(400, 'response_format is odd'), says('hi')]);
    expect(await failureOf(ask())).toMatchObject({ failure: 'bad-request' });
    await ask({ responseSchema: SCHEMA });
    expect(server.requests.map((request) => 'response_format' in request.body)).toEqual([false, true]);
  });

  it('that stays refused is a bad request, after one more try', async () => {
    const { server, ask } = await bench(() => fails(400, 'stream_options, or something'));
    expect(await failureOf(ask())).toMatchObject({ failure: 'bad-request' });
    expect(server.requests).toHaveLength(2);
  });
});

describe('a reply', () => {
  it('of text, reasoning, calls and usage comes whole', async () => {
    const { ask } = await bench([
      {
        reasoning: ['h', 'm'],
        text: ['a', 'b'],
        calls: [{ name: 'read_file', arguments: { path: 'x' } }],
        usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
      },
    ]);
    expect(await ask()).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'ab' },
      {
        type: 'usage',
        usage: { promptTokens: 9, completionTokens: 3, cachedTokens: 0, reasoningTokens: 0, totalTokens: 12 },
      },
      { type: 'call', call: { id: 'call_1', name: 'read_file', arguments: '{"path":"x"}' } },
      { type: 'end', finishReason: 'tool_calls' },
    ]);
  });

  it('may come byte by byte, with comments, CRLF and no blanks', async () => {
    const { ask } = await bench([{ text: '修复 🛠️ ok é', awkward: true }]);
    expect(await ask()).toEqual([
      { type: 'text', text: '修复 🛠️ ok é' },
      { type: 'end', finishReason: 'stop' },
    ]);
  });

  it('is shown as it comes', async () => {
    const { provider } = await bench([{ text: ['a', 'b'], eventDelayMs: 150 }]);
    const times: number[] = [];
    for await (const delta of provider.stream({ model: 'm', messages: [], tools: [] }, new AbortController().signal)) {
      if (delta.type === 'text') times.push(performance.now());
    }
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(100);
  });

  it('shows that it lives while the arguments of a call come', async () => {
    const { provider } = await bench([{ calls: [{ name: 'x' }, { name: 'y' }], eventDelayMs: 40 }]);
    const types: string[] = [];
    const request: ModelRequest = { model: 'm', messages: [], tools: [] };
    for await (const delta of provider.stream(request, new AbortController().signal)) types.push(delta.type);
    expect(types.filter((type) => type !== 'activity')).toEqual(['call', 'call', 'end']);
    expect(types.slice(0, 2)).toEqual(['activity', 'activity']);
  });

  it('may be a whole JSON object, under whatever content type', async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1 };
    const message = {
      role: 'assistant',
      content: 'hi',
      tool_calls: [{ id: 'k', function: { name: 'x', arguments: '{}' } }],
    };
    const body = { object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage };
    for (const type of ['application/json', 'text/event-stream', 'text/plain']) {
      const { ask } = await bench([{ body: JSON.stringify(body, null, 2), headers: { 'content-type': type } }]);
      expect((await ask()).map((delta) => delta.type)).toEqual(['text', 'usage', 'call', 'end']);
    }
  });

  it('may be a stream under a wrong content type', async () => {
    const { ask } = await bench([{ text: 'hi', headers: { 'content-type': 'application/json' } }]);
    expect(await ask()).toEqual(TEXT_HI);
  });

  it('needs no [DONE], and no proper end behind its finish reason', async () => {
    const finished = 'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n';
    const headers = { 'content-type': 'text/event-stream', 'content-length': '9999' };
    const { ask } = await bench(
      [
        { text: 'hi', withoutDone: true },
        { body: finished, headers },
      ],
      { idleTimeoutMs: 100 },
    );
    expect(await ask()).toEqual(TEXT_HI);
    expect(await ask()).toEqual(TEXT_HI);
  });

  it('that a filter ended is an end, not a failure', async () => {
    const { ask } = await bench([{ text: 'hi', finishReason: 'content_filter' }]);
    expect((await ask()).at(-1)).toEqual({ type: 'end', finishReason: 'content_filter' });
  });

  it('that nobody reads to its end is dropped', async () => {
    const { server, provider } = await bench(() => ({ text: 'hi', fault: { kind: 'hang', at: 'content' } }));
    for await (const _delta of provider.stream({ model: 'm', messages: [], tools: [] }, new AbortController().signal))
      break;
    expect(server.requests).toHaveLength(1);
  });

  it('reports its usage although it breaks off', async () => {
    const events = ['{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":5}}', '{"error":{"message":"x"}}'];
    const body = events.map((event) => `data: ${event}\n\n`).join('');
    const { provider } = await bench([{ body, headers: { 'content-type': 'text/event-stream' } }]);
    const deltas: ModelDelta[] = [];
    const work = (async () => {
      for await (const delta of provider.stream({ model: 'm', messages: [], tools: [] }, new AbortController().signal))
        deltas.push(delta);
    })();
    await failureOf(work);
    expect(deltas.map((delta) => delta.type)).toEqual(['text', 'usage']);
  });
});

describe('a body that is no reply', () => {
  const stream = { 'content-type': 'text/event-stream' };

  it.each<[string, Parameters<typeof bench>[0], object]>([
    [
      'a page',
      [
        {
          body: '<html><head><title>no</title></head><body><h1>502 Bad Gateway</h1></body></html>',
          headers: { 'content-type': 'text/html' },
        },
      ],
      {
        failure: 'protocol',
        status: 200,
        message: expect.stringMatching(/answered 200 with text\/html in place of a reply: 502 Bad Gateway$/),
      },
    ],
    [
      'a page that claims to be a stream',
      [{ body: '<html>sorry</html>', headers: stream }],
      { failure: 'protocol', message: expect.stringContaining('sorry') },
    ],
    [
      'plain text',
      [{ body: 'upstream connect error or disconnect' }],
      { failure: 'protocol', message: expect.stringContaining('upstream connect error') },
    ],
    ['a short text', [{ body: 'no' }], { failure: 'protocol', message: expect.stringContaining('reply: no') }],
    [
      'broken JSON',
      [{ body: '{"choices": [{"mess' }],
      { failure: 'protocol', message: expect.stringContaining('broken JSON: {"choices"') },
    ],
    [
      'other JSON',
      [{ body: { status: 'ok' } }],
      { failure: 'protocol', message: expect.stringContaining('{"status":"ok"}') },
    ],
    [
      'JSON with an error',
      [{ body: { error: { message: 'quota gone', code: 'insufficient_quota' } } }],
      { failure: 'rate-limit', retryable: false, message: expect.stringContaining('quota gone') },
    ],
    ['JSON with a detail', [{ body: { detail: 'Not Found' } }], { message: expect.stringContaining('Not Found') }],
    [
      'a stream with an error',
      [{ body: 'data: {"error":{"message":"quota"}}\n\ndata: [DONE]\n\n', headers: stream }],
      { message: expect.stringContaining('quota') },
    ],
    [
      'a stream with a broken line',
      [{ body: 'data: {"choices":[]}\n\ndata: {"oops\n\ndata: [DONE]\n\n', headers: stream }],
      { failure: 'protocol', retryable: false, message: expect.stringContaining('not JSON: {"oops') },
    ],
    [
      'a stream cut within a line',
      [{ body: 'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: {"choi', headers: stream }],
      { failure: 'network', retryable: true },
    ],
    [
      'a stream cut between lines',
      [{ text: 'a', fault: { kind: 'truncate' } }],
      { failure: 'network', retryable: true, message: expect.stringContaining('no finish reason') },
    ],
    ['nothing', [{ body: '', headers: stream }], { failure: 'network', retryable: true }],
    ['nothing but [DONE]', [{ body: 'data: [DONE]\n\n', headers: stream }], { failure: 'network', retryable: true }],
  ])('%s is a failure that tells what it was', async (_name, turns, expected) => {
    expect(await failureOf((await bench(turns)).ask())).toMatchObject(expected);
  });
});

describe('a failure', () => {
  it.each<[string, Parameters<typeof bench>[0], object]>([
    [
      'of the key',
      [fails(401, 'Incorrect API key provided.')],
      {
        failure: 'auth',
        retryable: false,
        message: 'openai answered 401: Incorrect API key provided.',
        hint: expect.stringContaining('OPENAI_API_KEY'),
      },
    ],
    [
      'of the request',
      [fails(400, 'bad model')],
      { failure: 'bad-request', retryable: false, message: 'openai answered 400: bad model' },
    ],
    [
      'of the rate',
      [fails(429, 'slow', { headers: { 'retry-after': '2' } })],
      { failure: 'rate-limit', retryable: true, retryAfterMs: 2000, status: 429 },
    ],
    ['of the load', [fails(503, 'busy')], { failure: 'overloaded', retryable: true }],
    ['of the length', [fails(400, 'no', { code: 'context_length_exceeded' })], { failure: 'too-long' }],
    [
      'before the answer',
      [{ fault: { kind: 'reset' } }],
      {
        failure: 'network',
        retryable: true,
        message: expect.stringMatching(/^openai: The connection to http.* broke/),
        hint: expect.stringContaining('/v1'),
      },
    ],
    [
      'in the middle',
      [{ text: 'half', fault: { kind: 'reset', at: 'content' } }],
      { failure: 'network', retryable: true },
    ],
    [
      'of silence before the answer',
      [{ fault: { kind: 'hang' } }],
      { failure: 'network', retryable: true, message: expect.stringContaining('did not answer within 0.08 s') },
    ],
    [
      'of silence in the middle',
      [{ text: 'half', fault: { kind: 'hang', at: 'content' } }],
      { failure: 'network', retryable: true, message: expect.stringContaining('stopped sending for 0.08 s') },
    ],
    [
      'of a redirect',
      [{ status: 307, headers: { location: 'http://elsewhere.example/v1' } }],
      { failure: 'bad-request', retryable: false, message: expect.stringContaining('elsewhere.example') },
    ],
  ])('%s is told with kind, words and what to do', async (_name, turns, expected) => {
    const { server, ask } = await bench(turns, { firstByteTimeoutMs: 80, idleTimeoutMs: 80 });
    expect(await failureOf(ask())).toMatchObject(expected);
    expect(server.requests).toHaveLength(1);
  });

  it('of a server that is not there names the base URL', async () => {
    const { server, ask } = await bench([]);
    await server.close();
    const failure = await failureOf(ask());
    expect(failure).toMatchObject({
      failure: 'network',
      retryable: true,
      message: expect.stringContaining(server.url),
    });
    expect(failure.hint).toContain('Check that the server runs');
  });

  it('to call tools is told as such only where tools were offered', async () => {
    const turns: Turns = () => fails(400, 'registry/gemma3 does not support tools');
    expect(await failureOf((await bench(turns)).ask({ tools: [TOOL] }))).toMatchObject({ failure: 'no-tools' });
    expect(await failureOf((await bench(turns)).ask())).toMatchObject({ failure: 'bad-request' });
  });

  it.each<[string, Parameters<typeof bench>[0]]>([
    ['a status', [fails(401, `The key ${KEY} is wrong`)]],
    ['a page', [{ body: `<p>${KEY}</p>` }]],
    [
      'a chunk',
      [{ body: `data: {"error":{"message":"${KEY}"}}\n\n`, headers: { 'content-type': 'text/event-stream' } }],
    ],
  ])('of %s that repeats the key does not show it', async (_name, turns) => {
    const failure = await failureOf((await bench(turns)).ask());
    expect(failure.message).toContain('[key]');
    expect(JSON.stringify([failure.message, failure.hint, failure.stack, String(failure.cause)])).not.toContain(KEY);
  });

  it('does not show a password in the base URL', async () => {
    const { server } = await bench([fails(404, 'no')]);
    const provider = openaiChat({ name: 'x', baseUrl: server.url.replace('http://', 'http://me:secret@') });
    closers.push(provider.close);
    const failure = await failureOf(read(provider));
    expect(`${failure.message} ${failure.hint}`).not.toContain('secret');
  });
});

describe('an abort', () => {
  it.each<[string, Parameters<typeof bench>[0]]>([
    ['before the answer', [{ fault: { kind: 'hang' } }]],
    ['in the middle', [{ text: 'half', fault: { kind: 'hang', at: 'content' } }]],
    ['within an error', [{ status: 500, headers: { 'content-length': '9' }, body: 'x' }]],
  ])('%s throws its reason at once', async (_name, turns) => {
    const { ask } = await bench(turns);
    const controller = new AbortController();
    const reason = new Error('enough');
    setTimeout(() => controller.abort(reason), 80);
    const before = performance.now();
    await expect(ask({}, controller.signal)).rejects.toBe(reason);
    expect(performance.now() - before).toBeLessThan(2_000);
  });

  it('before the start sends nothing', async () => {
    const { server, ask } = await bench([says('hi')]);
    await expect(ask({}, AbortSignal.abort('no'))).rejects.toBe('no');
    expect(server.requests).toHaveLength(0);
  });
});

describe('with retries', () => {
  it('a break in the middle is mended, and the half reply is void', async () => {
    const { server, provider } = await bench([
      { text: 'half', fault: { kind: 'reset', at: 'content' } },
      calls('read_file', { path: 'x' }),
    ]);
    const deltas = await read(withRetry(provider));
    expect(deltas.map((delta) => delta.type)).toEqual(['text', 'retry', 'call', 'end']);
    expect(server.requests).toHaveLength(2);
  });

  it('a rate limit is waited out, not shorter than asked', async () => {
    const { server, provider } = await bench([
      fails(429, 'slow', { headers: { 'retry-after-ms': '800' } }),
      says('hi'),
    ]);
    await read(withRetry(provider));
    const [first, second] = server.requests;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(795);
  });

  it('an hour is not waited out', async () => {
    const { server, provider } = await bench(() => fails(429, 'slow', { headers: { 'retry-after': '3600' } }));
    expect(await failureOf(read(withRetry(provider)))).toMatchObject({
      failure: 'rate-limit',
      hint: expect.stringContaining('Come back in 60 min'),
    });
    expect(server.requests).toHaveLength(1);
  });
});

it('requests side by side do not disturb each other', async () => {
  const { ask } = await bench(({ body }) =>
    body.model === 'bad' ? fails(400, 'bad model') : { text: body.model, delayMs: 20 },
  );
  const results = await Promise.allSettled(['a', 'bad', 'b', 'bad', 'c'].map((model) => ask({ model })));
  expect(results.map((result) => (result.status === 'fulfilled' ? result.value[0] : result.reason.message))).toEqual([
    { type: 'text', text: 'a' },
    'openai answered 400: bad model',
    { type: 'text', text: 'b' },
    'openai answered 400: bad model',
    { type: 'text', text: 'c' },
  ]);
});
