import { execFileSync } from 'node:child_process';
import { link, mkdir, rename, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createBlobStore } from '../../src/session/blob-store.js';
import { gapsOf, LIMITS } from '../../src/session/gaps.js';
import { type Scan, type ScanOptions, scan, stateOf } from '../../src/session/scan.js';
import { differenceOf } from '../../src/session/scan-difference.js';
import { loadScan, saveScan } from '../../src/session/scan-file.js';
import { tempFolder } from '../tools/bench.js';

/** A tree, and a way to look at it again and again, each time from what the last look found. */
async function tree(files: Readonly<Record<string, string>>) {
  const folder = await tempFolder();
  const root = join(folder, 'w');
  await mkdir(root);
  const store = createBlobStore(join(folder, 'blobs'));
  const put = async (name: string, content: string) => {
    await mkdir(join(root, name, '..'), { recursive: true });
    await writeFile(join(root, name), content);
  };
  for (const [name, content] of Object.entries(files)) await put(name, content);
  let known: Scan['entries'] = new Map();
  const look = async (options: Partial<ScanOptions> = {}): Promise<Scan> => {
    const found = await scan({
      roots: [root],
      excluded: [],
      limits: LIMITS.usual,
      known,
      store,
      isSecret: () => false,
      isIgnored: async (path) => path.endsWith('dist'),
      withBuilt: false,
      now: Date.now,
      ...options,
    });
    known = found.entries;
    return found;
  };
  const namesIn = ({ entries }: Scan) => [...entries.keys()].map((path) => path.slice(root.length + 1)).toSorted();
  const changes = (before: Scan, after: Scan) =>
    differenceOf(before, after).map(
      ({ path, before: was, after: is }) => `${path.slice(root.length + 1)}: ${was.kind} → ${is.kind}`,
    );
  return { folder, root, store, put, look, namesIn, changes, path: (name: string) => join(root, name) };
}

describe('a scan', () => {
  it('takes what did not change from the scan before, without reading it', async () => {
    const { look, path } = await tree({ 'a.txt': 'a', 'b/c.txt': 'c' });
    await sleep(80);
    const [first, second] = [await look(), await look()];
    for (const name of ['a.txt', 'b/c.txt']) expect(second.entries.get(path(name))).toBe(first.entries.get(path(name)));
  });

  it('has a copy of each file in the store', async () => {
    const { look, path, store } = await tree({ 'a.txt': 'content' });
    const state = stateOf((await look()).entries.get(path('a.txt')));
    expect(state.kind === 'file' && store.get(state.hash)?.toString()).toBe('content');
  });

  it('notices a change of the same length in the same moment as the look', async () => {
    const { look, put, path } = await tree({ 'a.txt': '000' });
    const missed: number[] = [];
    for (let round = 100; round < 300; round++) {
      await put('a.txt', String(round));
      const before = await look();
      await put('a.txt', String(round + 500));
      const after = await look();
      if (differenceOf(before, after).length === 0) missed.push(round);
    }
    expect([missed, path('a.txt')]).toEqual([[], path('a.txt')]);
  });

  it('notices a change whose time was set back', async () => {
    const { look, put, path, changes } = await tree({ 'a.txt': 'one' });
    const time = new Date('2020-01-01T00:00:00Z');
    await utimes(path('a.txt'), time, time);
    await sleep(80);
    const before = await look();
    await put('a.txt', 'two');
    await utimes(path('a.txt'), time, time);
    expect(changes(before, await look())).toEqual(['a.txt: file → file']);
  });

  it('takes a new time alone for no change', async () => {
    const { look, path, changes } = await tree({ 'a.txt': 'one' });
    const before = await look();
    await utimes(path('a.txt'), new Date(), new Date());
    expect(changes(before, await look())).toEqual([]);
  });

  it('tells what came, went and changed, folders too', async () => {
    const { look, put, path, changes } = await tree({ 'a.txt': 'a', 'b.txt': 'b', 'old/c.txt': 'c' });
    const before = await look();
    await put('a.txt', 'other');
    await unlink(path('b.txt'));
    await rename(path('old'), path('new'));
    expect(changes(before, await look()).toSorted()).toEqual([
      'a.txt: file → file',
      'b.txt: file → absent',
      'new/c.txt: absent → file',
      'new: absent → folder',
      'old/c.txt: file → absent',
      'old: folder → absent',
    ]);
  });

  it('leaves out what can be made anew and what version control keeps, but not what is only ignored', async () => {
    const { look, namesIn } = await tree({
      '.git/config': '',
      'node_modules/a/index.js': '',
      'dist/out.js': '',
      'build/source.c': '',
      'local.cfg': '',
      '.chatcli-12-abcdef012345.tmp': '',
      'sub/.git': 'gitdir: elsewhere',
    });
    expect(namesIn(await look())).toEqual(['', 'build', 'build/source.c', 'local.cfg', 'sub']);
    expect(namesIn(await look({ withBuilt: true }))).toContain('dist/out.js');
  });

  it('follows no link, waits on no pipe, and says so', async () => {
    const { look, path, root, folder } = await tree({ 'a.txt': 'a' });
    await mkdir(join(folder, 'outside'));
    await writeFile(join(folder, 'outside', 'x.txt'), 'x');
    await symlink(join(folder, 'outside'), path('folder-link'));
    await symlink('a.txt', path('file-link'));
    await symlink('.', path('circle'));
    await link(path('a.txt'), path('twin'));
    execFileSync('mkfifo', [path('pipe')]);
    const found = await look();
    expect([...found.entries.keys()].filter((name) => name.includes('x.txt'))).toEqual([]);
    expect(gapsOf(found, (each) => each.slice(root.length + 1))).toEqual({
      serious: ['No copy of files with several names (hard links): a.txt, twin.'],
      harmless: ['No copy of links: circle, file-link, folder-link.', 'No copy of pipes, sockets and devices: pipe.'],
    });
  });

  /** Says that much time has passed since it was first asked. */
  const late = (ms: number) => {
    let asked = 0;
    return () => (asked++ === 0 ? 0 : ms);
  };

  it.each([
    ['files', { files: 2 }, 0, 'There are more files than are looked at.'],
    ['files', { ms: 1_000 }, 3_001, 'There are more files than are looked at.'],
    ['bytes', { bytes: 25 }, 0, 'No copy beyond the limit of bytes and time: c.txt.'],
    ['time', { ms: 1_000 }, 1_001, 'No copy beyond the limit of bytes and time: a.txt, b.txt, c.txt.'],
    [undefined, { fileBytes: 5 }, 0, 'No copy of large files: a.txt, b.txt, c.txt.'],
  ])('keeps to its limits (%s, %j, after %d ms), and says what is left out', async (limit, limits, ms, sentence) => {
    const { look, root } = await tree({ 'a.txt': '0123456789', 'b.txt': '0123456789', 'c.txt': '0123456789' });
    const found = await look({ limits: { ...LIMITS.usual, ...limits }, now: late(ms) });
    expect([found.limit, gapsOf(found, (path) => path.slice(root.length + 1)).serious]).toEqual([limit, [sentence]]);
  });

  it('takes what it did not reach for neither gone nor new', async () => {
    const { look, put, changes } = await tree({ 'a.txt': 'a', 'b.txt': 'b', 'c/d.txt': 'd' });
    const few = { limits: { ...LIMITS.usual, files: 2 } };
    const [whole, part] = [await look(), await look(few)];
    await put('c/e.txt', 'e');
    expect([changes(whole, part), changes(part, await look())]).toEqual([[], []]);
  });

  it('comes back from disk as it was stored', async () => {
    const { look, folder, path } = await tree({ 'a.txt': 'a', 'b/c.txt': 'c', '.env': 'secret' });
    const found = await look({ isSecret: (name) => name === path('.env') });
    const name = saveScan(join(folder, 'scans'), found);
    expect(loadScan(join(folder, 'scans'), name)).toEqual(found);
    expect(loadScan(join(folder, 'scans'), '../scans')).toBeUndefined();
  });

  it('ends early, and says so, when it is told to stop', async () => {
    const { look, namesIn } = await tree({ 'a.txt': 'a' });
    const found = await look({ stop: AbortSignal.abort() });
    expect([found.limit, namesIn(found)]).toEqual(['files', ['']]);
  });
});
