import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/kernel/types.js';
import { createConverter } from '../../src/providers/convert.js';

const plain = createConverter({ sendReasoning: false });
const thinking = createConverter({ sendReasoning: true });
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

  it('carries its reasoning only where the endpoint wants it, and only beside calls', () => {
    const without: Message = { role: 'assistant', content: '', toolCalls: [call('{}')] };
    const answer: Message = { role: 'assistant', content: 'A', reasoning: 'hm' };
    const fields = (messages: readonly object[]) =>
      messages.map((message) => ('reasoning_content' in message ? message.reasoning_content : null));
    expect(fields(plain.messages([asked('{}'), without, answer]))).toEqual([null, null, null]);
    expect(fields(thinking.messages([asked('{}'), without, answer]))).toEqual(['hm', '', null]);
  });

  it('never carries what another API wants back', () => {
    const replay = { origin: 'openai:responses', items: [{ type: 'reasoning', encrypted_content: 'sealed' }] };
    const messages: Message[] = [{ ...asked('{}'), replay } as Message, { role: 'assistant', content: 'A', replay }];
    for (const converter of [plain, thinking]) {
      expect(JSON.stringify(converter.messages(messages))).not.toMatch(/replay|sealed/);
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
