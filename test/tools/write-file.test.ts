import { chmod, mkdir, stat, symlink } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { readFileTool } from '../../src/tools/read-file/tool.js';
import { writeFileTool } from '../../src/tools/write-file/tool.js';
import { bench } from './bench.js';

async function write(before: string | Uint8Array | undefined, content: string) {
  const { call, get } = await bench(before === undefined ? {} : { f: before });
  const output = await call(writeFileTool, { path: 'f', content });
  return { ...output, after: await get('f') };
}

describe('write_file', () => {
  it.each<[string, string | Uint8Array | undefined, string, string, string]>([
    ['creates a file', undefined, 'a\nb\n', 'a\nb\n', 'Created f (2 lines, 4 bytes).'],
    ['creates an empty file', undefined, '', '', 'Created f (now empty).'],
    ['replaces a file', 'old\n', 'new', 'new', 'Replaced f (1 line, 3 bytes).'],
    ['empties a file', 'old\n', '', '', 'Replaced f (now empty).'],
    ['keeps a byte order mark', '\ufeffold\n', 'x = 1\n', '\ufeffx = 1\n', 'Replaced f (1 line, 9 bytes).'],
    ['keeps one byte order mark', '\ufeffold\n', '\ufeffx\n', '\ufeffx\n', 'Replaced f (1 line, 5 bytes).'],
    [
      'keeps line ends that are all CRLF, and says so',
      'a\r\nb\r\n',
      'a\nc\n',
      'a\r\nc\r\n',
      'Replaced f (2 lines, 6 bytes). Its line ends stay CRLF.',
    ],
    [
      'keeps byte order mark and CRLF together',
      '\ufeffa\r\n',
      'b\n',
      '\ufeffb\r\n',
      'Replaced f (1 line, 6 bytes). Its line ends stay CRLF.',
    ],
    [
      'sees that only the line ends differ from what is there',
      'a\r\nb',
      'a\nb',
      'a\r\nb',
      'f already has this content; nothing was written.',
    ],
    [
      'writes over mixed line ends as it is told, and says that they changed',
      'a\r\nb\n',
      'a\nc\n',
      'a\nc\n',
      'Replaced f (2 lines, 4 bytes). Its line ends were mixed; they are LF now.',
    ],
    [
      'writes mixed line ends as it is told, and says that they changed',
      'a\r\nb\r\n',
      'a\r\nc\n',
      'a\r\nc\n',
      'Replaced f (2 lines, 5 bytes). Its line ends were CRLF; they are mixed now.',
    ],
    [
      'writes CRLF as it is told, and says that they changed',
      'a\nb\n',
      'a\r\nc\r\n',
      'a\r\nc\r\n',
      'Replaced f (2 lines, 6 bytes). Its line ends were LF; they are CRLF now.',
    ],
    [
      'says that the encoding changed',
      Buffer.from('\ufeffa', 'utf16le'),
      'a',
      'a',
      'Replaced f (1 line, 1 byte). It was UTF-16LE; it is UTF-8 now.',
    ],
    [
      'replaces a binary file',
      Buffer.from('a\0b'),
      'a',
      'a',
      'Replaced f (1 line, 1 byte). It was binary; it is UTF-8 now.',
    ],
    [
      'does not write what is there already',
      'same\n',
      'same\n',
      'same\n',
      'f already has this content; nothing was written.',
    ],
  ])('%s', async (_, before, content, after, output) => {
    const done = await write(before, content);
    expect(done.output).toBe(output);
    expect(done.after.toString()).toBe(after);
    expect(done.touched).toEqual(output.includes('already') ? undefined : ['f']);
  });

  it.each([
    ['an omission mark in place of old text', 'a\nb\n', 'a\n// ... rest of the code ...\n', 'placeholder'],
    ['half a surrogate pair', 'a', '\udc00', 'unsupported-encoding'],
  ])('refuses %s', async (_, before, content, code) => {
    const done = await write(before, content);
    expect([done.ok, done.code, done.after.toString()]).toEqual([false, code, before]);
  });

  it('takes an omission mark in a new file, where nothing gets lost', async () => {
    expect((await write(undefined, '// ... rest of the code ...\n')).ok).toBe(true);
  });

  it('shows what changed', async () => {
    const { display } = await write('a\nb\nc\n', 'a\nB\nc\n');
    expect(display).toEqual({
      kind: 'diff',
      path: 'f',
      added: 1,
      removed: 1,
      lines: [
        { sign: ' ', line: 1, text: 'a' },
        { sign: '-', line: 2, text: 'b' },
        { sign: '+', line: 2, text: 'B' },
        { sign: ' ', line: 3, text: 'c' },
      ],
    });
  });

  it('shows the start of a long new file, and numbers of a change too large to compare', async () => {
    const created = await write(undefined, 'x\n'.repeat(300));
    expect(created.display).toMatchObject({ kind: 'diff', omitted: 100 });
    const numbered = (word: string) => Array.from({ length: 5000 }, (_, index) => `${word} ${index}\n`).join('');
    const replaced = await write(numbered('a'), numbered('b'));
    expect(replaced.display).toEqual({ kind: 'lines', lines: ['f: 5000 lines before, 5000 lines now'] });
    const cleared = await write(`${numbered('a')}b`, 'c');
    expect(cleared.display).toEqual({ kind: 'lines', lines: ['f: 5001 lines before, 1 line now'] });
  });

  it.each<[string, string | Uint8Array, string, number, unknown]>([
    [
      'long lines and a long diff',
      'a\n',
      `${'x'.repeat(1000)}\n`.repeat(300),
      301,
      { sign: '+', line: 300, text: 'x'.repeat(1000) },
    ],
    [
      'a change too large to compare',
      'a\n'.repeat(5000),
      'b\n'.repeat(5000),
      10_000,
      { sign: '+', line: 5000, text: 'b' },
    ],
    ['what takes the place of no text', Buffer.from('a\0b'), 'b\n'.repeat(300), 301, 'b'],
  ])('gives whoever has to agree all of %s', async (_, before, content, count, last) => {
    const { context } = await bench({ f: before });
    const display = await writeFileTool.preview?.({ path: 'f', content }, context);
    const lines = display !== undefined && 'lines' in display ? display.lines : [];
    expect(display).not.toHaveProperty('omitted');
    expect([lines.length, lines.at(-1)]).toEqual([count, last]);
  });

  it('keeps CRLF on disk when the person is shown it', async () => {
    const { context } = await bench({ f: 'a\r\nb\r\n' });
    expect(await writeFileTool.preview?.({ path: 'f', content: 'a\nc\n' }, context)).toMatchObject({
      added: 1,
      removed: 1,
    });
  });

  it('leaves a file alone that changed since it was read or written, until it is read again [pain 44]', async () => {
    const { call, put, text } = await bench({ f: 'a\n' });
    const write = () => call(writeFileTool, { path: 'f', content: 'whole\n' });
    await call(readFileTool, { path: 'f' });
    await put('f', 'a\nof a person\n');
    for (const _ of ['first', 'again']) expect(await write()).toMatchObject({ ok: false, code: 'changed-on-disk' });
    expect(await text('f')).toBe('a\nof a person\n');
    await call(readFileTool, { path: 'f' });
    expect(await write()).toMatchObject({ ok: true });
    await put('f', 'of a person\n');
    expect(await call(writeFileTool, { path: 'f', content: 'other\n' })).toMatchObject({ code: 'changed-on-disk' });
    expect(await text('f')).toBe('of a person\n');
  });

  it('makes folders, keeps mode and link, and stays inside', async () => {
    const { call, text, path } = await bench({ 'd/run.sh': 'old' });
    await chmod(path('d/run.sh'), 0o755);
    await symlink('d/run.sh', path('l'));
    expect(await call(writeFileTool, { path: 'l', content: 'new' })).toMatchObject({ touched: ['d/run.sh'] });
    expect([await text('d/run.sh'), (await stat(path('d/run.sh'))).mode & 0o777]).toEqual(['new', 0o755]);
    await call(writeFileTool, { path: 'x/y/z', content: 'z' });
    expect(await text('x/y/z')).toBe('z');
    expect(await call(writeFileTool, { path: '../w-evil/f', content: 'z' })).toMatchObject({
      code: 'outside-workspace',
    });
    await mkdir(path('folder'));
    expect(await call(writeFileTool, { path: 'folder', content: 'z' })).toMatchObject({ code: 'not-a-file' });
  });
});
