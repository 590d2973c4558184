import { afterEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/errors.js';
import type { Message, Replay } from '../../src/kernel/types.js';
import type { EndpointOptions } from '../../src/providers/endpoint.js';
import { openaiResponses } from '../../src/providers/openai-responses.js';
import { withRetry } from '../../src/providers/retry.js';
import type { ModelDelta, ModelRequest } from '../../src/providers/types.js';
import { calls, fails, type ModelServerOptions, says, startModelServer, type Turns } from '../fixtures/model-server.js';
import { failureOf, read } from './reading.js';

const KEY = 'sk-test-0123456789';
const TOOL = { name: 'read_file', description: 'Reads a file.', parameters: { type: 'object', properties: {} } };
const SCHEMA = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
const STREAM = { 'content-type': 'text/event-stream' };
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function bench(turns: Turns, options: Partial<EndpointOptions> = {}, serverOptions: ModelServerOptions = {}) {
  const server = await startModelServer(turns, { strict: true, ...serverOptions });
  const provider = openaiResponses({
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

/** The assistant message that the loop makes of a reply. */
function messageOf(deltas: readonly ModelDelta[]): Message {
  const replay = deltas.flatMap((delta): Replay[] => (delta.type === 'replay' ? [delta.replay] : []))[0];
  return {
    role: 'assistant',
    content: deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join(''),
    toolCalls: deltas.flatMap((delta) => (delta.type === 'call' ? [delta.call] : [])),
    ...(replay && { replay }),
  };
}

const TEXT_HI: ModelDelta[] = [
  { type: 'text', text: 'hi' },
  { type: 'end', finishReason: 'stop' },
];

describe('a request', () => {
  it('is in the form of Responses, stores nothing, and asks for sealed reasoning', async () => {
    const { server, ask } = await bench([says('hi')], {
      organization: 'org',
      project: 'p',
      headers: { 'x-mine': '1' },
    });
    const messages: Message[] = [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'U' },
    ];
    expect(await ask({ messages, tools: [TOOL], maxTokens: 100, headers: { 'x-team': 'blue' } })).toEqual(TEXT_HI);
    expect(server.requests[0]?.body).toEqual({
      model: 'm',
      instructions: 'S',
      input: [{ type: 'message', role: 'user', content: 'U' }],
      tools: [{ type: 'function', ...TOOL, strict: false }],
      max_output_tokens: 100,
      include: ['reasoning.encrypted_content'],
      stream: true,
      store: false,
    });
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      path: '/v1/responses',
      headers: {
        authorization: `Bearer ${KEY}`,
        'openai-organization': 'org',
        'openai-project': 'p',
        'x-mine': '1',
        'x-team': 'blue',
        'content-type': 'application/json',
      },
    });
  });

  it('carries the schema of its answer, not strict, and further options under their names here', async () => {
    const { server, ask } = await bench([says('hi')]);
    const options = {
      temperature: 0.2,
      model: 'other',
      store: true,
      input: [],
      reasoning_effort: 'low',
      verbosity: 'low',
      include: ['message.output_text.logprobs'],
      tool_choice: 'auto',
    };
    await ask({ options, responseSchema: SCHEMA });
    expect(server.requests[0]?.body).toEqual({
      temperature: 0.2,
      reasoning: { effort: 'low' },
      model: 'm',
      input: [{ type: 'message', role: 'user', content: 'hi' }],
      text: { verbosity: 'low', format: { type: 'json_schema', name: 'answer', schema: SCHEMA, strict: false } },
      include: ['message.output_text.logprobs', 'reasoning.encrypted_content'],
      stream: true,
      store: false,
    });
  });

  it('may want its reply in one piece', async () => {
    const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
    const { server, ask } = await bench([
      { text: 'Whole.', reasoning: 'hm', calls: [{ name: 'read_file', arguments: { path: 'x' } }], usage },
    ]);
    expect((await ask({ stream: false, tools: [TOOL] })).map(({ type }) => type)).toEqual([
      'reasoning',
      'text',
      'usage',
      'call',
      'end',
    ]);
    expect(server.requests[0]?.body.stream).toBe(false);
  });

  it('begins with the items of the one before it, the sealed reasoning of each turn at its place', async () => {
    const { server, ask } = await bench([
      { reasoning: 'hm', sealed: 'SEALED 1', ...calls('read_file', { path: 'a' }) },
      { sealed: 'SEALED 2', text: 'Once more.', ...calls('read_file', { path: 'b' }) },
      says('done'),
      says('more'),
    ]);
    let messages: readonly Message[] = [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'U' },
    ];
    for (let turn = 0; turn < 4; turn += 1) {
      const reply = messageOf(await ask({ messages, tools: [TOOL] }));
      const results = (reply.role === 'assistant' ? (reply.toolCalls ?? []) : []).map(
        ({ id, name }): Message => ({ role: 'tool', callId: id, name, content: 'R' }),
      );
      messages = [
        ...messages,
        reply,
        ...(results.length > 0 ? results : [{ role: 'user', content: 'go on' } as const]),
      ];
    }
    const bodies = server.requests.map(({ body }) => body);
    for (const [index, body] of bodies.slice(1).entries()) {
      const before = bodies[index].input;
      expect(JSON.stringify(body.input.slice(0, before.length))).toBe(JSON.stringify(before));
      expect(JSON.stringify(body.tools)).toBe(JSON.stringify(bodies[index].tools));
    }
    expect(bodies[3].input.map((item: { type: string; role?: string }) => item.role ?? item.type)).toEqual([
      'user',
      'reasoning',
      'function_call',
      'function_call_output',
      'reasoning',
      'assistant',
      'function_call',
      'function_call_output',
      'assistant',
      'user',
    ]);
  });

  it('sends no reasoning that another provider made', async () => {
    const { server, ask } = await bench([{ sealed: 'SEALED', ...calls('read_file', {}, 'k') }], { name: 'other' });
    const first = messageOf(await ask({ tools: [TOOL] }));
    const mine = await bench([says('hi')]);
    const messages: Message[] = [
      first,
      { role: 'tool', callId: 'k', name: 'read_file', content: 'R' },
      { role: 'user', content: 'U' },
    ];
    expect(server.requests).toHaveLength(1);
    expect(await mine.ask({ messages })).toEqual(TEXT_HI);
    expect(JSON.stringify(mine.server.requests[0]?.body)).not.toContain('SEALED');
  });

  it('uses one connection for a whole conversation', async () => {
    const { server, ask } = await bench(() => says('hi'));
    for (let count = 0; count < 5; count += 1) expect(await ask()).toEqual(TEXT_HI);
    expect(server.connections()).toBe(1);
  });

  it('is not sent before somebody reads, nor to a base URL that is none', async () => {
    const { server, provider } = await bench([says('hi')]);
    provider.stream({ model: 'm', messages: [], tools: [] }, new AbortController().signal);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.requests).toHaveLength(0);
    expect(() => openaiResponses({ name: 'x', baseUrl: '127.0.0.1:8000' })).toThrow(ConfigError);
  });
});

describe('what the endpoint does not take', () => {
  it('is the wish for sealed reasoning, which a model that does not reason is then spared', async () => {
    const { server, ask } = await bench(({ body }) =>
      body.include && body.model === 'plain'
        ? fails(400, 'Encrypted content is not supported with this model.')
        : says('hi'),
    );
    expect(await ask({ model: 'plain' })).toEqual(TEXT_HI);
    expect(await ask({ model: 'plain' })).toEqual(TEXT_HI);
    expect(await ask({ model: 'thinking' })).toEqual(TEXT_HI);
    expect(server.requests.map(({ body }) => [body.model, 'include' in body])).toEqual([
      ['plain', true],
      ['plain', false],
      ['plain', false],
      ['thinking', true],
    ]);
  });

  it.each([
    [400, 'The encrypted content SEALED could not be verified.', 'invalid_encrypted_content'],
    [404, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.", undefined],
    [400, "Item 'rs_1' of type 'reasoning' was provided without its required following item.", undefined],
  ])('is the reasoning of earlier replies (%i, %s), which is then left out', async (status, message, code) => {
    const { server, ask } = await bench(({ body }, index) => {
      if (index === 0) return { sealed: 'SEALED', ...calls('read_file', {}, 'k') };
      const hasReasoning = body.input.some((item: { type: string }) => item.type === 'reasoning');
      return hasReasoning ? fails(status, message, { ...(code && { code }) }) : says('hi');
    });
    const messages: Message[] = [
      messageOf(await ask({ tools: [TOOL] })),
      { role: 'tool', callId: 'k', name: 'read_file', content: 'R' },
    ];
    expect(await ask({ messages })).toEqual(TEXT_HI);
    expect(await ask({ messages })).toEqual(TEXT_HI);
    expect(server.requests).toHaveLength(4);
  });

  it.each([
    [400, "Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model."],
    [422, 'json_schema is not supported'],
  ])('is the schema of an answer (%i, %s), which is then left out', async (status, message) => {
    const { server, ask } = await bench(({ body }) => (body.text ? fails(status, message) : says('hi')));
    expect(await ask({ responseSchema: SCHEMA })).toEqual(TEXT_HI);
    expect(await ask({ responseSchema: SCHEMA })).toEqual(TEXT_HI);
    expect(server.requests.map(({ body }) => 'text' in body)).toEqual([true, false, false]);
  });

  it('and stays refused is a bad request', async () => {
    const { server, ask } = await bench(() => fails(400, 'reasoning.encrypted_content, or something'));
    expect(await failureOf(ask())).toMatchObject({ failure: 'bad-request' });
    expect(server.requests).toHaveLength(2);
  });
});

describe('a reply', () => {
  it('of text, reasoning, calls and usage comes whole', async () => {
    const { ask } = await bench([
      {
        reasoning: ['h', 'm'],
        sealed: 'SEALED',
        text: ['a', 'b'],
        calls: [{ name: 'read_file', arguments: { path: 'x' }, id: 'k' }],
        usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
      },
    ]);
    expect(await ask({ tools: [TOOL] })).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'ab' },
      {
        type: 'usage',
        usage: { promptTokens: 9, completionTokens: 3, cachedTokens: 0, reasoningTokens: 0, totalTokens: 12 },
      },
      { type: 'call', call: { id: 'k', name: 'read_file', arguments: '{"path":"x"}' } },
      {
        type: 'replay',
        replay: {
          origin: 'openai:responses',
          items: [
            {
              type: 'reasoning',
              id: 'rs_call_1',
              summary: [{ type: 'summary_text', text: 'hm' }],
              encrypted_content: 'SEALED',
            },
            { type: 'text', chars: 2 },
            { type: 'call' },
          ],
        },
      },
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

  it.each([
    ['length', 'length'],
    ['content_filter', 'content_filter'],
  ])('that ends by %s is told as such', async (finishReason, expected) => {
    const { ask } = await bench([{ text: 'half', finishReason }]);
    expect((await ask()).at(-1)).toEqual({ type: 'end', finishReason: expected });
  });

  it('may be a whole JSON object, under whatever content type', async () => {
    const content = [{ type: 'output_text', text: 'hi' }];
    const body = { object: 'response', status: 'completed', error: null, output: [{ type: 'message', content }] };
    for (const type of ['application/json', 'text/event-stream', 'text/plain']) {
      const { ask } = await bench([{ body: JSON.stringify(body, null, 2), headers: { 'content-type': type } }]);
      expect(await ask()).toEqual(TEXT_HI);
    }
  });

  it('is over with its last event, whatever comes after it, or never', async () => {
    const response = { object: 'response', status: 'completed', output: [] };
    const events = [
      { type: 'response.output_text.delta', delta: 'hi' },
      { type: 'response.completed', response },
    ];
    const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    const { ask } = await bench([
      { body: `${body}data: [DONE]\n\ndata: {"oops\n\n`, headers: STREAM },
      { body, headers: { ...STREAM, 'content-length': '9999' } },
    ]);
    expect(await ask()).toEqual(TEXT_HI);
    expect(await ask()).toEqual(TEXT_HI);
  });

  it('shows that it lives while the arguments of a call come', async () => {
    const { provider } = await bench([{ calls: [{ name: 'x' }], eventDelayMs: 40 }]);
    const types: string[] = [];
    const request: ModelRequest = { model: 'm', messages: [], tools: [TOOL] };
    for await (const delta of provider.stream(request, new AbortController().signal)) types.push(delta.type);
    expect(types.filter((type) => type !== 'activity')).toEqual(['call', 'end']);
    expect(types.slice(0, 3)).toEqual(['activity', 'activity', 'activity']);
  });
});

describe('a failure', () => {
  const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;

  it.each<[string, Turns, object]>([
    [
      'of the key',
      [fails(401, 'Incorrect API key provided.')],
      { failure: 'auth', retryable: false, hint: expect.stringContaining('OPENAI_API_KEY') },
    ],
    [
      'of the request',
      [fails(400, 'bad model')],
      { failure: 'bad-request', retryable: false, message: 'openai answered 400: bad model' },
    ],
    [
      'of the address',
      [fails(404, 'Not Found')],
      { failure: 'bad-request', hint: expect.stringContaining('CHATCLI_OPENAI_API=chat') },
    ],
    [
      'of the rate',
      [fails(429, 'slow', { headers: { 'retry-after': '2' } })],
      { failure: 'rate-limit', retryable: true, retryAfterMs: 2000, status: 429 },
    ],
    [
      'in the middle of the stream',
      [
        {
          body:
            event({ type: 'response.output_text.delta', delta: 'half' }) +
            event({
              type: 'response.failed',
              response: { status: 'failed', error: { code: 'server_error', message: 'oops' } },
            }),
          headers: STREAM,
        },
      ],
      { failure: 'overloaded', retryable: true, message: expect.stringContaining('oops') },
    ],
    ['of a cut stream', [{ text: 'half', fault: { kind: 'truncate' } }], { failure: 'network', retryable: true }],
    ['of a broken connection', [{ text: 'half', fault: { kind: 'reset', at: 'content' } }], { failure: 'network' }],
    [
      'of silence in the middle',
      [{ text: 'half', fault: { kind: 'hang', at: 'content' } }],
      { failure: 'network', message: expect.stringContaining('stopped sending for 0.08 s') },
    ],
    [
      'with a page of HTML',
      [{ body: '<html><body>Sign in</body></html>', headers: { 'content-type': 'text/html' } }],
      { failure: 'protocol', message: expect.stringContaining('Sign in') },
    ],
    [
      'with JSON that is no response',
      [{ body: { status: 'ok' } }],
      { failure: 'protocol', message: expect.stringContaining('{"status":"ok"}') },
    ],
    [
      'with the completion of another API',
      [{ body: { object: 'chat.completion', choices: [] } }],
      { failure: 'protocol', message: expect.stringContaining('chat.completion') },
    ],
    [
      'with JSON that has an error',
      [{ body: { error: { message: 'quota gone', code: 'insufficient_quota' } } }],
      { failure: 'rate-limit', retryable: false },
    ],
    [
      'with a broken line',
      [{ body: 'data: {"oops\n\ndata: [DONE]\n\n', headers: STREAM }],
      { failure: 'protocol', message: expect.stringContaining('not JSON') },
    ],
  ])('%s is told with kind and words', async (_name, turns, expected) => {
    const { server, ask } = await bench(turns, { firstByteTimeoutMs: 2_000, idleTimeoutMs: 80 });
    expect(await failureOf(ask())).toMatchObject(expected);
    expect(server.requests).toHaveLength(1);
  });

  it('that repeats the key does not show it', async () => {
    const failure = await failureOf((await bench([fails(401, `The key ${KEY} is wrong`)])).ask());
    expect(failure.message).toContain('[key]');
    expect(JSON.stringify([failure.message, failure.hint, failure.stack, String(failure.cause)])).not.toContain(KEY);
  });

  it('in the middle is mended by a retry, and the half reply is void', async () => {
    const { provider } = await bench([{ text: 'half', fault: { kind: 'truncate' } }, says('hi')]);
    const deltas = await read(withRetry(provider, { random: () => 0 }));
    expect(deltas.map(({ type }) => type)).toEqual(['text', 'retry', 'text', 'end']);
  });

  it('is none after an abort, which throws its reason', async () => {
    const { ask } = await bench([{ text: 'half', fault: { kind: 'hang', at: 'content' } }]);
    const controller = new AbortController();
    const reason = new Error('enough');
    setTimeout(() => controller.abort(reason), 80);
    await expect(ask({}, controller.signal)).rejects.toBe(reason);
  });
});
