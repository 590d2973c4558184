import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/kernel/types.js';
import { createConverter } from '../../src/providers/convert.js';
import type { ReasoningForm } from '../../src/providers/presets.js';

const ORIGIN = 'somebody:chat';
const converter = (reasoning: ReasoningForm, sendsCallExtras = true) =>
  createConverter({ origin: ORIGIN, reasoning, sendsCallExtras });
const plain = converter('none');
const call = (args: string) => ({ id: 'k1', name: 'read', arguments: args });
const asked = (args: string): Message => ({ role: 'assistant', content: '', reasoning: 'hm', toolCalls: [call(args)] });
const sent = (args: string) => [{ id: 'k1', type: 'function', function: { name: 'read', arguments: args } }];

describe('a message', () => {
  it.each<[string, Message, object]>([
    ['system', { role: 'system', content: 'S' }, { role: 'system', content: 'S' }],
    ['user', { role: 'user', content: 'U' }, { role: 'user', content: 'U' }],
    [
      'tool',
      { role: 'tool', callId: 'k1', name: 'read', content: '' },
      { role: 'tool', tool_call_id: 'k1', content: '' },
    ],
    ['assistant', { role: 'assistant', content: 'A' }, { role: 'assistant', content: 'A' }],
    ['assistant without a word', { role: 'assistant', content: '', toolCalls: [] }, { role: 'assistant', content: '' }],
    ['assistant with calls', asked('{"a":1}'), { role: 'assistant', content: null, tool_calls: sent('{"a":1}') }],
    [
      'assistant with words and calls',
      { ...asked('{}'), content: 'A' } as Message,
      { role: 'assistant', content: 'A', tool_calls: sent('{}') },
    ],
  ])('of role %s is sent in the plainest form', (_role, message, expected) => {
    expect(plain.messages([message])).toEqual([expected]);
  });

  it.each(['{"a":', '', '[1]', '"a"', 'null', '7', 'rm -rf'])(
    'with the arguments %j is sent with {} in their place',
    (args) => {
      expect(plain.messages([asked(args)])).toMatchObject([{ tool_calls: sent('{}') }]);
    },
  );

  it('keeps arguments that parse as they were written', () => {
    expect(plain.messages([asked('{ "a" : 1e2 }')])).toMatchObject([{ tool_calls: sent('{ "a" : 1e2 }') }]);
  });

  describe('carries its reasoning', () => {
    const items = [{ type: 'reasoning.encrypted', data: 'x' }];
    const messages: readonly Message[] = [
      asked('{}'),
      { role: 'assistant', content: '', toolCalls: [call('{}')] },
      { role: 'assistant', content: 'A', reasoning: 'hm' },
      { role: 'assistant', content: 'B' },
      { ...asked('{}'), replay: { origin: ORIGIN, items } } as Message,
    ];
    const part = { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] };
    const calling = { role: 'assistant', content: null, tool_calls: sent('{}') };

    it.each<[ReasoningForm, readonly object[]]>([
      ['none', [calling, calling, { role: 'assistant', content: 'A' }, { role: 'assistant', content: 'B' }, calling]],
      [
        'reasoning_content',
        [
          { ...calling, reasoning_content: 'hm' },
          { ...calling, reasoning_content: '' },
          { role: 'assistant', content: 'A', reasoning_content: 'hm' },
          { role: 'assistant', content: 'B', reasoning_content: '' },
          { ...calling, reasoning_content: 'hm' },
        ],
      ],
      [
        'reasoning',
        [
          { ...calling, reasoning: 'hm' },
          calling,
          { role: 'assistant', content: 'A', reasoning: 'hm' },
          { role: 'assistant', content: 'B' },
          { ...calling, reasoning_details: items },
        ],
      ],
      [
        'thinking-parts',
        [
          { ...calling, content: [part] },
          calling,
          { role: 'assistant', content: [part, { type: 'text', text: 'A' }] },
          { role: 'assistant', content: 'B' },
          { ...calling, content: [part] },
        ],
      ],
    ])('in the form %s', (form, expected) => {
      expect(converter(form).messages(messages)).toEqual(expected);
    });
  });

  it('gives back what came along with a call, unless the endpoint refuses that', () => {
    const extra = { google: { thought_signature: 'sig' } };
    const message: Message = { role: 'assistant', content: '', toolCalls: [{ ...call('{}'), extra }] };
    const [sentCall] = sent('{}');
    expect(plain.messages([message])).toMatchObject([{ tool_calls: [{ ...sentCall, extra_content: extra }] }]);
    expect(converter('none', false).messages([message])).toEqual([
      { role: 'assistant', content: null, tool_calls: [sentCall] },
    ]);
  });

  it('never carries what another API wants back', () => {
    const replay = { origin: 'openai:responses', items: [{ type: 'reasoning', encrypted_content: 'sealed' }] };
    const messages: Message[] = [{ ...asked('{}'), replay } as Message, { role: 'assistant', content: 'A', replay }];
    for (const form of ['none', 'reasoning_content', 'reasoning', 'thinking-parts'] as const) {
      expect(JSON.stringify(converter(form).messages(messages))).not.toMatch(/replay|sealed/);
    }
  });

  it('has half a character replaced, which a cut may leave', () => {
    const message: Message = { role: 'user', content: `a${'🛠'.slice(0, 1)}b🛠` };
    expect(plain.messages([message])).toEqual([{ role: 'user', content: 'a\uFFFDb🛠' }]);
  });

  it('is converted once', () => {
    const messages = [asked('{}'), asked('{}')];
    const [first, second] = plain.messages(messages);
    expect(first).not.toBe(second);
    expect(JSON.stringify(first)).toBe(JSON.stringify(second));
    expect(plain.messages([...messages])[0]).toBe(first);
  });
});

it('a tool is sent as a function, the same bytes each time', () => {
  const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
  const tools = [{ name: 'read', description: 'Reads.', parameters }];
  const expected = [{ type: 'function', function: { name: 'read', description: 'Reads.', parameters } }];
  expect(plain.tools(tools)).toEqual(expected);
  expect(plain.tools([...tools])[0]).toBe(plain.tools(tools)[0]);
});
