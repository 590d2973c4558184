import { execFileSync } from 'node:child_process';
import { mkdir, open, symlink } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { applyPatchTool } from '../../src/tools/apply-patch/tool.js';
import { editFileTool } from '../../src/tools/edit-file/tool.js';
import { readFileTool } from '../../src/tools/read-file/tool.js';
import { createWorkspace } from '../../src/tools/workspace.js';
import { bench } from './bench.js';

async function read(content: string | Uint8Array, input: Record<string, unknown> = {}) {
  const { call } = await bench({ f: content });
  return call(readFileTool, { path: 'f', ...input });
}

describe('text', () => {
  it.each<[string, string | Uint8Array, Record<string, unknown>, string]>([
    ['numbers lines', 'a\nb\n', {}, '1│a\n2│b'],
    ['shows a last line without an end', 'a\nb', {}, '1│a\n2│b'],
    ['keeps tabs and blanks', '\ta  \n', {}, '1│\ta  '],
    ['starts at an offset', 'a\nb\nc\n', { offset: 2 }, '2│b\n3│c\n[This is lines 2-3, the end of the file.]'],
    [
      'stops at a limit, and says how to go on',
      'a\nb\nc\n',
      { limit: 2 },
      '1│a\n2│b\n[This is lines 1-2 of 3. Go on with offset 3.]',
    ],
    ['takes a limit beyond the end', 'a\n', { limit: 9 }, '1│a'],
    ['says that a file is empty', '', {}, 'f is empty.'],
    ['tells of CRLF', 'a\r\nb\r\n', {}, '1│a\n2│b\n[Line ends are CRLF.]'],
    ['tells of mixed line ends', 'a\r\nb\n', {}, '1│a\n2│b\n[Line ends are mixed, CRLF and LF.]'],
    ['leaves the byte order mark out', '\ufeffa\n', {}, '1│a'],
    [
      'shows UTF-16',
      Buffer.from('\ufeffä\r\nb', 'utf16le'),
      {},
      "1│ä\n2│b\n[The file is UTF-16LE; edit_file can't change it.]\n[Line ends are CRLF.]",
    ],
    [
      'shows other bytes as Windows-1252',
      Buffer.from([0x63, 0xe9, 0x0a, 0x93, 0x0a, 0x61]),
      {},
      '1│cé\n2│“\n3│a\n[Not UTF-8, shown as Windows-1252: Lines 1, 2. edit_file keeps such bytes, with ASCII strings.]',
    ],
    ['does not split at U+2028', 'a\u2028b\n', {}, '1│a\u2028b'],
  ])('%s', async (_, content, input, output) => {
    expect((await read(content, input)).output).toBe(output);
  });

  it.each<[string, string, Record<string, unknown>, string, string]>([
    ['an offset behind the end', 'a\nb\n', { offset: 5 }, 'past-end', 'Line 5 is behind the end: f has 2 lines.'],
    ['a binary file', 'a\0b', {}, 'binary', 'f is a binary file of 3 bytes, so it was not read as text.'],
    ['a missing file', 'a', { path: 'g' }, 'file-missing', 'g does not exist. In . there is: f.'],
    [
      'a missing folder',
      'a',
      { path: 'x/g' },
      'file-missing',
      'x/g does not exist. The folder x does not exist either. Use list_files to find the path.',
    ],
    ['a path outside', 'a', { path: '../x' }, 'outside-workspace', ''],
  ])('refuses %s', async (_, content, input, code, output) => {
    const done = await read(content, input);
    expect([done.ok, done.code]).toEqual([false, code]);
    expect(done.output).toContain(output);
  });

  it.each([{ offset: 0 }, { offset: 1.5 }, { limit: 0 }])('does not take %o', (input) => {
    expect(readFileTool.schema.safeParse({ path: 'f', ...input }).success).toBe(false);
  });

  it('points to list_files for a folder, and does not wait for a pipe [A25]', async () => {
    const { call, path } = await bench();
    await mkdir(path('d'));
    execFileSync('mkfifo', [path('p')]);
    expect((await call(readFileTool, { path: 'd' })).output).toContain('list_files');
    expect(await call(readFileTool, { path: 'p' })).toMatchObject({ code: 'not-a-file' });
  });

  it.runIf(process.platform === 'linux').each([
    ['/dev/zero', 'not-a-file'],
    ['/dev/full', 'not-a-file'],
  ])('does not read the device %s, whatever leads to it [A25]', async (device, code) => {
    const { context, path } = await bench();
    await symlink(device, path('l'));
    const { call } = await bench();
    expect(await call(readFileTool, { path: device })).toMatchObject({ code: 'outside-workspace' });
    const reading = readFileTool.run({ path: 'l' }, context);
    await expect(reading).rejects.toMatchObject({ code: 'outside-workspace' });
    const workspace = await createWorkspace({ root: '/dev' });
    await expect(readFileTool.run({ path: device.slice(5) }, { ...context, workspace })).rejects.toMatchObject({
      code,
    });
  });

  it.runIf(process.platform === 'linux')('does not read the environment of a process from outside [A25]', async () => {
    const { call, path } = await bench();
    await symlink('/proc/self/environ', path('e'));
    for (const name of ['/proc/self/environ', 'e'])
      expect(await call(readFileTool, { path: name })).toMatchObject({ code: 'outside-workspace' });
  });

  it('reads through a link inside', async () => {
    const { call, path } = await bench({ 'd/f': 'x\n' });
    await symlink('d/f', path('l'));
    expect((await call(readFileTool, { path: 'l' })).output).toBe('1│x');
  });
});

describe('limits', () => {
  it('gives at most 2,000 lines', async () => {
    const { output } = await read('x\n'.repeat(2500));
    expect(output.endsWith('2000│x\n[This is lines 1-2000 of 2500. Go on with offset 2001.]')).toBe(true);
  });

  it('gives at most 18 kB, whole lines', async () => {
    const { output } = await read(`${'y'.repeat(99)}\n`.repeat(1000));
    expect(output.length).toBeLessThan(18_200);
    expect(output).toMatch(/y\n\[This is lines 1-\d+ of 1000\. Go on with offset \d+\.\]$/);
  });

  it('cuts long lines, and says how to read on', async () => {
    const { output } = await read(`short\n${'z'.repeat(5000)}\nend\n`);
    const [, cut, end, note] = output.split('\n');
    expect(cut).toBe(`2│${'z'.repeat(2000)}… [3000 more bytes]`);
    expect(end).toBe('3│end');
    expect(note).toContain('Line 2 cut at 2,000 characters');
    expect(note).toContain('tail -c +2007 f | head -c 4000');
  });

  it('does not cut a character in two', async () => {
    const { output } = await read('😀'.repeat(3000));
    expect(output.split('\n')[0]).toBe(`1│${'😀'.repeat(1000)}… [8000 more bytes]`);
    expect((await read(`${'é'.repeat(20_000)}\n`)).output).not.toContain('\ufffd');
  });

  it('reads a huge line with little memory', async () => {
    const { call, path } = await bench();
    const file = await open(path('huge'), 'w');
    for (let index = 0; index < 200; index++) await file.write(Buffer.alloc(1_000_000, 'x'));
    await file.close();
    const before = process.memoryUsage().rss;
    const { output } = await call(readFileTool, { path: 'huge' });
    expect(process.memoryUsage().rss - before).toBeLessThan(50_000_000);
    expect(output.length).toBeLessThan(3000);
    expect(output).toContain('[199998000 more bytes]');
  });

  it('reads the start of a sparse file of 2 GB at once, and with little memory tells that it is binary [A25]', async () => {
    const { call, path } = await bench();
    const file = await open(path('sparse'), 'w');
    await file.truncate(2_000_000_000);
    await file.close();
    const before = process.memoryUsage().rss;
    expect(await call(readFileTool, { path: 'sparse' })).toMatchObject({ code: 'binary' });
    expect(process.memoryUsage().rss - before).toBeLessThan(50_000_000);
    for (const [tool, input] of [
      [editFileTool, { old_string: 'a', new_string: 'b' }],
      [applyPatchTool, { patch: '*** Begin Patch\n*** Update File: sparse\n@@\n-a\n+b\n*** End Patch' }],
    ] as const)
      expect(await call(tool, { path: 'sparse', ...input })).toMatchObject({ code: 'too-large' });
    expect(process.memoryUsage().rss - before).toBeLessThan(50_000_000);
  });

  it('finds a line deep in a large file', async () => {
    const { call, put } = await bench();
    await put('large', Array.from({ length: 1_500_000 }, (_, index) => `line ${index + 1}\n`).join(''));
    const { output } = await call(readFileTool, { path: 'large', offset: 1_000_000, limit: 1 });
    expect(output).toMatch(
      /^1000000│line 1000000\n\[This is lines 1000000-1000000 of a file of \d+ bytes\. Go on with offset 1000001\.\]$/,
    );
  });

  it('stops when the run is cancelled', async () => {
    const { call } = await bench({ f: 'a' }, { signal: AbortSignal.abort(new Error('cancelled')) });
    await expect(call(readFileTool, { path: 'f' })).rejects.toThrow('cancelled');
  });
});
