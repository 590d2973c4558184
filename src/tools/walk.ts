/** Goes through folders without following links, leaving out what a listing or search should not show. */
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FileAccess } from '../permissions/file-access.js';
import { type IgnoreRules, readIgnoreRules } from './ignore-rules.js';
import { isInside } from './locate.js';

export type Entry = {
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
};

export type FolderContent = {
  /** In the order of their names' bytes. */
  readonly entries: readonly Entry[];
  readonly hiddenCount: number;
  readonly ignoredCount: number;
  /** Entries that a rule keeps from the model. */
  readonly withheldCount: number;
  /** The folder could not be opened. */
  readonly isUnreadable: boolean;
};

export type FolderReader = {
  read(folder: string): Promise<FolderContent>;
  /** Whether the reader would reach `path`, a file below its base. */
  reaches(path: string): Promise<boolean>;
  readonly rules: IgnoreRules;
};

export type WalkOptions = {
  /** The workspace's root, and the folder to start from; both absolute and real. */
  readonly root: string;
  readonly base: string;
  /** Whether names with a dot in front are shown. `.git` never is. */
  readonly hidden: boolean;
  /** Of an absolute path; absent: nothing is forbidden. */
  readonly isForbidden?: ((path: string) => boolean) | undefined;
};

export async function createFolderReader({
  root,
  base,
  hidden,
  isForbidden = () => false,
}: WalkOptions): Promise<FolderReader> {
  const rules = await readIgnoreRules(root, base);
  const wantsModules = base.split(/[\\/]/).includes('node_modules');

  /** Why an entry is left out, if it is. */
  async function reasonToSkip(
    name: string,
    path: string,
    isFolder: boolean,
  ): Promise<'hidden' | 'ignored' | 'withheld' | undefined> {
    if (isForbidden(path)) return 'withheld';
    if (name === '.git') return 'hidden';
    if (name.startsWith('.') && !hidden) return 'hidden';
    if (name === 'node_modules' && isFolder && !wantsModules) return 'ignored';
    return (await rules.ignores(path, isFolder)) ? 'ignored' : undefined;
  }

  async function reaches(path: string, isFolder = false): Promise<boolean> {
    if (path === base) return !isForbidden(path);
    if (!isInside(base, path)) return false;
    const folder = dirname(path);
    const name = path.slice(folder.length).replace(/^[\\/]/, '');
    return (await reaches(folder, true)) && (await reasonToSkip(name, path, isFolder)) === undefined;
  }

  return {
    rules,
    reaches,
    async read(folder) {
      const found = await readSorted(folder);
      if (found === undefined) return { ...NOTHING, isUnreadable: true };
      const entries: Entry[] = [];
      const skipped = { hidden: 0, ignored: 0, withheld: 0 };
      for (const item of found) {
        const path = join(folder, item.name);
        const reason = await reasonToSkip(item.name, path, item.isDirectory());
        if (reason === undefined) entries.push({ name: item.name, path, kind: kindOf(item) });
        else skipped[reason]++;
      }
      return {
        entries,
        hiddenCount: skipped.hidden,
        ignoredCount: skipped.ignored,
        withheldCount: skipped.withheld,
        isUnreadable: false,
      };
    },
  };
}

const NOTHING = { entries: [], hiddenCount: 0, ignoredCount: 0, withheldCount: 0 } as const;

/** All entries below the reader's `folder`, each folder before what is in it. `maxDepth` 1: the folder's own entries. */
export async function* walk(
  reader: FolderReader,
  folder: string,
  options: { readonly signal: AbortSignal; readonly maxDepth: number },
): AsyncGenerator<Entry> {
  options.signal.throwIfAborted();
  const { entries } = await reader.read(folder);
  for (const entry of entries) {
    yield entry;
    if (entry.kind === 'folder' && options.maxDepth > 1) {
      yield* walk(reader, entry.path, { ...options, maxDepth: options.maxDepth - 1 });
    }
  }
}

/** For a reader: what it must not come by. */
export function forbiddenBy(access: (path: string) => FileAccess): (path: string) => boolean {
  return (path) => access(path) === 'forbidden';
}

/** A name that can't disturb a terminal or a line-based text. */
export function safeName(name: string): string {
  return name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

async function readSorted(folder: string): Promise<readonly Dirent[] | undefined> {
  try {
    const found = await readdir(folder, { withFileTypes: true });
    // Bytes, not UTF-16 units: ripgrep sorts so, and both must show the same order.
    const keyed = found.map((item) => ({ item, key: Buffer.from(item.name) }));
    return keyed.sort((one, other) => Buffer.compare(one.key, other.key)).map(({ item }) => item);
  } catch {
    // Removed meanwhile, or not ours to read: the listing says so and goes on.
    return undefined;
  }
}

function kindOf(item: Dirent): Entry['kind'] {
  if (item.isFile()) return 'file';
  if (item.isDirectory()) return 'folder';
  return item.isSymbolicLink() ? 'link' : 'other';
}
