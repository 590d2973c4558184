import { chmod, chown, link, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { editFileTool } from '../../src/tools/edit-file/tool.js';
import { readFileTool } from '../../src/tools/read-file/tool.js';
import { writeFileTool } from '../../src/tools/write-file/tool.js';
import { bench } from './bench.js';

type GivenEdit = { readonly old: string; readonly new: string; readonly all?: boolean };

const latin1 = (text: string) => Buffer.from(text, 'latin1');

async function edit(before: string | Uint8Array | undefined, ...edits: readonly GivenEdit[]) {
  const { call, get, root, path } = await bench(before === undefined ? {} : { f: before });
  const given = edits.map(({ old, new: text, all }) => ({ old_string: old, new_string: text, replace_all: all }));
  const output = await call(editFileTool, { path: 'f', ...(given.length === 1 ? given[0] : { edits: given }) });
  const names = await readdir(root);
  return { ...output, after: names.includes('f') ? await get('f') : undefined, names, path };
}

/** What the file is afterwards, or the code of the failure; a failure that changed the file is its own word. */
async function outcome(before: string | Uint8Array, ...edits: readonly GivenEdit[]): Promise<string> {
  const { ok, code, after, names } = await edit(before, ...edits);
  expect(names).toEqual(['f']);
  if (ok) return after?.toString('latin1') ?? 'gone';
  return after?.equals(Buffer.from(before)) ? `! ${code}` : `corrupted, ${code}`;
}

describe('what is found', () => {
  it.each<[string, string, GivenEdit, string]>([
    ['replaces the only hit', 'a b c', { old: 'b', new: 'B' }, 'a B c'],
    ['writes $ patterns as they are', 'x', { old: 'x', new: "$& $$ $1 $` $'" }, "$& $$ $1 $` $'"],
    ['refuses two hits', 'a\na\n', { old: 'a', new: 'b' }, '! ambiguous'],
    ['refuses hits that overlap', 'aaa', { old: 'aa', new: 'b' }, '! ambiguous'],
    ['replaces all from the left', 'aaa', { old: 'aa', new: 'b', all: true }, 'ba'],
    ['refuses what is not there', 'abc', { old: 'x', new: 'y' }, '! not-found'],
    ['refuses another letter case', 'Abc\n', { old: 'abc', new: 'x' }, '! not-found'],
    ['refuses other blanks inside a line', 'a  b\n', { old: 'a b', new: 'x' }, '! not-found'],
    ['refuses digits of another kind', 'n = ①\n', { old: 'n = 1', new: 'n = 2' }, '! not-found'],
    ['refuses full-width letters', 'ａｂ\n', { old: 'ab', new: 'x' }, '! not-found'],
    ['refuses an empty old text', 'abc', { old: '', new: 'x' }, '! empty-old'],
    ['fills an empty file', '', { old: '', new: 'x\r\n' }, 'x\r\n'],
    ['refuses no change', 'abc', { old: 'b', new: 'b' }, '! no-change'],
    ['refuses a change of nothing but line ends', 'a\nb\n', { old: 'a\n', new: 'a\r\n' }, '! no-change'],
    ['keeps an open last line open', 'a\nb', { old: 'b', new: 'B' }, 'a\nB'],
    ['does not add to the end what is not there', 'a\nb', { old: 'b\n', new: 'c\n' }, '! not-found'],
  ])('%s', async (_, before, given, after) => {
    expect(await outcome(before, given)).toBe(after);
  });
});

describe('line ends', () => {
  it.each<[string, string, GivenEdit, string]>([
    ['finds LF text in a CRLF file', 'a\r\nb\r\n', { old: 'a\nb', new: 'a\nc' }, 'a\r\nc\r\n'],
    ['finds CRLF text in an LF file, and writes LF', 'a\nb\n', { old: 'a\r\nb', new: 'x\r\ny' }, 'x\ny\n'],
    ['gives an added line the end of its place', 'a\r\nb\r\n', { old: 'b', new: 'b\nc' }, 'a\r\nb\r\nc\r\n'],
    [
      'looks at the line before for the last line',
      '#!\r\none\r\ntwo',
      { old: 'one\ntwo', new: '1\n2\n3' },
      '#!\r\n1\r\n2\r\n3',
    ],
    ['looks at the line before for an open last line', 'a\r\nb', { old: 'b', new: 'b\nc' }, 'a\r\nb\r\nc'],
    ['writes the ends it is given where there are none', 'a', { old: 'a', new: 'a\r\nb' }, 'a\r\nb'],
    ['keeps each end of a mixed place', 'a\r\nb\nc\r\n', { old: 'a\nb\nc\n', new: 'a\nB\nc\n' }, 'a\r\nB\nc\r\n'],
    [
      'keeps ends behind an inserted line',
      'a\r\nb\nc\r\n',
      { old: 'a\nb\nc\n', new: 'a\nx\nb\nc\n' },
      'a\r\nx\r\nb\nc\r\n',
    ],
    [
      'keeps ends behind a removed line',
      'a\r\nb\nc\r\nd\n',
      { old: 'a\nb\nc\nd\n', new: 'a\nc\nd\n' },
      'a\r\nc\r\nd\n',
    ],
    ['finds copies whatever their ends', 'a\r\nb\n--\na\nb\n', { old: 'a\r\nb\r\n', new: 'x' }, '! ambiguous'],
    ['does not take a lone CR for a line end', 'a\rb\n', { old: 'a\nb', new: 'x' }, '! not-found'],
    ['keeps a lone CR in front of CRLF', 'a\r\r\nb\r\n', { old: 'b', new: 'c' }, 'a\r\r\nc\r\n'],
    ['does not take U+2028 for a line end', 'a\u2028b\n', { old: 'a\nb', new: 'x' }, '! not-found'],
  ])('%s', async (_, before, given, after) => {
    expect(await outcome(before, given)).toBe(after);
  });
});

describe('looser matching', () => {
  it.each<[string, string, GivenEdit, string]>([
    ['overlooks blanks at line ends of the file', 'a  \nb\t\nc\n', { old: 'a\nb\n', new: 'x\n' }, 'x\nc\n'],
    ['overlooks blanks at line ends of the old text', 'a\nb\n', { old: 'a  \nb\n', new: 'x\n' }, 'x\n'],
    ['does not take "a " for the start of "ab"', 'ab\n', { old: 'a ', new: 'x' }, '! not-found'],
    ['refuses where blanks at the end may be meant to stay', 'a \nb  \nc\n', { old: 'a\nb', new: 'x' }, '! not-found'],
    ['refuses two loose hits', 'a \nb\n-\na  \nb\n', { old: 'a\nb\n', new: 'x\n' }, '! ambiguous'],
    [
      'refuses two loose hits also with replace_all',
      'a \nb\n-\na  \nb\n',
      { old: 'a\nb\n', new: 'x\n', all: true },
      '! ambiguous',
    ],
    ['takes a single loose hit with replace_all', 'a \nb\n', { old: 'a\nb\n', new: 'x\n', all: true }, 'x\n'],
    ['prefers the exact hit', 'a \nb\n-\na\nb\n', { old: 'a\nb\n', new: 'x\n' }, 'a \nb\n-\nx\n'],
    [
      'shifts new lines with the block',
      '  if (a) {\n    b\n  }\n',
      { old: 'if (a) {\n  b\n}', new: 'if (a) {\n  b\n  c\n}' },
      '  if (a) {\n    b\n    c\n  }\n',
    ],
    [
      'shifts back what was indented too far',
      'a:\n  b\n',
      { old: '    a:\n      b\n', new: '    a:\n      c\n' },
      'a:\n  c\n',
    ],
    [
      'turns blanks into the tabs of the file [pain 43]',
      'f:\n\tif x:\n\t\ty\n',
      { old: 'f:\n    if x:\n        y', new: 'f:\n    if x:\n        z\n    w' },
      'f:\n\tif x:\n\t\tz\n\tw\n',
    ],
    [
      'turns tabs into the blanks of the file',
      'f:\n    x\n',
      { old: 'f:\n\tx', new: 'f:\n\tx\n\ty' },
      'f:\n    x\n    y\n',
    ],
    [
      'turns deeper blanks into tabs where the block has them',
      '\ta {\n\t}\n',
      { old: 'a {\n}\n', new: 'a {\n    b\n}\n' },
      '\ta {\n\t\tb\n\t}\n',
    ],
    ['keeps line ends while it shifts', '  a\r\n  b\r\n', { old: 'a\nb\n', new: 'a\nc\n' }, '  a\r\n  c\r\n'],
    ['refuses indentation that differs unevenly', '  a\n   b\n', { old: 'a\nb\n', new: 'x\ny\n' }, '! not-found'],
    [
      'refuses new lines whose depth can not be told',
      '    a\n    b\n',
      { old: 'a\nb', new: '      a\n      b' },
      '! not-found',
    ],
    [
      'does not shift new lines that have the indentation already',
      '  a\n  b\n',
      { old: 'a\nb\n', new: '  x\n  y\n' },
      '  x\n  y\n',
    ],
    ['refuses a block that is there twice', '  a\n  b\n    a\n    b\n', { old: 'a\nb\n', new: 'x\n' }, '! ambiguous'],
    ['finds straight quotes as curly ones', 'say(“hi”)\n', { old: 'say("hi")', new: 'say("yo")' }, 'say("yo")\n'],
    ['writes the quotes it is given [pain 46]', "f('%s')\n", { old: "'%s'", new: '‘%s’' }, 'f(‘%s’)\n'],
    [
      'writes them where it overlooked others [pain 46]',
      'say(“hi”)\n',
      { old: 'say("hi")', new: "say(‘a’, 'b')" },
      "say(‘a’, 'b')\n",
    ],
    ['finds dashes and blanks of other widths', 'a –\u00a0b\n', { old: 'a - b', new: 'c' }, 'c\n'],
    ['keeps " and \' apart', 'say("hi")\n', { old: "say('hi')", new: 'x' }, '! not-found'],
    ['finds composed letters as decomposed ones', 'cafe\u0301 x\n', { old: 'caf\u00e9 x', new: 'tea' }, 'tea\n'],
    ['does not cut a composed letter in two', '“cafe\u0301”\n', { old: '"cafe', new: 'x' }, '! not-found'],
    ['does not look loosely for blanks only', 'a\n\t\n', { old: '   \n', new: 'x' }, '! not-found'],
  ])('%s', async (_, before, given, after) => {
    const expected = after.startsWith('! ') ? after : Buffer.from(after).toString('latin1');
    expect(await outcome(before, given)).toBe(expected);
  });

  it('tells which looser way found the place', async () => {
    expect((await edit('a \nb\n', { old: 'a\nb\n', new: 'x\n' })).output).toBe(
      'Edited f: line 1 (found not counting blanks at line ends).',
    );
    expect((await edit('  a\n  b\n', { old: 'a\nb\n', new: 'a\nx\n' })).output).toBe(
      "Edited f: line 1 (found not counting indentation; the new lines got the file's).",
    );
  });
});

describe('bytes', () => {
  it.each<[string, Buffer, GivenEdit, Buffer | string]>([
    [
      'keeps bytes that are not UTF-8 [pain 1]',
      latin1('\x93q\x94\nn: 1\n'),
      { old: 'n: 1', new: 'n: 2' },
      latin1('\x93q\x94\nn: 2\n'),
    ],
    ['keeps them on the same line', latin1('caf\xe9 = 1\n'), { old: ' = 1', new: ' = 2' }, latin1('caf\xe9 = 2\n')],
    [
      'refuses other characters in a file of unknown encoding',
      latin1('caf\xe9\nn\n'),
      { old: 'n', new: 'ñ' },
      '! unsupported-encoding',
    ],
    ['does not find them there either', latin1('caf\xe9\nn\n'), { old: 'café', new: 'x' }, '! not-found'],
    [
      'refuses a start that may be half a character',
      Buffer.from([0x83, 0x5c, 0x0a]),
      { old: '\\', new: 'x' },
      '! unsupported-encoding',
    ],
    [
      'takes UTF-8 lines of a broken file at their word',
      Buffer.concat([latin1('\xff\n'), Buffer.from('é=1\n')]),
      { old: 'é=1', new: 'ü=2' },
      Buffer.concat([latin1('\xff\n'), Buffer.from('ü=2\n')]),
    ],
    ['does not look alike on bytes', latin1('a\xa0b\n\xff\n'), { old: 'a b', new: 'x' }, '! not-found'],
    ['keeps a byte order mark', Buffer.from('\ufeffa\nb\n'), { old: 'a', new: 'A' }, Buffer.from('\ufeffA\nb\n')],
    [
      'keeps one mark when it is copied into both texts',
      Buffer.from('\ufeffa\nb\n'),
      { old: '\ufeffa', new: '\ufeffA' },
      Buffer.from('\ufeffA\nb\n'),
    ],
    [
      'keeps the mark when only the old text has it',
      Buffer.from('\ufeffa\nb\n'),
      { old: '\ufeffa', new: 'A' },
      Buffer.from('\ufeffA\nb\n'),
    ],
    ['refuses UTF-16', Buffer.from('\ufeffab', 'utf16le'), { old: 'a', new: 'b' }, '! unsupported-encoding'],
    [
      'refuses UTF-32',
      Buffer.from([0, 0, 0xfe, 0xff, 0, 0, 0, 0x61]),
      { old: 'a', new: 'b' },
      '! unsupported-encoding',
    ],
    ['refuses binary files', Buffer.from('a\0b'), { old: 'a', new: 'b' }, '! binary'],
    ['refuses half a surrogate pair', Buffer.from('a'), { old: 'a', new: '\ud83d' }, '! unsupported-encoding'],
    ['does not find half a surrogate pair', Buffer.from('😀'), { old: '\ud83d', new: 'x' }, '! unsupported-encoding'],
  ])('%s', async (_, before, given, after) => {
    expect(await outcome(before, given)).toBe(typeof after === 'string' ? after : after.toString('latin1'));
  });
});

describe('what must not land in a file', () => {
  it.each([
    ['// ... existing code ...', '! placeholder'],
    ['# ... rest of file unchanged ...', '! placeholder'],
    ['(rest of methods ...)', '! placeholder'],
    ['/* ... unchanged ... */', '! placeholder'],
    ['<!-- rest of the page… -->', '! placeholder'],
    ['// rest of the code remains the same', '! placeholder'],
    ['// ... (other imports) ...', '! placeholder'],
    ['-- remaining columns ...', '! placeholder'],
    ['... rest of the function ...', '! placeholder'],
    ['  {/* ... existing JSX elements ... */}', '! placeholder'],
    ['    ...', 'a\n    ...\nc\n'],
    ['// ...', 'a\n// ...\nc\n'],
    [
      'const [first, ...rest] = list; // the rest of them',
      'a\nconst [first, ...rest] = list; // the rest of them\nc\n',
    ],
    ['msg = "(rest of methods ...)"', 'a\nmsg = "(rest of methods ...)"\nc\n'],
    ['// wait for existing connections to close...', 'a\n// wait for existing connections to close...\nc\n'],
    ['// rest of the arguments', 'a\n// rest of the arguments\nc\n'],
    ['# Remaining work', 'a\n# Remaining work\nc\n'],
    ['<<<<<<< SEARCH', '! pasted-marks'],
    ['>>>>>>> REPLACE', '! pasted-marks'],
    ['12│b', '! pasted-marks'],
    ['00012| b', '! pasted-marks'],
    ['```js\nb\n```', '! pasted-marks'],
    ['see:\n```js\nb\n```', 'a\nsee:\n```js\nb\n```\nc\n'],
    ['     2\tb\n     3\tb2', '! pasted-marks'],
    ['     2\tb\n     9\tb2', 'a\n     2\tb\n     9\tb2\nc\n'],
  ])('%j', async (line, after) => {
    expect(await outcome('a\nb\nc\n', { old: 'b', new: line })).toBe(after);
  });

  it('takes as text what the old text or the file has as well', async () => {
    expect(
      await outcome('// ... existing code ...\nb\n', {
        old: '// ... existing code ...\nb',
        new: '// ... existing code ...\nc',
      }),
    ).toBe('// ... existing code ...\nc\n');
    expect(await outcome('1│a\nb\n', { old: 'b', new: '2│b' })).toBe('1│a\n2│b\n'.replaceAll('│', latin1Bar));
  });
});
const latin1Bar = Buffer.from('│').toString('latin1');

describe('several edits', () => {
  it('applies them in order to what the ones before made', async () => {
    expect(
      await outcome('1\n2\n3\n', { old: '3', new: 'three' }, { old: '1', new: 'one' }, { old: 'one\n2', new: 'x' }),
    ).toBe('x\nthree\n');
  });

  it.each<[string, string, GivenEdit[], string, RegExp]>([
    [
      'the second fits nowhere',
      'a\nb\n',
      [
        { old: 'a', new: 'A' },
        { old: 'x', new: 'y' },
      ],
      'not-found',
      /^Edit 2 of 2 failed, so none was made\./,
    ],
    [
      'the second fits twice',
      'a\nb\nb\n',
      [
        { old: 'a', new: 'A' },
        { old: 'b', new: 'B' },
      ],
      'ambiguous',
      /lines 2, 3/,
    ],
    [
      'the second fits what the first changed',
      'abcd\n',
      [
        { old: 'abc', new: 'X' },
        { old: 'bcd', new: 'Y' },
      ],
      'overlap',
      /Make one edit/,
    ],
    [
      'the first changes nothing',
      'a\nb\n',
      [
        { old: 'a', new: 'a' },
        { old: 'b', new: 'B' },
      ],
      'no-change',
      /^Edit 1 of 2/,
    ],
    [
      'together they change nothing',
      'a\n',
      [
        { old: 'a', new: 'b' },
        { old: 'b', new: 'a' },
      ],
      'no-change',
      /would stay as it is/,
    ],
  ])('makes none when %s [pain 45]', async (_, before, edits, code, message) => {
    const done = await edit(before, ...edits);
    expect([done.ok, done.code, done.after?.toString()]).toEqual([false, code, before]);
    expect(done.output).toMatch(message);
  });

  it.each<[string, Record<string, unknown>, string]>([
    [
      'both forms at once',
      { old_string: 'a', new_string: 'b', edits: [{ old_string: 'a', new_string: 'b' }] },
      'not both',
    ],
    ['neither form', {}, 'old_string and new_string must be given'],
    ['only one text', { old_string: 'a' }, 'new_string must be given'],
    ['an empty list', { edits: [] }, 'at least one edit'],
  ])('refuses %s', async (_, input, message) => {
    const { call } = await bench({ f: 'a' });
    const output = await call(editFileTool, { path: 'f', ...input });
    expect(output).toMatchObject({ ok: false, code: 'bad-arguments' });
    expect(output.output).toContain(message);
  });
});

describe('what it says', () => {
  it('shows whoever has to agree all of the change, and afterwards the start of it', async () => {
    const { context, call } = await bench({ f: `${'x'.repeat(1000)}\n`.repeat(300) });
    const input = { path: 'f', old_string: 'x\n', new_string: 'y\n', replace_all: true };
    const whole = await editFileTool.preview?.(input, context);
    const lines = whole?.kind === 'diff' ? whole.lines : [];
    expect(whole).toMatchObject({ kind: 'diff', added: 300, removed: 300 });
    expect(whole).not.toHaveProperty('omitted');
    expect([lines.length, lines.at(-1)]).toEqual([600, { sign: '+', line: 300, text: `${'x'.repeat(999)}y` }]);
    expect((await call(editFileTool, input)).display).toMatchObject({ added: 300, removed: 300, omitted: 400 });
  });

  it('names the lines it changed, and shows a diff of only these', async () => {
    const before = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`).join('');
    const done = await edit(before, { old: 'line 3\n', new: 'three\ndrei\n' }, { old: 'line 18', new: 'LINE 18' });
    expect(done.output).toBe('Edited f: line 3; line 19.');
    expect(done.touched).toEqual(['f']);
    expect(
      done.display?.kind === 'diff' && done.display.lines.map(({ sign, line, text }) => `${line}${sign}${text}`),
    ).toEqual([
      '1 line 1',
      '2 line 2',
      '3-line 3',
      '3+three',
      '4+drei',
      '5 line 4',
      '6 line 5',
      '7 line 6',
      '16 line 15',
      '17 line 16',
      '18 line 17',
      '18-line 18',
      '19+LINE 18',
      '20 line 19',
      '21 line 20',
    ]);
  });

  it('counts many replacements', async () => {
    const done = await edit('a\n'.repeat(30), { old: 'a', new: 'b', all: true });
    expect(done.output).toBe('Edited f: 30 replacements, lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 20 more.');
  });

  it('names the lines of several hits, and how to go on', async () => {
    expect((await edit('a=1\nb=2\na=1\n', { old: 'a=1', new: 'a=9' })).output).toBe(
      'old_string is in f 2 times: lines 1, 3. Add lines around it until it fits only one place, or set replace_all to change all of them.',
    );
  });

  it.each<[string, string, GivenEdit, string[]]>([
    [
      'the nearest lines and the first difference',
      'one\n\tif (x) {\n\t\treturn 1;\n\t}\n',
      { old: '\tif (x) {\n\t\treturn  1;\n\t}', new: 'y' },
      [
        'Nearest: lines 2-4:',
        '3│\t\treturn 1;',
        'line 3, column 10: the file has "1", old_string has a blank (U+0020)',
        'old_string: →→return··1;',
      ],
    ],
    [
      'a blank at the end of a line',
      'foo \nbar\nbaz\n',
      { old: 'foo\nbar x\n', new: 'y' },
      ['line 1, column 4: the file has a blank (U+0020), old_string has the end of the line', 'foo·'],
    ],
    ['another character that looks alike', 'a = “x”\n', { old: 'a = "x", 1', new: 'y' }, ['column 5', '"“" (U+201C)']],
    [
      'the place in a long line',
      `${'x'.repeat(5000)}function f(){return 1}${'y'.repeat(5000)}`,
      { old: 'function f(){return 2}', new: 'z' },
      ['line 1, column 5021', 'the file has "1", old_string has "2"'],
    ],
    ['pasted line numbers', 'alpha\nbeta\n', { old: '1│alpha\n2│beta', new: 'x' }, ['old_string has line numbers']],
    ['signs of a diff', 'alpha\nbeta\n', { old: '-beta', new: '+x' }, ['old_string has the signs of a diff']],
    ['a code fence', 'alpha\nbeta\n', { old: '```\nbeta\n```', new: 'x' }, ['old_string has a code fence']],
    ['typed escapes', 'say("hi")\n', { old: 'say(\\"hi\\")', new: 'x' }, ['old_string has escaped characters']],
    ['HTML entities', 'a < b\n', { old: 'a &lt; b', new: 'x' }, ['old_string has HTML entities']],
    [
      'an edit made before',
      'n = 5\n',
      { old: 'n = 3', new: 'n = 5' },
      ['new_string is in the file already, at line 1'],
    ],
    ['lines left out', 'a\nb\nc\n', { old: 'a\n...\nc', new: 'x' }, ['old_string leaves lines out']],
    ['a missing last line end', 'a\nb', { old: 'b\n', new: 'x' }, ['does not end in a newline']],
    ['that nothing is like it', 'abc\n', { old: 'zzzzzzzzzz', new: 'x' }, ['Nothing in the file is like it.']],
  ])('explains a miss by %s [pain 47]', async (_, before, given, parts) => {
    const { code, output } = await edit(before, given);
    expect(code).toBe('not-found');
    for (const part of parts) expect(output).toContain(part);
  });

  it('stays quick on a long text that is nearly there', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index} ${'x'.repeat(30)}`);
    const old = lines.map((line, index) => (index === 15_000 ? `${line}!` : line)).join('\n');
    const startedAt = performance.now();
    const { output } = await edit(lines.join('\n'), { old, new: 'x' });
    expect(performance.now() - startedAt).toBeLessThan(3000);
    expect(output).toContain('First difference: line 15001');
  });
});

describe('files', () => {
  it('creates a file from an empty old text, and only then', async () => {
    const created = await edit(undefined, { old: '', new: 'a\r\n' });
    expect([created.output, created.after?.toString(), created.touched]).toEqual(['Created f.', 'a\r\n', ['f']]);
    const missing = await edit(undefined, { old: 'a', new: 'b' });
    expect([missing.code, missing.names]).toEqual(['file-missing', []]);
  });

  it('tells names like the missing one', async () => {
    const { call } = await bench({ 'src/reader.ts': 'a', 'src/other.md': 'b' });
    const { output } = await call(editFileTool, { path: 'src/raeder.ts', old_string: 'a', new_string: 'b' });
    expect(output).toBe('src/raeder.ts does not exist. In src there is: reader.ts.');
  });

  it('keeps the mode, and the link it was called by [pain 3] [pain 4]', async () => {
    const { call, path, text } = await bench({ 'dir/run.sh': 'echo one\n' });
    await chmod(path('dir/run.sh'), 0o755);
    await symlink('dir/run.sh', path('link'));
    const done = await call(editFileTool, { path: 'link', old_string: 'one', new_string: 'two' });
    expect([done.ok, done.touched]).toEqual([true, ['dir/run.sh']]);
    expect([await text('dir/run.sh'), (await stat(path('dir/run.sh'))).mode & 0o777]).toEqual(['echo two\n', 0o755]);
  });

  it.runIf(process.getuid?.() === 0)('keeps the owner where that is allowed', async () => {
    const { call, path } = await bench({ f: 'a\n' });
    await chown(path('f'), 65_534, 65_533);
    await chmod(path('f'), 0o2755);
    await call(editFileTool, { path: 'f', old_string: 'a', new_string: 'b' });
    const { uid, gid, mode } = await stat(path('f'));
    expect([uid, gid, mode & 0o7777]).toEqual([65_534, 65_533, 0o2755]);
  });

  it('leaves what is outside alone: behind a link it refuses, and the other name of a hard link stays [A19] [A24]', async () => {
    const { call, path, root, text } = await bench();
    const outside = join(dirname(root), 'f');
    await writeFile(outside, 'a\n');
    await symlink('../f', path('l'));
    await link(outside, path('h'));
    const given = { old_string: 'a', new_string: 'b' };
    expect(await call(editFileTool, { path: 'l', ...given })).toMatchObject({ code: 'outside-workspace' });
    expect(await call(editFileTool, { path: '../f', ...given })).toMatchObject({ code: 'outside-workspace' });
    expect(await call(editFileTool, { path: 'h', ...given })).toMatchObject({ ok: true });
    expect([await text('h'), await readFile(outside, 'utf8')]).toEqual(['b\n', 'a\n']);
  });

  it('refuses a folder', async () => {
    const { call, path } = await bench();
    await mkdir(path('d'));
    expect(await call(editFileTool, { path: 'd', old_string: 'a', new_string: 'b' })).toMatchObject({
      code: 'not-a-file',
    });
  });

  it('applies what still fits although the file changed, and says so where it does not [pain 44]', async () => {
    const { call, put, text } = await bench({ f: 'a\nb\n' });
    await call(readFileTool, { path: 'f' });
    await put('f', 'a\nb\nformatted\n');
    expect(await call(editFileTool, { path: 'f', old_string: 'b', new_string: 'B' })).toMatchObject({ ok: true });
    expect(await text('f')).toBe('a\nB\nformatted\n');
    await put('f', 'quite different\n');
    const missed = await call(editFileTool, { path: 'f', old_string: 'B', new_string: 'C' });
    expect(missed.output).toContain('f changed on disk since you last read or wrote it.');
  });

  it('does not call its own writes a change [pain 44]', async () => {
    const { call } = await bench();
    await call(writeFileTool, { path: 'f', content: 'a\n' });
    await call(editFileTool, { path: 'f', old_string: 'a', new_string: 'b' });
    const missed = await call(editFileTool, { path: 'f', old_string: 'a', new_string: 'c' });
    expect(missed.output).not.toContain('changed on disk');
  });

  it('loses no edit of many at once [pain 45]', async () => {
    const { call, text } = await bench({ f: Array.from({ length: 50 }, (_, index) => `<${index}>`).join('\n') });
    const all = Array.from({ length: 50 }, (_, index) =>
      call(editFileTool, { path: 'f', old_string: `<${index}>`, new_string: `done ${index}` }),
    );
    expect((await Promise.all(all)).every(({ ok }) => ok)).toBe(true);
    expect(await text('f')).toBe(Array.from({ length: 50 }, (_, index) => `done ${index}`).join('\n'));
  });
});
