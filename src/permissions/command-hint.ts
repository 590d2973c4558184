/** What would allow a request on the command line: flags, and the rules that can be given to them. */
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { specFor } from './path-glob.js';
import type { Place } from './place.js';
import { commandsOf, hostOf, isAtRoot, namesVeryCommand, ruleAllows, unreadShell } from './rule-match.js';
import { parseRuleList } from './rules.js';
import { quoteWord } from './shell-words.js';
import type { HowToAllow, Request, Rule, RuleSet } from './types.js';
import { hasInvisible } from './visible.js';

const MAX_HINT_CHARACTERS = 200; // a longer command is not said twice.
const ONLY_A_PERSON = 'Only a person at a terminal can allow it.';

/** The flags of the command line; every rule in a hint would really allow the command. */
export const flagHint: HowToAllow = (request, { place, rules, isGuarded, isFixed }) => {
  if (isFixed) return ONLY_A_PERSON;
  if (request.permission !== 'execute') {
    if (isGuarded) return ruleForFile(request, place) ?? ONLY_A_PERSON;
    const flag = request.permission === 'write' ? '--approval-mode auto-edit' : `--allowed-tools ${anyOf(request)}`;
    return `To allow it: ${flag}.`;
  }
  const otherwise =
    isGuarded || unreadShell(request) !== undefined
      ? ONLY_A_PERSON
      : `To allow it: --allowed-tools ${anyCall(request)}.`;
  // `cd` and `&&` are not what every shell understands.
  const moved = unreadShell(request) === undefined ? withFolderInCommand(request, place) : undefined;
  if (moved === undefined) {
    const rule = exactRule(request, place);
    if (rule === undefined) return otherwise;
    return `To allow ${isGuarded ? 'this very command' : 'it'}: --allowed-tools ${flagValue(rule)}.`;
  }
  const instead = moved.command.length > MAX_HINT_CHARACTERS ? moved.shortened : moved.command;
  const known = ruleFor(moved.request, place, rules);
  if (known !== undefined)
    return `Leave cwd out and give the command \`${instead}\`, which the rule "${known.text}" allows.`;
  const rule = exactRule(moved.request, place);
  if (rule === undefined) return otherwise;
  return `${atRoot(request, place, rules)}To allow it: --allowed-tools ${flagValue(rule)}; then leave cwd out and give the command \`${instead}\`.`;
};

/** The rule that allows this very command and nothing else, if one can be written. */
export function exactRule(request: Request, place: Place): string | undefined {
  const [subject] = request.subjects;
  if (subject?.kind !== 'command' || request.subjects.length > 1) return undefined;
  // Shown, such a character is left out or made visible: what would be copied is another command.
  if (hasInvisible(subject.command)) return undefined;
  const text = `shell(${subject.command})`;
  try {
    const [rule, ...more] = parseRuleList([text]);
    if (rule === undefined || more.length > 0 || !namesVeryCommand(rule, subject)) return undefined;
    return ruleAllows(rule, request, place) ? rule.text : undefined;
  } catch {
    return undefined; // Quotes or parentheses that do not match, or an end that reads as a pattern.
  }
}

/** A secret file, which a rule that names it frees. */
function ruleForFile({ tool, permission, subjects }: Request, { roots: [root = ''] }: Place): string | undefined {
  const [subject, ...more] = subjects;
  if (permission !== 'read' || subject?.kind !== 'path' || more.length > 0) return undefined;
  const path = relative(root, resolve(root, subject.path)).split(sep).join('/');
  if (path.startsWith('..') || isAbsolute(path) || hasInvisible(path) || /[()"',]/.test(path)) return undefined;
  return `To allow this very file: --allowed-tools '${tool}(${specFor(path)})'.`;
}

function anyOf({ tool, subjects }: Request): string {
  const [subject] = subjects;
  const host = subject?.kind === 'url' && tool === 'fetch_url' ? hostOf(subject.url) : undefined;
  return host === undefined ? tool : `'fetch(domain:${host})'`;
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
function withFolderInCommand(request: Request, place: Place): Moved | undefined {
  const [subject] = commandsOf(request);
  if (subject === undefined || isAtRoot(subject, place)) return undefined;
  const folder = subject.cwd.startsWith('-') ? `./${subject.cwd}` : subject.cwd;
  const change = `cd ${quoteWord(folder)} &&`;
  const command = `${change} ${subject.command}`;
  return {
    request: { ...request, subjects: [{ kind: 'command', command, cwd: '.' }] },
    command,
    shortened: `${change} …`,
  };
}

/** What to know where a rule allows the command, only not in this folder. */
function atRoot(request: Request, place: Place, rules: RuleSet): string {
  const subjects = request.subjects.map((subject) => (subject.kind === 'command' ? { ...subject, cwd: '.' } : subject));
  const rule = ruleFor({ ...request, subjects }, place, rules);
  return rule === undefined
    ? ''
    : `The rule "${rule.text}" counts in the workspace root only: leave cwd out if that will do. `;
}

/** The rule that names the very command. */
function ruleFor(request: Request, place: Place, { allow }: RuleSet): Rule | undefined {
  return allow.find((rule) => rule.spec !== undefined && ruleAllows(rule, request, place));
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
