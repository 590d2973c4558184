import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../src/errors.js';
import { createResponseReducer } from '../../src/providers/responses-stream.js';
import { createSseReader } from '../../src/providers/sse.js';
import type { ModelDelta } from '../../src/providers/types.js';

const ORIGIN = 'openai:responses';

const added = (index: number | undefined, item: object) => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
});
const done = (index: number | undefined, item: object) => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
});
const piece = (kind: string, delta: unknown, more: object = {}) => ({ type: `response.${kind}.delta`, delta, ...more });
const text = (delta: string, more: object = {}) => piece('output_text', delta, more);
const args = (delta: string, more: object = {}) => piece('function_call_arguments', delta, more);
const ended = (response: object = {}, type = 'completed') => ({
  type: `response.${type}`,
  response: { object: 'response', status: type, output: [], ...response },
});
const call = (id: string, name: string, text = '', more: object = {}) => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name,
  arguments: text,
  ...more,
});
const message = (said: string, more: object = {}) => ({
  type: 'message',
  id: 'msg',
  role: 'assistant',
  content: [{ type: 'output_text', text: said, annotations: [] }],
  ...more,
});
const sealed = (id: string, content = 'SEALED') => ({ type: 'reasoning', id, summary: [], encrypted_content: content });

function deltasOf(events: readonly unknown[], sawDone = false): readonly ModelDelta[] {
  const reducer = createResponseReducer(ORIGIN);
  return [...events.flatMap((event) => reducer.push(event)), ...reducer.finish(sawDone)];
}

/** What events come to, text and reasoning joined. */
function reduce(events: readonly unknown[], sawDone = false) {
  const deltas = deltasOf(events, sawDone);
  const textOf = (type: string) =>
    deltas.map((item) => (item.type === type && 'text' in item ? item.text : '')).join('');
  return {
    text: textOf('text'),
    reasoning: textOf('reasoning'),
    calls: deltas.flatMap((item) => (item.type === 'call' ? [item.call] : [])),
    replay: deltas.flatMap((item) => (item.type === 'replay' ? [item.replay] : [])),
    usage: deltas.flatMap((item) => (item.type === 'usage' ? [item.usage] : [])),
    ends: deltas.flatMap((item) => (item.type === 'end' ? [item.finishReason] : [])),
  };
}

function failureOf(events: readonly unknown[], sawDone = false): unknown {
  try {
    reduce(events, sawDone);
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}

describe('text and reasoning', () => {
  it.each<[string, unknown[], { text?: string; reasoning?: string }]>([
    ['come in pieces', [text('a'), text('b')], { text: 'ab' }],
    [
      'skip what is empty or no text',
      [text(''), piece('output_text', null), piece('output_text', 7), text('a')],
      { text: 'a' },
    ],
    ['come as a refusal', [piece('refusal', 'No'), piece('refusal', '.')], { text: 'No.' }],
    [
      'come as a summary',
      [piece('reasoning_summary_text', 'h'), piece('reasoning_summary_text', 'm')],
      { reasoning: 'hm' },
    ],
    ['come as raw reasoning', [piece('reasoning_text', 'hm')], { reasoning: 'hm' }],
    [
      'come as a summary of several parts, apart from each other',
      [
        piece('reasoning_summary_text', 'one', { item_id: 'r', summary_index: 0 }),
        piece('reasoning_summary_text', 'two', { item_id: 'r', summary_index: 1 }),
        piece('reasoning_summary_text', '!', { item_id: 'r', summary_index: 1 }),
      ],
      { reasoning: 'one\n\ntwo!' },
    ],
    [
      'come as several messages, apart from each other',
      [text('first', { item_id: 'a' }), text('second', { item_id: 'b' }), text('!', { item_id: 'b' })],
      { text: 'first\n\nsecond!' },
    ],
    [
      'come as several parts of one message',
      [text('a', { item_id: 'm', content_index: 0 }), text('b', { item_id: 'm', content_index: 1 })],
      { text: 'ab' },
    ],
    ['come only when they are whole', [{ type: 'response.output_text.done', text: 'whole' }], { text: 'whole' }],
    ['come only with their item', [done(0, message('whole'))], { text: 'whole' }],
    [
      'come only with their item, reasoning too',
      [done(0, { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 'hm' }] }), done(1, message('a'))],
      { text: 'a', reasoning: 'hm' },
    ],
    [
      'are not said again by what repeats them whole',
      [
        added(0, message('')),
        text('ab', { item_id: 'msg', output_index: 0, content_index: 0 }),
        { type: 'response.output_text.done', item_id: 'msg', output_index: 0, content_index: 0, text: 'ab' },
        { type: 'response.content_part.done', item_id: 'msg', part: { type: 'output_text', text: 'ab' } },
        done(0, message('ab')),
        ended({ output: [message('ab')] }),
      ],
      { text: 'ab' },
    ],
    [
      'are not said again under another id',
      [
        text('ab', { item_id: 'x1', output_index: 0 }),
        done(0, message('ab', { id: 'x2' })),
        ended({ output: [message('ab', { id: 'x3' })] }),
      ],
      { text: 'ab' },
    ],
    [
      'are heard past what nobody knows',
      [{ type: 'response.web_search_call.searching' }, { type: 'keepalive' }, text('a'), { unknown: 1 }],
      { text: 'a' },
    ],
  ])('%s', (_name, events, expected) => {
    const { text: said, reasoning } = reduce(events.some(isEnd) ? events : [...events, ended()]);
    expect({ text: said, reasoning }).toEqual({ text: '', reasoning: '', ...expected });
  });

  it.each([
    ['a whole response', [{ object: 'response', status: 'completed', output: [message('whole')] }]],
    ['a whole response without a status', [{ output: [message('whole')] }]],
    ['the last event alone', [ended({ output: [message('whole')] })]],
  ])('come in %s', (_name, events) => {
    expect(reduce(events)).toMatchObject({ text: 'whole', ends: ['stop'] });
  });

  it('come out at once', () => {
    const reducer = createResponseReducer(ORIGIN);
    expect(reducer.push(text('a'))).toEqual([{ type: 'text', text: 'a' }]);
    expect(reducer.push(args('{'))).toEqual([]);
    expect(reducer.push({ type: 'response.created', response: { status: 'in_progress' } })).toEqual([]);
  });
});

function isEnd(event: unknown): boolean {
  return typeof event === 'object' && event !== null && 'type' in event && event.type === 'response.completed';
}

describe('tool calls', () => {
  const x = { id: 'k1', name: 'read', arguments: '{"path":"x"}' };
  const y = { id: 'k2', name: 'read', arguments: '{"path":"y"}' };

  it.each<[string, unknown[], object[]]>([
    [
      'come in pieces',
      [
        added(0, call('k1', 'read')),
        args('{"path"', { item_id: 'fc_k1', output_index: 0 }),
        args(':"x"}', { item_id: 'fc_k1', output_index: 0 }),
        { type: 'response.function_call_arguments.done', item_id: 'fc_k1', output_index: 0, arguments: x.arguments },
        done(0, call('k1', 'read', x.arguments)),
      ],
      [x],
    ],
    [
      'come side by side',
      [
        added(0, call('k1', 'read')),
        added(1, call('k2', 'read')),
        args(y.arguments, { item_id: 'fc_k2', output_index: 1 }),
        args(x.arguments, { item_id: 'fc_k1', output_index: 0 }),
      ],
      [x, y],
    ],
    ['come whole', [done(0, call('k1', 'read', x.arguments)), done(1, call('k2', 'read', y.arguments))], [x, y]],
    [
      'come only at the end',
      [ended({ output: [call('k1', 'read', x.arguments), call('k2', 'read', y.arguments)] })],
      [x, y],
    ],
    [
      'get their arguments only at the end',
      [added(0, call('k1', 'read')), ended({ output: [call('k1', 'read', x.arguments)] })],
      [x],
    ],
    [
      'get their name and id late',
      [args(x.arguments, { item_id: 'fc_k1', output_index: 0 }), done(0, call('k1', 'read', ''))],
      [x],
    ],
    [
      'come all with index 0',
      [
        added(0, call('k1', 'read')),
        args(x.arguments, { item_id: 'fc_k1', output_index: 0 }),
        done(0, call('k1', 'read', x.arguments)),
        added(0, call('k2', 'read')),
        args(y.arguments, { item_id: 'fc_k2', output_index: 0 }),
        done(0, call('k2', 'read', y.arguments)),
      ],
      [x, y],
    ],
    [
      'come whole, all with index 0 and without ids',
      [
        done(0, call('k1', 'read', x.arguments, { id: undefined })),
        done(0, call('k2', 'read', y.arguments, { id: undefined })),
      ],
      [x, y],
    ],
    [
      'come under a new id with each event',
      [
        added(0, call('k1', 'read')),
        args('{"path"', { item_id: 'one', output_index: 0 }),
        args(':"x"}', { item_id: 'two', output_index: 0 }),
        done(0, call('k1', 'read', x.arguments, { id: 'three' })),
      ],
      [x],
    ],
    [
      'come without ids and indexes',
      [
        added(undefined, call('k1', 'read', '', { id: undefined })),
        args(x.arguments),
        done(undefined, call('k1', 'read', x.arguments, { id: undefined })),
        added(undefined, call('k2', 'read', '', { id: undefined })),
        args(y.arguments),
      ],
      [x, y],
    ],
    [
      'go by the id of their item where they have none of their own',
      [done(0, call('', 'read', x.arguments))],
      [{ ...x, id: 'fc_' }],
    ],
    ['may have an object for arguments', [done(0, { ...call('k1', 'read'), arguments: { path: 'x' } })], [x]],
    ['may have no arguments', [done(0, call('k1', 'list'))], [{ id: 'k1', name: 'list', arguments: '{}' }]],
    ['may have broken arguments', [done(0, call('k1', 'read', '{"path'))], [{ ...x, arguments: '{"path' }]],
    ['of tools that the endpoint runs itself are not ours', [done(0, { type: 'web_search_call', id: 'ws' })], []],
  ])('%s', (_name, events, expected) => {
    const reduced = reduce(events.some(isEnd) ? events : [...events, ended()]);
    expect(reduced.calls).toEqual(expected);
    expect(reduced.ends).toEqual([expected.length > 0 ? 'tool_calls' : 'stop']);
  });
});

describe('the end', () => {
  it.each<[string, unknown[], string]>([
    ['of a complete response', [text('a'), ended()], 'stop'],
    [
      'of a response that says it goes on, in an event that says it ended',
      [text('a'), ended({ status: 'in_progress' })],
      'stop',
    ],
    [
      'at the length limit',
      [text('a'), ended({ incomplete_details: { reason: 'max_output_tokens' } }, 'incomplete')],
      'length',
    ],
    [
      'at the length limit within a call',
      [
        added(0, call('k', 'x')),
        args('{"a'),
        ended({ incomplete_details: { reason: 'max_output_tokens' } }, 'incomplete'),
      ],
      'length',
    ],
    ['by a filter', [ended({ incomplete_details: { reason: 'content_filter' } }, 'incomplete')], 'content_filter'],
    ['for another reason', [ended({ incomplete_details: { reason: 'bored' } }, 'incomplete')], 'unknown'],
    ['for no reason', [ended({}, 'incomplete')], 'unknown'],
    [
      'in a whole response',
      [{ object: 'response', status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] }],
      'length',
    ],
  ])('%s is told', (_name, events, reason) => {
    expect(reduce(events).ends).toEqual([reason]);
  });

  it('may be [DONE] alone, where something was said', () => {
    expect(reduce([text('a')], true)).toMatchObject({ text: 'a', ends: ['stop'] });
  });

  it('is known when it has come, and nothing before it is', () => {
    const reducer = createResponseReducer(ORIGIN);
    reducer.push(text('a'));
    expect([reducer.isFinished(), reducer.isOver()]).toEqual([false, false]);
    reducer.push(ended());
    expect([reducer.isFinished(), reducer.isOver()]).toEqual([true, true]);
  });

  it.each<[string, unknown[], boolean]>([
    ['nothing', [], false],
    ['nothing but [DONE]', [], true],
    ['text', [text('a')], false],
    ['a whole item', [done(0, message('a'))], false],
    ['a response that goes on', [{ object: 'response', status: 'in_progress', output: [message('a')] }], false],
  ])('that never comes is a cut, after %s', (_name, events, sawDone) => {
    expect(failureOf(events, sawDone)).toMatchObject({ failure: 'network', retryable: true });
  });
});

describe('the usage', () => {
  it('comes with the response, failed ones too', () => {
    const usage = {
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 12,
    };
    const counts = { promptTokens: 9, completionTokens: 3, cachedTokens: 4, reasoningTokens: 2, totalTokens: 12 };
    expect(reduce([text('a'), ended({ usage })]).usage).toEqual([counts]);
    const reducer = createResponseReducer(ORIGIN);
    expect(() => reducer.push(ended({ usage, error: { code: 'server_error', message: 'x' } }, 'failed'))).toThrow();
    expect(reducer.usage()).toEqual([{ type: 'usage', usage: counts }]);
  });

  it('may be missing', () => {
    expect(reduce([text('a'), ended({ usage: null })]).usage).toEqual([]);
  });
});

describe('a failure', () => {
  const failed = (code: string, text = 'words') => ended({ error: { code, message: text } }, 'failed');

  it.each<[string, unknown, object]>([
    [
      'of the server',
      failed('server_error'),
      { failure: 'overloaded', retryable: true, message: expect.stringContaining('words') },
    ],
    ['of the rate', failed('rate_limit_exceeded'), { failure: 'rate-limit', retryable: true }],
    ['of the quota', failed('insufficient_quota'), { failure: 'rate-limit', retryable: false }],
    ['of the length', failed('context_length_exceeded'), { failure: 'too-long' }],
    ['of the request', failed('invalid_prompt'), { failure: 'bad-request', retryable: false }],
    ['without words', ended({}, 'failed'), { failure: 'overloaded', message: expect.stringContaining('no message') }],
    [
      'in an event of its own',
      { type: 'error', code: 'server_error', message: 'words' },
      { failure: 'overloaded', message: expect.stringContaining('words') },
    ],
    [
      'in an event with an error in it',
      { type: 'error', error: { code: 'rate_limit_exceeded', message: 'words' } },
      { failure: 'rate-limit' },
    ],
    ['in an event without anything', { type: 'error' }, { message: expect.stringContaining('no message') }],
    ['without a type', { error: { message: 'words', code: 400 } }, { failure: 'bad-request' }],
    [
      'in a whole response',
      { object: 'response', status: 'failed', error: { code: 'server_error', message: 'words' } },
      { failure: 'overloaded' },
    ],
    [
      'by the endpoint itself',
      ended({}, 'cancelled'),
      { failure: 'overloaded', message: expect.stringContaining('cancelled') },
    ],
    ['that is no object', 7, { failure: 'protocol' }],
  ])('%s is thrown', (_name, event, expected) => {
    const thrown = failureOf([text('half'), event]);
    expect(thrown).toBeInstanceOf(ProviderError);
    expect(thrown).toMatchObject(expected);
  });
});

describe('what the provider wants back', () => {
  it('is its sealed reasoning, in front of what it led to', () => {
    const { replay } = reduce([
      done(0, { ...sealed('r1'), status: 'completed', summary: [{ type: 'summary_text', text: 'hm' }] }),
      done(1, message('I look.', { phase: 'commentary' })),
      done(2, call('k1', 'read')),
      done(3, sealed('r2')),
      done(4, call('k2', 'read')),
      ended(),
    ]);
    expect(replay).toEqual([
      {
        origin: ORIGIN,
        items: [
          { type: 'reasoning', id: 'r1', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'SEALED' },
          { type: 'text', chars: 7, phase: 'commentary' },
          { type: 'call' },
          { type: 'reasoning', id: 'r2', summary: [], encrypted_content: 'SEALED' },
          { type: 'call' },
        ],
      },
    ]);
  });

  it.each<[string, unknown[]]>([
    ['nothing but text and calls', [done(0, message('a')), done(1, call('k', 'x'))]],
    ['reasoning that is only named', [done(0, { type: 'reasoning', id: 'r', summary: [] })]],
    ['reasoning that never became whole', [added(0, sealed('r')), piece('reasoning_summary_text', 'hm')]],
  ])('is nothing of %s', (_name, events) => {
    expect(reduce([...events, ended()]).replay).toEqual([]);
  });

  it('may be open reasoning, as models give it that seal nothing', () => {
    const item = { type: 'reasoning', id: 'r', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] };
    expect(reduce([done(0, { ...item, encrypted_content: null }), ended()])).toMatchObject({
      reasoning: 'hm',
      replay: [{ origin: ORIGIN, items: [item] }],
    });
  });
});

describe('a stream', () => {
  const events = [
    { type: 'response.created', response: { object: 'response', status: 'in_progress', output: [] } },
    added(0, { type: 'reasoning', id: 'r', summary: [] }),
    piece('reasoning_summary_text', 'Überlegen', { item_id: 'r', output_index: 0, summary_index: 0 }),
    done(0, { ...sealed('r'), summary: [{ type: 'summary_text', text: 'Überlegen' }] }),
    added(1, message('', { content: [] })),
    text('修复 🛠️', { item_id: 'msg', output_index: 1, content_index: 0 }),
    done(1, message('修复 🛠️')),
    added(2, call('k', 'read')),
    args('{"path":', { item_id: 'fc_k', output_index: 2 }),
    args('"é"}', { item_id: 'fc_k', output_index: 2 }),
    done(2, call('k', 'read', '{"path":"é"}')),
    ended({ usage: { input_tokens: 5, output_tokens: 7, total_tokens: 12 } }),
  ];
  const bytes = Buffer.from(
    events
      .map((event) => `event: ${'type' in event ? event.type : ''}\r\ndata: ${JSON.stringify(event)}\r\n\r\n`)
      .join(''),
  );
  const read = (parts: readonly Uint8Array[]) => {
    const sse = createSseReader();
    return reduce([...parts.flatMap((part) => sse.push(part)), ...sse.end()].map((data) => JSON.parse(data)));
  };

  it('comes to the same wherever its bytes are split', () => {
    const whole = read([bytes]);
    expect(whole).toMatchObject({
      text: '修复 🛠️',
      reasoning: 'Überlegen',
      calls: [{ id: 'k', name: 'read', arguments: '{"path":"é"}' }],
      ends: ['tool_calls'],
    });
    for (let place = 1; place < bytes.length; place += 1) {
      expect(read([bytes.subarray(0, place), bytes.subarray(place)])).toEqual(whole);
    }
    expect(read(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(whole);
  });
});
