import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findRipgrep } from '../../src/tools/search-files/find-ripgrep.js';
import { createJsonLines, type HugeLine } from '../../src/tools/search-files/json-lines.js';
import { presentHits } from '../../src/tools/search-files/present.js';
import { searchByRipgrep } from '../../src/tools/search-files/ripgrep.js';
import { prepare, searchFilesTool } from '../../src/tools/search-files/tool.js';
import { searchByWalk } from '../../src/tools/search-files/walk-search.js';
import { type ToolContext, ToolFailure } from '../../src/tools/types.js';
import { type Bench, bench } from './bench.js';

type Input = Parameters<typeof prepare>[0];
const WAYS = ['ripgrep', 'walk'] as const;

async function search(way: (typeof WAYS)[number], { context }: Bench, input: Input): Promise<string> {
  try {
    const prepared = await prepare(input, context);
    const ripgrep = (await findRipgrep(context)) ?? 'none';
    const found = way === 'walk' ? await searchByWalk(prepared) : await searchByRipgrep(prepared, { ripgrep, context });
    return found === undefined ? 'ripgrep could not do it' : presentHits(found, prepared).output;
  } catch (thrown) {
    if (thrown instanceof ToolFailure) return `! ${thrown.code}`;
    throw thrown;
  }
}

const PROJECT = {
  'a.ts': 'one\nTwo\nthree\n',
  'a/z.ts': 'two\n',
  'b.md': 'two (2)\r\nthree\r\ntwo\r\n',
  '.hidden': 'two\n',
  '.github/ci.yml': 'two\n',
  '.git/x': 'two\n',
  '.env': 'two\n',
  id_rsa: 'two\n',
  'node_modules/x/i.js': 'two\n',
  'dist/o.js': 'two\n',
  'sub/dist/o.js': 'two\n',
  'sub/.gitignore': '!dist\n',
  '.gitignore': 'dist\n*.log\n',
  'x.log': 'two\n',
  'x.bin': 'two\n\0',
  'u16.txt': Buffer.from('\ufeffnull\r\ntwo ü\r\n', 'utf16le'),
  'l1.txt': Buffer.from('zwo \xfc two\n', 'latin1'),
};

describe.each(WAYS)('by %s', (way) => {
  it.each<[string, Input, string]>([
    [
      'finds lines in the order of paths',
      { pattern: 'two' },
      'a/z.ts\n1:two\n\nb.md\n1:two (2)\n3:two\n\nl1.txt\n1:zwo ü two\n\nsub/dist/o.js\n1:two\n\nu16.txt\n2:two ü\n\n6 matching lines in 5 files.',
    ],
    [
      'minds letter case unless told',
      { pattern: 'TWO', ignore_case: true, path: 'a.ts' },
      'a.ts\n2:Two\n\n1 matching line in 1 file.',
    ],
    ['says that there is nothing', { pattern: 'nowhere' }, 'No matches.'],
    ['narrows by the name', { pattern: 'two', glob: '*.ts' }, 'a/z.ts\n1:two\n\n1 matching line in 1 file.'],
    [
      'narrows by braces',
      { pattern: 'two', glob: '*.{ts,md}' },
      'a/z.ts\n1:two\n\nb.md\n1:two (2)\n3:two\n\n3 matching lines in 2 files.',
    ],
    ['narrows by the path', { pattern: 'two', glob: 'sub/**' }, 'sub/dist/o.js\n1:two\n\n1 matching line in 1 file.'],
    ['searches a folder', { pattern: 'two', path: 'a' }, 'a/z.ts\n1:two\n\n1 matching line in 1 file.'],
    [
      'searches an ignored folder that is named',
      { pattern: 'two', path: 'dist' },
      'dist/o.js\n1:two\n\n1 matching line in 1 file.',
    ],
    [
      'searches node_modules that is named',
      { pattern: 'two', path: 'node_modules' },
      'node_modules/x/i.js\n1:two\n\n1 matching line in 1 file.',
    ],
    [
      'searches a hidden file that is named',
      { pattern: 'two', path: '.hidden' },
      '.hidden\n1:two\n\n1 matching line in 1 file.',
    ],
    [
      'searches hidden files by a glob that names them',
      { pattern: 'two', glob: '.github/**' },
      '.github/ci.yml\n1:two\n\n1 matching line in 1 file.',
    ],
    [
      'does not come by secrets in passing',
      { pattern: 'two', glob: '.*' },
      '.hidden\n1:two\n\n1 matching line in 1 file.',
    ],
    ['shows lines around', { pattern: 'Two', context: 1 }, 'a.ts\n1-one\n2:Two\n3-three\n\n1 matching line in 1 file.'],
    [
      'stops at a number of lines',
      { pattern: 'two', max_results: 2 },
      'a/z.ts\n1:two\n\nb.md\n1:two (2)\n\n2 or more matching lines in 2 files.\n[Stopped at 2 matching lines; narrow pattern, path or glob, or raise max_results.]',
    ],
    [
      'does not say so when that was all',
      { pattern: 'two', path: 'b.md', max_results: 2 },
      'b.md\n1:two (2)\n3:two\n\n2 matching lines in 1 file.',
    ],
    ['ends a line at CRLF', { pattern: 'three$' }, 'a.ts\n3:three\n\nb.md\n2:three\n\n2 matching lines in 2 files.'],
    ['takes a pattern that looks like an option', { pattern: '--pre=x' }, 'No matches.'],
    ['looks around', { pattern: '(?<=t)wo \\(' }, 'b.md\n1:two (2)\n\n1 matching line in 1 file.'],
    [
      'takes escapes that mean themselves',
      { pattern: '\\(2\\)|\\-x|\\"' },
      'b.md\n1:two (2)\n\n1 matching line in 1 file.',
    ],
    ['refuses a broken pattern', { pattern: 'two (' }, '! bad-pattern'],
    ['refuses a pattern over several lines', { pattern: 'one\\nTwo' }, '! bad-pattern'],
    ['refuses an empty pattern', { pattern: '' }, '! bad-pattern'],
    ['refuses a missing path', { pattern: 'x', path: 'none' }, '! file-missing'],
    ['refuses a path outside', { pattern: 'x', path: '..' }, '! outside-workspace'],
  ])('%s', async (_, input, output) => {
    expect(await search(way, await bench(PROJECT), input)).toBe(output);
  });

  it('parts groups of lines, and leaves out those before a match that is not shown', async () => {
    const tools = await bench({ f: 'x\n1\n2\n3\n4\nx\n5\n6\n7\nx\n' });
    expect(await search(way, tools, { pattern: 'x', context: 1, max_results: 2 })).toContain(
      'f\n1:x\n2-1\n--\n5-4\n6:x\n7-5\n\n2 or more',
    );
  });

  it('cuts long lines around the match', async () => {
    const tools = await bench({ f: `${'ä'.repeat(1000)}needle${'z'.repeat(1000)}\n` });
    const output = await search(way, tools, { pattern: 'needle' });
    expect(output.split('\n')[1]).toBe(`1:…${'ä'.repeat(100)}needle${'z'.repeat(194)}…`);
  });

  it('shows at most 18 kB', async () => {
    const tools = await bench({ a: `${'y'.repeat(250)}\n`.repeat(500), b: 'y\n' });
    const output = await search(way, tools, { pattern: 'y', max_results: 1000 });
    expect(output.length).toBeLessThan(18_300);
    expect(output).toContain('501 matching lines in 2 files.\n[Only 18 kB are shown; narrow pattern, path or glob.]');
  });

  it('follows no links', async () => {
    const tools = await bench({ f: 'two\n' });
    const outside = join(dirname(tools.root), 'out');
    await mkdir(outside);
    await tools.put('../out/secret', 'two\n');
    await symlink(outside, tools.path('l'));
    await symlink('../out/secret', tools.path('s'));
    await symlink('f', tools.path('inside'));
    expect(await search(way, tools, { pattern: 'two' })).toBe('f\n1:two\n\n1 matching line in 1 file.');
    expect(await search(way, tools, { pattern: 'two', path: 's' })).toBe('! outside-workspace');
  });

  it('does not let ignore files above a workspace without a repository hide it', async () => {
    const tools = await bench({ f: 'two\n', 'sub/f': 'two\n', '.gitignore': 'sub\n' });
    await tools.put('../.gitignore', '*\n');
    expect(await search(way, tools, { pattern: 'two' })).toBe('f\n1:two\n\n1 matching line in 1 file.');
  });

  it('minds those of its repository, unless all of the workspace is ignored', async () => {
    const tools = await bench({ f: 'two\n', g: 'two\n' });
    await tools.put('../.git/HEAD', '');
    await tools.put('../.gitignore', 'f\n');
    expect(await search(way, tools, { pattern: 'two' })).toBe('g\n1:two\n\n1 matching line in 1 file.');
    await tools.put('../.gitignore', '*\n');
    expect(await search(way, tools, { pattern: 'two' })).toBe('f\n1:two\n\ng\n1:two\n\n2 matching lines in 2 files.');
  });

  it('copes with odd names', async () => {
    const tools = await bench({ 'a\nb/-c d\u001b': 'two\n', '{x}': 'two\n' });
    expect(await search(way, tools, { pattern: 'two' })).toBe(
      'a\\u{a}b/-c d\\u{1b}\n1:two\n\n{x}\n1:two\n\n2 matching lines in 2 files.',
    );
  });

  it('copes with names that are no UTF-8', async () => {
    const tools = await bench({ f: 'two\n', '-n': 'two\n', '🦊': 'two\n' });
    await mkdir(Buffer.concat([Buffer.from(`${tools.root}/`), Buffer.from([0xff, 0x64])]));
    for (const name of [[0xff, 0x64, 0x2f, 0x66], [0xfe]])
      await writeFile(Buffer.concat([Buffer.from(`${tools.root}/`), Buffer.from(name)]), 'two\n');
    expect(await search(way, tools, { pattern: 'two' })).toBe(
      '-n\n1:two\n\nf\n1:two\n\n🦊\n1:two\n\n3 matching lines in 3 files.',
    );
    expect(await search(way, tools, { pattern: 'two', path: '-n' })).toContain('1 matching line');
  });

  it('comes by no secrets, whatever the glob names', async () => {
    const secrets = ['.env', '.env.local', 'sub/.env', 'key.pem', 'id_ed25519', '.aws/credentials', '.npmrc', '.ENV'];
    const tools = await bench({
      ...Object.fromEntries(secrets.map((name) => [name, 'two\n'])),
      '.env.example': 'two\n',
    });
    for (const glob of ['**/.env*', '{.*,.*/**,**/.*,*}', '.aws/**'])
      expect(await search(way, tools, { pattern: 'two', glob })).toMatch(
        /^(?:No matches\.|\.env\.example\n1:two\n\n1 matching line in 1 file\.)$/,
      );
    expect(await search(way, tools, { pattern: 'two' })).toBe('No matches.');
  });

  it('neither waits for a pipe nor reads a device or what is huge', async () => {
    const tools = await bench({ f: 'two\n', huge: '' });
    execFileSync('mkfifo', [tools.path('pipe')]);
    await symlink('/dev/zero', tools.path('zero'));
    await truncate(tools.path('huge'), 2 ** 31);
    expect(await search(way, tools, { pattern: 'two' })).toMatch(/^f\n1:two\n\n1 matching line in 1 file\./);
    expect(await search(way, tools, { pattern: 'two', path: 'pipe' })).toBe('! not-a-file');
    expect(await search(way, tools, { pattern: 'two', path: 'zero' })).toBe('! outside-workspace');
  });

  it('keeps what a rule forbids or guards out of sight', async () => {
    const tools = await bench({ f: 'two\n', 'denied/f': 'two\n', asked: 'two\n' });
    const fileAccess: ToolContext['fileAccess'] = (path) => {
      if (path.startsWith(tools.path('denied'))) return 'forbidden';
      return path === tools.path('asked') ? 'guarded' : 'free';
    };
    const limited = { ...tools, context: { ...tools.context, fileAccess } };
    expect(await search(way, limited, { pattern: 'two' })).toBe('f\n1:two\n\n1 matching line in 1 file.');
  });

  it('skips what it may not read', async () => {
    const tools = await bench({ f: 'two\n', 'd/g': 'two\n' });
    await chmod(tools.path('d'), 0);
    const output = await search(way, tools, { pattern: 'two' });
    await chmod(tools.path('d'), 0o755);
    expect(output).toContain('f\n1:two');
  });

  it('stops when the run is cancelled', async () => {
    const tools = await bench(PROJECT, { signal: AbortSignal.abort(new Error('cancelled')) });
    await expect(search(way, tools, { pattern: 'two' })).rejects.toThrow('cancelled');
  });
});

describe('ripgrep', () => {
  it('is never given a configuration that runs programs', async () => {
    const tools = await bench({ f: 'two\n', '.rgrc': '--pre=./x\n', x: '#!/bin/sh\ntouch pwned\n' });
    await chmod(tools.path('x'), 0o755);
    const context = { ...tools.context, childEnvironment: { RIPGREP_CONFIG_PATH: tools.path('.rgrc') } };
    const { output } = await searchFilesTool.run({ pattern: 'two' }, context);
    expect(output).toBe('f\n1:two\n\n1 matching line in 1 file.');
    expect(await readdir(tools.root)).not.toContain('pwned');
  });

  it('that can not be started gives way to our own walk', async () => {
    const { context } = await bench({ f: 'two\n' });
    const prepared = await prepare({ pattern: 'two' }, context);
    expect(await searchByRipgrep(prepared, { ripgrep: '/nowhere/rg', context })).toBeUndefined();
  });

  it('is told of a line too long to hold by its number', async () => {
    const seen: (string | HugeLine)[] = [];
    const lines = createJsonLines({
      onLine: async (line) => void seen.push(line),
      onHugeLine: async (line) => void seen.push({ ...line, head: line.head.slice(0, 16) }),
    });
    const huge = `{"type":"match","data":{"path":{"text":"f"},"lines":{"text":"${'x'.repeat(9_000_000)}"},"line_number":12,"absolute_offset":0}}\n`;
    const all = `first\n${huge}last\n`;
    for (let at = 0; at < all.length; at += 1_000_003) await lines.push(all.slice(at, at + 1_000_003));
    expect(seen).toEqual(['first', { head: '{"type":"match",', lineNumber: 12 }, 'last']);
  });
});

describe('our own walk', () => {
  it('gives up on a pattern that takes for ever', async () => {
    const tools = await bench(Object.fromEntries(['1', '2', '3', '4'].map((name) => [name, `${'a'.repeat(60)}b\n`])));
    const startedAt = performance.now();
    expect(await search('walk', tools, { pattern: '^(a+)+$' })).toBe('! bad-pattern');
    expect(performance.now() - startedAt).toBeLessThan(6000);
  });

  it('goes on behind a single file on which a pattern takes for ever', async () => {
    const tools = await bench({ slow: `${'a'.repeat(60)}b\n`, z: 'aa\n' });
    expect(await search('walk', tools, { pattern: '^(a+)+$' })).toBe(
      'z\n1:aa\n\n1 matching line in 1 file.\n[Not searched: 1 files on which the pattern takes too long.]',
    );
  });

  it('says that it does not search huge files', async () => {
    const tools = await bench({ f: `${'x'.repeat(99)}\n`.repeat(110_000) });
    expect(await search('walk', tools, { pattern: 'y' })).toBe(
      'No matches.\n[Not searched: 1 files of more than 10 MB.]',
    );
  });
});
