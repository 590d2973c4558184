/** The grammar of permission rules: `tool` or `tool(spec)`. What they fit is `rule-match.ts`'s, deciding by them `policy.ts`'s. */
import { ConfigError, UsageError } from '../errors.js';
import { readGlob } from './path-glob.js';
import { ruleNames, specKind, toolsNamed } from './rule-names.js';
import { literalWords } from './shell-analysis.js';
import type { Rule, RuleKind, RuleSource, RuleSpec } from './types.js';

/** Who wrote a rule, and as what. */
export type Written = { readonly kind: RuleKind; readonly source: RuleSource };

const BY_FLAG: Written = { kind: 'allow', source: { kind: 'flag', place: '--allowed-tools' } };

/**
 * Reads one rule, e.g. `shell(npm run *)`, `read(secret/**)`, `fetch(domain:*.x.org)` or `edit`.
 * @throws {UsageError} for one from a flag, {ConfigError} for any other, that names no tool or has a spec that can't be
 * read.
 */
export function parseRule(text: string, written: Written = BY_FLAG, reason?: string): Rule {
  const rule = text.trim();
  const refuse = (why: string) => badRule(`The rule "${rule}" ${why}`, written.source);
  const open = rule.indexOf('(');
  const name = (open < 0 ? rule : rule.slice(0, open)).trim();
  const tools = toolsNamed(name);
  if (tools === undefined) {
    throw refuse(`names no tool. A rule is TOOL or TOOL(WHAT); the tools are: ${ruleNames()}.`);
  }
  const more = { source: written.source, ...(reason !== undefined && { reason }) };
  if (open < 0) return { text: rule, tools, spec: undefined, ...more };
  if (!rule.endsWith(')')) throw refuse('has no closing parenthesis at its end.');
  const kind = specKind(tools);
  if (kind === undefined) throw refuse(`can have nothing in parentheses. Write "${name}" alone.`);
  const inside = rule.slice(open + 1, -1).trim();
  if (inside === '') throw refuse(`has nothing in its parentheses. Write "${name}" alone to cover every call.`);
  const spec = { command: commandSpec, path: pathSpec, host: hostSpec }[kind](inside, written.kind);
  if (typeof spec === 'string') throw refuse(`can't be used: ${spec}.`);
  return { text: rule, tools, spec, ...more };
}

/**
 * The rule that a question offers for the session. It means the very tool that was asked for, whatever its name means in
 * a rule that a person writes.
 */
export function sessionRule(tool: string, text: string): Rule {
  const source: RuleSource = { kind: 'session', place: 'this session' };
  const inside = text === tool ? undefined : text.slice(tool.length + 1, -1);
  if (inside === undefined) return { text, tools: [tool], spec: undefined, source };
  const read = toolsNamed(tool) === undefined ? commandSpec(inside) : parseRule(text, { kind: 'allow', source }).spec;
  return { text, tools: [tool], spec: typeof read === 'string' ? undefined : read, source };
}

/**
 * Reads the values of a repeatable flag; each may hold several rules. Commas inside parentheses and quotes there
 * belong to the rule.
 * @throws {UsageError} as `parseRule`, and for parentheses that do not match.
 */
export function parseRuleList(values: readonly string[], written: Written = BY_FLAG): Rule[] {
  return values.flatMap((value) =>
    splitRules(value, written.source)
      .map((text) => text.trim())
      .filter((text) => text !== '')
      .map((text) => parseRule(text, written)),
  );
}

function splitRules(value: string, source: RuleSource): string[] {
  const rules: string[] = [];
  let depth = 0;
  let quote = '';
  let start = 0;
  for (let at = 0; at < value.length; at++) {
    const character = value[at] ?? '';
    if (quote !== '') {
      if (character === '\\' && quote === '"') at++;
      else if (character === quote) quote = '';
    } else if (depth > 0 && character === '\\') at++;
    else if (depth > 0 && (character === '"' || character === "'")) quote = character;
    else if (character === '(') depth++;
    else if (character === ')') depth--;
    else if (character === ',' && depth === 0) {
      rules.push(value.slice(start, at));
      start = at + 1;
    }
    if (depth < 0) break;
  }
  if (depth !== 0 || quote !== '') {
    throw badRule(`The rules "${value}" have parentheses or quotes that do not match.`, source);
  }
  return [...rules, value.slice(start)];
}

/** Words, of which the last may be `*`: any further words, or none. `npm run:*` means the same as `npm run *`. */
function commandSpec(text: string, kind: RuleKind = 'allow'): RuleSpec | string {
  const open = /^(.*?)(?:(?:^|\s+)\*|\s*:\*)$/s.exec(text);
  if (open !== null) {
    const start = (open[1] ?? '').trim();
    if (start === '') return { kind: 'command', text, words: [], isOpen: true };
    const words = literalWords(start);
    if (words === null) {
      return `before the "*" there may only be plain words, each bare or in quotes, and "${start}" is more than that`;
    }
    return { kind: 'command', text, words, isOpen: true };
  }
  const words = literalWords(text) ?? undefined;
  // Taken for the very text, such a rule would never fit what its author meant to stop.
  if (kind !== 'allow' && words === undefined && /\*/.test(text)) {
    return 'a "*" may only be its last word, e.g. shell(git push *)';
  }
  return { kind: 'command', text, words, isOpen: false };
}

function pathSpec(text: string, kind: RuleKind = 'allow'): RuleSpec | string {
  // Taken as it stands, such a rule would fit no file, and so keep none.
  if (kind !== 'allow') {
    if (/(?<!\\)\{[^{}]*,[^{}]*\}/.test(text)) return 'braces stand for themselves in it: write one rule for each';
    if (/^(?:[$%]|~[^/])/.test(text)) return 'it is not filled in by a shell: name the path, or begin it with ~/';
  }
  const glob = readGlob(text);
  return typeof glob === 'string' ? glob : { kind: 'path', text, glob };
}

function hostSpec(text: string): RuleSpec | string {
  const [, below, host] = /^domain:\s*(\*\.)?([a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])$/i.exec(text) ?? [];
  if (host === undefined) {
    return 'an address is given as domain:HOST or domain:*.HOST, without a scheme, a port and a path';
  }
  return { kind: 'host', text, host: host.toLowerCase(), isBelow: below !== undefined };
}

/** Flags are usage, files are configuration: exit 2 and 3. */
export function badRule(message: string, source: RuleSource): UsageError | ConfigError {
  if (source.kind === 'flag') return new UsageError(message);
  return new ConfigError(`${source.place}: ${message}`, { hint: 'Correct or remove the rule there, and start again.' });
}
