import { readdirSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { blobPath, hashOf } from '../../src/session/blob-store.js';
import { LIMITS } from '../../src/session/gaps.js';
import { filesOf } from '../../src/session/undo-types.js';
import { undoBench } from './bench.js';

describe('a turn', () => {
  it('goes back to what a file was at its first change, however often it was changed', async () => {
    const bench = await undoBench({ 'a.txt': 'first' });
    await bench.write('a.txt', 'second');
    await bench.recorder.aroundCommand('x', () => bench.put('a.txt', 'third'));
    await bench.write('a.txt', 'fourth');
    expect(await bench.undo()).toMatchObject({ conflicts: [], skipped: [], unchanged: [] });
    expect(await bench.text('a.txt')).toBe('first');
  });

  it('has nothing to take back of a file that ended as it began', async () => {
    const bench = await undoBench({ 'a.txt': 'first' });
    await bench.write('a.txt', 'second');
    await bench.write('a.txt', 'first');
    expect(filesOf(bench.turns()[0]!)).toEqual([]);
  });

  it('tells of a command what it changed, and leaves out what a tool wrote meanwhile', async () => {
    const bench = await undoBench({ 'a.txt': 'a', 'b.txt': 'b', 'both.txt': 'old' });
    const { touched } = await bench.recorder.aroundCommand('x', async () => {
      await bench.put('a.txt', 'by the command');
      await bench.put('both.txt', 'by the command');
      await bench.write('b.txt', 'by a tool');
      await bench.write('both.txt', 'by a tool, from what the command left');
    });
    expect(touched).toEqual(['a.txt']);
    expect(await bench.undo()).toMatchObject({ conflicts: [], skipped: [] });
    expect([await bench.text('a.txt'), await bench.text('b.txt'), await bench.text('both.txt')]).toEqual([
      'a',
      'b',
      'old',
    ]);
  });

  it('covers commands that run at the same time', async () => {
    const bench = await undoBench({ 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' });
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const first = bench.recorder.aroundCommand('one', async () => {
      await bench.put('a.txt', '1');
      await held;
      await bench.put('c.txt', '1');
    });
    await bench.recorder.aroundCommand('two', async () => {
      await bench.put('b.txt', '2');
      await bench.put('c.txt', '2');
    });
    release();
    await first;
    expect(await bench.undo()).toMatchObject({ conflicts: [], skipped: [] });
    expect([await bench.text('a.txt'), await bench.text('b.txt'), await bench.text('c.txt')]).toEqual(['a', 'b', 'c']);
  });

  it('covers what a command changed that went on in the background, and asks where it may be of others', async () => {
    const bench = await undoBench({ 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c', 'd.txt': 'd' });
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const { touched } = await bench.recorder.aroundCommand(
      'serve',
      () => bench.put('a.txt', 'at once'),
      () => ended,
    );
    await bench.put('b.txt', 'in the background');
    await bench.put('new/n.txt', 'in the background');
    await bench.write('c.txt', 'by a tool');
    await rm(bench.path('d.txt'));
    end();
    await bench.recorder.settle();
    expect(touched).toEqual(['a.txt']);
    const undone = await bench.undo();
    expect(undone.restored.map(({ path }) => path).toSorted()).toEqual(['a.txt', 'c.txt', 'd.txt'].map(bench.path));
    expect(undone.conflicts).toEqual(
      ['new/n.txt', 'b.txt'].map((name) => ({ path: bench.path(name), reason: expect.stringContaining('background') })),
    );
    expect(bench.turns()[0]).toMatchObject({ openCommands: [], hasEnded: true });
  });

  it('takes in what a background command changed after its end', async () => {
    const bench = await undoBench({ 'a.txt': 'a' });
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    await bench.recorder.aroundCommand(
      'serve',
      async () => undefined,
      () => ended,
    );
    bench.recorder.beginTurn({ task: 'the next', sessionId: 's' });
    await bench.write('b.txt', 'of the next');
    await bench.put('a.txt', 'in the background');
    end();
    await bench.recorder.settle();
    expect(bench.turns().map((turn) => filesOf(turn).map(({ path }) => path))).toEqual(
      [['a.txt'], ['b.txt']].map((names) => names.map(bench.path)),
    );
    expect(bench.warnings).toEqual([]);
  });

  it('that a person worked in meanwhile on the same file is not taken back over their work', async () => {
    const bench = await undoBench({ 'a.txt': 'first' });
    await bench.write('a.txt', 'second');
    await bench.put('a.txt', 'by a person');
    await bench.write('a.txt', 'by a person and a tool');
    const { conflicts } = await bench.undo();
    expect(conflicts).toEqual([
      { path: bench.path('a.txt'), reason: 'it was changed by somebody else while the turn went on' },
    ]);
    expect(await bench.text('a.txt')).toBe('by a person and a tool');
  });

  it('keeps the changes of a command that fails, and its failure', async () => {
    const bench = await undoBench({ 'a.txt': 'a' });
    const failing = bench.recorder.aroundCommand('x', async () => {
      await unlink(bench.path('a.txt'));
      throw new Error('it failed');
    });
    await expect(failing).rejects.toThrow('it failed');
    await bench.undo();
    expect(await bench.text('a.txt')).toBe('a');
  });

  it('removes its folders only where nothing of others is in them', async () => {
    const bench = await undoBench();
    await bench.write('one/a.txt', 'a');
    await bench.write('two/deep/b.txt', 'b');
    await bench.put('two/theirs.txt', 'x');
    await bench.undo();
    expect(await bench.names(bench.root)).toEqual(['two', 'two/theirs.txt']);
  });

  it('gives modes back, and content that was lost with them', async () => {
    const bench = await undoBench({ 'run.sh': '#!/bin/sh\n' });
    await chmod(bench.path('run.sh'), 0o755);
    await bench.recorder.aroundCommand('x', () => rm(bench.path('run.sh')));
    await bench.undo();
    expect((await stat(bench.path('run.sh'))).mode & 0o777).toBe(0o755);
  });

  it('without a copy in the store, or with a damaged one, leaves the file and says so', async () => {
    const bench = await undoBench({ 'a.txt': 'old a', 'b.txt': 'old b' });
    await bench.write('a.txt', 'new a');
    await bench.write('b.txt', 'new b');
    await unlink(blobPath(bench.store.blobs, hashOf(Buffer.from('old a'))));
    writeFileSync(blobPath(bench.store.blobs, hashOf(Buffer.from('old b'))), 'old');
    const { skipped, restored } = await bench.undo();
    expect([restored, skipped.map(({ reason }) => reason)]).toEqual([
      [],
      Array(2).fill('its copy is not in the store any more, or damaged'),
    ]);
    expect(await bench.text('b.txt')).toBe('new b');
  });

  it('that changed nothing leaves no trace', async () => {
    const bench = await undoBench({ 'a.txt': 'a' });
    bench.recorder.close();
    expect(readdirSync(join(bench.root, '..'))).toEqual(['w']);
  });
});

describe('what can not be kept', () => {
  const few = { ...LIMITS.usual, bytes: 10 };

  it('is told once before ordinary commands, and each time before destructive ones, to the model as well', async () => {
    const bench = await undoBench(
      { 'a.txt': '0123456789', 'b.txt': '0123456789' },
      { limits: { usual: few, destructive: few } },
    );
    const run = (command: string) => bench.recorder.aroundCommand(command, async () => undefined);
    const ordinary = [await run('x'), await run('y')];
    expect([ordinary.flatMap(({ notes }) => notes), bench.warnings.length]).toEqual([[], 1]);
    expect(bench.warnings[0]).toBe(
      'Undo covers what commands do here only in part. No copy beyond the limit of bytes and time: b.txt.',
    );
    const { notes } = await run('destroy all');
    await run('destroy all');
    expect(notes).toEqual([expect.stringMatching(/^Before this command not all files could be copied/)]);
    expect(bench.warnings.slice(1)).toEqual(Array(2).fill(expect.stringContaining('copied before "destroy all"')));
  });

  it('is copied before a destructive command where an ordinary one has a lower limit', async () => {
    const bench = await undoBench(
      { 'a.txt': '0123456789', 'b.txt': '9876543210' },
      { limits: { ...LIMITS, usual: few } },
    );
    await bench.recorder.aroundCommand('destroy', () => rm(bench.path('b.txt')));
    await bench.undo();
    expect([await bench.text('b.txt'), bench.warnings]).toEqual(['9876543210', []]);
  });

  it('is named when a command has changed it', async () => {
    const bench = await undoBench(
      { 'a.txt': '0123456789', 'b.txt': '0123456789' },
      { limits: { usual: few, destructive: few } },
    );
    const { notes, touched } = await bench.recorder.aroundCommand('x', () => rm(bench.path('b.txt')));
    expect(touched).toEqual(['b.txt']);
    expect(notes).toEqual([expect.stringMatching(/^Undo can't bring back what was changed here: b\.txt \(/)]);
    expect((await bench.undo()).skipped).toHaveLength(1);
  });

  it('does not keep a tool from writing', async () => {
    const bench = await undoBench({ '.env': 'SECRET=canary' });
    await bench.write('.env', 'SECRET=other');
    expect(await bench.text('.env')).toBe('SECRET=other');
    expect(bench.warnings).toEqual([
      '.env is changed without a copy for undo: it holds secrets by its name, so no copy is kept.',
    ]);
    await mkdir(bench.store.blobs, { recursive: true });
    expect((await bench.names(bench.store.blobs)).filter((name) => name.length > 64)).toEqual([]);
  });
});
