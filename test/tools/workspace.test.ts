import { execFileSync } from 'node:child_process';
import {
  chmod,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createWorkspace } from '../../src/tools/workspace.js';
import { bench, failureOf, tempFolder } from './bench.js';

describe('locate', () => {
  it.each([
    ['takes a relative path', 'a/b.txt', 'a/b.txt', true],
    ['takes a new file in a new folder', 'new/deep/c.txt', 'new/deep/c.txt', false],
    ['takes the workspace itself', '.', '.', true],
    ['takes a way that leaves a folder and comes back', 'a/../a/b.txt', 'a/b.txt', true],
    ['takes names that begin with two dots', '..hidden', '..hidden', false],
  ])('%s', async (_, path, shown, exists) => {
    const { workspace, root } = await bench({ 'a/b.txt': 'b' });
    expect(await workspace.locate(path)).toEqual({ path: join(root, shown), shown, exists });
  });

  it('takes an absolute path inside, and shows it relative', async () => {
    const { workspace, path } = await bench({ 'a.txt': 'a' });
    expect(await workspace.locate(path('a.txt'))).toEqual({ path: path('a.txt'), shown: 'a.txt', exists: true });
  });

  it.each([
    ['an empty path', '', 'bad-path'],
    ['a NUL character', 'a\0b', 'bad-path'],
    ['a control character', 'a\u001b[2J', 'bad-path'],
    ['a home folder', '~/x', 'bad-path'],
    ['a part that is a file', 'a.txt/x', 'bad-path'],
    ['the parent', '..', 'outside-workspace'],
    ['a sibling whose name begins alike [A22]', '../w-evil/f', 'outside-workspace'],
    ['an absolute path outside', '/etc/passwd', 'outside-workspace'],
    ['a link to a file outside', 'link-out', 'outside-workspace'],
    ['a file behind a link to a folder outside', 'folder-out/f', 'outside-workspace'],
    ['a new file behind a link to a folder outside', 'folder-out/new', 'outside-workspace'],
    ['a dangling link to outside', 'dangling-out', 'outside-workspace'],
    ['a new file behind a dangling link to outside', 'dangling-out/x', 'outside-workspace'],
    ['links that go round', 'round', 'bad-path'],
    ['dangling links that go round', 'round/x', 'bad-path'],
    ['a name that is too long', 'n'.repeat(300), 'bad-path'],
  ])('refuses %s', async (_, path, code) => {
    const { workspace, root, path: at } = await bench({ 'a.txt': 'a' });
    const outside = `${root}-evil`;
    await mkdir(outside);
    await writeFile(join(outside, 'f'), 'secret');
    await symlink(join(outside, 'f'), at('link-out'));
    await symlink(outside, at('folder-out'));
    await symlink('../w-evil/created', at('dangling-out'));
    await symlink('round2', at('round'));
    await symlink('round', at('round2'));
    expect(await failureOf(workspace.locate(path))).toBe(code);
  });

  it('says that ~ is not expanded', async () => {
    const { workspace } = await bench();
    await expect(workspace.locate('~/x')).rejects.toThrow('"~" is not expanded');
  });

  it('follows links inside, also to what does not exist yet', async () => {
    const { workspace, path } = await bench({ 'd/f.txt': 'f' });
    await symlink('d', path('l'));
    await symlink('d/new.txt', path('dangling'));
    expect((await workspace.locate('l/f.txt')).shown).toBe('d/f.txt');
    expect(await workspace.locate('dangling')).toEqual({ path: path('d/new.txt'), shown: 'd/new.txt', exists: false });
  });

  it('takes paths in added folders, and shows them whole', async () => {
    const added = await tempFolder();
    await writeFile(join(added, 'x'), 'x');
    const root = await tempFolder();
    const workspace = await createWorkspace({ root, addDirs: [added] });
    expect(await workspace.locate(join(added, 'x'))).toEqual({
      path: join(added, 'x'),
      shown: join(added, 'x'),
      exists: true,
    });
    expect(workspace.roots).toEqual([root, added]);
  });

  it('does not start on what is no folder', async () => {
    const { path } = await bench({ f: 'f' });
    await expect(createWorkspace({ root: path('f') })).rejects.toThrow('is not a folder');
    await expect(createWorkspace({ root: path('none') })).rejects.toThrow('cannot be used');
  });
});

describe('read', () => {
  it('gives the bytes and remembers their hash', async () => {
    const { workspace } = await bench({ 'a.bin': Buffer.from([0, 255, 10]) });
    const location = await workspace.locate('a.bin');
    expect(await workspace.read(location, 3)).toEqual(Buffer.from([0, 255, 10]));
    expect(workspace.knownHash(location)).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    ['a missing file', 'none', 'file-missing'],
    ['a folder', 'd', 'not-a-file'],
    ['a pipe nobody writes to', 'pipe', 'not-a-file'],
    ['a file over the limit', 'big', 'too-large'],
  ])('refuses %s at once', async (_, name, code) => {
    const { workspace, path } = await bench({ 'd/f': 'f', big: '12345' });
    execFileSync('mkfifo', [path('pipe')]);
    const location = await workspace.locate(name);
    expect(await failureOf(workspace.read(location, 4))).toBe(code);
  });

  it.runIf(process.platform === 'linux')('refuses a device', async () => {
    const workspace = await createWorkspace({ root: '/dev' });
    expect(await failureOf(workspace.read(await workspace.locate('zero'), 10))).toBe('not-a-file');
  });

  it('does not follow a link that took the place of the file', async () => {
    const { workspace, root, path } = await bench({ 'a.txt': 'a' });
    await writeFile(join(dirname(root), 'secret'), 'secret');
    const location = await workspace.locate('a.txt');
    await rename(path('a.txt'), path('b.txt'));
    await symlink('../secret', path('a.txt'));
    expect(await failureOf(workspace.read(location, 100))).toBe('unreadable');
  });

  it.runIf(process.platform === 'linux')('does not read through a folder that became a link', async () => {
    const { workspace, root, path } = await bench({ 'd/a.txt': 'a' });
    const outside = join(dirname(root), 'out');
    await mkdir(outside);
    await writeFile(join(outside, 'a.txt'), 'secret');
    const location = await workspace.locate('d/a.txt');
    await rename(path('d'), path('old'));
    await symlink(outside, path('d'));
    expect(await failureOf(workspace.read(location, 100))).toBe('unreadable');
  });
});

describe('write', () => {
  async function written(files: Record<string, string>, name: string, content: string) {
    const tools = await bench(files);
    const write = async (path = name, text = content) =>
      tools.workspace.write(await tools.workspace.locate(path), Buffer.from(text));
    return { ...tools, write };
  }

  it('makes a new file with its folders, as the umask says, and leaves nothing else', async () => {
    const { write, text, path } = await written({}, 'a/b/c.txt', 'hi');
    await write();
    expect(await text('a/b/c.txt')).toBe('hi');
    expect((await stat(path('a/b/c.txt'))).mode & 0o777).toBe(0o666 & ~process.umask());
    expect(await readdir(path('a/b'))).toEqual(['c.txt']);
  });

  it.each([0o755, 0o600, 0o4755])('keeps mode %o', async (mode) => {
    const { write, path } = await written({ 'run.sh': 'old' }, 'run.sh', 'new');
    await chmod(path('run.sh'), mode);
    await write();
    expect((await stat(path('run.sh'))).mode & 0o7777).toBe(mode);
  });

  it('keeps a link and writes where it leads', async () => {
    const { write, text, path } = await written({ 'dir/b': 'old' }, 'a', 'new');
    await symlink('dir/b', path('a'));
    await write();
    expect((await lstat(path('a'))).isSymbolicLink()).toBe(true);
    expect(await readlink(path('a'))).toBe('dir/b');
    expect(await text('dir/b')).toBe('new');
  });

  it('leaves the other name of a hard link alone', async () => {
    const { write, text, root, path } = await written({}, 'h', 'new');
    const outside = join(dirname(root), 'f');
    await writeFile(outside, 'old');
    await link(outside, path('h'));
    await write();
    expect([await text('h'), await readFile(outside, 'utf8')]).toEqual(['new', 'old']);
  });

  it('does not create a file outside through a dangling link [A21]', async () => {
    const { write, root, path } = await written({}, 'x', 'new');
    await symlink('../created', path('x'));
    expect(await failureOf(write())).toBe('outside-workspace');
    expect(await readdir(dirname(root))).toEqual(['w']);
  });

  it('refuses a folder that became a link after the path was resolved', async () => {
    const { workspace, root, path } = await bench({ 'd/a.txt': 'a' });
    const outside = join(dirname(root), 'out');
    await mkdir(outside);
    const location = await workspace.locate('d/a.txt');
    await rename(path('d'), path('old'));
    await symlink(outside, path('d'));
    expect(await failureOf(workspace.write(location, Buffer.from('x')))).toBe('outside-workspace');
    expect(await readdir(outside)).toEqual([]);
  });

  it('leaves the old content and no temp file when it fails', async () => {
    const { workspace, text, root } = await bench({ 'a.txt': 'old' });
    const location = await workspace.locate('a.txt');
    const unwritable = { ...location, path: `${location.path}/x` };
    expect(await failureOf(workspace.write(unwritable, Buffer.from('new')))).toBe('unwritable');
    expect(await failureOf(workspace.write(location, Buffer.from('new'), { replaces: Buffer.from('other') }))).toBe(
      'changed-on-disk',
    );
    expect(await text('a.txt')).toBe('old');
    expect(await readdir(root)).toEqual(['a.txt']);
  });

  it('does not overwrite a file that appeared meanwhile', async () => {
    const { workspace, put, text } = await bench();
    const location = await workspace.locate('a.txt');
    await put('a.txt', 'theirs');
    expect(await failureOf(workspace.write(location, Buffer.from('ours'), { replaces: null }))).toBe('changed-on-disk');
    expect(await text('a.txt')).toBe('theirs');
  });

  it('refuses a folder and a pipe', async () => {
    const { workspace, path } = await bench({ 'd/f': 'f' });
    execFileSync('mkfifo', [path('pipe')]);
    for (const name of ['d', 'pipe']) {
      expect(await failureOf(workspace.write(await workspace.locate(name), Buffer.from('x')))).toBe('not-a-file');
    }
  });
});

describe('remove', () => {
  it('takes a file away, and forgets its hash', async () => {
    const { workspace, root } = await bench({ 'd/a': 'a', b: 'b' });
    const location = await workspace.locate('d/a');
    await workspace.read(location, 10);
    await workspace.remove(location, { replaces: Buffer.from('a') });
    expect([await readdir(root, { recursive: true }), workspace.knownHash(location)]).toEqual([['b', 'd'], undefined]);
  });

  it.each<[string, string, string | undefined, string]>([
    ['a missing file', 'none', undefined, 'file-missing'],
    ['a file in a missing folder, which is not made', 'x/none', undefined, 'file-missing'],
    ['a folder', 'd', undefined, 'not-a-file'],
    ['a pipe', 'pipe', undefined, 'not-a-file'],
    ['a file that is another by now', 'd/a', 'other', 'changed-on-disk'],
  ])('refuses %s', async (_, name, replaces, code) => {
    const { workspace, root, path } = await bench({ 'd/a': 'a' });
    execFileSync('mkfifo', [path('pipe')]);
    const options = replaces === undefined ? {} : { replaces: Buffer.from(replaces) };
    expect(await failureOf(workspace.remove(await workspace.locate(name), options))).toBe(code);
    expect((await readdir(root, { recursive: true })).sort()).toEqual(['d', 'd/a', 'pipe']);
  });

  it('refuses a file whose folder became a link after the path was resolved', async () => {
    const { workspace, root, path } = await bench({ 'd/a': 'a' });
    const outside = join(dirname(root), 'out');
    await mkdir(outside);
    await writeFile(join(outside, 'a'), 'theirs');
    const location = await workspace.locate('d/a');
    await rename(path('d'), path('old'));
    await symlink(outside, path('d'));
    expect(await failureOf(workspace.remove(location))).toBe('outside-workspace');
    expect([await readdir(outside), await readdir(path('old'))]).toEqual([['a'], ['a']]);
  });
});

describe('a change of several files', () => {
  async function planned() {
    const place = await bench({ a: 'a', 'd/b': 'b', c: 'c' });
    await chmod(place.path('a'), 0o750);
    await chmod(place.path('d/b'), 0o640);
    const [a, b, n, c] = await Promise.all(['a', 'd/b', 'x/y/n', 'c'].map((name) => place.workspace.locate(name)));
    if (!a || !b || !n || !c) throw new Error('There are four.');
    const bytes = (text: string) => Buffer.from(text);
    const changes = [
      { location: a, bytes: bytes('A'), replaces: bytes('a') },
      { location: n, bytes: bytes('n'), replaces: null },
      { location: b, bytes: null, replaces: bytes('b') },
      { location: c, bytes: bytes('C'), replaces: bytes('c') },
    ];
    return { ...place, changes };
  }

  it('makes all of them', async () => {
    const { workspace, changes, root, text } = await planned();
    await workspace.changeTogether(changes);
    expect((await readdir(root, { recursive: true })).sort()).toEqual(['a', 'c', 'd', 'x', 'x/y', 'x/y/n']);
    expect([await text('a'), await text('c'), await text('x/y/n')]).toEqual(['A', 'C', 'n']);
  });

  it('takes back what was made, with mode and folders, when the last one fails', async () => {
    const { workspace, changes, root, text, path, put } = await planned();
    await put('c', 'theirs');
    expect(await failureOf(workspace.changeTogether(changes))).toBe('changed-on-disk');
    expect((await readdir(root, { recursive: true })).sort()).toEqual(['a', 'c', 'd', 'd/b']);
    expect([await text('a'), await text('d/b'), await text('c')]).toEqual(['a', 'b', 'theirs']);
    const modes = await Promise.all(['a', 'd/b'].map(async (name) => (await stat(path(name))).mode & 0o777));
    expect(modes).toEqual([0o750, 0o640]);
  });

  it('says loudly which file it could not put back, and puts the others back', async () => {
    const place = await planned();
    const [first, ...others] = place.changes;
    // Somebody else changes what we just wrote, before the change after it fails.
    const meddling = Object.defineProperty({ ...others[2], location: { ...others[2]?.location } }, 'replaces', {
      enumerable: true,
      get: () => Buffer.from('never'),
    });
    let isWritten = false;
    const meddle = async () => {
      for (let tries = 0; !isWritten && tries < 10_000; tries++) {
        if ((await readFile(place.path('a'), 'utf8')) === 'A') {
          await writeFile(place.path('a'), 'meddled');
          isWritten = true;
        }
      }
    };
    const slow = Array.from({ length: 40 }, (_, index) => ({
      location: { path: place.path(`s${index}`), shown: `s${index}`, exists: false },
      bytes: Buffer.from('s'),
      replaces: null,
    }));
    const change = place.workspace.changeTogether([
      ...(first ? [first] : []),
      ...slow,
      ...others.slice(0, 2),
      meddling as (typeof place.changes)[number],
    ]);
    const [failed] = await Promise.allSettled([change, meddle()]);
    expect(isWritten).toBe(true);
    expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'not-restored' } });
    expect(String((failed as PromiseRejectedResult).reason)).toContain('a is still changed and could not be put back');
    expect([await place.text('a'), await place.text('d/b'), await place.text('c')]).toEqual(['meddled', 'b', 'c']);
    expect((await readdir(place.root)).sort()).toEqual(['a', 'c', 'd']);
  });

  it('asks the keeper about every file before the first is touched, and stops where it can not keep one', async () => {
    const { root } = await bench({ a: 'a', b: 'b' });
    const kept: string[] = [];
    const workspace = await createWorkspace({
      root,
      keepBefore: async (path) => {
        kept.push(`${path.slice(root.length + 1)}=${await readFile(path, 'utf8')}`);
        if (path.endsWith('b')) throw new Error('no room to keep it');
      },
    });
    const changes = ['a', 'b'].map(async (name) => ({
      location: await workspace.locate(name),
      bytes: null,
      replaces: Buffer.from(name),
    }));
    await expect(workspace.changeTogether(await Promise.all(changes))).rejects.toThrow('no room to keep it');
    expect([kept, (await readdir(root)).sort()]).toEqual([
      ['a=a', 'b=b'],
      ['a', 'b'],
    ]);
  });
});

describe('what a killed process left', () => {
  it('goes with the next write in that folder, and nothing else does', async () => {
    const gone = Number(execFileSync('sh', ['-c', 'echo $$'], { encoding: 'utf8' }));
    const stale = `.chatcli-${gone}-0123456789ab.tmp`;
    const living = `.chatcli-${process.ppid}-0123456789ab.tmp`;
    const own = `.chatcli-${process.pid}-0123456789ab.tmp`;
    const names = [stale, living, own, `.chatcli-${gone}-0123456789ab.bak`, `chatcli-${gone}-01.tmp`, 'd/keep'];
    const { workspace, put, path } = await bench(Object.fromEntries(names.map((name) => [name, 'x'])));
    await put(`d/${stale}`, 'x');
    await mkdir(path(`.chatcli-${gone}-aaaaaaaaaaaa.tmp`));
    await symlink('d/keep', path(`.chatcli-${gone}-bbbbbbbbbbbb.tmp`));
    const before = (await readdir(path('.'))).filter((name) => name !== stale);
    await workspace.write(await workspace.locate('n'), Buffer.from('n'));
    expect((await readdir(path('.'))).sort()).toEqual([...before, 'n'].sort());
    expect((await readdir(path('d'))).sort()).toEqual([stale, 'keep']);
  });
});

describe('lock', () => {
  it('of several paths waits for each of them, whatever the order they are given in', async () => {
    const { workspace } = await bench();
    const done: string[] = [];
    const hold = (paths: readonly string[], name: string) =>
      workspace.lockAll(paths, async () => {
        done.push(`${name}+`);
        await delay(5);
        done.push(`${name}-`);
      });
    await Promise.all([hold(['a', 'b'], '1'), hold(['b', 'a'], '2'), hold(['b', 'c', 'b'], '3'), hold([], '4')]);
    const others = done.filter((step) => !step.startsWith('4'));
    expect(others.map((_, index) => (index % 2 === 0 ? `${others[index]?.[0]}-` === others[index + 1] : true))).toEqual(
      others.map(() => true),
    );
    expect(done).toHaveLength(8);
  });

  it('runs the holders of one path in the order of their calls, those of others beside them', async () => {
    const { workspace } = await bench();
    const done: string[] = [];
    const hold = (path: string, name: string, ms: number) =>
      workspace.lock(path, async () => {
        await delay(ms);
        done.push(name);
      });
    await Promise.all([hold('a', 'a1', 60), hold('a', 'a2', 1), hold('b', 'b1', 5)]);
    expect(done).toEqual(['b1', 'a1', 'a2']);
  });

  it('lets the next holder in after a throw, and gives results back', async () => {
    const { workspace } = await bench();
    const failing = workspace.lock('a', async () => {
      throw new Error('no');
    });
    const next = workspace.lock('a', async () => 'in');
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('in');
  });

  it('loses none of 1,000 updates on 50 paths', async () => {
    const { workspace, text } = await bench();
    const add = (path: string) =>
      workspace.lock(path, async () => {
        const location = await workspace.locate(path);
        const before = location.exists ? await workspace.read(location, 1000) : Buffer.alloc(0);
        await workspace.write(location, Buffer.concat([before, Buffer.from('x')]));
      });
    await Promise.all(Array.from({ length: 1000 }, (_, index) => add(`f${index % 50}`)));
    const lengths = await Promise.all(Array.from({ length: 50 }, async (_, index) => (await text(`f${index}`)).length));
    expect(new Set(lengths)).toEqual(new Set([20]));
  });
});
