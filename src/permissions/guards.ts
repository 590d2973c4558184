/** What is asked for in every mode, whatever a rule says that does not name this very thing. */
import { relative, resolve, sep } from 'node:path';
import { alwaysAskReason } from './always-ask.js';
import { isSecret } from './command-cover.js';
import { isInsideFolder, type Place, rootOf, spellingsOf } from './place.js';
import { isProtectedPath } from './protected-paths.js';
import {
  type CommandSubject,
  mayBeRestricted,
  namesVeryCommand,
  namesVeryFile,
  ruleAllows,
  ruleRestricts,
  unreadShell,
} from './rule-match.js';
import { coversTool } from './rule-names.js';
import { analyzeCommand } from './shell-analysis.js';
import { namedPaths, writtenPaths } from './shell-paths.js';
import type { Request, Rule, RuleSet } from './types.js';

export type GuardContext = Place & {
  readonly rules: RuleSet;
  /** Commands run inside a sandbox that works, which shows them protected paths read-only and processes of its own. */
  readonly sandboxed: boolean;
  /** Absolute: folders of ours, and those of git that lie elsewhere. */
  readonly protectedFolders?: readonly string[];
};

/** Why something is asked for in every mode, and the name of that reason. */
export type Guard = {
  readonly rule: string;
  readonly reason: string;
  /** Whether a rule that names the very command or file lets it pass. */
  readonly isFreed: boolean;
};

/** The first reason that holds. */
export function guardOf(request: Request, context: GuardContext): Guard | undefined {
  for (const subject of request.subjects) {
    const guard =
      subject.kind === 'command'
        ? guardOfCommand(subject, request, context)
        : subject.kind === 'path'
          ? guardOfPath(subject.path, request, context)
          : undefined;
    if (guard !== undefined) return guard;
  }
  return undefined;
}

function guardOfCommand(subject: CommandSubject, request: Request, context: GuardContext): Guard | undefined {
  const { command, shell } = subject;
  const isRead = shell === undefined;
  const isFreed = context.rules.allow.some(
    (rule) => namesVeryCommand(rule, subject) && ruleAllows(rule, request, context),
  );
  const why = alwaysAskReason(command, !isRead);
  if (why !== undefined) {
    return { rule: 'always ask', reason: `The command needs a question in every mode: ${why}.`, isFreed };
  }
  const opaque = isRead ? analyzeCommand(command).opaque : undefined;
  if (opaque !== undefined) {
    return { rule: 'opaque command', reason: `The command needs a question in every mode: ${opaque}.`, isFreed };
  }
  // Of a shell that can't be read, its words are still looked at.
  const secret = namedPaths(subject, context).find(
    (path) => isSecret(path, context) && !(context.sandboxed && isInsideFolder('/proc', path)),
  );
  if (secret !== undefined) return { ...secretGuard(shown(secret, context)), isFreed };
  const written = context.sandboxed ? [] : writtenPaths(subject, context);
  const changed = written.find((path) => isProtected(path, context));
  if (changed !== undefined) return protectedGuard(shown(changed, context));
  return forbiddenPerhaps(subject, request, context, isFreed);
}

function guardOfPath(given: string, request: Request, context: GuardContext): Guard | undefined {
  const path = resolve(context.roots[0] ?? sep, given);
  if (request.permission === 'write' && isProtected(path, context)) return protectedGuard(given);
  if (!isSecret(path, context)) return undefined;
  const isFreed = context.rules.allow.some((rule) => namesVeryFile(rule) && ruleAllows(rule, request, context));
  return { ...secretGuard(given), isFreed };
}

/** What a rule forbids can be written in many ways: where the words can't be told, nobody knows that this is not one. */
function forbiddenPerhaps(
  { command }: CommandSubject,
  request: Request,
  context: GuardContext,
  isFreed: boolean,
): Guard | undefined {
  const { rules } = context;
  const isRead = unreadShell(request) === undefined;
  const mayBe = (rule: Rule) =>
    isRead
      ? mayBeRestricted(rule, request.tool, command)
      : rule.spec?.kind === 'command' && coversTool(rule.tools, request.tool);
  // One that surely is about it has its say elsewhere.
  const rule = [...rules.deny, ...rules.ask].find((each) => mayBe(each) && !ruleRestricts(each, request, context));
  if (rule === undefined) return undefined;
  const reason = `${unread(request)}Whether the rule "${rule.text}" is about this command can't be told, so it needs a question in every mode.`;
  return { rule: rule.text, reason, isFreed };
}

/** Why a command is not judged by its words, as a sentence before another. */
export function unread(request: Request): string {
  const shell = unreadShell(request);
  return shell === undefined ? '' : `Only commands of bash and sh can be judged here, and this one is for ${shell}. `;
}

function secretGuard(path: string): Omit<Guard, 'isFreed'> {
  return { rule: 'secret file', reason: `${path} holds secrets by its name, so it needs a question in every mode.` };
}

/** No rule frees it: what decides what runs later could free the rest. */
function protectedGuard(path: string): Guard {
  const reason = `${path} decides what runs later, so a change of it needs a question in every mode.`;
  return { rule: 'protected path', reason, isFreed: false };
}

export function isProtected(path: string, context: GuardContext): boolean {
  return spellingsOf(path, context).some((spelling) => {
    if (context.protectedFolders?.some((folder) => isInsideFolder(folder, spelling))) return true;
    const root = rootOf(spelling, context);
    return isProtectedPath(root === undefined ? spelling : relative(root, spelling));
  });
}

function shown(path: string, context: GuardContext): string {
  const root = rootOf(path, context);
  return root === undefined ? path : relative(root, path) || '.';
}
