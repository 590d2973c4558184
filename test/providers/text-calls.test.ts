import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolCall } from '../../src/kernel/types.js';
import { createCallReader, type Offer } from '../../src/providers/text-calls.js';

const NAMES = new Set(['read_file', 'write_file', 'shell', 'delegate']);
const taught: Offer = { names: NAMES, isTaught: true };
const native: Offer = { names: NAMES, isTaught: false };

type Read = { readonly text: string; readonly calls: readonly (readonly [name: string, args: unknown])[] };

/** The reply read in the pieces given: its text, and the name and arguments of each call. */
function read(pieces: readonly string[], offer: Offer): Read {
  const reader = createCallReader(offer);
  const found = [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()];
  return {
    text: found.map((piece) => (piece.type === 'text' ? piece.text : '')).join(''),
    calls: found.flatMap((piece) => (piece.type === 'calls' ? piece.calls.map(shown) : [])),
  };
}

/** Broken arguments as the text they are. */
function shown({ name, arguments: text }: ToolCall): readonly [string, unknown] {
  try {
    return [name, JSON.parse(text)];
  } catch {
    return [name, text];
  }
}

const A = { path: 'a.ts' };
const readA: Read['calls'] = [['read_file', A]];

/** What it is, the block, its calls. Each stands between two sentences. */
const FORMS: readonly (readonly [string, string, Read['calls']])[] = [
  ['an empty tag', `<tool_call name="read_file" args='{"path":"a.ts"}'/>`, readA],
  ['an empty tag with blanks', `<tool_call  name = "read_file"\n  args = '{"path": "a.ts"}' />`, readA],
  ['a tag with the arguments first', `<tool_call args='{"path":"a.ts"}' name="read_file"/>`, readA],
  ['a tag that is not closed in itself', `<tool_call name="read_file" args='{"path":"a.ts"}'>`, readA],
  ['a tag with an end tag of its own', `<tool_call name="read_file" args='{"path":"a.ts"}'></tool_call>`, readA],
  ['a tag without arguments', '<tool_call name="shell"/>', [['shell', {}]]],
  ['a tag with unquoted arguments', '<tool_call name=read_file args={"path":"a.ts"}/>', readA],
  ['a pair of tags', '<tool_call name="read_file">{"path":"a.ts"}</tool_call>', readA],
  ['a pair of tags over lines', '<tool_call name="read_file">\n{\n"path": "a.ts"\n}\n</tool_call>', readA],
  [
    'a pair of tags with a fence inside',
    '<tool_call name="read_file">\n```json\n{"path":"a.ts"}\n```\n</tool_call>',
    readA,
  ],
  ['a pair of tags around nothing', '<tool_call name="shell"></tool_call>', [['shell', {}]]],
  ["Hermes' and Qwen's JSON", '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.ts"}}\n</tool_call>', readA],
  [
    'the same with arguments as text',
    '<tool_call>{"name":"read_file","arguments":"{\\"path\\":\\"a.ts\\"}"}</tool_call>',
    readA,
  ],
  [
    'the same with a list of calls',
    '<tool_call>[{"name":"read_file","arguments":{"path":"a.ts"}},{"name":"shell","arguments":{}}]</tool_call>',
    [...readA, ['shell', {}]],
  ],
  [
    'the same in the form of the API',
    '<tool_call>{"type":"function","function":{"name":"read_file","arguments":{"path":"a.ts"}}}</tool_call>',
    readA,
  ],
  [
    "Qwen-coder's parameters",
    '<tool_call>\n<function=read_file>\n<parameter=path>\na.ts\n</parameter>\n</function>\n</tool_call>',
    readA,
  ],
  [
    'the same without the tag around it',
    '<function=read_file>\n<parameter=path>\na.ts\n</parameter>\n</function>\n</tool_call>',
    readA,
  ],
  [
    'parameters that hold end tags',
    '<function=write_file><parameter=content>\na </function> b\n  </tool_call>\n</parameter></function>',
    [['write_file', { content: 'a </function> b\n  </tool_call>' }]],
  ],
  ["Llama's function", '<function=read_file>{"path": "a.ts"}</function>', readA],
  ['brackets', '[tool: read_file {"path": "a.ts"}]', readA],
  [
    'brackets with a list inside',
    '[tool: shell {"command": "a[0]", "x": [1]}]',
    [['shell', { command: 'a[0]', x: [1] }]],
  ],
  ["Mistral's list", '[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a.ts"}}]', readA],
  [
    "Mistral's list of two",
    '[TOOL_CALLS] [{"name":"read_file","arguments":{"path":"a.ts"}},{"name":"shell","arguments":{}}]',
    [...readA, ['shell', {}]],
  ],
  ["Mistral's name", '[TOOL_CALLS]read_file{"path": "a.ts"}', readA],
  ["Mistral's name with a mark", '[TOOL_CALLS]read_file[ARGS]{"path": "a.ts"}', readA],
  ["Mistral's name with an id", '[TOOL_CALLS]read_file[CALL_ID]a1B2c3[ARGS]{"path": "a.ts"}', readA],
  [
    'a task for an agent',
    '<agent_call agent="coder" task="Fix &quot;it&quot; > now, don\'t wait"/>',
    [['delegate', { tasks: [{ worker: 'coder', task: 'Fix "it" > now, don\'t wait' }] }]],
  ],
  [
    'a task for an agent between tags',
    '<agent_call agent="file">Look.</agent_call>',
    [['delegate', { tasks: [{ worker: 'file', task: 'Look.' }] }]],
  ],
  [
    'two blocks',
    '<tool_call name="read_file">{"path":"a.ts"}</tool_call>\n\n<tool_call name="shell">{"command":"ls"}</tool_call>',
    [...readA, ['shell', { command: 'ls' }]],
  ],
  [
    'an end tag in a string',
    '<tool_call name="shell">{"command":"echo \'</tool_call>\'"}</tool_call>',
    [['shell', { command: "echo '</tool_call>'" }]],
  ],
  [
    'an escaped end tag in a string',
    '<tool_call name="shell">{"command":"echo <\\/tool_call>"}</tool_call>',
    [['shell', { command: 'echo </tool_call>' }]],
  ],
  [
    'an empty tag in a string',
    `<tool_call name="shell" args='{"command":"echo \\"<a b='1'/>\\""}'/>`,
    [['shell', { command: 'echo "<a b=\'1\'/>"' }]],
  ],
];

/** What is mended. */
const REPAIRS: readonly (readonly [string, string, Read['calls']])[] = [
  ['single quotes', `<tool_call name='read_file'>{'path': 'a.ts'}</tool_call>`, readA],
  ['curly quotes', '<tool_call name=“read_file” args=‘{“path”: “a.ts”}’/>', readA],
  ['quotes that end the attribute', '<tool_call name="read_file" args="{"path":"a.ts"}"/>', readA],
  ['escaped quotes', '<tool_call name="read_file" args="{\\"path\\":\\"a.ts\\"}"/>', readA],
  ['entities in an attribute', '<tool_call name="read_file" args="{&quot;path&quot;:&quot;a.ts&quot;}"/>', readA],
  ['entities between tags', '<tool_call name="read_file">{&quot;path&quot;:&#34;a.ts&#x22;}</tool_call>', readA],
  [
    'entities for the quotes of the attribute',
    `<tool_call name="shell" args='{"command":"echo &apos;a&apos; &amp;&amp; ls"}'/>`,
    [['shell', { command: "echo 'a' && ls" }]],
  ],
  [
    'no entities where the text is not XML',
    `<tool_call name="shell" args='{"command":"echo <b>&amp;</b>"}'/>`,
    [['shell', { command: 'echo <b>&amp;</b>' }]],
  ],
  [
    'no entities in good JSON between tags',
    '<tool_call name="shell">{"command":"echo &lt;"}</tool_call>',
    [['shell', { command: 'echo &lt;' }]],
  ],
  ['a comma too many', '<tool_call name="read_file">{"path":"a.ts",}</tool_call>', readA],
  ['a bracket too many', '<tool_call name="read_file">{"path":"a.ts"}}</tool_call>', readA],
  ['keys without quotes', '<tool_call name="read_file">{path: "a.ts"}</tool_call>', readA],
  [
    'line breaks in a string',
    '<tool_call name="write_file">{"content":"a\nb\n"}</tool_call>',
    [['write_file', { content: 'a\nb\n' }]],
  ],
  [
    'quotes in a string',
    '<tool_call name="shell">{"command":"echo "hi""}</tool_call>',
    [['shell', { command: 'echo "hi"' }]],
  ],
  [
    'an odd quote in a string',
    '<tool_call name="shell">{"command":"echo "hi"}</tool_call>\n',
    [['shell', { command: 'echo "hi' }]],
  ],
];

/** What is text, and stays it to the byte. */
const EXAMPLES: readonly (readonly [string, string])[] = [
  ['in a fence', '```\n<tool_call name="shell">{"command":"ls"}</tool_call>\n```'],
  ['in a fence of XML', '```xml\n<tool_call name="shell" args=\'{"command":"ls"}\'/>\n```'],
  ['in a fence of tildes', '~~~\n[tool: shell {"command":"ls"}]\n~~~'],
  ['in a fence with a shorter one inside', '````md\n```\nls\n```\n<tool_call name="shell">{}</tool_call>\n````'],
  ['in a fence with another kind inside', '```\n~~~\n<tool_call name="shell">{}</tool_call>\n~~~\n```'],
  ['in a fence of a list', '1. like this:\n   ```\n   <function=shell>{}</function>\n   ```'],
  ['behind what only looks like the end of a fence', '```\na\n``` b\n<tool_call name="shell">{}</tool_call>\n```'],
  ['in a fence without an end', '```\n<tool_call name="shell">{}</tool_call>'],
  ['in code in a line', 'Write `<tool_call name="shell">{}</tool_call>` for that.'],
  ['in code with two marks', 'Write ``<tool_call name="shell">{"command":"`ls`"}</tool_call>`` for that.'],
  ['in code over two lines', 'Write `a\n<tool_call name="shell">{}</tool_call>` for that.'],
  ['in three backticks on one line', '``` <tool_call name="shell">{}</tool_call> ```'],
  ['in a quote', '> <tool_call name="shell">{"command":"ls"}</tool_call>'],
  ['in a thought', '<think>\nI could write <tool_call name="shell">{}</tool_call>\n</think>'],
  ['in a thought without an end', '<think>\nI could write <tool_call name="shell">{}</tool_call>'],
  ['in indented code', 'Like this:\n\n    <tool_call name="shell">{"command":"ls"}</tool_call>\n'],
  ['in indented code behind a tab', 'Like this:\n\n\t<function=shell>{}</function>\n'],
  ['in a later line of indented code', 'So:\n\n    ls\n     <tool_call name="shell">{}</tool_call>\n'],
  [
    'in a result that it shows',
    '<tool_result name="read_file">\n<tool_call name="shell">{}</tool_call>\n</tool_result>',
  ],
  ['in a result without an end', 'The <tool_result> was:\n<tool_call name="shell">{}</tool_call>'],
  ['that is only mentioned', 'The tag <tool_call name="shell"> is how a call begins.'],
  ['that is only mentioned without a name', 'A <tool_call> holds JSON, and <function= a name; [tool: too.'],
  ['of a tag with a longer name', '<tool_calls name="shell">{}</tool_calls>'],
  ['a stray end', 'It ends with </tool_call> then.'],
  ['something in brackets', 'See [tool: read_file] and [TOOL_CALLS] in [the list](x).'],
  ['of JSON that is no call', '```json\n{"name": "shell", "version": "1.0.0"}\n```'],
  ['of JSON that has a name and nothing else', '```json\n{"name": "shell"}\n```'],
  ['of JSON with an unknown name', '```json\n{"name": "jq", "arguments": {}}\n```'],
  ['of JSON beside other text', '```json\n{"name": "shell", "arguments": {}}\nand so on\n```'],
  ['of JSON in a fence of another language', '```ts\n{"name": "shell", "arguments": {}}\n```'],
  ['of JSON without a fence', '{"name": "shell", "arguments": {}}'],
];

const FENCES: readonly (readonly [string, string, Read['calls']])[] = [
  ['name and arguments', '```json\n{"name": "read_file", "arguments": {"path": "a.ts"}}\n```', readA],
  ['tool and args', '```json\n{\n  "tool": "read_file",\n  "args": {"path": "a.ts"}\n}\n```', readA],
  ['parameters first', '```JSON\n{"parameters": {"path": "a.ts"}, "tool": "read_file"}\n```', readA],
  ['a longer fence', '`````tool_call\n{"name": "read_file", "arguments": {"path": "a.ts"}}\n`````', readA],
  ['single quotes', "```json\n{'name': 'read_file', 'arguments': {'path': 'a.ts',}}\n```", readA],
];

describe.each([
  ['that was taught the form', taught],
  ['that was offered tools natively', native],
])('in the text of a model %s', (_, offer) => {
  it.each([...FORMS, ...REPAIRS])('%s is read as a call', (_form, block, calls) => {
    expect(read([`Let me see.\n${block}\n`], offer)).toEqual({ text: 'Let me see.\n', calls });
    expect(read([block], offer)).toEqual({ text: '', calls });
  });

  it.each(EXAMPLES)('a block %s stays text', (_form, text) => {
    expect(read([text], offer)).toEqual({ text, calls: [] });
  });

  it.each([
    ['code in a line', 'Use `ls`: '],
    ['a fence', '```\nls\n```\n'],
    ['a fence of the same kind within a longer one', '````\n```\n````\n'],
    ['a lone backtick in the paragraph before', 'A ` mark.\n\n'],
    ['a quote', '> so it is\n'],
    ['a thought', '<think>hm</think>\n'],
    ['a result that it shows', '<tool_result name="shell">\nok\n</tool_result>\n'],
    ['the blanks of a paragraph', 'Look:\n     '],
    ['indented code', 'Look:\n\n    ls\n\n'],
    ['a bracket', 'a < b, [x] <'],
    ['another block that is only mentioned', 'With <tool_call name="shell"> one runs it: '],
  ])('a call behind %s is read', (_form, before) => {
    expect(read([`${before}<tool_call name="read_file">{"path":"a.ts"}</tool_call>`], offer)).toEqual({
      text: before,
      calls: readA,
    });
  });

  it.each(['READ_FILE', 'Read_File'])('a call of %s is one of the tool with that name in another case', (name) => {
    expect(read([`<tool_call name="${name}">{"path":"a.ts"}</tool_call>`], offer).calls).toEqual(readA);
  });

  it('a name that two tools have in other cases is none of theirs', () => {
    const names = new Set(['Shell', 'SHELL']);
    const { calls } = read(['<tool_call name="shell"/>'], { ...offer, names });
    expect(calls).toEqual(offer.isTaught ? [['shell', {}]] : []);
  });

  it('a block that the model repeats stays text, and others are read', () => {
    const [shown, meant] = ['<tool_call name="shell"/>', '<tool_call name="read_file">{"path":"a.ts"}</tool_call>'];
    const isQuoted = (block: string) => block === shown;
    expect(read([`It has ${shown} in it. ${meant}`], { ...offer, isQuoted })).toEqual({
      text: `It has ${shown} in it. `,
      calls: readA,
    });
  });

  it('text between and behind blocks stays, without the blanks that only set them apart', () => {
    const block = '<tool_call name="read_file">{"path":"a.ts"}</tool_call>';
    expect(read([`One.\n\n${block}\n\nTwo.\n${block}\n${block}\n`], offer)).toEqual({
      text: 'One.\n\n\n\nTwo.\n',
      calls: [...readA, ...readA, ...readA],
    });
  });

  it.each([
    ['that is never closed', '<tool_call name="shell">{"command":"rm a"}', 'shell'],
    ['whose tag is never closed', `<tool_call name="shell" args='{"command":"rm a"}'`, 'shell'],
    ['that breaks off in a string', '<tool_call name="write_file">{"path":"a","content":"half', 'write_file'],
    ['that holds no JSON', '<tool_call name="shell">ls -la</tool_call>', 'shell'],
    ['that holds a list', '<tool_call name="shell">["ls"]</tool_call>', 'shell'],
    ['whose JSON is beyond repair', '<tool_call name="shell">{"command" "ls" : :}</tool_call>', 'shell'],
    [
      'whose JSON was cut off before its end tag',
      '<tool_call name="write_file">{"path":"a","content":"half</tool_call>',
      'write_file',
    ],
    ['with a backslash that JSON does not know', '<tool_call name="shell">{"command":"grep \\d"}</tool_call>', 'shell'],
    ['with an apostrophe in single quotes', `<tool_call name="shell">{'command':'it's'}</tool_call>`, 'shell'],
    ["of Hermes' form that is never closed", '<tool_call>{"name": "shell", "arguments": {"command": "rm a"}}', 'shell'],
    [
      "of Hermes' form with broken JSON",
      '<tool_call>{"name": "shell", "arguments": {"command" "rm" :}}</tool_call>',
      'shell',
    ],
    ['in brackets that are not closed', '[tool: shell {"command":"ls"}', 'shell'],
    ["of Mistral's form that is never closed", '[TOOL_CALLS]shell{"command":"ls"', 'shell'],
    ['of a function that is never closed', '<function=shell><parameter=command>ls', 'shell'],
    ['of an agent without a task', '<agent_call agent="coder"/>', 'delegate'],
  ])('a block %s is a call whose arguments are the block, and is not shown', (_form, block, name) => {
    expect(read([`So.\n${block}`], offer)).toEqual({ text: 'So.\n', calls: [[name, block]] });
  });

  it('the same pieces are found wherever the stream is cut', () => {
    const all = [...FORMS, ...REPAIRS, ...EXAMPLES, ...FENCES].map(([, block]) => `See:\n${block}\nSo.`);
    const differing = all.flatMap((text) => {
      const whole = JSON.stringify(read([text], offer));
      const cuts = Array.from({ length: text.length - 1 }, (_cut, at) => [text.slice(0, at + 1), text.slice(at + 1)]);
      return [...cuts, [...text]].filter((pieces) => JSON.stringify(read(pieces, offer)) !== whole);
    });
    expect(differing).toEqual([]);
  });

  it('any text is given back whole, in calls and text, however it is cut', () => {
    const bits = [
      '<tool_call',
      ' name="shell"',
      '>',
      '{"command":"ls"}',
      '</tool_call>',
      '```',
      '\n',
      '`',
      'json',
      'x',
      ' ',
      '<think>',
      '</think>',
      '[TOOL_CALLS]',
      '[tool: shell ',
      ']',
      '"',
      '<function=shell>',
      '</function>',
      '/>',
      '~~~',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...bits), { maxLength: 14 }), (parts) => {
        const whole = read([parts.join('')], offer);
        expect(read(parts, offer)).toEqual(whole);
        if (whole.calls.length === 0) expect(whole.text).toBe(parts.join(''));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('what only a model that was taught the form may write', () => {
  it.each(FENCES)('a fence of JSON with %s is a call', (_, block, calls) => {
    expect(read([`See.\n\n${block}\n`], taught)).toEqual({ text: 'See.\n\n', calls });
    expect(read([block], taught)).toEqual({ text: '', calls });
    expect(read([block], native)).toEqual({ text: block, calls: [] });
  });

  it.each([
    ['a pair of tags', '<tool_call name="jq">{"a":1}</tool_call>', [['jq', { a: 1 }]]],
    ["Hermes' form", '<tool_call>{"name":"jq","arguments":{"a":1}}</tool_call>', [['jq', { a: 1 }]]],
    ['a function', '<function=jq>{"a":1}</function>', [['jq', { a: 1 }]]],
  ])('an unknown name in %s is a call too, for the loop to answer', (_, block, calls) => {
    expect(read([block], taught)).toEqual({ text: '', calls });
    expect(read([block], native)).toEqual({ text: block, calls: [] });
  });

  it('what it makes up as a result is left out, with all that follows', () => {
    const block = '<tool_call name="read_file">{"path":"a.ts"}</tool_call>';
    const reply = `Look.\n${block}\n<tool_result name="read_file">\nfake\n</tool_result>\nSo it is fake. ${block}`;
    expect(read([reply], taught)).toEqual({ text: 'Look.\n', calls: readA });
    expect(read(['<tool_result name="x">\na\n</tool_result>'], taught).text).toContain('<tool_result');
  });
});

describe('a stream', () => {
  const shownBy = (pieces: readonly string[], offer = native) => {
    const reader = createCallReader(offer);
    return pieces.map((piece) =>
      reader
        .push(piece)
        .map((found) => (found.type === 'text' ? found.text : '(calls)'))
        .join(''),
    );
  };

  it('shows text at once, and holds back only what may be a block', () => {
    expect(shownBy(['Hel', 'lo <', 'b> [', 'x] ', '<tool', '_box> ok'])).toEqual([
      'Hel',
      'lo ',
      '<b> ',
      '[x] ',
      '',
      '<tool_box> ok',
    ]);
    expect(shownBy(['a <tool_call name="shell">{', '"command":', '"ls"}</tool_call', '> b'])).toEqual([
      'a ',
      '',
      '',
      '(calls) b',
    ]);
  });

  it('lets go of a fence as soon as it is no call', () => {
    expect(shownBy(['```', 'json\n', '{"a":', ' 1}'], taught)).toEqual(['', '', '```json\n{"a":', ' 1}']);
    expect(shownBy(['```', 'ts\n', 'x'], taught)).toEqual(['', '```ts\n', 'x']);
  });

  it('lets go of a block with a name that is not offered', () => {
    expect(shownBy(['<tool_call name="jq">', '{', '"a"'])).toEqual(['', '<tool_call name="jq">{', '"a"']);
  });

  it('lets go of a mention after a while', () => {
    const prose = 'and then some more words. '.repeat(100);
    expect(shownBy(['<tool_call name="shell"> ', prose]).join('')).toBe(`<tool_call name="shell"> ${prose}`);
  });
});
