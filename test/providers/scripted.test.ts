import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/errors.js';
import { createScriptedProvider, parseScript } from '../../src/providers/scripted.js';
import type { ModelDelta, ModelRequest, Provider } from '../../src/providers/types.js';

const request: ModelRequest = { model: 'm', messages: [{ role: 'user', content: 'hi' }], tools: [] };

async function read(provider: Provider, signal = new AbortController().signal): Promise<ModelDelta[]> {
  const deltas: ModelDelta[] = [];
  for await (const delta of provider.stream(request, signal)) deltas.push(delta);
  return deltas;
}

describe('a scripted provider', () => {
  it('gives its replies in order, and remembers what it was asked', async () => {
    const provider = createScriptedProvider({ replies: [{ text: 'one' }, { text: 'two', finishReason: 'length' }] });
    expect(provider.name).toBe('scripted');
    expect(await read(provider)).toEqual([
      { type: 'text', text: 'one' },
      { type: 'end', finishReason: 'stop' },
    ]);
    expect(await read(provider)).toEqual([
      { type: 'text', text: 'two' },
      { type: 'end', finishReason: 'length' },
    ]);
    expect(provider.requests).toEqual([request, request]);
  });

  it('fails when the script is used up', async () => {
    const provider = createScriptedProvider([{ text: 'one' }]);
    await read(provider);
    await expect(read(provider)).rejects.toMatchObject({
      failure: 'protocol',
      retryable: false,
      message: expect.stringMatching(/^script exhausted after 1 replies/),
    });
  });

  it('streams its words one by one and keeps every blank', async () => {
    const text = '  two words\n\n\tand more  ';
    const deltas = await read(createScriptedProvider([{ text, reasoning: 'hm hm' }]));
    expect(deltas.map((delta) => ('text' in delta ? [delta.type, delta.text] : delta.type))).toEqual([
      ['reasoning', 'hm '],
      ['reasoning', 'hm'],
      ['text', '  two '],
      ['text', 'words\n\n\t'],
      ['text', 'and '],
      ['text', 'more  '],
      'end',
    ]);
  });

  it('calls tools, with arguments as objects or as text of any kind', async () => {
    const toolCalls = [{ name: 'a', arguments: { x: 1 } }, { id: 'k', name: 'b', arguments: '{"x":' }, { name: 'c' }];
    const deltas = await read(createScriptedProvider([{ toolCalls, usage: { promptTokens: 7, completionTokens: 2 } }]));
    expect(deltas).toEqual([
      { type: 'call', call: { id: '', name: 'a', arguments: '{"x":1}' } },
      { type: 'call', call: { id: 'k', name: 'b', arguments: '{"x":' } },
      { type: 'call', call: { id: '', name: 'c', arguments: '{}' } },
      {
        type: 'usage',
        usage: { promptTokens: 7, completionTokens: 2, cachedTokens: 0, reasoningTokens: 0, totalTokens: 9 },
      },
      { type: 'end', finishReason: 'tool_calls' },
    ]);
  });

  it('fails where the script says so, after what it said before', async () => {
    const error = { kind: 'rate-limit', message: 'slow', retryAfterMs: 5, status: 429 } as const;
    const stream = createScriptedProvider([{ text: 'half', error }]).stream(request, new AbortController().signal);
    const iterator = stream[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: { type: 'text', text: 'half' } });
    await expect(iterator.next()).rejects.toMatchObject({
      failure: 'rate-limit',
      retryable: true,
      retryAfterMs: 5,
      status: 429,
    });
  });

  it('waits as the script says, and an abort ends the wait with its reason', async () => {
    const reason = new Error('enough');
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 20);
    await expect(read(createScriptedProvider([{ text: 'x', delayMs: 30_000 }]), controller.signal)).rejects.toBe(
      reason,
    );
    expect(await read(createScriptedProvider([{ text: 'x', delayMs: 5 }]))).toHaveLength(2);
  });

  it('stops in the middle of a reply on abort', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const provider = createScriptedProvider([{ text: 'one two three' }]);
    const work = (async () => {
      for await (const _delta of provider.stream(request, controller.signal)) controller.abort(reason);
    })();
    await expect(work).rejects.toBe(reason);
  });
});

describe('a script file', () => {
  it.each([
    ['a list', '[{"text":"hi"}]'],
    ['an object', '{"replies":[{"text":"hi"}]}'],
    ['with a byte order mark', '\uFEFF[{"text":"hi"}]'],
  ])('may be %s', (_name, text) => {
    expect(parseScript(text, 's.json')).toEqual([{ text: 'hi' }]);
  });

  it.each<[string, string, RegExp]>([
    ['that is not JSON', '{', /^s\.json is not JSON: /],
    ['with a misspelt field', '[{"text":"a"},{"txet":"b"}]', /^s\.json is no script of replies: 1: .*txet/],
    [
      'with a call without a name',
      '{"replies":[{"toolCalls":[{"arguments":{}}]}]}',
      /replies\.0\.toolCalls\.0\.name: /,
    ],
    ['with an unknown kind of error', '[{"error":{"kind":"oops","message":"m"}}]', /0\.error\.kind: /],
    ['without replies', '{}', /replies: /],
    ['that is a text', '"hi"', /the whole: /],
  ])('%s is refused with its name and the place', (_name, text, message) => {
    const parse = () => parseScript(text, 's.json');
    expect(parse).toThrow(ConfigError);
    expect(parse).toThrow(message);
  });
});
