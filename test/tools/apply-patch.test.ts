import { execFileSync } from 'node:child_process';
import { chmod, link, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { applyPatchTool } from '../../src/tools/apply-patch/tool.js';
import { bench } from './bench.js';

type Files = Readonly<Record<string, string | Uint8Array>>;

const wrapped = (...lines: readonly string[]) => `*** Begin Patch\n${lines.join('\n')}\n*** End Patch`;
const update = (...lines: readonly string[]) => wrapped('*** Update File: f', ...lines);

/** All files below the root; bytes as Latin-1, so that every byte can be seen. */
async function treeOf(root: string): Promise<Record<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  const read = files
    .sort()
    .map(async (path) => [path.slice(root.length + 1), (await readFile(path)).toString('latin1')]);
  return Object.fromEntries(await Promise.all(read));
}

async function apply(files: Files, patch: string) {
  const place = await bench(files);
  const output = await place.call(applyPatchTool, { patch });
  return { ...output, files: await treeOf(place.root), place };
}

/** What `f` is afterwards, or the code of the failure; one that changed anything is its own word. */
async function outcome(before: string | Uint8Array, patch: string): Promise<string> {
  const { ok, code, files } = await apply({ f: before }, patch);
  if (ok) return files.f ?? 'gone';
  return JSON.stringify(files) === JSON.stringify({ f: Buffer.from(before).toString('latin1') })
    ? `! ${code}`
    : `corrupted, ${code}`;
}

describe('what is read as a patch', () => {
  it.each<[string, string, string]>([
    ['one without a first @@', update(' a', '-b', '+B'), 'a\nB\n'],
    [
      'blanks around the markers',
      `  \n *** Begin Patch \n *** Update File: f \n@@\n-b\n+B\n *** End Patch\t\n\n`,
      'a\nB\n',
    ],
    ['CRLF as its own line ends', update('@@', '-b', '+B').replaceAll('\n', '\r\n'), 'a\nB\n'],
    ['a heredoc around it', `apply_patch <<'EOF'\n${update('@@', '-b', '+B')}\nEOF\n`, 'a\nB\n'],
    ['a fence around it', `\`\`\`diff\n${update('@@', '-b', '+B')}\n\`\`\`\n`, 'a\nB\n'],
    ['blank lines between its sections', update('@@', '-b', '+B', '', ''), 'a\nB\n'],
    ['no end', '*** Begin Patch\n*** Update File: f\n@@\n-b\n+B', '! bad-patch'],
    ['no patch at all', 'please change b to B', '! bad-patch'],
    ['an empty text', '', '! bad-patch'],
    ['no sections', wrapped(), '! bad-patch'],
    ['another header', wrapped('*** Frob File: f', '@@', '-b', '+B'), '! bad-patch'],
    ['a header without a path', wrapped('*** Delete File: '), '! bad-patch'],
    ['an update without hunks', update(), '! bad-patch'],
    ['a move without hunks', update('*** Move to: g'), '! bad-patch'],
    ['a hunk without lines', update('@@', '-b', '+B', '@@'), '! bad-patch'],
    ['a line without a sign', update('@@', '-b', 'B'), '! bad-patch'],
    ['a new file with a line without a sign', wrapped('*** Add File: g', '+a', 'b'), '! bad-patch'],
    ['two patches', `${update('@@', '-b', '+B')}\n${update('@@', '-a', '+A')}`, '! bad-patch'],
    ['half a surrogate pair', update('@@', '-b', '+\ud83d'), '! bad-patch'],
    ['signs of a patch as lines of the file', update('@@', ' a', '-b', '+*** End Patch'), 'a\n*** End Patch\n'],
  ])('%s', async (_, patch, after) => {
    expect(await outcome('a\nb\n', patch)).toBe(after);
  });

  it('has a header with a blank before it as a line of the file, once a hunk has begun', async () => {
    const before = 'x\n*** Delete File: f\ny\n';
    expect(await outcome(before, update('@@', ' x', ' *** Delete File: f', '-y', '+z'))).toBe(
      'x\n*** Delete File: f\nz\n',
    );
  });
});

describe('where a hunk goes', () => {
  const twice = 'def a\n  x\ndef b\n  x\n';
  it.each<[string, string, readonly string[], string]>([
    ['the only place', 'a\nb\nc\n', ['@@', ' a', '-b', '+B', ' c'], 'a\nB\nc\n'],
    ['nowhere', 'a\nb\n', ['@@', '-x', '+y'], '! not-found'],
    ['nowhere, where a line is only like it', 'abc\n', ['@@', '-ab', '+y'], '! not-found'],
    ['one of two places, which is refused', twice, ['@@', '-  x', '+  y'], '! ambiguous'],
    ['the first place behind a named line', twice, ['@@ def a', '-  x', '+  y'], 'def a\n  y\ndef b\n  x\n'],
    ['the place behind a named line', twice, ['@@ def b', '-  x', '+  y'], 'def a\n  x\ndef b\n  y\n'],
    ['behind a line that is not there', twice, ['@@ def c', '-  x', '+  y'], '! not-found'],
    ['behind a line that comes later', twice, ['@@ def b', '-def a', '+def c'], '! not-found'],
    ['behind several named lines', 'A\nm\n1\nB\nm\n1\n', ['@@ B', '@@ m', '-1', '+2'], 'A\nm\n1\nB\nm\n2\n'],
    ['behind a line that is there twice', 'A\nm\n1\nB\nm\n1\n', ['@@ m', '-1', '+2'], '! ambiguous'],
    ['behind a line that it repeats', twice, ['@@ def b', ' def b', '-  x', '+  y'], 'def a\n  x\ndef b\n  y\n'],
    ['behind a line, with nothing but new lines', twice, ['@@ def a', '+  w'], 'def a\n  w\n  x\ndef b\n  x\n'],
    ['to the end, with nothing but new lines', 'a\n', ['@@', '+b', '+c'], 'a\nb\nc\n'],
    ['into an empty file', '', ['@@', '+b'], 'b\n'],
    ['to places that their order tells', 'a\na\n', ['@@', '-a', '+1', '@@', '-a', '+2'], '1\n2\n'],
    ['to one of two places behind the one before', 'k\na\na\n', ['@@', '-k', '+K', '@@', '-a', '+2'], '! ambiguous'],
    ['in front of the hunk before', 'a\nb\n', ['@@', '-b', '+B', '@@', '-a', '+A'], '! not-found'],
    ['behind a line named for two of them', 'c\n1\n2\n', ['@@ c', '-1', '+x', '@@ c', '-2', '+y'], 'c\nx\ny\n'],
    [
      'next to each other, with the same line shown',
      'a\nb\nc\n',
      ['@@', '-a', '+A', ' b', '@@', ' b', '-c', '+C'],
      'A\nb\nC\n',
    ],
    ['to the end where it says so', 'a\nb\na\n', ['@@', '-a', '+A', '*** End of File'], 'a\nb\nA\n'],
    ['not to the end where it says so', 'a\nb\n', ['@@', '-a', '+A', '*** End of File'], '! not-found'],
    ['by line numbers, which count for nothing here', 'a\nb\n', ['@@ -9,1 +9,1 @@', '-b', '+B'], 'a\nB\n'],
    ['nowhere new: it adds what it removes', 'a\n', ['@@', '-a', '+a'], '! no-change'],
    ['and removes without adding', 'a\nb\nc\n', ['@@', ' a', '-b', ' c'], 'a\nc\n'],
    ['around an empty line that has no blank', 'a\n\nb\n', ['@@', ' a', '', '-b', '+B'], 'a\n\nB\n'],
  ])('%s', async (_, before, lines, after) => {
    expect(await outcome(before, update(...lines))).toBe(after);
  });

  it.each<[string, string, readonly string[], string, string]>([
    ['blanks at line ends', 'a  \nb\n', ['@@', ' a', '-b', '+B'], 'a  \nB\n', 'not counting blanks at line ends'],
    ['blanks at both ends', '\ta\n\tb\n', ['@@', ' a', '-b', '+B'], '\ta\nB\n', 'not counting indentation'],
    [
      'look-alikes',
      'say “a”\nx – y\n',
      ['@@', ' say "a"', '-x - y', '+z'],
      'say “a”\nz\n',
      'characters that look alike',
    ],
    ['the form of a letter', 'cafe\u0301\nb\n', ['@@', ' caf\u00e9', '-b', '+B'], 'cafe\u0301\nB\n', 'look alike'],
  ])('is found overlooking %s, which is told and never written', async (_, before, lines, after, note) => {
    const { files, output } = await apply({ f: before }, update(...lines));
    expect(files.f).toBe(Buffer.from(after).toString('latin1'));
    expect(output).toContain(note);
  });

  it('is the exact one where there is a looser one as well', async () => {
    expect(await outcome('a \nb\na\n', update('@@', '-a', '+A'))).toBe('a \nb\nA\n');
  });
});

describe('bytes', () => {
  const latin1 = (text: string) => Buffer.from(text, 'latin1');
  it.each<[string, string | Buffer, readonly string[], string]>([
    ['CRLF stays CRLF', 'a\r\nb\r\n', ['@@', ' a', '-b', '+B', '+C'], 'a\r\nB\r\nC\r\n'],
    ['each line keeps its own end', 'a\r\nb\nc\r\n', ['@@', ' a', '-b', '+B', ' c'], 'a\r\nB\nc\r\n'],
    ['a new line takes the end of the one before it', 'a\nb\r\nc\n', ['@@', ' b', '+x', ' c'], 'a\nb\r\nx\r\nc\n'],
    ['a first line takes the end of the one behind it', 'a\r\n', ['@@', '+x', ' a'], 'x\r\na\r\n'],
    ['a lone CR is no line end', 'a\rb\nc\n', ['@@', '-c', '+C'], 'a\rb\nC\n'],
    ['an open last line that stays is left open', 'a\nb', ['@@', '-a', '+A', ' b'], 'A\nb'],
    ['an open last line that is replaced gets its end', 'a\r\nb', ['@@', '-b', '+B'], 'a\r\nB\r\n'],
    ['lines behind an open last line do not join it [pain 48]', 'A=1', ['@@', ' A=1', '+B=2'], 'A=1\nB=2\n'],
    [
      'a byte order mark stays',
      '\ufeffa\nb\n',
      ['@@', '-a', '+A'],
      latin1(Buffer.from('\ufeffA\nb\n').toString('latin1')).toString('latin1'),
    ],
    [
      'bytes that are not UTF-8 stay',
      latin1('\x93q\x94\nn: 1\n\xff\n'),
      ['@@', '-n: 1', '+n: 2'],
      '\x93q\x94\nn: 2\n\xff\n',
    ],
    [
      'no other characters come into a file of unknown encoding',
      latin1('caf\xe9\nn\n'),
      ['@@', '-n', '+ñ'],
      '! unsupported-encoding',
    ],
    ['nor are they found in it', latin1('caf\xe9\nn\n'), ['@@', ' café', '-n', '+m'], '! not-found'],
    ['UTF-16 is refused', Buffer.from('\ufeffa\n', 'utf16le'), ['@@', '-a', '+b'], '! unsupported-encoding'],
    ['binary files are refused', Buffer.from('a\0\n'), ['@@', '-a', '+b'], '! binary'],
    ['an omission mark is refused', 'a\nb\n', ['@@', '-a', '+// ... rest of the code ...'], '! placeholder'],
    ['pasted line numbers are refused', 'a\nb\n', ['@@', '-a', '+1│b'], '! pasted-marks'],
    ['dollar signs are only text', 'a\n', ['@@', '-a', "+$& $$ $1 $` $'"], "$& $$ $1 $` $'\n"],
  ])('%s', async (_, before, lines, after) => {
    expect(await outcome(before, update(...lines))).toBe(after);
  });
});

describe('files', () => {
  it('are added, moved, changed and deleted in one go, and named', async () => {
    const { output, touched, files, display } = await apply(
      { a: '1\n2\n', 'd/b': 'x\n', c: 'gone\n', e: 'e\n' },
      wrapped(
        '*** Add File: new/deep/n',
        '+n',
        '*** Update File: a',
        '@@',
        '-2',
        '+two',
        '*** Update File: d/b',
        '*** Move to: m/b',
        '@@',
        '-x',
        '+y',
        '*** Delete File: c',
      ),
    );
    expect(files).toEqual({ a: '1\ntwo\n', e: 'e\n', 'm/b': 'y\n', 'new/deep/n': 'n\n' });
    expect(output).toBe('Added new/deep/n.\nChanged a: line 2.\nMoved d/b to m/b: line 1.\nDeleted c.');
    expect([...(touched ?? [])].sort()).toEqual(['a', 'c', 'd/b', 'm/b', 'new/deep/n']);
    const summary = display?.kind === 'diffs' ? display.files.map(({ lines: _, ...file }) => file) : display;
    expect(summary).toEqual([
      { path: 'new/deep/n', action: 'added', added: 1, removed: 0 },
      { path: 'a', action: 'changed', added: 1, removed: 1 },
      { path: 'm/b', action: 'moved', from: 'd/b', added: 1, removed: 1 },
      { path: 'c', action: 'deleted', added: 0, removed: 1 },
    ]);
  });

  it('see what earlier sections of the patch made of them', async () => {
    const { files } = await apply(
      { f: 'a\nb\n', g: 'old\n' },
      wrapped(
        '*** Update File: f',
        '@@',
        '-a',
        '+A',
        '*** Update File: f',
        '*** Move to: h',
        '@@',
        ' A',
        '-b',
        '+B',
        '*** Delete File: g',
        '*** Add File: g',
        '+new',
        '*** Add File: f',
        '+again',
      ),
    );
    expect(files).toEqual({ f: 'again\n', g: 'new\n', h: 'A\nB\n' });
  });

  it.each<[string, readonly string[], string]>([
    ['an update of a missing file', ['*** Update File: none', '@@', '-a', '+b'], 'file-missing'],
    ['a delete of a missing file', ['*** Delete File: none'], 'file-missing'],
    ['a delete of a folder', ['*** Delete File: d'], 'not-a-file'],
    ['an update of a folder', ['*** Update File: d', '@@', '-a', '+b'], 'not-a-file'],
    ['a new file where a folder is', ['*** Add File: d', '+a'], 'not-a-file'],
    ['a new file below a file', ['*** Add File: g/x', '+a'], 'bad-path'],
    ['a new file outside', ['*** Add File: ../out/n', '+a'], 'outside-workspace'],
    ['a new file in a sibling whose name begins alike', ['*** Add File: ../w-evil/n', '+a'], 'outside-workspace'],
    ['a move to outside', ['*** Update File: g', '*** Move to: ../out/n', '@@', '-g', '+h'], 'outside-workspace'],
    ['a delete outside', ['*** Delete File: ../out/f'], 'outside-workspace'],
    ['a new file at an absolute path outside', ['*** Add File: /tmp/chatcli-n', '+a'], 'outside-workspace'],
    ['a delete through a link to outside', ['*** Delete File: link-out'], 'outside-workspace'],
    ['an update through a link to outside', ['*** Update File: link-out', '@@', '-secret', '+x'], 'outside-workspace'],
    ['a new file through a dangling link to outside', ['*** Add File: dangling', '+x'], 'outside-workspace'],
    ['a delete of a link', ['*** Delete File: link-in'], 'not-a-file'],
    ['a move of a link', ['*** Update File: link-in', '*** Move to: x', '@@', '-g', '+h'], 'not-a-file'],
    [
      'a change of a file that it deletes before',
      ['*** Delete File: g', '*** Update File: g', '@@', '-g', '+h'],
      'file-missing',
    ],
  ])('stay as they are, all of them, with %s', async (_, sections, code) => {
    const place = await bench({ f: 'a\n', g: 'g\n', 'd/x': 'x\n' });
    const outside = join(dirname(place.root), 'out');
    await mkdir(outside);
    await mkdir(`${place.root}-evil`);
    await writeFile(join(outside, 'f'), 'secret\n');
    await symlink('../out/f', place.path('link-out'));
    await symlink('../out/created', place.path('dangling'));
    await symlink('g', place.path('link-in'));
    const patch = wrapped('*** Add File: n/n', '+n', '*** Update File: f', '@@', '-a', '+b', ...sections);
    const done = await place.call(applyPatchTool, { patch });

    expect([done.ok, done.code]).toEqual([false, code]);
    expect((await readdir(place.root)).sort()).toEqual(['d', 'dangling', 'f', 'g', 'link-in', 'link-out']);
    expect([await place.text('f'), await place.text('g'), await place.text('d/x')]).toEqual(['a\n', 'g\n', 'x\n']);
    expect(await treeOf(outside)).toEqual({ f: 'secret\n' });
    expect(await readdir(`${place.root}-evil`)).toEqual([]);
  });

  it('keep their mode when they are changed and when they are moved', async () => {
    const place = await bench({ f: 'a\n', g: 'g\n', h: 'h\n' });
    for (const name of ['f', 'g']) await chmod(place.path(name), 0o751);
    await place.call(applyPatchTool, {
      patch: wrapped('*** Update File: f', '@@', '-a', '+b', '*** Update File: g', '*** Move to: h', '@@', '-g', '+i'),
    });
    const modes = await Promise.all(['f', 'h'].map(async (name) => (await stat(place.path(name))).mode & 0o7777));
    expect([modes, await treeOf(place.root)]).toEqual([[0o751, 0o751], { f: 'b\n', h: 'i\n' }]);
  });

  it('are changed where a link leads, and the link stays', async () => {
    const place = await bench({ 'd/f': 'a\n' });
    await symlink('d/f', place.path('l'));
    const { touched } = await place.call(applyPatchTool, { patch: wrapped('*** Update File: l', '@@', '-a', '+b') });
    expect([touched, await place.text('d/f'), await readlink(place.path('l'))]).toEqual([['d/f'], 'b\n', 'd/f']);
  });

  it('leave the other name of a hard link alone', async () => {
    const place = await bench();
    const outside = join(dirname(place.root), 'f');
    await writeFile(outside, 'a\n');
    await link(outside, place.path('h'));
    await place.call(applyPatchTool, { patch: wrapped('*** Update File: h', '@@', '-a', '+b') });
    expect([await place.text('h'), await readFile(outside, 'utf8')]).toEqual(['b\n', 'a\n']);
  });

  it('keep byte order mark and CRLF where they are replaced as a whole', async () => {
    const { files } = await apply({ f: '\ufeffa\r\nb\r\n' }, wrapped('*** Add File: f', '+x', '+y'));
    expect(Buffer.from(files.f ?? '', 'latin1').toString()).toBe('\ufeffx\r\ny\r\n');
  });

  it('are not replaced by a text with an omission mark', async () => {
    const patch = wrapped('*** Add File: f', '+// ... rest of the code ...');
    expect(await outcome('a\n', patch)).toBe('! placeholder');
    expect((await apply({}, patch)).ok).toBe(true);
  });

  it('of any kind can be deleted', async () => {
    const { ok, files, display } = await apply({ f: Buffer.from('a\0b'), g: 'g' }, wrapped('*** Delete File: f'));
    expect([ok, files]).toEqual([true, { g: 'g' }]);
    expect(display).toEqual({
      kind: 'diffs',
      files: [{ path: 'f', action: 'deleted', added: 0, removed: 0, lines: [] }],
    });
  });
});

describe('what it says', () => {
  it('names file, hunk and what is there instead', async () => {
    const { output } = await apply(
      { f: 'one\n\tif (x) {\n\t\treturn 1;\n\t}\n' },
      update('@@', '-one', '+1', '@@ if (x) {', '-\t\treturn  1;', '+\t\treturn 2;'),
    );
    expect(output).toContain('f, hunk 2 of 2 (@@ if (x) {): its old lines are not in the file.');
    expect(output).toContain('the file has "1", the hunk has a blank (U+0020)');
    expect(output).toContain('the hunk: →→return··1;');
    expect(output.endsWith('Nothing of the patch was applied.')).toBe(true);
  });

  it.each<[string, readonly string[], RegExp]>([
    ['the lines of several places', ['@@', '-a', '+b'], /f, its hunk: it fits 2 places: lines 1, 3\./],
    ['where out of order lines are', ['@@', '-c', '+C', '@@', '-k', '+K'], /at line 2, in front of the hunk before it/],
    ['where lines not at the end are', ['@@', '-k', '+K', '*** End of File'], /at line 2, but not at the end/],
    ['where lines before the named one are', ['@@ c', '-k', '+K'], /at line 2, but not behind the line behind "@@"/],
    ['a named line that is not there', ['@@ zzz', '-k', '+K'], /the line "zzz" behind "@@" is not in the file/],
  ])('names %s', async (_, lines, expected) => {
    expect((await apply({ f: 'a\nk\na\nc\n' }, update(...lines))).output).toMatch(expected);
  });

  it('names the lines as they are afterwards', async () => {
    const { output } = await apply(
      { f: '1\n2\n3\n4\n5\n' },
      update('@@', '-1', '+a', '+b', '+c', '@@', '-4', '+d', '@@', '+e'),
    );
    expect(output).toBe('Changed f: line 1, line 6, line 8.');
  });

  it('shows whoever has to agree all of it, and changes nothing by that', async () => {
    const { context, root } = await bench({ f: 'x\n'.repeat(300), g: 'g\n' });
    const lines = Array.from({ length: 300 }, () => ['-x', `+${'y'.repeat(1000)}`]).flat();
    const patch = wrapped('*** Update File: f', '@@', ...lines, '*** Delete File: g');
    const display = await applyPatchTool.preview?.({ patch }, context);
    const counts =
      display?.kind === 'diffs' ? display.files.map((file) => [file.path, file.lines.length, file.omitted]) : [];
    expect(counts).toEqual([
      ['f', 600, undefined],
      ['g', 1, undefined],
    ]);
    expect(Object.keys(await treeOf(root))).toEqual(['f', 'g']);
  });

  it('shows a part of what was done, and how much more there is', async () => {
    const { display } = await apply(
      { f: 'x\n'.repeat(300), g: 'g\n' },
      wrapped('*** Delete File: f', '*** Delete File: g'),
    );
    const counts = display?.kind === 'diffs' ? display.files.map((file) => [file.lines.length, file.omitted]) : [];
    expect(counts).toEqual([
      [200, 100],
      [0, 1],
    ]);
  });

  it('tells the policy of every path, sources and targets, and nothing of a text that is no patch', () => {
    const patch = wrapped(
      '*** Add File: a',
      '+a',
      '*** Update File: b',
      '*** Move to: .git/hooks/c',
      '@@',
      ' b',
      '*** Delete File: d',
    );
    expect(applyPatchTool.subjects({ patch })).toEqual(
      ['a', 'b', '.git/hooks/c', 'd'].map((path) => ({ kind: 'path', path })),
    );
    const diff = '--- a/.env\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n';
    expect(applyPatchTool.subjects({ patch: diff })).toEqual([{ kind: 'path', path: '.env' }]);
    expect(() => applyPatchTool.subjects({ patch: 'no patch' })).toThrow('cannot be read');
  });
});

describe('a unified diff', () => {
  const diff = (...lines: readonly string[]) => ['--- a/f', '+++ b/f', ...lines, ''].join('\n');
  it.each<[string, string, string, string]>([
    ['at its line', 'a\nb\nc\n', diff('@@ -1,3 +1,3 @@', ' a', '-b', '+B', ' c'), 'a\nB\nc\n'],
    ['at its line, though it fits elsewhere too', 'a\na\na\n', diff('@@ -2,1 +2,1 @@', '-a', '+A'), 'a\nA\na\n'],
    ['elsewhere, if it fits one place', 'x\ny\na\nb\n', diff('@@ -1,2 +1,2 @@', ' a', '-b', '+B'), 'x\ny\na\nB\n'],
    ['not elsewhere, if it fits two', 'x\na\na\n', diff('@@ -1,1 +1,1 @@', '-a', '+A'), '! ambiguous'],
    ['not where a line of it differs', 'a\nb\n', diff('@@ -1,2 +1,2 @@', ' x', '-b', '+B'), '! not-found'],
    ['not without any old line', 'a\nb\n', diff('@@ -1,0 +2,1 @@', '+x'), '! not-found'],
    ['in CRLF files', 'a\r\nb\r\n', diff('@@ -1,2 +1,2 @@', ' a', '-b', '+B'), 'a\r\nB\r\n'],
    [
      'with several hunks',
      '1\n2\n3\n4\n',
      diff('@@ -1 +1 @@', '-1', '+a', '@@ -4 +4,2 @@', '-4', '+b', '+c'),
      'a\n2\n3\nb\nc\n',
    ],
    ['taking a last newline away', 'a\nb\n', diff('@@ -2 +2 @@', '-b', '+b', '\\ No newline at end of file'), 'a\nb'],
    ['putting a last newline in', 'a\nb', diff('@@ -2 +2 @@', '-b', '\\ No newline at end of file', '+b'), 'a\nb\n'],
    [
      'not leaving a newline out in the middle',
      'a\nb\n',
      diff('@@ -1 +1 @@', '-a', '+A', '\\ No newline at end of file'),
      '! bad-patch',
    ],
    ['with a wrong count', 'a\nb\n', diff('@@ -1,5 +1,5 @@', ' a', '-b', '+B'), '! bad-patch'],
    [
      'with text before it and a fence around it',
      'a\n',
      `Here it is:\n\`\`\`diff\n${diff('@@ -1 +1 @@', '-a', '+A')}\`\`\`\n`,
      'A\n',
    ],
    ['without prefixes', 'a\n', '--- f\n+++ f\n@@ -1 +1 @@\n-a\n+A\n', 'A\n'],
    [
      'with times behind the names',
      'a\n',
      '--- f\t2026-01-01 00:00:00\n+++ f\t2026-01-02 00:00:00\n@@ -1 +1 @@\n-a\n+A\n',
      'A\n',
    ],
    [
      'of a binary file',
      'a\n',
      'diff --git a/f b/f\nindex 1..2 100644\nBinary files a/f and b/f differ\n',
      '! bad-patch',
    ],
    [
      'that makes a link',
      'a\n',
      'diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n',
      '! bad-patch',
    ],
    ['of a file that is there, as a new one', 'a\n', '--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+A\n', '! already-exists'],
    ['that deletes less than there is', 'a\nb\n', '--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n', '! not-found'],
    ['to outside', 'a\n', '--- a/../out/f\n+++ b/../out/f\n@@ -1 +1 @@\n-a\n+A\n', '! outside-workspace'],
  ])('is applied %s', async (_, before, patch, after) => {
    expect(await outcome(before, patch)).toBe(after);
  });

  it('of git does what git does, in all that it can say', async () => {
    const place = await bench({
      keep: '1\n2\n3\n',
      gone: 'x\n',
      old: 'a\nb\nc\nd\ne\n',
      run: 'run\n',
      'sp ace': 's\n',
    });
    const git = (...args: string[]) =>
      execFileSync(
        'git',
        ['-C', place.root, '-c', 'user.name=t', '-c', 'user.email=t@t', '-c', 'core.fileMode=true', ...args],
        { encoding: 'utf8' },
      );
    git('init', '-q');
    git('add', '.');
    git('commit', '-qm', 'before');
    await place.put('keep', '1\ntwo\n3\n');
    await place.put('new/ü "q".txt', 'n\n');
    await place.put('empty', '');
    await place.put('sp ace', 'S\n');
    execFileSync('sh', ['-c', 'rm gone; mkdir d; mv old d/new-name; printf f >> d/new-name; chmod 755 run'], {
      cwd: place.root,
    });
    git('add', '-A');
    const patch = git('diff', '--cached', '-M', '--no-color', '--no-ext-diff');
    git('commit', '-qm', 'after');
    const wanted = git('ls-tree', '-r', 'HEAD');
    git('checkout', '-q', 'HEAD~1');

    const done = await place.call(applyPatchTool, { patch });
    expect(done.output.split('\n').sort()).toEqual([
      'Added empty.',
      'Added new/ü "q".txt.',
      'Changed keep: line 2.',
      'Changed run.',
      'Changed sp ace: line 1.',
      'Deleted gone.',
      'Moved old to d/new-name: line 6.',
    ]);
    git('add', '-A');
    git('commit', '-qm', 'by us');
    expect(git('ls-tree', '-r', 'HEAD')).toBe(wanted);
  });
});
