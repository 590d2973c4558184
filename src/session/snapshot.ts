/**
 * Keeps what files were before they change, so that a turn (one task of the person, with all workers on it) can be
 * undone: the old content before each write of a tool, and two looks at the workspace around each command. Nothing here
 * keeps a change from being made: what there is no copy of is told instead.
 */
import { sep } from 'node:path';
import { createBackgroundLooks, type Followed } from './background-looks.js';
import { createBlobStore, hashOf } from './blob-store.js';
import { describeUnkept, firstLine, gapsOf, LIMITS } from './gaps.js';
import { missingFolders, shownIn } from './paths.js';
import { recoverTurns } from './recovery.js';
import { readRegular, statsOf } from './regular-file.js';
import { type Retention, storeFolders, sweepNowAndThen } from './retention.js';
import type { Scan, ScanLimits, ScanOptions } from './scan.js';
import { differenceOf } from './scan-difference.js';
import { createScanSeries } from './scan-series.js';
import { beginTurnFile, reopenTurnFile, type TurnWriter } from './turn-log.js';
import { type Change, isSameContent, type PathState, type TurnLine, WHY_UNKEPT } from './undo-types.js';

/** What the recorder needs of other rooms. */
export type UndoPorts = Pick<ScanOptions, 'excluded' | 'isSecret' | 'isIgnored' | 'isStandIn' | 'now'> & {
  /** Whether a command may throw away work for good: then more is copied before it. */
  readonly isDestructive: (command: string) => boolean;
  readonly mask: (text: string) => string;
  /** Ends a look before a command early. */
  readonly signal?: AbortSignal;
  /** Tells the person, as a warning. */
  readonly warn: (text: string) => void;
};

export type UndoOptions = {
  /** Of this project alone; made when it is needed. */
  readonly folder: string;
  /** Real paths of the workspace's folders, the main one first. */
  readonly roots: readonly string[];
  readonly ports: UndoPorts;
  /** Of a look before an ordinary command, and before a destructive one. */
  readonly limits?: { readonly usual: ScanLimits; readonly destructive: ScanLimits };
  readonly retention?: Retention;
};

export type UndoRecorder = {
  /** What follows is recorded as a turn of its own, if it changes anything. */
  beginTurn(turn: { readonly task: string; readonly sessionId: string; readonly undoes?: number }): void;
  /** Copies what is at `path` (absolute, real), which is about to become `next`, or to be removed without one. */
  keepBefore(path: string, next: Uint8Array | undefined): Promise<void>;
  /** The state of a path was changed in another way, of which `before` tells all. */
  note(path: string, before: PathState, after: PathState): Promise<void>;
  /** See `ChangeKeeper` of the tools. */
  aroundCommand<Result>(
    command: string,
    run: () => Promise<Result>,
    goesOn?: (result: Result) => Promise<unknown> | undefined,
  ): Promise<Observed<Result>>;
  /** Looks at what commands changed that went on in the background; after their end. */
  settle(): Promise<void>;
  /** Ends the turn, and leaves to the next process what was learned of the files. */
  close(): void;
  /** Completes what killed runs left open; done anyway before the first change of a turn. */
  recover(): Promise<void>;
};

export type Observed<Result> = {
  readonly result: Result;
  readonly touched: readonly string[];
  readonly notes: readonly string[];
};

type FollowOn = Pick<Followed, 'from' | 'hasEnded' | 'look'> & {
  readonly to: TurnWriter;
  readonly id: number;
  readonly command: string;
};

export const RETENTION: Retention = { turns: 100, bytes: 500_000_000 };
/** Paths that one command is said to have changed: a checkout may change thousands. */
const MOST_TOUCHED = 500;

export function createUndoRecorder(options: UndoOptions): UndoRecorder {
  const { roots, ports, limits = LIMITS, retention = RETENTION } = options;
  const folders = storeFolders(options.folder);
  const store = createBlobStore(folders.blobs);
  const series = createScanSeries({ ...ports, roots, store, folder: folders.scans });
  const background = createBackgroundLooks((thrown) =>
    warnOnce(`What a background command changed can't be found out: ${reasonOf(thrown)}.`),
  );
  const writtenByTools = new Map<string, { readonly order: number; readonly after: PathState }>();
  const told = new Set<string>();
  let turn: Parameters<UndoRecorder['beginTurn']>[0] = { task: '', sessionId: '' };
  let writer: Promise<TurnWriter | undefined> | undefined;
  let opened: TurnWriter | undefined;
  let order = 0;
  let commands = 0;

  function warnOnce(text: string): void {
    if (told.has(text)) return;
    told.add(text);
    ports.warn(text);
  }

  /** Runs what writes to the store; undefined, and told, where that can't be done. */
  function attempt<Value>(work: () => Value): Value | undefined {
    try {
      return work();
    } catch (thrown) {
      warnOnce(`Changes can't be undone here: the store ${folders.base} can't be written (${reasonOf(thrown)}).`);
      return undefined;
    }
  }

  async function open(): Promise<TurnWriter | undefined> {
    await recover();
    sweepNowAndThen(folders, retention, ports.now());
    opened = attempt(() =>
      beginTurnFile(folders.turns, {
        at: ports.now(),
        task: firstLine(ports.mask(turn.task)),
        sessionId: turn.sessionId,
        roots: [...roots],
        pid: process.pid,
        ...(turn.undoes !== undefined && { undoes: turn.undoes }),
      }),
    );
    return opened;
  }

  /** Before this turn changes anything, lest that be taken for a dead one's work. */
  async function recover(): Promise<void> {
    const look = () => series.next({ limits: limits.usual, withBuilt: false });
    await recoverTurns(folders, { look, now: ports.now }).catch((thrown: unknown) =>
      warnOnce(`What a killed run changed can't be found out: ${reasonOf(thrown)}.`),
    );
  }

  function opening(): Promise<TurnWriter | undefined> {
    writer ??= open();
    return writer;
  }

  function append(to: TurnWriter, line: TurnLine): void {
    attempt(() => to.append(line));
  }

  function record(to: TurnWriter, change: Omit<Change, 'type' | 'at'>): void {
    append(to, { type: 'change', at: ports.now(), ...change });
    background.seen(change);
  }

  const isOurs = (path: string) => ports.excluded.some((folder) => path === folder || path.startsWith(folder + sep));

  function stateBefore(path: string): PathState {
    if (ports.isSecret(path) && statsOf(path) !== undefined) return { kind: 'unkept', reason: 'secret' };
    const read = readRegular(path, limits.destructive.fileBytes);
    if ('reason' in read)
      return read.reason === 'absent' ? { kind: 'absent' } : { kind: 'unkept', reason: read.reason };
    const hash = attempt(() => store.put(read.bytes, { isDurable: true }));
    if (hash === undefined) return { kind: 'unkept', reason: 'store-failed' };
    return { kind: 'file', hash, mode: read.stats.mode & 0o7777 };
  }

  const shown = (path: string) => shownIn(roots[0] ?? '', path);

  return {
    beginTurn(next) {
      endTurn();
      turn = next;
    },

    async keepBefore(path, next) {
      if (isOurs(path)) return;
      const mine = ++order;
      const to = await opening();
      if (to === undefined) return;
      for (const folder of missingFolders(path))
        record(to, { order: mine, path: folder, before: { kind: 'absent' }, after: { kind: 'folder' }, how: 'tool' });
      const before = stateBefore(path);
      const after = next === undefined ? ({ kind: 'absent' } as const) : stateAfter(path, next);
      if (before.kind === 'unkept')
        ports.warn(`${shown(path)} is changed without a copy for undo: it ${WHY_UNKEPT[before.reason]}.`);
      record(to, { order: mine, path, before, after, how: turn.undoes === undefined ? 'tool' : 'undo' });
      writtenByTools.set(path, { order: mine, after });
    },

    async note(path, before, after) {
      const mine = ++order;
      const to = await opening();
      if (to !== undefined) record(to, { order: mine, path, before, after, how: 'undo' });
    },

    async aroundCommand(command, run, goesOn) {
      const to = await opening();
      if (to === undefined) return { result: await run(), touched: [], notes: [] };
      const mine = ++order;
      const id = ++commands;
      const text = firstLine(ports.mask(command));
      const isDestructive = ports.isDestructive(command);
      const wanted = { limits: isDestructive ? limits.destructive : limits.usual, withBuilt: isDestructive };
      const before = await series.next({ ...wanted, stop: ports.signal });
      const stored = attempt(() => series.save(before));
      if (stored !== undefined)
        append(to, { type: 'command-start', id, order: mine, at: ports.now(), command: text, scan: stored });
      const notes = tellGaps(to, before, isDestructive ? text : undefined);
      let done: { readonly result: Awaited<ReturnType<typeof run>> } | { readonly thrown: unknown };
      try {
        done = { result: await run() };
      } catch (thrown) {
        done = { thrown };
      }
      const after = await series.next(wanted);
      const changed = recordDifference(to, { before, after, order: mine, until: ++order, command: text });
      const hasEnded = 'result' in done ? goesOn?.(done.result) : undefined;
      if (hasEnded === undefined) append(to, { type: 'command-end', id });
      else followOn({ to, id, command: text, from: after, hasEnded, look: () => series.next(wanted) });
      if ('thrown' in done) throw done.thrown;
      return { result: done.result, touched: changed.touched, notes: [...notes, ...changed.notes] };
    },

    close() {
      if (opened === undefined) return;
      const last = series.last();
      if (last !== undefined) attempt(() => series.save(last));
      endTurn();
    },
    recover,
    settle: async () => {
      // What is left open is found out by the next process.
      if (ports.signal?.aborted !== true) await background.settle();
    },
  };

  function followOn({ to, id, command, ...followed }: FollowOn): void {
    const mine = ++order;
    const finish: Followed['finish'] = (changes) => {
      // The turn may be over.
      const into = to === opened ? to : reopenTurnFile(folders.turns, to.number);
      for (const each of changes) record(into, { ...each, order: mine, until: ++order, command, how: 'background' });
      append(into, { type: 'command-end', id });
      if (into !== opened) into.close();
    };
    background.follow({ ...followed, order: mine, finish });
  }

  function endTurn(): void {
    if (opened !== undefined) append(opened, { type: 'end', at: ports.now() });
    opened?.close();
    opened = undefined;
    writer = undefined;
  }

  function stateAfter(path: string, next: Uint8Array): PathState {
    return ports.isSecret(path) ? { kind: 'unkept', reason: 'secret' } : { kind: 'file', hash: hashOf(next) };
  }

  /** Told once a turn; before a destructive command each time, and to the model as well. */
  function tellGaps(to: TurnWriter, scan: Scan, destructive: string | undefined): readonly string[] {
    const { serious, harmless } = gapsOf(scan, shown);
    for (const text of [...serious, ...harmless]) {
      const key = `${to.number}: ${text}`;
      if (!told.has(key)) append(to, { type: 'gap', text });
      told.add(key);
    }
    if (serious.length === 0) return [];
    const what = serious.join(' ');
    if (destructive === undefined) {
      warnOnce(`Undo covers what commands do here only in part. ${what}`);
      return [];
    }
    ports.warn(`Not all could be copied before "${destructive}". ${what}`);
    return [`Before this command not all files could be copied for undo. ${what}`];
  }

  function recordDifference(
    to: TurnWriter,
    seen: Pick<Change, 'order' | 'until' | 'command'> & { readonly before: Scan; readonly after: Scan },
  ): { readonly touched: readonly string[]; readonly notes: readonly string[] } {
    const touched: string[] = [];
    const unkept: { readonly path: string; readonly state: PathState }[] = [];
    const { before: scanBefore, after: scanAfter, ...by } = seen;
    for (const { path, before, after } of differenceOf(scanBefore, scanAfter)) {
      record(to, { ...by, path, before, after, how: 'command' });
      if (before.kind === 'folder' || after.kind === 'folder') continue;
      if (before.kind === 'unkept') unkept.push({ path: shown(path), state: before });
      // Another worker's tool may have written it meanwhile.
      const written = writtenByTools.get(path);
      const isTool = written !== undefined && written.order > seen.order && isSameContent(written.after, after);
      if (!isTool) touched.push(shown(path));
    }
    const more = touched.length - MOST_TOUCHED;
    const notes = [...describeUnkept(unkept), ...(more > 0 ? [`It changed ${more} more files than are listed.`] : [])];
    for (const text of describeUnkept(unkept)) warnOnce(text);
    return { touched: touched.slice(0, MOST_TOUCHED), notes };
  }
}

function reasonOf(thrown: unknown): string {
  const { code, message } = thrown as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT' ? 'the disk is full' : (code ?? message);
}
