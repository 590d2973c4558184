/** Decides whether a tool call may run. Pure: the mode, the rules and where paths lead come in; asking is the caller's job. */
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { alwaysAskReason, hasInvisible } from './always-ask.js';
import { exactRule } from './command-hint.js';
import { isProtectedPath } from './protected-paths.js';
import { ruleAllows, ruleDenies, sessionRule, unreadShell } from './rules.js';
import { isSecretFile } from './secret-files.js';
import { literalWords } from './shell-analysis.js';
import { isReadOnlyCommand, pathOperands } from './shell-table.js';
import type { ApprovalMode, Decision, HowToAllow, Request, RuleSet, Subject } from './types.js';

export type PolicyContext = {
  /** `full-auto` only exists together with `--dangerously-skip-permissions`, as long as there is no sandbox. */
  readonly mode: ApprovalMode;
  readonly rules: RuleSet;
  /** The worker may only read: neither the mode nor an allow rule widens that. */
  readonly workerReadOnly: boolean;
  /** Whether there is somebody to ask; if not, what would be asked is denied. */
  readonly canAsk: boolean;
  /** Real paths of the workspace's folders, absolute, the main one first. */
  readonly roots: readonly string[];
  /** Follows links of an absolute path, e.g. `nearestRealPath`. Without it only names are judged. */
  readonly realPath?: (path: string) => string;
  /** For the end of a denial. */
  readonly howToAllow: HowToAllow;
};

/** Why something is asked for in every mode, and the name of that reason. */
type Guard = { readonly rule: string; readonly reason: string };

/**
 * In this order: deny rules; the worker's own limit; what is asked for in every mode (protected paths, secret files,
 * commands that cannot be undone), from which only a rule for the very command frees; commands that only read; allow
 * rules; the mode. A command for a shell that can't be read is never one that only reads.
 */
export function decide(request: Request, context: PolicyContext): Decision {
  const { rules, workerReadOnly } = context;
  const denying = rules.deny.find((rule) => ruleDenies(rule, request));
  if (denying !== undefined) {
    return {
      kind: 'deny',
      rule: denying.text,
      reason: `The rule "${denying.text}" forbids it. Find a way without it.`,
    };
  }
  if (request.permission === 'meta') return { kind: 'allow' };
  const onlyReads = request.permission === 'read' || isReadOnlyCall(request, context);
  if (workerReadOnly && !onlyReads) {
    return {
      kind: 'deny',
      rule: 'read-only worker',
      reason: `${unread(request)}This worker may only read.${instead(request)}`,
    };
  }
  const allowing = rules.allow.find((rule) => ruleAllows(rule, request, rootIn(context)));
  const guard = guardOf(request, context);
  if (guard !== undefined && allowing?.spec === undefined) return byGuard(request, guard, context);
  const kind = { kind: 'allow', ...(onlyReads && request.permission === 'execute' && { onlyReads }) } as const;
  if (allowing !== undefined) return { ...kind, rule: allowing.text };
  return onlyReads ? kind : byMode(request, context);
}

/** What a model can do where a command is refused for not only reading. */
function instead(request: Request): string {
  if (unreadShell(request) !== undefined) return ' To look at things there are read_file, list_files and search_files.';
  return request.permission === 'execute'
    ? ' To look at things there are read_file, list_files, search_files, and shell with one simple command: ls, cat, head, tail, wc, pwd, stat, grep or rg, without pipes, redirects and variables, on paths inside the workspace.'
    : '';
}

/** Why a command is not judged by its words, as a sentence before another. */
function unread(request: Request): string {
  const shell = unreadShell(request);
  return shell === undefined ? '' : `Only commands of bash and sh can be judged here, and this one is for ${shell}. `;
}

/** Whether all that a shell call does is read files of the workspace that are not secret. */
function isReadOnlyCall(request: Request, context: PolicyContext): boolean {
  if (request.permission !== 'execute' || request.subjects.length === 0) return false;
  if (unreadShell(request) !== undefined) return false;
  return request.subjects.every((subject) => {
    if (subject.kind !== 'command' || !isReadOnlyCommand(subject.command)) return false;
    const operands = pathOperands(literalWords(subject.command) ?? []);
    if (operands.some((operand) => operand.split('/').includes('..'))) return false;
    const paths = [workingFolder(subject, context), ...operandPaths(subject, context)];
    return paths.every((path) => isInside(path, context) && !isSecret(path, context));
  });
}

type CommandSubject = Extract<Subject, { kind: 'command' }>;

function workingFolder(subject: CommandSubject, context: PolicyContext): string {
  return resolve(rootIn(context), subject.cwd);
}

/** Where relative paths start from. */
function rootIn({ roots }: PolicyContext): string {
  return roots[0] ?? sep;
}

/** The paths that a command of the read-only table names, absolute. */
function operandPaths(subject: CommandSubject, context: PolicyContext): string[] {
  const folder = workingFolder(subject, context);
  return pathOperands(literalWords(subject.command) ?? []).map((operand) => resolve(folder, operand));
}

function isInside(path: string, context: PolicyContext): boolean {
  return spellingsOf(path, context).every((spelling) => rootOf(spelling, context) !== undefined);
}

function isSecret(path: string, context: PolicyContext): boolean {
  // A workspace may be called what it likes.
  return spellingsOf(path, context).some((spelling) => !context.roots.includes(spelling) && isSecretFile(spelling));
}

/** A path as it is written and as it leads. */
function spellingsOf(path: string, { realPath }: PolicyContext): string[] {
  return realPath === undefined ? [path] : [path, realPath(path)];
}

function rootOf(path: string, { roots }: PolicyContext): string | undefined {
  return roots.find((root) => {
    const below = relative(root, path);
    return below !== '..' && !below.startsWith(`..${sep}`) && !isAbsolute(below);
  });
}

function guardOf(request: Request, context: PolicyContext): Guard | undefined {
  for (const subject of request.subjects) {
    if (subject.kind === 'command') {
      const why = alwaysAskReason(subject.command, subject.shell !== undefined);
      if (why !== undefined)
        return { rule: 'always ask', reason: `The command needs a question in every mode: ${why}.` };
      const secret = operandPaths(subject, context).find((path) => isSecret(path, context));
      if (secret !== undefined) return secretGuard(secret);
    }
    if (subject.kind === 'path') {
      const path = resolve(rootIn(context), subject.path);
      if (isSecret(path, context)) return secretGuard(subject.path);
      if (request.permission === 'write' && isProtected(path, context)) {
        const reason = `${subject.path} decides what runs later, so a change of it needs a question in every mode.`;
        return { rule: 'protected path', reason };
      }
    }
  }
  return forbiddenPerhaps(request, context);
}

/** What a rule forbids can be written in many ways: where the words can't be read, nobody knows that this is not one. */
function forbiddenPerhaps(request: Request, { rules }: PolicyContext): Guard | undefined {
  if (unreadShell(request) === undefined) return undefined;
  const rule = rules.deny.find(({ tools, spec }) => spec !== undefined && tools.includes(request.tool));
  if (rule === undefined) return undefined;
  const reason = `${unread(request)}Whether the rule "${rule.text}" forbids it can't be told, so it needs a question in every mode.`;
  return { rule: rule.text, reason };
}

function secretGuard(path: string): Guard {
  return { rule: 'secret file', reason: `${path} holds secrets by its name, so it needs a question in every mode.` };
}

function isProtected(path: string, context: PolicyContext): boolean {
  return spellingsOf(path, context).some((spelling) => {
    const root = rootOf(spelling, context);
    return isProtectedPath(root === undefined ? spelling : relative(root, spelling));
  });
}

function byGuard(request: Request, { rule, reason }: Guard, context: PolicyContext): Decision {
  if (context.canAsk && context.mode !== 'read-only') return { kind: 'ask', reason };
  return { kind: 'deny', rule, reason: `${reason} ${hintOf(request, context, { isGuarded: true })}` };
}

/** The last word where no rule spoke. */
function byMode(request: Request, context: PolicyContext): Decision {
  const { permission } = request;
  const { mode, canAsk } = context;
  if (mode === 'full-auto' || (mode === 'auto-edit' && permission === 'write')) return { kind: 'allow' };
  const rule = `mode ${mode}`;
  const hint = () => hintOf(request, context, { isGuarded: false });
  if (mode === 'read-only') {
    const reason = `${unread(request)}Mode read-only allows no ${NOUNS[permission]}.${instead(request)} ${hint()}`;
    return { kind: 'deny', rule, reason };
  }
  const reason = `${unread(request)}Mode ${mode} asks before each ${NOUNS[permission]}.`;
  if (!canAsk) return { kind: 'deny', rule, reason: `${reason} There is nobody to ask. ${hint()}` };
  const session = sessionRuleText(request, rootIn(context));
  return { kind: 'ask', reason, ...(session !== undefined && { rule: session }) };
}

/** The rule that "this session" would add: for the very command, else for the tool. */
function sessionRuleText(request: Request, root: string): string | undefined {
  const { tool, permission, subjects } = request;
  if (permission !== 'execute' || subjects.every(({ kind }) => kind === 'none')) return tool;
  const [subject] = subjects;
  if (tool === 'shell' || subject?.kind !== 'command') return exactRule(request, root);
  const text = `${tool}(${subject.command})`;
  return !hasInvisible(subject.command) && ruleAllows(sessionRule(tool, text), request, root) ? text : undefined;
}

const NOUNS = {
  read: 'reading',
  write: 'change of a file',
  execute: 'command that does more than read',
  network: 'request to the network',
  meta: 'call',
} as const;

/** What would allow a request, as sentences for the end of a denial. */
function hintOf(request: Request, context: PolicyContext, { isGuarded }: { readonly isGuarded: boolean }): string {
  if (request.permission === 'execute') {
    const elsewhere = request.subjects.find(
      (subject) => subject.kind === 'command' && !isInside(workingFolder(subject, context), context),
    );
    // The gate refuses it whatever a rule says.
    if (elsewhere?.kind === 'command') return `${elsewhere.cwd} is outside the workspace, where no command may start.`;
  }
  return context.howToAllow(request, { root: rootIn(context), rules: context.rules, isGuarded });
}
