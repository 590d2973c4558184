/** The settings files: rules and what commands may get of the environment. A project's may only narrow. */
import path from 'node:path';
import { ConfigError } from '../errors.js';
import type { RuleText } from '../permissions/types.js';
import { type JsonField, type JsonValue, readJsonFile } from './json-file.js';

export type Settings = {
  /** Of all files; a project's are `deny` and `ask` only. Their grammar is not read yet. */
  readonly rules: readonly RuleText[];
  /** Names of variables, also with `*`, that child processes get besides those of the list in secrets.ts. */
  readonly shellEnv: readonly string[];
  /** What has no effect, one line a file. */
  readonly warnings: readonly string[];
};

type Scope = RuleText['scope'];
type KeyReader = (value: JsonValue, reading: Reading) => void;
/** What one file comes to. `ignored`: its keys without effect. */
type Reading = {
  readonly scope: Scope;
  readonly rules: RuleText[];
  readonly shellEnv: string[];
  readonly ignored: { readonly key: string; readonly at: string }[];
};

/** The keys that there are. A new one is a row here, and a field of `Settings`. */
const KEYS: ReadonlyMap<string, { readonly isForProjects: boolean; readonly read: KeyReader }> = new Map([
  ['permissions', { isForProjects: true, read: readPermissions }],
  ['shellEnv', { isForProjects: false, read: readShellEnv }],
  ['$schema', { isForProjects: true, read: () => undefined }],
]);

/** What is meant to be `permissions`, or to stand in it. */
const LIKE_RULES = /^\s*(?:permi\w*s?ion\w*|deny|ask|allow|rules)\s*$/i;
const RULE_KINDS = ['deny', 'ask', 'allow'] as const;
/** What users of other programs write beside rules. For us a mode is a flag's or a variable's. */
const MODE_KEYS: ReadonlySet<string> = new Set(['mode', 'defaultMode', 'approvalMode']);

/** The settings files of a folder, below the repository's root; the second one is meant to stay out of version control. */
export const PROJECT_SETTINGS = [path.join('.chatcli', 'settings.json'), path.join('.chatcli', 'settings.local.json')];

/**
 * Reads the user's file, and those of a project that the user trusts.
 * @throws {ConfigError} with `FILE:LINE` for what can't be understood: with a rule left out, more would be allowed.
 */
export async function loadSettings(where: {
  readonly configFolder: string;
  /** The repository's root; absent: not trusted. */
  readonly projectRoot?: string | undefined;
}): Promise<Settings> {
  const { configFolder, projectRoot } = where;
  const files: readonly { readonly file: string; readonly scope: Scope }[] = [
    { file: path.join(configFolder, 'settings.json'), scope: 'user' },
    ...(projectRoot === undefined ? [] : PROJECT_SETTINGS).map(
      (name) => ({ file: path.join(projectRoot ?? '', name), scope: 'project' }) as const,
    ),
  ];
  const readings = await Promise.all(files.map(({ file, scope }) => readSettingsFile(file, scope)));
  return {
    rules: readings.flatMap(({ rules }) => rules),
    shellEnv: readings.flatMap(({ shellEnv }) => shellEnv),
    warnings: readings.flatMap((reading, index) => warningOf(reading, files[index]?.file ?? '')),
  };
}

async function readSettingsFile(file: string, scope: Scope): Promise<Reading> {
  const reading: Reading = { scope, rules: [], shellEnv: [], ignored: [] };
  const settings = await readJsonFile(file);
  if (settings === undefined) return reading;
  for (const { key, at, value } of fieldsOf(settings, 'The settings')) {
    const known = KEYS.get(key);
    // Without effect, what it denies would be allowed.
    if (known === undefined && LIKE_RULES.test(key)) {
      throw invalid(
        at,
        `there is no setting "${key}"`,
        'Rules stand in "permissions": {"deny": [], "ask": [], "allow": []}.',
      );
    }
    if (known === undefined || (scope === 'project' && !known.isForProjects)) reading.ignored.push({ key, at });
    else known.read(value, reading);
  }
  return reading;
}

function warningOf({ scope, ignored }: Reading, file: string): readonly string[] {
  if (ignored.length === 0) return [];
  const items = ignored.map(({ key, at }) => `${key} (line ${at.slice(at.lastIndexOf(':') + 1)})`).join(', ');
  return scope === 'project'
    ? [`${file}: a project's settings may only deny and ask. Without effect: ${items}.`]
    : [`${file}: there are no such settings, so they have no effect: ${items}.`];
}

function readPermissions(value: JsonValue, reading: Reading): void {
  for (const { key, at, value: list } of fieldsOf(value, '"permissions"')) {
    const kind = RULE_KINDS.find((candidate) => candidate === key);
    if (kind !== undefined) {
      const rules = itemsOf(list, `"permissions.${kind}"`).map((item) => ruleOf(item, kind, reading.scope));
      if (kind !== 'allow' || reading.scope === 'user') reading.rules.push(...rules);
      else if (rules.length > 0) reading.ignored.push({ key: 'permissions.allow', at });
    } else if (reading.scope === 'project' && MODE_KEYS.has(key)) {
      reading.ignored.push({ key: `permissions.${key}`, at });
    } else {
      const hint = MODE_KEYS.has(key) ? 'The mode is set by --approval-mode, or CHATCLI_APPROVAL_MODE.' : undefined;
      throw invalid(at, `"permissions" has no "${key}", only ${RULE_KINDS.join(', ')}`, hint);
    }
  }
}

function ruleOf(item: JsonValue, kind: RuleText['kind'], scope: Scope): RuleText {
  if (item.type === 'string') return { kind, text: textOf(item, 'A rule'), source: item.at, scope };
  const fields = new Map<string, JsonField>();
  for (const field of fieldsOf(item, 'A rule', 'a text or a map with "rule"')) {
    if (!['rule', 'reason', 'match', 'notMatch'].includes(field.key))
      throw invalid(field.at, `a rule has no "${field.key}", only rule, reason, match and notMatch`);
    fields.set(field.key, field);
  }
  const rule = fields.get('rule');
  if (rule === undefined) throw invalid(item.at, 'this rule has no "rule"');
  const reason = fields.get('reason');
  const examples = (name: string) => {
    const field = fields.get(name);
    return field && itemsOf(field.value, `"${name}"`).map((example) => textOf(example, `"${name}"`));
  };
  const [match, notMatch] = [examples('match'), examples('notMatch')];
  return {
    kind,
    text: textOf(rule.value, '"rule"'),
    source: rule.at,
    scope,
    ...(reason && { reason: textOf(reason.value, '"reason"') }),
    ...(match && { match }),
    ...(notMatch && { notMatch }),
  };
}

/** As programs name them, Windows' `ProgramFiles(x86)` included, with `*` for any characters. */
const VARIABLE_NAME = /^[A-Za-z_*][A-Za-z0-9_*()]*$/;

function readShellEnv(value: JsonValue, reading: Reading): void {
  for (const { key, at, value: list } of fieldsOf(value, '"shellEnv"')) {
    if (key !== 'include') throw invalid(at, `"shellEnv" has no "${key}", only include`);
    for (const item of itemsOf(list, '"shellEnv.include"')) {
      const name = textOf(item, '"shellEnv.include"');
      if (!VARIABLE_NAME.test(name)) throw invalid(item.at, `${JSON.stringify(name)} is no name of a variable`);
      reading.shellEnv.push(name);
    }
  }
}

function fieldsOf(value: JsonValue, what: string, wanted = 'a map'): readonly JsonField[] {
  if (value.type !== 'object') throw invalid(value.at, `${what} must be ${wanted}, not ${value.type}`);
  return value.fields;
}

function itemsOf(value: JsonValue, what: string): readonly JsonValue[] {
  if (value.type !== 'array') throw invalid(value.at, `${what} must be a list, not ${value.type}`);
  return value.items;
}

function textOf({ data, type, at }: JsonValue, what: string): string {
  if (typeof data !== 'string') throw invalid(at, `${what} must be a text, not ${type}`);
  if (data.trim() === '') throw invalid(at, `${what} is empty`);
  return data;
}

function invalid(at: string, text: string, hint?: string): ConfigError {
  return new ConfigError(`${at}: ${text}.`, hint === undefined ? {} : { hint });
}
