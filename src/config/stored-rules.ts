/**
 * The rules that answers stored for good: `permissions.json` in the state folder, by the real path of the repository's
 * root. Never in the project: what it holds could be changed by whoever writes there. Their grammar is not read here.
 */
import path from 'node:path';
import { ConfigError } from '../errors.js';
import { type JsonValue, readJsonFile } from './json-file.js';
import { changeJsonFile, type JsonMap } from './state-file.js';

export type StoredRule = {
  readonly text: string;
  /** The folder below the root that it was stored in, with `/`: `npm test` in another one is another program. */
  readonly folder: string;
  /** `FILE:LINE`. */
  readonly at: string;
};

const VERSION = 1;
const REMEDY = 'Mend it, or remove it: then no answer is remembered.';

export const storedRulesFile = (stateFolder: string): string => path.join(stateFolder, 'permissions.json');

/**
 * The rules of one repository, in the order in which they were stored.
 * @throws {ConfigError} with `FILE:LINE` where the file is broken.
 */
export async function storedRules(stateFolder: string, root: string): Promise<readonly StoredRule[]> {
  const file = storedRulesFile(stateFolder);
  const content = await readJsonFile(file).catch((cause: unknown) => {
    throw cause instanceof ConfigError ? new ConfigError(cause.message, { cause, hint: REMEDY }) : cause;
  });
  return content === undefined ? [] : (entriesOf(content).get(root) ?? []);
}

/** @throws {ConfigError} where it can't be stored. */
export async function storeRule(stateFolder: string, root: string, rule: Omit<StoredRule, 'at'>): Promise<void> {
  await change(stateFolder, root, (rules) =>
    rules.some((stored) => isSame(stored, rule)) ? rules : [...rules, { rule: rule.text, folder: rule.folder }],
  );
}

/** @throws {ConfigError} where the file can't be changed. */
export async function removeStoredRule(stateFolder: string, root: string, rule: Omit<StoredRule, 'at'>): Promise<void> {
  await change(stateFolder, root, (rules) => rules.filter((stored) => !isSame(stored, rule)));
}

/** An entry as it stands in the file; fields that we do not know stay. */
type Entry = string | JsonMap;

function isSame(entry: Entry, { text, folder }: Omit<StoredRule, 'at'>): boolean {
  const [rule, where] = typeof entry === 'string' ? [entry, '.'] : [entry.rule, entry.folder ?? '.'];
  return rule === text && where === folder;
}

async function change(stateFolder: string, root: string, alter: (rules: readonly Entry[]) => readonly Entry[]) {
  await changeJsonFile(storedRulesFile(stateFolder), entriesOf, (map) => {
    map.version = VERSION;
    const folders = mapIn(map, 'folders');
    const entry = mapIn(folders, root);
    const allow = alter((entry.allow ?? []) as readonly Entry[]);
    if (allow.length > 0) entry.allow = allow;
    else delete entry.allow;
    if (Object.keys(entry).length === 0) delete folders[root];
  });
}

/** The map under a key, made where there is none. */
function mapIn(map: JsonMap, key: string): JsonMap {
  map[key] ??= Object.create(null);
  return map[key] as JsonMap;
}

function entriesOf(content: JsonValue): ReadonlyMap<string, readonly StoredRule[]> {
  const version = fieldsOf(content).get('version');
  if (version?.data !== VERSION) {
    throw new ConfigError(`${(version ?? content).at}: its version is not ${VERSION}.`, { hint: REMEDY });
  }
  const folders = fieldsOf(content).get('folders');
  const entries = folders === undefined ? [] : [...fieldsOf(folders)];
  return new Map(entries.map(([root, entry]) => [root, rulesOf(fieldsOf(entry).get('allow'))]));
}

function rulesOf(list: JsonValue | undefined): readonly StoredRule[] {
  if (list === undefined) return [];
  if (list.type !== 'array') throw wrong(list, 'a list of rules');
  return list.items.map((item) => {
    if (item.type === 'string') return { text: textOf(item), folder: '.', at: item.at };
    const fields = fieldsOf(item);
    const [rule, folder] = [fields.get('rule'), fields.get('folder')];
    if (rule === undefined) throw new ConfigError(`${item.at}: this rule has no "rule".`, { hint: REMEDY });
    return { text: textOf(rule), folder: folder === undefined ? '.' : textOf(folder), at: rule.at };
  });
}

function textOf(value: JsonValue): string {
  if (typeof value.data !== 'string') throw wrong(value, 'a text');
  return value.data;
}

function fieldsOf(value: JsonValue): ReadonlyMap<string, JsonValue> {
  if (value.type !== 'object') throw wrong(value, 'a map');
  return new Map(value.fields.map(({ key, value: field }) => [key, field]));
}

function wrong({ type, at }: Pick<JsonValue, 'type' | 'at'>, wanted: string): ConfigError {
  return new ConfigError(`${at}: here must be ${wanted}, not ${type}.`, { hint: REMEDY });
}
