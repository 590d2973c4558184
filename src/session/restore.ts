/**
 * Takes a turn back: each path becomes what it was before, if it is still what the turn left. Whatever somebody else
 * changed since is a conflict, and restored only where the caller says so. Writing goes through the gate of the workspace.
 */
import { mkdirSync, rmdirSync } from 'node:fs';
import { messageOf } from '../errors.js';
import { type BlobStore, hashOf } from './blob-store.js';
import { LIMITS } from './gaps.js';
import { setMode } from './mode.js';
import { readRegular, statsOf } from './regular-file.js';
import { filesOf, isSameContent, type PathState, type Turn, type TurnFile, WHY_UNKEPT } from './undo-types.js';

/** What restoring needs of the workspace: see there. */
export type Gate<
  Location extends { readonly path: string } = {
    readonly path: string;
    readonly shown: string;
    readonly exists: boolean;
  },
> = {
  locate(path: string): Promise<Location>;
  write(location: Location, bytes: Uint8Array, options: { readonly replaces: Uint8Array | null }): Promise<void>;
  remove(location: Location, options: { readonly replaces: Uint8Array }): Promise<void>;
};

export type RestoreAction = 'write' | 'create' | 'remove' | 'mode' | 'create-folder' | 'remove-folder';

export type Conflict = { readonly path: string; readonly reason: string };

export type RestoreResult = {
  readonly restored: readonly {
    readonly path: string;
    readonly action: RestoreAction;
    /** Of the lines, where the caller counts them. */
    readonly lines?: LineCount | undefined;
  }[];
  /** Were already as before the turn. */
  readonly unchanged: readonly string[];
  /** Left as they are, since somebody else's work is in them. */
  readonly conflicts: readonly Conflict[];
  /** Can't be restored. */
  readonly skipped: readonly Conflict[];
};

export type LineCount = { readonly added: number; readonly removed: number };

export type RestoreOptions = {
  readonly turn: Turn;
  readonly laterTurns: readonly Turn[];
  readonly store: BlobStore;
  readonly gate: Gate;
  /** Told of what does not go through the gate. */
  readonly note: (path: string, before: PathState, after: PathState) => Promise<void>;
  /** Whether to restore over what somebody else changed. */
  readonly overrules: (conflict: Conflict) => Promise<boolean>;
  /** Says only what would be done. */
  readonly isDryRun: boolean;
  readonly countLines?: (from: Buffer, to: Buffer) => LineCount | undefined;
};

type Writable<Value> = {
  -readonly [Key in keyof Value]: Value[Key] extends readonly (infer Item)[] ? Item[] : Value[Key];
};

export async function restoreTurn(options: RestoreOptions): Promise<RestoreResult> {
  const result: Writable<RestoreResult> = { restored: [], unchanged: [], conflicts: [], skipped: [] };
  const files = filesOf(options.turn);
  const made = files.filter(({ afters }) => afters.at(-1)?.kind === 'folder').toSorted(deepestFirst);
  const gone = files
    .filter(({ before }) => before.kind === 'folder')
    .toSorted(deepestFirst)
    .toReversed();
  const madeFolders = new Set(made.map(({ path }) => path));

  // What the turn made goes first: it may stand where something else was.
  for (const file of files.filter(isMadeFile)) await attempt(file, () => removeMade(file));
  for (const { path } of made) await attempt({ path }, () => removeFolder(path));
  for (const { path } of gone) await attempt({ path }, () => createFolder(path));
  for (const file of files.filter(({ before }) => before.kind === 'file')) await attempt(file, () => writeBack(file));
  for (const { path, before } of files) {
    if (before.kind === 'unkept') result.skipped.push({ path, reason: `it ${WHY_UNKEPT[before.reason]}` });
  }
  return result;

  async function attempt({ path }: Pick<TurnFile, 'path'>, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      result.skipped.push({ path, reason: messageOf(thrown).replace(/\.$/, '') });
    }
  }

  /** Where `path` leads now: undefined, and told, where links lead elsewhere. */
  async function locate(path: string) {
    const location = await options.gate.locate(path);
    if (location.path === path) return location;
    result.skipped.push({ path, reason: 'a link stands there or on the way to it' });
    return undefined;
  }

  async function removeMade(file: TurnFile): Promise<void> {
    const { path } = file;
    const location = await locate(path);
    if (location === undefined) return;
    const current = readRegular(path, LIMITS.destructive.fileBytes);
    if ('reason' in current) {
      if (current.reason === 'absent') result.unchanged.push(path);
      else result.skipped.push({ path, reason: `it ${WHY_UNKEPT[current.reason]}` });
      return;
    }
    const after = file.afters.at(-1);
    if (after?.kind === 'unkept') {
      result.skipped.push({ path, reason: `it ${WHY_UNKEPT[after.reason]}. Remove it yourself` });
      return;
    }
    if (!(await mayReplace(file, { kind: 'file', hash: hashOf(current.bytes) }))) return;
    if (!options.isDryRun) await options.gate.remove(location, { replaces: current.bytes });
    result.restored.push({ path, action: 'remove', lines: options.countLines?.(current.bytes, Buffer.alloc(0)) });
  }

  async function writeBack(file: TurnFile): Promise<void> {
    const { path, before } = file;
    const location = await locate(path);
    if (location === undefined || before.kind !== 'file') return;
    const read = readRegular(path, LIMITS.destructive.fileBytes);
    const isMadeFolder = options.isDryRun && madeFolders.has(path);
    if ('reason' in read && read.reason !== 'absent' && !isMadeFolder) {
      result.skipped.push({ path, reason: `it ${WHY_UNKEPT[read.reason]}` });
      return;
    }
    const current = 'reason' in read ? undefined : read;
    const hash = current && hashOf(current.bytes);
    const mode = current && current.stats.mode & 0o7777;
    const hasMode = before.mode === undefined || process.platform === 'win32' || before.mode === mode;
    if (hash === before.hash && hasMode) {
      result.unchanged.push(path);
      return;
    }
    const now: PathState = hash === undefined ? { kind: 'absent' } : { kind: 'file', hash };
    if (hash !== before.hash && !(await mayReplace(file, now))) return;
    const bytes = options.store.get(before.hash);
    if (bytes === undefined) {
      result.skipped.push({ path, reason: 'its copy is not in the store any more, or damaged' });
      return;
    }
    if (!options.isDryRun) {
      if (hash !== before.hash) await options.gate.write(location, bytes, { replaces: current?.bytes ?? null });
      else await options.note(path, { kind: 'file', hash, mode: mode ?? 0 }, before);
      if (before.mode !== undefined) setMode(path, before.mode);
    }
    const action = hash === before.hash ? 'mode' : current === undefined ? 'create' : 'write';
    const lines = options.countLines?.(current?.bytes ?? Buffer.alloc(0), bytes);
    result.restored.push({ path, action, lines });
  }

  async function removeFolder(path: string): Promise<void> {
    if (!(await isFolder(path))) return;
    if (!options.isDryRun) {
      try {
        rmdirSync(path);
      } catch (thrown) {
        // Somebody has put something in it since.
        if (['ENOTEMPTY', 'EEXIST'].includes((thrown as NodeJS.ErrnoException).code ?? '')) return;
        throw thrown;
      }
      await options.note(path, { kind: 'folder' }, { kind: 'absent' });
    }
    result.restored.push({ path, action: 'remove-folder' });
  }

  async function createFolder(path: string): Promise<void> {
    if ((await locate(path)) === undefined || (await isFolder(path))) return;
    if (!options.isDryRun) {
      mkdirSync(path);
      await options.note(path, { kind: 'absent' }, { kind: 'folder' });
    }
    result.restored.push({ path, action: 'create-folder' });
  }

  async function isFolder(path: string): Promise<boolean> {
    if (statsOf(path)?.isDirectory() !== true) return false;
    return (await options.gate.locate(path)).path === path;
  }

  /** Whether what is there now is the turn's own, or may be replaced all the same. */
  async function mayReplace(file: TurnFile, now: PathState): Promise<boolean> {
    const reason = conflictOf(file, now, options.laterTurns);
    if (reason === undefined) return true;
    const conflict = { path: file.path, reason };
    if (await options.overrules(conflict)) return true;
    result.conflicts.push(conflict);
    return false;
  }
}

const deepestFirst = (a: TurnFile, b: TurnFile) => b.path.length - a.path.length;

function isMadeFile({ before, afters }: TurnFile): boolean {
  const last = afters.at(-1)?.kind;
  return before.kind !== 'file' && before.kind !== 'unkept' && last !== 'folder' && last !== 'absent';
}

/** Why what is there now is not the turn's own. */
function conflictOf(
  { path, afters, isUnsure, isMeanwhile, isShared }: TurnFile,
  now: PathState,
  later: readonly Turn[],
): string | undefined {
  // Nothing of anybody is lost where nothing is.
  const isOwn =
    afters.some((after) => isSameContent(after, now)) || (now.kind === 'absent' && afters.at(-1)?.kind === 'folder');
  if (isOwn && (now.kind === 'absent' || !(isUnsure || isMeanwhile || isShared))) return undefined;
  if (isOwn && isShared) return 'it was changed by somebody else while the turn went on';
  if (isOwn && isMeanwhile)
    return 'it was changed while a command went on in the background, by that or by somebody else';
  if (isOwn) return 'the run was killed, and whether it left this or somebody else changed it since is not known';
  if (afters.at(-1)?.kind === 'unkept')
    return 'of what the turn left there nothing is known, so it may be changed since';
  const by = later.findLast((turn) =>
    turn.changes.some((change) => change.path === path && isSameContent(change.after, now)),
  );
  const what = now.kind === 'absent' ? 'removed' : 'changed';
  return by === undefined ? `it was ${what} since` : `it was ${what} since, by turn ${by.number}`;
}
