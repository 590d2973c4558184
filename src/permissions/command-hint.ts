/** The rules that would allow a command, and the words that tell a model or a person of them. */
import { resolve } from 'node:path';
import { hasInvisible } from './always-ask.js';
import { parseRuleList, ruleAllows } from './rules.js';
import type { Request, Rule, RuleSet } from './types.js';

const MAX_HINT_CHARACTERS = 200; // a longer command is not said twice.
const ONLY_A_PERSON = 'Only a person at a terminal can allow it.';

type HintContext = {
  /** Absolute: the folder in which rules with a command count. */
  readonly root: string;
  readonly rules: RuleSet;
  /** Only a rule for the very command frees it. */
  readonly isGuarded: boolean;
};

/** How a command that was refused can be allowed, as sentences; every rule in them would really allow it. */
export function commandHint(request: Request, { root, rules, isGuarded }: HintContext): string {
  const otherwise = isGuarded ? ONLY_A_PERSON : `To allow it: --allowed-tools ${anyCall(request)}.`;
  const moved = withFolderInCommand(request, root);
  if (moved === undefined) {
    const rule = exactRule(request, root);
    if (rule === undefined) return otherwise;
    return `To allow ${isGuarded ? 'this very command' : 'it'}: --allowed-tools ${flagValue(rule)}.`;
  }
  const instead = moved.command.length > MAX_HINT_CHARACTERS ? moved.shortened : moved.command;
  const known = ruleFor(moved.request, root, rules);
  if (known !== undefined)
    return `Leave cwd out and give the command \`${instead}\`, which the rule "${known.text}" allows.`;
  const rule = exactRule(moved.request, root);
  if (rule === undefined) return otherwise;
  return `${atRoot(request, root, rules)}To allow it: --allowed-tools ${flagValue(rule)}; then leave cwd out and give the command \`${instead}\`.`;
}

/** The rule that allows this very command and nothing else, if one can be written. */
export function exactRule(request: Request, root: string): string | undefined {
  const [subject] = request.subjects;
  if (subject?.kind !== 'command' || request.subjects.length > 1) return undefined;
  // Shown, such a character is left out or made visible: what would be copied is another command.
  if (hasInvisible(subject.command)) return undefined;
  const text = `shell(${subject.command})`;
  try {
    const [rule, ...more] = parseRuleList([text]);
    return rule !== undefined && more.length === 0 && ruleAllows(rule, request, root) ? rule.text : undefined;
  } catch {
    return undefined; // Quotes or parentheses that do not match, or an end that reads as a pattern.
  }
}

function anyCall({ tool }: Request): string {
  return tool === 'shell' ? 'shell (every command)' : tool;
}

function flagValue(rule: string): string {
  const isShort = rule.length <= MAX_HINT_CHARACTERS && !rule.includes('\n');
  return isShort ? quoted(rule) : "'shell(THIS COMMAND)'";
}

type Moved = { readonly request: Request; readonly command: string; readonly shortened: string };

/** The same work as a command that starts in the root, for one that does not: there a rule can allow it. */
function withFolderInCommand(request: Request, root: string): Moved | undefined {
  const [subject] = request.subjects;
  if (subject?.kind !== 'command' || resolve(root, subject.cwd) === resolve(root)) return undefined;
  const folder = subject.cwd.startsWith('-') ? `./${subject.cwd}` : subject.cwd;
  const change = `cd ${/^[\w@%+=:,./-]+$/.test(folder) ? folder : quoted(folder)} &&`;
  const command = `${change} ${subject.command}`;
  return {
    request: { ...request, subjects: [{ kind: 'command', command, cwd: '.' }] },
    command,
    shortened: `${change} …`,
  };
}

/** What to know where a rule allows the command, only not in this folder. */
function atRoot(request: Request, root: string, rules: RuleSet): string {
  const subjects = request.subjects.map((subject) => (subject.kind === 'command' ? { ...subject, cwd: '.' } : subject));
  const rule = ruleFor({ ...request, subjects }, root, rules);
  return rule === undefined
    ? ''
    : `The rule "${rule.text}" counts in the workspace root only: leave cwd out if that will do. `;
}

/** The rule that names the very command. */
function ruleFor(request: Request, root: string, { allow }: RuleSet): Rule | undefined {
  return allow.find((rule) => rule.spec !== undefined && ruleAllows(rule, request, root));
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
