import { describe, expect, it } from 'vitest';
import type { Message, Replay } from '../../src/kernel/types.js';
import { createResponsesConverter } from '../../src/providers/responses-convert.js';
import { responsesOptions } from '../../src/providers/responses-options.js';

const ORIGIN = 'openai:responses';
const converter = createResponsesConverter(ORIGIN);
const call = (id: string, args = '{}') => ({ id, name: 'read', arguments: args });
const sent = (id: string, args = '{}') => ({ type: 'function_call', call_id: id, name: 'read', arguments: args });
const said = (content: string, more: object = {}) => ({ type: 'message', role: 'assistant', content, ...more });
const reasoning = (id: string) => ({ type: 'reasoning', id, summary: [], encrypted_content: `SEALED ${id}` });
const input = (message: Message, withReplay = true) => converter.input([message], withReplay);

describe('a message', () => {
  it.each<[string, Message, object[]]>([
    ['of the user', { role: 'user', content: 'U' }, [{ type: 'message', role: 'user', content: 'U' }]],
    [
      'of a tool',
      { role: 'tool', callId: 'k', name: 'read', content: '' },
      [{ type: 'function_call_output', call_id: 'k', output: '' }],
    ],
    ['of the assistant', { role: 'assistant', content: 'A' }, [said('A')]],
    ['of the assistant, with reasoning', { role: 'assistant', content: 'A', reasoning: 'hm' }, [said('A')]],
    ['without a word', { role: 'assistant', content: '', toolCalls: [] }, []],
    ['with calls', { role: 'assistant', content: '', toolCalls: [call('k'), call('l')] }, [sent('k'), sent('l')]],
    ['with words and calls', { role: 'assistant', content: 'A', toolCalls: [call('k')] }, [said('A'), sent('k')]],
    [
      'with half a character',
      { role: 'user', content: `a${'🛠'.slice(0, 1)}b` },
      [{ type: 'message', role: 'user', content: 'a\uFFFDb' }],
    ],
  ])('%s is sent as items', (_name, message, expected) => {
    expect(input(message)).toEqual(expected);
  });

  it.each(['{"a":', '', '[1]', 'rm -rf'])('with the arguments %j is sent with {} in their place', (args) => {
    expect(input({ role: 'assistant', content: '', toolCalls: [call('k', args)] })).toEqual([sent('k')]);
  });

  it('of the system is an instruction at the beginning, and an item later', () => {
    const messages: Message[] = [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'U' },
      { role: 'system', content: 'T' },
    ];
    expect(converter.instructions(messages)).toBe('S');
    expect(converter.input(messages, true)).toEqual([
      { type: 'message', role: 'user', content: 'U' },
      { type: 'message', role: 'system', content: 'T' },
    ]);
    expect(converter.instructions(messages.slice(1))).toBeUndefined();
  });

  it('is converted once', () => {
    const messages: Message[] = [{ role: 'assistant', content: 'A', toolCalls: [call('k')] }];
    const [text, asked] = converter.input(messages, true);
    const again = converter.input([...messages, { role: 'user', content: 'U' }], true);
    expect(again[0]).toBe(text);
    expect(again[1]).toBe(asked);
  });
});

describe('a reply that wants something back', () => {
  const items = [
    reasoning('r1'),
    { type: 'text', chars: 2, phase: 'commentary' },
    { type: 'call' },
    reasoning('r2'),
    { type: 'call' },
    { type: 'text', chars: 3, phase: 'final_answer' },
  ];
  const replay: Replay = { origin: ORIGIN, items };
  const message: Message = {
    role: 'assistant',
    content: 'ab\n\ncde',
    toolCalls: [call('k'), call('l')],
    replay,
  };
  const plain = [said('ab\n\ncde'), sent('k'), sent('l')];

  it('gets it, all in the order in which it came', () => {
    expect(input(message)).toEqual([
      reasoning('r1'),
      said('ab', { phase: 'commentary' }),
      sent('k'),
      reasoning('r2'),
      sent('l'),
      said('cde', { phase: 'final_answer' }),
    ]);
  });

  it.each<[string, Message]>([
    ['of another provider', { ...message, replay: { origin: 'azure:responses', items } }],
    ['with another text', { ...message, content: 'changed' }],
    ['with fewer calls', { ...message, toolCalls: [call('k')] }],
    ['with more calls', { ...message, toolCalls: [call('k'), call('l'), call('m')] }],
  ])('%s is sent without it', (_name, changed) => {
    if (changed.role !== 'assistant') throw new Error('It is the assistant who is asked.');
    const calls = (changed.toolCalls ?? []).map(({ id }) => sent(id));
    expect(input(changed)).toEqual([said(changed.content), ...calls]);
  });

  it('is sent without it where the endpoint refuses it', () => {
    expect(input(message, false)).toEqual(plain);
    expect(createResponsesConverter('other:responses').input([message], true)).toEqual(plain);
  });

  it('loses what is no form of ours, whoever stored it', () => {
    const stored: Message = {
      role: 'assistant',
      content: 'a',
      replay: {
        origin: ORIGIN,
        items: [{ type: 'evil' }, { type: 'reasoning', id: 'r' }, { type: 'text', chars: 1, phase: 7 }],
      },
    };
    expect(input(stored)).toEqual([said('a')]);
  });
});

it('a tool is sent in its flat form, not strict, the same bytes each time', () => {
  const parameters = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
  const tools = [{ name: 'read', description: 'Reads.', parameters }];
  expect(converter.tools(tools)).toEqual([
    { type: 'function', name: 'read', description: 'Reads.', parameters, strict: false },
  ]);
  expect(converter.tools([...tools])[0]).toBe(converter.tools(tools)[0]);
});

describe('an option', () => {
  const tool = { name: 'read', description: '', parameters: {} };
  const optionsOf = (options: Record<string, unknown>, tools = [tool]) =>
    responsesOptions({ model: 'm', messages: [], tools, options });

  it.each<[string, Record<string, unknown>, object]>([
    ['that both know stays', { temperature: 0.2, metadata: { a: '1' } }, { temperature: 0.2, metadata: { a: '1' } }],
    ['that nobody knows stays', { x: null }, { x: null }],
    ['for the effort moves', { reasoning_effort: 'low' }, { reasoning: { effort: 'low' } }],
    [
      'for the effort joins what stands there',
      { reasoning_effort: 'low', reasoning: { summary: 'auto' } },
      { reasoning: { summary: 'auto', effort: 'low' } },
    ],
    ['for the length moves', { max_tokens: 9 }, { max_output_tokens: 9 }],
    [
      'for the length moves under its newer name',
      { max_tokens: 9, max_completion_tokens: 8 },
      { max_output_tokens: 8 },
    ],
    ['for the verbosity moves', { verbosity: 'low' }, { text: { verbosity: 'low' } }],
    [
      'for the form moves',
      { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: {} } } },
      { text: { format: { type: 'json_schema', name: 'n', schema: {} } } },
    ],
    [
      'for a form without a schema moves',
      { response_format: { type: 'json_object' } },
      { text: { format: { type: 'json_object' } } },
    ],
    [
      'for a tool changes its form',
      { tool_choice: { type: 'function', function: { name: 'read' } } },
      { tool_choice: { type: 'function', name: 'read' } },
    ],
    ['for some tool stays', { tool_choice: 'required' }, { tool_choice: 'required' }],
    ['for the end of a stream has no meaning', { stream_options: { include_usage: true } }, {}],
  ])('%s', (_name, options, expected) => {
    expect(optionsOf(options)).toEqual(expected);
  });

  it('for tools is left out where none are offered', () => {
    expect(optionsOf({ tool_choice: 'auto', parallel_tool_calls: false, tools: [1] }, [])).toEqual({});
  });
});
