import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../src/errors.js';
import { createChunkReducer } from '../../src/providers/stream.js';
import type { ModelDelta } from '../../src/providers/types.js';

const delta = (body: object, finishReason: string | null = null, more: object = {}) => ({
  choices: [{ index: 0, delta: body, finish_reason: finishReason, ...more }],
});
const text = (content: unknown) => delta({ content });
const call = (fragment: object) => delta({ tool_calls: [fragment] });
const fragment = (index: number | undefined, id: string | undefined, name: string | undefined, args: unknown) =>
  call({ index, id, type: 'function', function: { name, arguments: args } });
const end = (reason: string, more: object = {}) => ({ ...delta({}, reason), ...more });

/** What a stream of chunks comes to, its text and reasoning joined. */
function reduce(chunks: readonly unknown[], sawDone = true) {
  const reducer = createChunkReducer();
  const deltas: ModelDelta[] = [...chunks.flatMap((chunk) => reducer.push(chunk)), ...reducer.finish(sawDone)];
  const textOf = (type: string) =>
    deltas.map((item) => (item.type === type && 'text' in item ? item.text : '')).join('');
  return {
    text: textOf('text'),
    reasoning: textOf('reasoning'),
    calls: deltas.flatMap((item) => (item.type === 'call' ? [item.call] : [])),
    usage: deltas.flatMap((item) => (item.type === 'usage' ? [item.usage] : [])),
    ends: deltas.flatMap((item) => (item.type === 'end' ? [item.finishReason] : [])),
  };
}

function failureOf(chunks: readonly unknown[], sawDone = true): unknown {
  try {
    reduce(chunks, sawDone);
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}

describe('text and reasoning', () => {
  it.each<[string, unknown[], { text?: string; reasoning?: string }]>([
    ['come as strings', [text('a'), text('b')], { text: 'ab' }],
    ['skip what is empty or null', [text(''), text(null), delta({ role: 'assistant' }), text('a')], { text: 'a' }],
    ['come as parts', [text([{ type: 'text', text: 'a' }, 'b', { type: 'output_text', text: 'c' }])], { text: 'abc' }],
    [
      'skip parts without text',
      [text([{ type: 'reference', reference_ids: [1] }, null, { type: 'text', text: 'a' }])],
      { text: 'a' },
    ],
    [
      'come as thinking parts',
      [text([{ type: 'thinking', thinking: [{ type: 'text', text: 'h' }, 'm'] }]), text('a')],
      { text: 'a', reasoning: 'hm' },
    ],
    ['come as a thinking part of plain text', [text([{ type: 'thinking', thinking: 'hm' }])], { reasoning: 'hm' }],
    [
      'come as reasoning_content',
      [delta({ reasoning_content: 'h', content: null }), delta({ reasoning_content: 'm' })],
      { reasoning: 'hm' },
    ],
    ['come as reasoning', [delta({ reasoning: 'hm', content: '' })], { reasoning: 'hm' }],
    [
      'come once where both names hold the same',
      [delta({ reasoning: 'hm', reasoning_content: 'hm' })],
      { reasoning: 'hm' },
    ],
    ['come together in one chunk', [delta({ reasoning_content: 'hm', content: 'a' })], { text: 'a', reasoning: 'hm' }],
    ['come as reasoning details alone', [delta({ reasoning_details: [{ text: 'hm' }] })], { reasoning: 'hm' }],
    [
      'come once where reasoning details repeat it',
      [delta({ reasoning: 'hm', reasoning_details: [{ text: 'hm' }] })],
      { reasoning: 'hm' },
    ],
    [
      'come in a text that begins with <think>',
      [text('<thi'), text('nk>h'), text('m</think>'), text('\n\na')],
      { text: 'a', reasoning: 'hm' },
    ],
    [
      'come in a part that begins with <think>',
      [text([{ type: 'text', text: '<think>hm</think>a' }])],
      { text: 'a', reasoning: 'hm' },
    ],
    [
      'are text where <think> has no end',
      [text('<think> is a tag.')],
      { text: '<think> is a tag.', reasoning: ' is a tag.' },
    ],
    ['come as a refusal', [delta({ refusal: 'No.' })], { text: 'No.' }],
    [
      'come in a whole message',
      [{ choices: [{ message: { content: 'a', reasoning_content: 'hm' }, finish_reason: 'stop' }] }],
      { text: 'a', reasoning: 'hm' },
    ],
    [
      'are not said twice by a last chunk that repeats the message',
      [text('a'), { choices: [{ delta: {}, message: { content: 'a' }, finish_reason: 'stop' }] }],
      { text: 'a' },
    ],
  ])('%s', (_name, chunks, expected) => {
    const { text: said, reasoning } = reduce([...chunks, end('stop')]);
    expect({ text: said, reasoning }).toEqual({ text: '', reasoning: '', ...expected });
  });

  it('come out at once', () => {
    const reducer = createChunkReducer();
    expect(reducer.push(text('a'))).toEqual([{ type: 'text', text: 'a' }]);
    expect(reducer.push(fragment(0, 'k', 'x', '{}'))).toEqual([]);
  });
});

describe('tool calls', () => {
  const x = { id: 'k1', name: 'read', arguments: '{"path":"x"}' };
  const y = { id: 'k2', name: 'read', arguments: '{"path":"y"}' };
  const list = { id: 'k2', name: 'list', arguments: '{}' };

  it.each<[string, unknown[], object[]]>([
    [
      'come in fragments',
      [
        fragment(0, 'k1', 'read', ''),
        fragment(0, undefined, undefined, '{"path"'),
        fragment(0, undefined, undefined, ':"x"}'),
      ],
      [x],
    ],
    [
      'come side by side',
      [
        fragment(0, 'k1', 'read', ''),
        fragment(1, 'k2', 'read', ''),
        fragment(1, undefined, undefined, y.arguments),
        fragment(0, undefined, undefined, x.arguments),
      ],
      [x, y],
    ],
    ['come all with index 0', [fragment(0, 'k1', 'read', x.arguments), fragment(0, 'k2', 'read', y.arguments)], [x, y]],
    [
      'come all with index 0, in fragments',
      [
        fragment(0, 'k1', 'read', ''),
        fragment(0, undefined, undefined, x.arguments),
        fragment(0, 'k2', 'read', ''),
        fragment(0, undefined, undefined, y.arguments),
      ],
      [x, y],
    ],
    [
      'come without index',
      [
        fragment(undefined, 'k1', 'read', x.arguments),
        fragment(undefined, 'k2', 'read', ''),
        fragment(undefined, undefined, undefined, y.arguments),
      ],
      [x, y],
    ],
    [
      'come without ids',
      [fragment(0, undefined, 'read', x.arguments), fragment(1, undefined, 'read', y.arguments)],
      [
        { ...x, id: '' },
        { ...y, id: '' },
      ],
    ],
    [
      'come without ids and index',
      [fragment(undefined, undefined, 'read', x.arguments), fragment(undefined, undefined, 'list', '{}')],
      [
        { ...x, id: '' },
        { ...list, id: '' },
      ],
    ],
    [
      'come twice under one name without ids and index',
      [fragment(0, '', 'read', x.arguments), fragment(0, '', 'read', y.arguments)],
      [
        { ...x, id: '' },
        { ...y, id: '' },
      ],
    ],
    [
      'come with ids that are empty after the first fragment',
      [fragment(0, 'k1', 'read', ''), fragment(0, '', '', '{"path":'), fragment(0, '', '', '"x"}')],
      [x],
    ],
    ['come with late ids', [fragment(0, undefined, 'read', ''), fragment(0, 'k1', undefined, x.arguments)], [x]],
    ['come with late names', [fragment(0, 'k1', undefined, ''), fragment(0, undefined, 'read', x.arguments)], [x]],
    [
      'come with the id and the name in every fragment',
      [fragment(0, 'k1', 'read', '{"path"'), fragment(0, 'k1', 'read', ':"x"}')],
      [x],
    ],
    [
      'come with the name in every fragment, without id',
      [fragment(0, '', 'read', '{"path"'), fragment(0, '', 'read', ':"x"}')],
      [{ ...x, id: '' }],
    ],
    [
      'come with a new id for every fragment',
      [fragment(0, 'k1', 'read', ''), fragment(0, 'k8', '', '{"path"'), fragment(0, 'k9', '', ':"x"}')],
      [x],
    ],
    [
      'come under one id, told apart by index',
      [fragment(0, 'k', 'read', x.arguments), fragment(1, 'k', 'read', y.arguments)],
      [
        { ...x, id: 'k' },
        { ...y, id: 'k' },
      ],
    ],
    [
      'come under one id and index, told apart by name',
      [fragment(0, 'k', 'read', x.arguments), fragment(0, 'k', 'list', '{}')],
      [
        { ...x, id: 'k' },
        { ...list, id: 'k' },
      ],
    ],
    [
      'come with a split name',
      [fragment(0, 'k1', 're', ''), fragment(0, undefined, 'ad', ''), fragment(0, undefined, '', x.arguments)],
      [x],
    ],
    ['come with a name that grows', [fragment(0, 'k1', 're', ''), fragment(0, 'k1', 'read', x.arguments)], [x]],
    ['come with arguments that are an object', [fragment(0, 'k1', 'read', { path: 'x' })], [x]],
    ['come with empty arguments', [fragment(0, 'k2', 'list', '')], [list]],
    ['come with null arguments', [fragment(0, 'k2', 'list', null)], [list]],
    ['come without arguments', [call({ index: 0, id: 'k2', function: { name: 'list' } })], [list]],
    ['come with blank arguments', [fragment(0, 'k2', 'list', ' \n')], [list]],
    [
      'come with broken arguments, which stay as they are',
      [fragment(0, 'k1', 'read', '{"path":')],
      [{ ...x, arguments: '{"path":' }],
    ],
    [
      'come with what the endpoint wants back',
      [
        call({ id: 'k1', function: { name: 'read', arguments: '' }, extra_content: { a: 1 } }),
        call({ function: { arguments: x.arguments }, extra_content: { a: 2 } }),
        call({ id: 'k2', function: { name: 'list' } }),
        call({ extra_content: { a: 3 } }),
      ],
      [
        { ...x, extra: { a: 1 } },
        { ...list, extra: { a: 3 } },
      ],
    ],
    ['come without a wrapper', [call({ index: 0, id: 'k1', name: 'read', arguments: x.arguments })], [x]],
    [
      'come in a whole message',
      [
        {
          choices: [
            {
              message: {
                content: null,
                tool_calls: [
                  { id: 'k1', function: x },
                  { id: 'k2', function: y },
                ],
              },
              finish_reason: 'tool_calls',
            },
          ],
        },
      ],
      [x, y],
    ],
    [
      'come in a whole message without ids',
      [{ choices: [{ message: { tool_calls: [{ function: { name: 'list' } }, { function: { name: 'list' } }] } }] }],
      [
        { ...list, id: '' },
        { ...list, id: '' },
      ],
    ],
    [
      'come with the chunk that ends the reply',
      [
        delta(
          { tool_calls: [{ index: 0, id: 'k1', function: { name: 'read', arguments: x.arguments } }] },
          'tool_calls',
        ),
      ],
      [x],
    ],
    ['come after the finish reason', [end('tool_calls'), fragment(0, 'k1', 'read', x.arguments)], [x]],
    ['are none in an empty list', [delta({ content: 'a', tool_calls: [] })], []],
    ['are none in empty fragments', [fragment(0, '', '', ''), call({}), delta({ tool_calls: [null, 7] })], []],
    [
      'keep arguments for an unseen index with the last call',
      [fragment(0, 'k1', 'read', '{"path"'), fragment(3, undefined, undefined, ':"x"}')],
      [x],
    ],
  ])('%s', (_name, chunks, expected) => {
    expect(reduce([...chunks, end('stop')]).calls).toEqual(expected);
  });

  it('keep a nameless call apart from one with another index', () => {
    expect(
      reduce([fragment(0, 'k1', 'read', '{}'), fragment(1, 'k2', undefined, '{"a":1}'), end('tool_calls')]).calls,
    ).toEqual([
      { id: 'k1', name: 'read', arguments: '{}' },
      { id: 'k2', name: '', arguments: '{"a":1}' },
    ]);
  });
});

describe('the end', () => {
  it.each<[string, string, string]>([
    ['stop', 'stop', 'stop'],
    ['end_turn', 'end_turn', 'stop'],
    ['length', 'length', 'length'],
    ['max_tokens', 'max_tokens', 'length'],
    ['MAX_TOKENS', 'MAX_TOKENS', 'length'],
    ['model_length', 'model_length', 'length'],
    ['tool_calls', 'tool_calls', 'tool_calls'],
    ['function_call', 'function_call', 'tool_calls'],
    ['content_filter', 'content_filter', 'content_filter'],
    ['SAFETY', 'SAFETY', 'content_filter'],
    ['what nobody knows', 'constructor', 'unknown'],
  ])('of %s is told in our words', (_name, reason, expected) => {
    expect(reduce([text('a'), end(reason)]).ends).toEqual([expected]);
  });

  it('is tool_calls where an endpoint calls tools and says stop', () => {
    expect(reduce([fragment(0, 'k', 'x', ''), end('stop')]).ends).toEqual(['tool_calls']);
  });

  it('stays length where a call was cut', () => {
    expect(reduce([fragment(0, 'k', 'x', '{"a'), end('length')]).ends).toEqual(['length']);
  });

  it('needs no [DONE] behind a finish reason', () => {
    expect(reduce([text('a'), end('stop')], false).ends).toEqual(['stop']);
  });

  it.each<[string, unknown[], string]>([
    ['stop', [text('a')], 'stop'],
    ['tool_calls', [text('a'), fragment(0, 'k', 'x', '{}')], 'tool_calls'],
  ])('is taken for %s where content is followed by [DONE] alone', (_name, chunks, expected) => {
    expect(reduce(chunks, true).ends).toEqual([expected]);
  });

  it.each<[string, unknown[], boolean]>([
    ['neither finish reason nor [DONE] came', [text('a')], false],
    ['nothing came', [], false],
    ['nothing came but [DONE]', [], true],
  ])('is a retryable network failure where %s', (_name, chunks, sawDone) => {
    expect(failureOf(chunks, sawDone)).toMatchObject({ failure: 'network', retryable: true });
  });

  it.each(['insufficient_system_resource', 'error', 'ERROR', 'network_error', 'abort'])(
    'is a failure where the endpoint gives the reason %s',
    (reason) => {
      expect(failureOf([text('a'), end(reason)])).toMatchObject({ failure: 'overloaded', retryable: true });
    },
  );

  it('is an answer where all that was said is half a tag', () => {
    expect(reduce([text('<')], true)).toMatchObject({ text: '<', ends: ['stop'] });
  });

  it('keeps thinking apart that calls follow, or that was cut off', () => {
    const thinks = text('<think>hm');
    expect(reduce([thinks, fragment(0, 'k', 'x', '{}'), end('tool_calls')])).toMatchObject({
      text: '',
      reasoning: 'hm',
    });
    expect(reduce([thinks, end('length')])).toMatchObject({ text: '', reasoning: 'hm', ends: ['length'] });
  });
});

describe('usage', () => {
  const report = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
  const counts = { promptTokens: 9, completionTokens: 3, cachedTokens: 0, reasoningTokens: 0, totalTokens: 12 };

  it.each<[string, unknown[], object[]]>([
    ['in a last chunk without choices', [end('stop'), { choices: [], usage: report }], [counts]],
    ['in a chunk that has no choices field', [end('stop'), { usage: report }], [counts]],
    ['beside the finish reason', [end('stop', { usage: report })], [counts]],
    ['within the choice', [delta({}, 'stop', { usage: report })], [counts]],
    ['in x_groq', [end('stop', { x_groq: { usage: report } })], [counts]],
    [
      'growing in every chunk',
      [{ ...text('a'), usage: { prompt_tokens: 9, completion_tokens: 1 } }, end('stop', { usage: report })],
      [counts],
    ],
    ['with a total left out', [end('stop', { usage: { prompt_tokens: 9, completion_tokens: 3 } })], [counts]],
    ['under the names of other APIs', [end('stop', { usage: { input_tokens: 9, output_tokens: 3 } })], [counts]],
    [
      'with details',
      [
        end('stop', {
          usage: {
            ...report,
            prompt_tokens_details: { cached_tokens: 4 },
            completion_tokens_details: { reasoning_tokens: 2 },
          },
        }),
      ],
      [{ ...counts, cachedTokens: 4, reasoningTokens: 2 }],
    ],
    [
      'with a cache hit as DeepSeek tells it',
      [end('stop', { usage: { ...report, prompt_cache_hit_tokens: 5 } })],
      [{ ...counts, cachedTokens: 5 }],
    ],
    ['of null', [{ ...text('a'), usage: null }, end('stop')], []],
    ['of nonsense', [end('stop', { usage: { prompt_tokens: -1, completion_tokens: 'x' } })], []],
  ])('is read %s', (_name, chunks, expected) => {
    expect(reduce(chunks).usage).toEqual(expected);
  });

  it('can be asked for when a reply breaks off', () => {
    const reducer = createChunkReducer();
    reducer.push({ ...text('a'), usage: report });
    expect(reducer.usage()).toEqual([{ type: 'usage', usage: counts }]);
  });
});

describe('an error inside the stream', () => {
  it.each<[string, unknown, object]>([
    [
      'in OpenAI form',
      { error: { message: 'mock: the server had an error', type: 'server_error', code: 'server_error' } },
      { failure: 'overloaded', retryable: true },
    ],
    [
      'of a used-up quota',
      { error: { message: 'quota', code: 'insufficient_quota' } },
      { failure: 'rate-limit', retryable: false },
    ],
    [
      'with a status as its code',
      {
        error: { code: 502, message: 'Provider returned error' },
        choices: [{ delta: { content: '' }, finish_reason: 'error' }],
      },
      { failure: 'overloaded', retryable: true, status: 502 },
    ],
    [
      'of a bad request',
      { error: { code: 400, message: 'no' } },
      { failure: 'bad-request', retryable: false, status: 400 },
    ],
    ['as a text', { error: 'it broke' }, { failure: 'overloaded' }],
    [
      'as vLLM has it',
      { object: 'error', message: 'too big', type: 'BadRequestError', code: 400 },
      { failure: 'bad-request', status: 400 },
    ],
    [
      'of a rate limit',
      { error: { message: 'slow', type: 'rate_limit_error' } },
      { failure: 'rate-limit', retryable: true },
    ],
    [
      'of a full context',
      { error: { message: 'maximum context length is 8192 tokens' } },
      { failure: 'too-long', retryable: false },
    ],
    [
      'within the choice',
      { choices: [{ delta: {}, error: { message: 'upstream', code: 503 } }] },
      { failure: 'overloaded', status: 503 },
    ],
    [
      'as a list',
      [{ error: { code: 429, message: 'slow', details: [{}, { retryDelay: '1.5s' }] } }],
      { failure: 'rate-limit', retryAfterMs: 1500 },
    ],
  ])('%s ends it at once', (_name, chunk, expected) => {
    const failure = failureOf([text('a'), chunk]);
    expect(failure).toBeInstanceOf(ProviderError);
    expect(failure).toMatchObject(expected);
  });

  it("tells the endpoint's own words", () => {
    expect(failureOf([{ error: { message: 'quota' } }])).toMatchObject({
      message: 'The endpoint broke off its reply: quota',
    });
  });

  it.each([
    ['null', null],
    ['a number', 7],
    ['a text', 'ping'],
  ])('%s in place of a chunk is a protocol failure', (_name, chunk) => {
    expect(failureOf([chunk])).toMatchObject({ failure: 'protocol' });
  });

  it('is none where the error is null', () => {
    expect(reduce([{ ...text('a'), error: null }, end('stop')]).text).toBe('a');
  });
});

it.each([
  ['placeholders', { choices: [], id: '', model: '', object: '' }],
  ['no choices at all', { id: 'c' }],
  ['null choices', { choices: null }],
])('chunks with %s are passed over', (_name, chunk) => {
  expect(reduce([chunk, text('a'), chunk, end('stop')])).toMatchObject({ text: 'a', ends: ['stop'] });
});

it('takes 50,000 deltas of text and of arguments', () => {
  const pieces = Array.from({ length: 50_000 }, (_, index) => fragment(0, 'k', 'write', index === 0 ? '{"a":"' : 'x'));
  const texts = Array.from({ length: 50_000 }, () => text('x'));
  const { calls, text: said } = reduce([...pieces, fragment(0, 'k', 'write', '"}'), ...texts, end('stop')]);
  expect([calls.length, calls[0]?.arguments.length, said.length]).toEqual([1, 50_007, 50_000]);
});
