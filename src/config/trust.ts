/**
 * Which folders the user trusts, and which contents in them, by sha256: what changed since counts as unknown. Kept in
 * the state folder, by the real path of the project's root. What the contents are is the callers' to find.
 */
import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '../errors.js';
import { type JsonValue, readJsonFile } from './json-file.js';
import { repositoryRoot } from './repository.js';
import { changeJsonFile, type JsonMap } from './state-file.js';

/** Contents by their path below the root, with `/`. */
export type Hashes = ReadonlyMap<string, string>;

/** What is stored for one root. An env file may be trusted in a folder that is not. */
export type TrustEntry = { readonly isTrusted: boolean; readonly items: Hashes; readonly envFiles: Hashes };

export type ContentState = 'trusted' | 'changed' | 'new';

export type Trust = {
  /** The real path of the project's root. */
  readonly root: string;
  /** The real path of the folder that the run is in. */
  readonly cwd: string;
  /** The root is the user's home: what lies in it is theirs, or another program's, and no project's. */
  readonly isHome: boolean;
  /** By the user's word that is stored, or by the one for this run. */
  readonly isTrusted: boolean;
  /** For this run all that is there is trusted, whatever is stored. */
  readonly isForThisRun: boolean;
  /** What the user trusted, below the root with `/`; empty where the folder is not trusted, or only for this run. */
  readonly itemNames: readonly string[];
  /** How something that trust would enable stands: never `trusted` in a folder that is not. */
  readonly itemState: (name: string, sha256: string) => ContentState;
  readonly envFileState: (name: string, sha256: string) => ContentState;
};

const NOTHING: TrustEntry = { isTrusted: false, items: new Map(), envFiles: new Map() };

/**
 * What is trusted of the project that `cwd` lies in. `trustsWorkspace`: the user's word for this run.
 * @throws {ConfigError} with `FILE:LINE` where the store is broken.
 */
export async function openTrust(where: {
  readonly stateFolder: string;
  readonly cwd: string;
  readonly home: string;
  readonly trustsWorkspace: boolean;
}): Promise<Trust> {
  const { stateFolder, trustsWorkspace: isForThisRun } = where;
  // A folder that is not there is told by who needs it.
  const cwd = await realpath(where.cwd).catch(() => where.cwd);
  const root = await repositoryRoot(cwd);
  const isHome = root === (await realpath(where.home).catch(() => where.home));
  const stored = (await storedTrust(stateFolder)).get(root) ?? NOTHING;
  const isTrusted = isForThisRun || stored.isTrusted;
  return {
    root,
    cwd,
    isHome,
    isTrusted,
    isForThisRun,
    itemNames: isTrusted && !isForThisRun ? [...stored.items.keys()] : [],
    itemState: (name, sha256) => {
      if (isForThisRun) return 'trusted';
      const state = stateIn(stored.items, name, sha256);
      return state === 'trusted' && !isTrusted ? 'new' : state;
    },
    envFileState: (name, sha256) => stateIn(stored.envFiles, name, sha256),
  };
}

/** All that is stored, by root. */
export async function storedTrust(stateFolder: string): Promise<ReadonlyMap<string, TrustEntry>> {
  const file = trustFile(stateFolder);
  const content = await readJsonFile(file).catch((cause: unknown) => {
    throw cause instanceof ConfigError ? new ConfigError(cause.message, { cause, hint: REMEDY }) : cause;
  });
  return content === undefined ? new Map() : entriesOf(content);
}

/**
 * Stores another entry for a root; undefined forgets it.
 * @throws {ConfigError} where that can't be done.
 */
export async function storeTrust(
  stateFolder: string,
  root: string,
  change: (before: TrustEntry) => TrustEntry | undefined,
): Promise<void> {
  let before: TrustEntry = NOTHING;
  const check = (content: JsonValue) => {
    before = entriesOf(content).get(root) ?? NOTHING;
  };
  await changeJsonFile(trustFile(stateFolder), check, (map) => {
    map.version = VERSION;
    const folders = mapIn(map, 'folders');
    const after = change(before);
    if (after === undefined) delete folders[root];
    else {
      Object.assign(mapIn(folders, root), {
        trusted: after.isTrusted,
        items: dataOf(after.items),
        env_files: dataOf(after.envFiles),
      });
    }
  });
}

/** The name of something in a project, the same on each system. */
export function nameIn(root: string, file: string): string {
  return path.relative(root, file).split(path.sep).join('/');
}

export function sha256Of(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

const VERSION = 1;
const REMEDY = 'Mend it, or remove it: then no folder is trusted.';

const trustFile = (stateFolder: string): string => path.join(stateFolder, 'trust.json');

function stateIn(known: Hashes, name: string, sha256: string): ContentState {
  const stored = known.get(name);
  return stored === undefined ? 'new' : stored === sha256 ? 'trusted' : 'changed';
}

function entriesOf(content: JsonValue): ReadonlyMap<string, TrustEntry> {
  const version = fieldsOf(content).get('version');
  if (version?.data !== VERSION) {
    throw new ConfigError(`${(version ?? content).at}: its version is not ${VERSION}.`, { hint: REMEDY });
  }
  const folders = fieldsOf(content).get('folders');
  const entries = folders === undefined ? [] : [...fieldsOf(folders)];
  return new Map(
    entries.map(([root, entry]) => {
      const fields = fieldsOf(entry);
      const trusted = fields.get('trusted');
      if (trusted !== undefined && trusted.type !== 'boolean') throw wrong(trusted, 'true or false');
      return [
        root,
        {
          isTrusted: trusted?.data === true,
          items: hashesOf(fields.get('items')),
          envFiles: hashesOf(fields.get('env_files')),
        },
      ];
    }),
  );
}

function hashesOf(value: JsonValue | undefined): Hashes {
  const entries = value === undefined ? [] : [...fieldsOf(value)];
  return new Map(
    entries.map(([name, { data, type, at }]) => {
      if (typeof data !== 'string') throw wrong({ type, at }, 'a text');
      return [name, data];
    }),
  );
}

function fieldsOf(value: JsonValue): ReadonlyMap<string, JsonValue> {
  if (value.type !== 'object') throw wrong(value, 'a map');
  return new Map(value.fields.map(({ key, value: field }) => [key, field]));
}

function wrong({ type, at }: Pick<JsonValue, 'type' | 'at'>, wanted: string): ConfigError {
  return new ConfigError(`${at}: here must be ${wanted}, not ${type}.`, { hint: REMEDY });
}

/** The map under a key, made where there is none. */
function mapIn(map: JsonMap, key: string): JsonMap {
  map[key] ??= Object.create(null);
  return map[key] as JsonMap;
}

function dataOf(hashes: Hashes): JsonMap {
  return Object.assign(Object.create(null), Object.fromEntries([...hashes].toSorted()));
}
