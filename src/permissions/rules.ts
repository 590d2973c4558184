/** The grammar of permission rules: `tool` or `tool(spec)`. Deciding by them is `policy.ts`'s. */
import { resolve } from 'node:path';
import { UsageError } from '../errors.js';
import { literalWords } from './shell-parse.js';
import type { Request, Rule, Subject } from './types.js';

/** What each name in a rule covers. Our classes and tools, and the names that users of Claude Code have in their files. */
const COVERED: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    read: ['read_file', 'list_files', 'search_files'],
    edit: ['edit_file', 'apply_patch'],
    write: ['write_file'],
    shell: ['shell', 'shell_output', 'shell_stop'],
    fetch: ['fetch_url'],
    agent: ['delegate'],
    read_file: ['read_file'],
    list_files: ['list_files'],
    search_files: ['search_files'],
    edit_file: ['edit_file'],
    apply_patch: ['apply_patch'],
    write_file: ['write_file'],
    shell_output: ['shell_output'],
    shell_stop: ['shell_stop'],
    fetch_url: ['fetch_url'],
    delegate: ['delegate'],
    update_plan: ['update_plan'],
    ask_user: ['ask_user'],
    Bash: ['shell', 'shell_output', 'shell_stop'],
    Read: ['read_file'],
    Glob: ['list_files'],
    LS: ['list_files'],
    Grep: ['search_files'],
    Edit: ['edit_file', 'apply_patch'],
    MultiEdit: ['edit_file', 'apply_patch'],
    Write: ['write_file'],
    WebFetch: ['fetch_url'],
    Agent: ['delegate'],
    Task: ['delegate'],
    TodoWrite: ['update_plan'],
  }),
);

/** Rules may name them already, so that a file of rules need not change when they come; nobody is offered them. */
const NOT_THERE_YET = new Set(['apply_patch', 'fetch_url', 'update_plan', 'ask_user']);

/**
 * Reads one rule, e.g. `shell(npm test)` or `edit`.
 * @throws {UsageError} for an unknown tool, or a spec where none can stand.
 */
export function parseRule(text: string): Rule {
  const rule = text.trim();
  const open = rule.indexOf('(');
  const name = (open < 0 ? rule : rule.slice(0, open)).trim();
  const tools = COVERED.get(name);
  if (tools === undefined) {
    throw new UsageError(
      `The rule "${rule}" names no tool. A rule is tool or shell(COMMAND); the tools are: ${names()}.`,
    );
  }
  if (open < 0) return { text: rule, tools, spec: undefined };
  if (!rule.endsWith(')')) throw new UsageError(`The rule "${rule}" has no closing parenthesis at its end.`);
  const spec = rule.slice(open + 1, -1).trim();
  if (!tools.includes('shell')) {
    throw new UsageError(
      `The rule "${rule}": only shell takes a command in parentheses so far. Write "${name}" alone.`,
    );
  }
  if (spec === '')
    throw new UsageError(`The rule "${rule}" has no command. Write "${name}" alone to cover every command.`);
  // Taken for a literal command, such a rule would never match what its author meant.
  if (/(?:^|[\s:])\*$/.test(spec)) {
    throw new UsageError(
      `The rule "${rule}": patterns are not supported yet. Give the exact command, e.g. shell(npm test).`,
    );
  }
  return { text: rule, tools, spec };
}

/**
 * The rule that a question offers for the session. It means the very tool that was asked for, whatever its name means in
 * a rule that a person writes.
 */
export function sessionRule(tool: string, text: string): Rule {
  const spec = text === tool ? undefined : text.slice(tool.length + 1, -1);
  return { text, tools: [tool], spec };
}

/**
 * Reads the values of a repeatable flag; each may hold several rules. Commas inside parentheses and quotes there
 * belong to the rule.
 * @throws {UsageError} as `parseRule`, and for parentheses that do not match.
 */
export function parseRuleList(values: readonly string[]): Rule[] {
  return values.flatMap((value) =>
    splitRules(value)
      .map((text) => text.trim())
      .filter((text) => text !== '')
      .map(parseRule),
  );
}

function splitRules(value: string): string[] {
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
    throw new UsageError(`The rules "${value}" have parentheses or quotes that do not match.`);
  }
  return [...rules, value.slice(start)];
}

/**
 * Whether an allow rule covers a request: with a command, only the very same one, nothing else beside it, and started
 * in `root`: `npm test` in another folder is another program. One without a command covers none that can't be read.
 */
export function ruleAllows(rule: Rule, request: Request, root: string): boolean {
  if (!rule.tools.includes(request.tool)) return false;
  if (rule.spec === undefined) return unreadShell(request) === undefined;
  const commands = commandsOf(request);
  return (
    commands.length > 0 &&
    commands.every(({ command, cwd }) => command === rule.spec && resolve(root, cwd) === resolve(root))
  );
}

/** Whether a deny rule covers a request: also when the command is only written in another way. */
export function ruleDenies(rule: Rule, request: Request): boolean {
  const { spec } = rule;
  if (!rule.tools.includes(request.tool)) return false;
  return spec === undefined || commandsOf(request).some(({ command }) => isSameCommand(spec, command));
}

/** The shell of a request whose commands can't be read, by a name for people. */
export function unreadShell(request: Request): string | undefined {
  return commandsOf(request).find(({ shell }) => shell !== undefined)?.shell;
}

function commandsOf({ subjects }: Request): Extract<Subject, { kind: 'command' }>[] {
  return subjects.filter((subject) => subject.kind === 'command');
}

function isSameCommand(one: string, other: string): boolean {
  if (one === other.trim()) return true;
  const [words, otherWords] = [literalWords(one), literalWords(other)];
  return words !== null && otherWords !== null && JSON.stringify(words) === JSON.stringify(otherWords);
}

/** The names that cover anything yet. */
function names(): string {
  const there = [...COVERED].filter(([, tools]) => tools.some((tool) => !NOT_THERE_YET.has(tool)));
  return there.map(([name]) => name).join(', ');
}
