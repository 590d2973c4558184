import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listFilesTool } from '../../src/tools/list-files/tool.js';
import { bench } from './bench.js';

const PROJECT = {
  'README.md': '',
  'src/main.ts': '',
  'src/tools/a.ts': '',
  'src/tools/deep/b.ts': '',
  'test/main.test.ts': '',
  '.github/ci.yml': '',
  '.git/config': '',
  'node_modules/x/index.js': '',
  'dist/main.js': '',
  'src/tools/a.log': '',
  '.gitignore': 'dist/\n*.log\n',
};

async function list(input: Record<string, unknown> = {}, files: Record<string, string> = PROJECT) {
  const { call } = await bench(files);
  return call(listFilesTool, input);
}

describe('a tree', () => {
  it('shows two levels, and what is left out', async () => {
    expect((await list()).output).toBe(
      [
        'README.md',
        'src/',
        '  main.ts',
        '  tools/ …',
        'test/',
        '  main.test.ts',
        '[… marks a folder that was not opened]',
        '[left out: 3 hidden, 2 ignored]',
      ].join('\n'),
    );
  });

  it.each<[string, Record<string, unknown>, string]>([
    [
      'goes as deep as asked',
      { path: 'src', depth: 3 },
      'main.ts\ntools/\n  a.ts\n  deep/\n    b.ts\n[left out: 1 ignored]',
    ],
    ['shows one level', { depth: 1, path: 'src' }, 'main.ts\ntools/ …\n[… marks a folder that was not opened]'],
    [
      'shows hidden names, but never .git',
      { hidden: true, depth: 1 },
      '.github/ …\n.gitignore\nREADME.md\nsrc/ …\ntest/ …\n[… marks a folder that was not opened]\n[left out: 1 hidden, 2 ignored]',
    ],
    ['shows an ignored folder that is named', { path: 'dist' }, 'main.js'],
    ['shows node_modules when it is named', { path: 'node_modules' }, 'x/\n  index.js'],
  ])('%s', async (_, input, output) => {
    expect((await list(input)).output).toBe(output);
  });

  it('says that a folder is empty', async () => {
    expect((await list({}, {})).output).toBe('(empty)');
  });

  it('shows links without following them, and what is no file', async () => {
    const { call, path, root } = await bench({ 'd/f': '' });
    await symlink('d', path('inside'));
    await symlink(dirname(root), path('outside'));
    execFileSync('mkfifo', [path('pipe')]);
    expect((await call(listFilesTool, {})).output).toBe(
      ['d/', '  f', 'inside -> d', `outside -> ${dirname(root)}`, 'pipe (not a regular file)'].join('\n'),
    );
    expect(await call(listFilesTool, { path: 'outside' })).toMatchObject({ code: 'outside-workspace' });
  });

  it('makes control characters in names visible', async () => {
    expect((await list({}, { 'a\u001b[2J\nb\u202ec': '' })).output).toBe('a\\u{1b}[2J\\u{a}b\\u{202e}c');
  });

  it('copes with odd names', async () => {
    const { call, root } = await bench({ '-rf': '', '🦊 é': '', ' ': '', 'a\\b': '' });
    await writeFile(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0x66])]), '');
    await mkdir(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xfe, 0x64])]));
    expect((await call(listFilesTool, { depth: 5 })).output.split('\n')).toEqual([
      ' ',
      '-rf',
      'a\\b',
      '\ufffdd/ …',
      '\ufffdf',
      '🦊 é',
      '[… marks a folder that was not opened]',
    ]);
  });

  it('leaves out what a rule forbids to read, and says so', async () => {
    const { call, context, path } = await bench({ f: '', 'denied/f': '', guarded: '' });
    Object.assign(context, {
      fileAccess: (each: string) =>
        each === path('denied') ? 'forbidden' : each === path('guarded') ? 'guarded' : 'free',
    });
    expect((await call(listFilesTool, {})).output).toBe('f\nguarded\n[left out: 1 that a rule forbids to read]');
    expect((await call(listFilesTool, { pattern: '**/f' })).output).toBe('f');
  });

  it('fills up level by level, and says where it was cut', async () => {
    const many = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`a/${index}`, '']));
    const { output, display } = await list({}, { ...many, 'z/last': '' });
    const lines = output.split('\n');
    expect(lines).toHaveLength(502);
    expect(lines.slice(-3)).toEqual([
      'z/ …',
      '[… marks a folder that was not opened]',
      '[cut at 500 entries; list a folder below, or give a pattern]',
    ]);
    expect(display).toMatchObject({ kind: 'lines', omitted: 480 });
  });

  it.each([
    ['a file', { path: 'README.md' }, 'not-a-folder', 'read_file'],
    ['a missing folder', { path: 'srcc' }, 'file-missing', 'In . there is: src.'],
    ['a path outside', { path: '/' }, 'outside-workspace', 'outside the workspace'],
  ])('refuses %s', async (_, input, code, output) => {
    const done = await list(input);
    expect([done.ok, done.code]).toEqual([false, code]);
    expect(done.output).toContain(output);
  });
});

describe('a pattern', () => {
  it.each<[string, Record<string, unknown>, string]>([
    [
      'without a slash fits names at any depth',
      { pattern: '*.ts' },
      'src/main.ts\nsrc/tools/a.ts\nsrc/tools/deep/b.ts\ntest/main.test.ts',
    ],
    ['with a slash fits from the path on', { pattern: 'src/*.ts' }, 'src/main.ts'],
    [
      'fits below the path that is given',
      { path: 'src', pattern: 'tools/**/*.ts' },
      'src/tools/a.ts\nsrc/tools/deep/b.ts',
    ],
    ['knows braces', { pattern: '*.{md,yml}' }, 'README.md'],
    ['finds folders', { pattern: 'tools' }, 'src/tools/'],
    ['finds hidden names that it names', { pattern: '.github/**' }, '.github/ci.yml'],
    ['stops at a depth', { pattern: '*.ts', depth: 2 }, 'src/main.ts\ntest/main.test.ts'],
    ['leaves ignored files out', { pattern: '*.{log,js}' }, 'No files fit the pattern.'],
  ])('%s', async (_, input, output) => {
    expect(await list(input)).toMatchObject({ ok: true, output });
  });
});

describe('.gitignore', () => {
  it.each<[string, Record<string, string>, string]>([
    ['counts from the folder it is in', { 'a/.gitignore': '/x\n', 'a/x': '', 'a/b/x': '', x: '' }, 'a/b/x\nx'],
    ['can be lifted by a deeper one', { '.gitignore': 'x\n', 'a/.gitignore': '!x\n', 'a/x': '', x: '' }, 'a/x'],
    ['lifts a folder with all in it', { '.gitignore': 'x/\n', 'a/.gitignore': '!x/\n', 'a/x/x': '' }, 'a/x/\na/x/x'],
    [
      'can not be lifted below an ignored folder',
      { '.gitignore': 'a/\n', 'a/.gitignore': '!x\n', 'a/x': '' },
      'No files fit the pattern.',
    ],
    ['has negation within', { '.gitignore': 'x*\n!xy\n', x1: '', xy: '' }, 'xy'],
    ['minds letter case', { '.gitignore': 'X\n', x: '' }, 'x'],
  ])('%s', async (_, files, output) => {
    expect((await list({ pattern: 'x*' }, files)).output).toBe(output);
  });

  it('counts above the folder that is listed, and above the workspace within its repository', async () => {
    const { call } = await bench({ '.gitignore': '*.log\n', 'a/x.log': '', 'a/x.txt': '' });
    expect((await call(listFilesTool, { path: 'a' })).output).toBe('x.txt\n[left out: 1 ignored]');
  });

  it('is not followed where it is a link', async () => {
    const { call, path, root } = await bench({ x: '' });
    await mkdir(join(dirname(root), 'other'));
    await symlink('../rules', path('.gitignore'));
    expect((await call(listFilesTool, {})).output).toContain('x');
  });
});
