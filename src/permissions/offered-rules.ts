/** The rules that a question offers: for the session, and for good. */

import { exactRule } from './command-hint.js';
import { specFor } from './path-glob.js';
import type { Place } from './place.js';
import { type CommandSubject, hostOf, isAtRoot, ruleAllows, unreadShell } from './rule-match.js';
import { toolsNamed } from './rule-names.js';
import { parseRule, sessionRule } from './rules.js';
import { analyzeCommand } from './shell-analysis.js';
import { mayBeStored } from './storable.js';
import type { Request } from './types.js';
import { hasInvisible } from './visible.js';

/** The rule that "this session" would add: for the very command or host, else for the tool. */
export function ruleForSession(request: Request, place: Place): string | undefined {
  const { tool, permission, subjects } = request;
  const [subject] = subjects;
  if (permission === 'network') return hostRule(request);
  if (permission !== 'execute' || subjects.every(({ kind }) => kind === 'none')) return tool;
  if (tool === 'shell' || subject?.kind !== 'command') return exactRule(request, place);
  const text = `${tool}(${subject.command})`;
  return !hasInvisible(subject.command) && ruleAllows(sessionRule(tool, text), request, place) ? text : undefined;
}

/** The narrowest rule that covers a request, for keeping; undefined where none must be kept. */
export function ruleForGood(request: Request, place: Place): string | undefined {
  const { tool, permission, subjects } = request;
  const [subject, ...more] = subjects;
  // What a library calls its tools is no name of a rule.
  if (toolsNamed(tool)?.includes(tool) !== true && tool !== 'shell') return undefined;
  if (tool.startsWith('mcp__')) return tool;
  if (subject === undefined || more.length > 0) return undefined;
  const rule =
    subject.kind === 'command'
      ? storableCommand(subject, request, place)
      : subject.kind === 'path' && permission === 'write'
        ? `${tool}(${specFor(subject.path)})`
        : subject.kind === 'url'
          ? hostRule(request)
          : undefined;
  return rule !== undefined && covers(rule, request, place) ? rule : undefined;
}

function storableCommand(subject: CommandSubject, request: Request, place: Place): string | undefined {
  if (unreadShell(request) !== undefined || !isAtRoot(subject, place)) return undefined;
  const { isLiteral, commands } = analyzeCommand(subject.command);
  if (!isLiteral || !commands.every(({ words, isInner }) => !isInner && mayBeStored(words))) return undefined;
  return exactRule(request, place);
}

function hostRule({ tool, subjects }: Request): string | undefined {
  const [subject, ...more] = subjects;
  const host = subject?.kind === 'url' && more.length === 0 ? hostOf(subject.url) : undefined;
  if (host === undefined) return tool === 'fetch_url' ? undefined : tool;
  return tool === 'fetch_url' ? `${tool}(domain:${host})` : tool;
}

/** A path may have characters in it that no rule can say. */
function covers(rule: string, request: Request, place: Place): boolean {
  try {
    return ruleAllows(parseRule(rule), request, place);
  } catch {
    return false;
  }
}
