import { describe, expect, it } from 'vitest';
import { HttpError, type HttpFault } from '../../src/http.js';
import { complaintInText, excerpt } from '../../src/providers/complaint.js';
import { failureOfNetwork, failureOfResponse, withoutKey } from '../../src/providers/failures.js';

const NOW = Date.parse('2026-10-21T07:28:00Z');
const endpoint = {
  api: 'chat' as const,
  name: 'openai',
  baseUrl: 'http://h/v1',
  keyVariable: 'OPENAI_API_KEY',
  model: 'm',
  hasTools: true,
};

function failure(status: number, body: string | object, headers: Record<string, string> = {}) {
  const known = new Map(Object.entries(headers));
  const response = {
    status,
    headers: { get: (name: string) => known.get(name) ?? null, entries: () => known.entries() },
  };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return failureOfResponse(response, text, endpoint, NOW);
}

const error = (message: string, more: object = {}) => ({ error: { message, ...more } });

describe('a failing status', () => {
  it.each<[string, number, string | object, object]>([
    [
      '401 is a refused key',
      401,
      error('Incorrect API key provided'),
      { failure: 'auth', retryable: false, hint: 'Check OPENAI_API_KEY: it has to be a valid key for http://h/v1.' },
    ],
    ['403 is a refused key', 403, error('no access'), { failure: 'auth', retryable: false }],
    [
      '429 is a rate limit',
      429,
      error('slow down', { code: 'rate_limit_exceeded' }),
      { failure: 'rate-limit', retryable: true },
    ],
    [
      '429 of a used-up quota is not retried',
      429,
      error('You exceeded your current quota, please check your plan and billing details.', {
        code: 'insufficient_quota',
      }),
      { failure: 'rate-limit', retryable: false },
    ],
    [
      '429 of Gemini with a delay is retried',
      429,
      [
        error('You exceeded your current quota', {
          code: 429,
          status: 'RESOURCE_EXHAUSTED',
          details: [{ retryDelay: '32s' }],
        }),
      ],
      { failure: 'rate-limit', retryable: true, retryAfterMs: 32_000 },
    ],
    [
      '429 that speaks of the context stays a rate limit',
      429,
      error('too many input tokens per minute'),
      { failure: 'rate-limit', retryable: true },
    ],
    ['402 is nothing left to spend', 402, error('Insufficient Balance'), { failure: 'rate-limit', retryable: false }],
    [
      '400 of an empty account is not retried',
      400,
      error('Your credit balance is too low'),
      { failure: 'rate-limit', retryable: false },
    ],
    [
      '400 is a bad request',
      400,
      error('bad model'),
      { failure: 'bad-request', retryable: false, message: 'openai answered 400: bad model' },
    ],
    [
      '404 is a bad request, with what to check',
      404,
      error('The model does not exist', { code: 'model_not_found' }),
      { failure: 'bad-request', hint: 'Check the model (m) and the base URL (http://h/v1).' },
    ],
    [
      '422 is a bad request',
      422,
      { detail: [{ loc: ['body', 'x'], msg: 'extra' }] },
      { failure: 'bad-request', message: 'openai answered 422: body.x extra' },
    ],
    ['408 is overload', 408, '', { failure: 'overloaded', retryable: true }],
    ['409 is overload', 409, '', { failure: 'overloaded', retryable: true }],
    ['500 is overload', 500, error('oops'), { failure: 'overloaded', retryable: true }],
    ['501 is a bad request', 501, '', { failure: 'bad-request', retryable: false }],
    [
      '503 is overload',
      503,
      '<html><head><title>x</title></head><h1>503 Service Unavailable</h1></html>',
      { failure: 'overloaded', message: 'openai answered 503: 503 Service Unavailable' },
    ],
    [
      '529 is overload',
      529,
      error('Overloaded', { type: 'overloaded_error' }),
      { failure: 'overloaded', retryable: true },
    ],
    [
      '400 of a full context by its code',
      400,
      error('no', { code: 'context_length_exceeded' }),
      { failure: 'too-long', retryable: false },
    ],
    ['413 is a full context', 413, '', { failure: 'too-long' }],
    ['500 of a full context', 500, error('the request exceeds the available context size'), { failure: 'too-long' }],
    [
      '503 that speaks of the context stays overload',
      503,
      error('context window service down'),
      { failure: 'overloaded' },
    ],
    [
      '400 of a filter is a refusal',
      400,
      error('blocked', { code: 'content_filter' }),
      { failure: 'refused', retryable: false },
    ],
    [
      '400 about the limit of the reply is a bad request',
      400,
      error('max_tokens is too large: 9000. This model supports at most 4096 completion tokens'),
      { failure: 'bad-request' },
    ],
    [
      '418 of nobody knows what is a bad request',
      418,
      'teapot',
      { failure: 'bad-request', message: 'openai answered 418: teapot' },
    ],
    ['302 is no answer at all', 302, '', { failure: 'protocol', message: 'openai answered 302: no message' }],
  ])('%s', (_name, status, body, expected) => {
    expect(failure(status, body)).toMatchObject({ status, ...expected });
  });

  it.each([
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 99999 tokens.",
    'prompt is too long: 210000 tokens > 200000 maximum',
    'Input is too long for requested model.',
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    'Please reduce the length of the messages or completion.',
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    'The number of tokens to keep from the initial prompt is greater than the context length.',
    'Invalid request: Your request exceeded model token limit: 262144',
    'Prompt contains 40000 tokens, too large for model with 32768 maximum context length',
  ])('400 saying %j is a full context', (message) => {
    expect(failure(400, error(message)).failure).toBe('too-long');
  });

  it.each([
    [400, 'registry.ollama.ai/library/gemma3:latest does not support tools'],
    [404, 'No endpoints found that support tool use.'],
    [400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
    [500, 'tools param requires --jinja flag'],
    [400, '`tool calling` is not supported with this model: tools are not supported'],
  ])('%i saying %j is a model without tools', (status, message) => {
    const found = failure(status, error(message));
    expect(found).toMatchObject({ failure: 'no-tools', retryable: false, hint: expect.stringContaining('model m') });
  });
});

describe('the wait that an endpoint asks for', () => {
  it.each<[string, Record<string, string>, number | undefined]>([
    ['in seconds', { 'retry-after': '2' }, 2_000],
    ['in parts of a second', { 'retry-after': ' 0.25 ' }, 250],
    ['in milliseconds, which win', { 'retry-after': '9', 'retry-after-ms': '120' }, 120],
    ['as a date', { 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT' }, 30_000],
    ['as a date that is past', { 'retry-after': 'Wed, 21 Oct 2026 07:20:00 GMT' }, 0],
    ['as one without end', { 'retry-after': 'Infinity' }, Number.POSITIVE_INFINITY],
    ['as milliseconds without end', { 'retry-after-ms': 'Infinity' }, Number.POSITIVE_INFINITY],
    ['as nonsense', { 'retry-after': 'soon' }, undefined],
    ['below zero', { 'retry-after': '-5' }, undefined],
    ['not at all', {}, undefined],
  ])('is read %s', (_name, headers, expected) => {
    expect(failure(429, error('slow'), headers).retryAfterMs).toBe(expected);
  });
});

describe("an endpoint's words", () => {
  it.each<[string, string, string]>([
    ['in OpenAI form', '{"error":{"message":"bad model"}}', 'bad model'],
    ['as a text', '{"error":"model not found"}', 'model not found'],
    ['as a message', '{"message":"no route","request_id":"1"}', 'no route'],
    ['as a detail', '{"detail":"Not Found"}', 'Not Found'],
    ['as a list', '[{"error":{"code":400,"message":"API key not valid"}}]', 'API key not valid'],
    ['as an object without message', '{"error":{"reason":"x"}}', '{"reason":"x"}'],
    ['as a message in a message', '{"error":{"message":{"message":"deep"}}}', 'deep'],
    [
      'as OpenRouter hands them on',
      '{"error":{"message":"Provider returned error","metadata":{"raw":"{\\"error\\":{\\"message\\":\\"too hot\\"}}"}}}',
      'Provider returned error: too hot',
    ],
    ['as plain text', 'upstream connect error\n', 'upstream connect error'],
    [
      'as a page',
      '<!doctype html><html><head><style>h1{}</style></head><body><h1>502</h1>\n<p>Bad  Gateway</p></body>',
      '502 Bad Gateway',
    ],
    ['as nothing', '', ''],
  ])('are found %s', (_name, text, expected) => {
    expect(complaintInText(text).message).toBe(expected);
  });

  it('are cleaned of control characters, and bounded', () => {
    expect(excerpt('a\u001B[31mb\u0007\u200Bc\r\nd')).toBe('a [31mb c d');
    expect(excerpt('x'.repeat(5_000))).toBe(`${'x'.repeat(300)}…`);
    expect(complaintInText(JSON.stringify(error('y'.repeat(9_000)))).message.length).toBe(2_001);
  });
});

describe('a network fault', () => {
  it.each<[HttpFault, string, boolean]>([
    ['dns', 'network', true],
    ['refused', 'network', true],
    ['unreachable', 'network', true],
    ['reset', 'network', true],
    ['first-byte-timeout', 'network', true],
    ['idle-timeout', 'network', true],
    ['not-http', 'network', true],
    ['other', 'network', true],
    ['tls', 'network', false],
    ['bad-url', 'network', false],
    ['redirect', 'bad-request', false],
  ])('%s is %s, and may pass: %s', (fault, kind, retryable) => {
    const cause = new HttpError(fault, 'What happened.');
    const found = failureOfNetwork(cause, endpoint);
    expect(found).toMatchObject({ failure: kind, retryable, message: 'openai: What happened.', cause });
    expect(found.hint).toContain('The base URL is http://h/v1.');
  });
});

describe('a key', () => {
  it('that an endpoint repeats is taken out, all else stays', () => {
    const found = withoutKey(failure(429, error('key sk-12345678 is slow'), { 'retry-after': '1' }), 'sk-12345678');
    expect(found).toMatchObject({
      message: 'openai answered 429: key [key] is slow',
      retryAfterMs: 1000,
      status: 429,
      retryable: true,
    });
  });

  it('that is a placeholder leaves the words alone', () => {
    expect(withoutKey(failure(400, error('none of them')), 'none').message).toBe('openai answered 400: none of them');
  });
});
