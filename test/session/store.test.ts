import { appendFileSync, existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { blobPath, createBlobStore, hashOf, storedHashes } from '../../src/session/blob-store.js';
import { sweep } from '../../src/session/retention.js';
import { beginTurnFile, readTurns, reopenTurnFile, turnNumbers, turnPath } from '../../src/session/turn-log.js';
import { tempFolder } from '../tools/bench.js';
import { undoBench } from './bench.js';

const HEADER = { at: 1, task: 't', sessionId: 's', roots: ['/w'], pid: 1 };
const HOUR = 3600_000;
const KEEP = { turns: 100, bytes: 1_000_000 };
const hash = (text: string) => hashOf(Buffer.from(text));

/** Makes the contents look as if they were stored long ago. */
function age(folder: string): void {
  const old = new Date(Date.now() - 2 * HOUR);
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    utimesSync(join(folder, name), old, old);
}

describe('the log of a turn', () => {
  it('gives every turn a number of its own, and none a second time while a later one is there', async () => {
    const folder = await tempFolder();
    const numbers = Array.from({ length: 5 }, () => beginTurnFile(folder, HEADER).number);
    expect([numbers, turnNumbers(folder)]).toEqual([
      [1, 2, 3, 4, 5],
      [1, 2, 3, 4, 5],
    ]);
  });

  it('is read up to a torn line, and is gone on with behind it', async () => {
    const folder = await tempFolder();
    const { number, append, close } = beginTurnFile(folder, HEADER);
    append({ type: 'gap', text: 'one' });
    close();
    appendFileSync(turnPath(folder, number), '{"type":"gap","te');
    expect(readTurns(folder)).toMatchObject([{ number, gaps: ['one'], hasEnded: false }]);
    const again = reopenTurnFile(folder, number);
    again.append({ type: 'gap', text: 'two' });
    again.append({ type: 'end', at: 2 });
    again.close();
    expect(readTurns(folder)).toMatchObject([{ gaps: ['one', 'two'], hasEnded: true }]);
  });

  it.each(['', 'no json', '{"type":"turn"}', '[]', '\u0000\u0000'])(
    'that holds %j is no turn, and no fault',
    async (text) => {
      const folder = await tempFolder();
      appendFileSync(turnPath(folder, 1), text);
      expect(readTurns(folder)).toEqual([]);
      expect(beginTurnFile(folder, HEADER).number).toBe(2);
    },
  );

  it('of a dead process is completed once, and what changed since its command began is marked as unsure', async () => {
    const bench = await undoBench({ 'a.txt': 'a', 'b.txt': 'b' });
    let finish = () => {};
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let begun = () => {};
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const running = bench.recorder.aroundCommand('x', async () => {
      await bench.put('a.txt', 'changed');
      begun();
      await held;
    });
    await hasBegun;
    // As if the process were no more.
    const file = turnPath(bench.store.turns, 1);
    writeFileSync(file, readFileSync(file, 'utf8').replace(`"pid":${process.pid}`, `"pid":${2 ** 30}`));
    await bench.recorder.recover();
    await bench.recorder.recover();
    expect(bench.turns()).toMatchObject([
      { openCommands: [], changes: [{ path: bench.path('a.txt'), isUnsure: true }] },
    ]);
    finish();
    await running;
  });
});

describe('the contents', () => {
  it('are stored once, under their hash, and nothing else is left', async () => {
    const folder = await tempFolder();
    const store = createBlobStore(folder);
    for (const text of ['a', 'b', 'a']) store.put(Buffer.from(text), { isDurable: true });
    expect(storedHashes(folder).toSorted()).toEqual([hash('a'), hash('b')].toSorted());
    expect(readdirSync(folder).filter((name) => name.startsWith('temp'))).toEqual([]);
    expect([store.get(hash('a'))?.toString(), store.has(hash('b')), store.has(hash('c'))]).toEqual(['a', true, false]);
  });
});

describe('clearing out', () => {
  it('drops the oldest turns beyond the number, and what only they name', async () => {
    const bench = await undoBench({ 'a.txt': 'v0' });
    for (let round = 1; round <= 5; round++) {
      bench.recorder.beginTurn({ task: `task ${round}`, sessionId: 's' });
      await bench.write('a.txt', `v${round}`);
    }
    bench.recorder.close();
    age(bench.store.blobs);
    sweep(bench.store, { ...KEEP, turns: 2 }, Date.now());
    expect(bench.turns().map(({ number }) => number)).toEqual([4, 5]);
    expect(storedHashes(bench.store.blobs).toSorted()).toEqual([hash('v3'), hash('v4')].toSorted());
    await bench.undo(5);
    expect(await bench.text('a.txt')).toBe('v4');
  });

  it('drops the oldest turns beyond the bytes, but never the newest', async () => {
    const bench = await undoBench({ 'a.txt': '0'.repeat(600) });
    for (const digit of ['1', '2', '3']) {
      bench.recorder.beginTurn({ task: digit, sessionId: 's' });
      await bench.write('a.txt', digit.repeat(600));
    }
    bench.recorder.close();
    sweep(bench.store, { ...KEEP, bytes: 1_300 }, Date.now());
    expect(bench.turns().map(({ task }) => task)).toEqual(['2', '3']);
    sweep(bench.store, { ...KEEP, bytes: 1 }, Date.now());
    expect(bench.turns().map(({ task }) => task)).toEqual(['3']);
  });

  it('leaves what is young, what the newest scan names, and what a run needs that may be recovered', async () => {
    const bench = await undoBench({ 'a.txt': 'in the scan' });
    await bench.recorder.aroundCommand('x', async () => undefined);
    bench.recorder.close();
    const store = createBlobStore(bench.store.blobs);
    store.put(Buffer.from('old and unused'));
    age(bench.store.blobs);
    store.put(Buffer.from('young and unused'));
    sweep(bench.store, KEEP, Date.now());
    expect(storedHashes(bench.store.blobs).toSorted()).toEqual(
      [hash('in the scan'), hash('young and unused')].toSorted(),
    );
  });

  it('takes a content that is stored again for young', async () => {
    const folder = await tempFolder();
    const store = createBlobStore(join(folder, 'blobs'));
    store.put(Buffer.from('x'));
    age(join(folder, 'blobs'));
    store.put(Buffer.from('x'));
    const folders = { base: folder, blobs: join(folder, 'blobs'), turns: join(folder, 't'), scans: join(folder, 's') };
    sweep(folders, KEEP, Date.now());
    expect(existsSync(blobPath(join(folder, 'blobs'), hash('x')))).toBe(true);
  });
});
