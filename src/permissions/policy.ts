/** Decides whether a tool call may run. Pure: the mode, the rules and where paths lead come in; asking is the caller's job. */
import { type Cover, coverOf, workingFolder } from './command-cover.js';
import { type Guard, type GuardContext, guardOf, unread } from './guards.js';
import { ruleForGood, ruleForSession } from './offered-rules.js';
import { isInside } from './place.js';
import { commandsOf, ruleAllows, ruleRestricts, unreadShell } from './rule-match.js';
import type { ApprovalMode, Decision, HowToAllow, Request, Rule } from './types.js';

export type PolicyContext = GuardContext & {
  readonly mode: ApprovalMode;
  /** The person gave up the questions of `full-auto` also where there is no sandbox. */
  readonly skipPermissions: boolean;
  /** The worker may only read: neither the mode nor an allow rule widens that. */
  readonly workerReadOnly: boolean;
  /** Whether there is somebody to ask; if not, what would be asked is denied. */
  readonly canAsk: boolean;
  /** For the end of a denial. */
  readonly howToAllow: HowToAllow;
};

/**
 * In this order: deny rules; the worker's own limit; what is asked for in every mode (see `guards.ts`); ask rules; what
 * only reads; allow rules; the mode. Of a command every part has to pass by itself.
 */
export function decide(request: Request, context: PolicyContext): Decision {
  const { rules, workerReadOnly } = context;
  const denying = rules.deny.find((rule) => ruleRestricts(rule, request, context));
  if (denying !== undefined) return byDenyRule(denying);
  if (commandsOf(request).some(({ command }) => command.includes('\0'))) return NUL;
  const asking = rules.ask.find((rule) => ruleRestricts(rule, request, context));
  if (request.permission === 'meta') return asking === undefined ? { kind: 'allow' } : byAskRule(asking, true, context);

  const covers = commandsOf(request).map((subject) => coverOf(subject, request, rules, context));
  const isRead = request.permission === 'read' || onlyReads(request, covers);
  if (workerReadOnly && !isRead) {
    const reason = `${unread(request)}This worker may only read.${instead(request)}`;
    return { kind: 'deny', rule: 'read-only worker', reason };
  }
  const guard = guardOf(request, context);
  if (guard !== undefined && !guard.isFreed) return byGuard(request, guard, context);
  if (asking !== undefined) return byAskRule(asking, isRead, context);

  const kind = { kind: 'allow', ...(isRead && request.permission === 'execute' && { onlyReads: true }) } as const;
  const allowing = rules.allow.find((rule) => ruleAllows(rule, request, context)) ?? byParts(covers);
  if (allowing !== undefined) return { ...kind, rule: allowing.text, source: allowing.source.place };
  return isRead ? kind : byMode(request, covers, context);
}

const NUL: Decision = {
  kind: 'deny',
  rule: 'NUL',
  reason: 'The command holds a NUL, behind which no shell reads on. Leave it out.',
};

function onlyReads({ permission, subjects }: Request, covers: readonly Cover[]): boolean {
  return (
    permission === 'execute' &&
    subjects.length > 0 &&
    covers.length === subjects.length &&
    covers.every((cover) => cover.onlyReads)
  );
}

/** The rule that lets the parts of a command pass which do more than read, where all of them pass. */
function byParts(covers: readonly Cover[]): Rule | undefined {
  return covers.every((cover) => cover.onlyReads || cover.rule !== undefined)
    ? covers.find((cover) => cover.rule !== undefined)?.rule
    : undefined;
}

function byDenyRule({ text, source, reason }: Rule): Decision {
  const why = reason === undefined ? '' : ` It says: ${reason.replace(/[.\s]*$/, '.')}`;
  return {
    kind: 'deny',
    rule: text,
    source: source.place,
    reason: `The rule "${text}" (${source.place}) forbids it.${why} Find a way without it.`,
  };
}

/** What a rule asks for is asked for each time: no answer makes a rule that would go before it. */
function byAskRule({ text, source, reason: why }: Rule, isRead: boolean, context: PolicyContext): Decision {
  const reason = `The rule "${text}" (${source.place}) asks for it each time.${why === undefined ? '' : ` It says: ${why.replace(/[.\s]*$/, '.')}`}`;
  if (context.canAsk && (isRead || context.mode !== 'read-only')) {
    return { kind: 'ask', reason, matched: { rule: text, source: source.place } };
  }
  return {
    kind: 'deny',
    rule: text,
    source: source.place,
    reason: `${reason} ${nobody(context)}Only a person at a terminal can allow it.`,
  };
}

function nobody({ canAsk, mode }: PolicyContext): string {
  return canAsk ? `Mode ${mode} asks nobody. ` : 'There is nobody to ask. ';
}

function byGuard(request: Request, { rule, reason }: Guard, context: PolicyContext): Decision {
  if (context.canAsk && context.mode !== 'read-only') return { kind: 'ask', reason };
  return {
    kind: 'deny',
    rule,
    reason: `${reason} ${hintOf(request, context, { isGuarded: true, isFixed: rule === 'protected path' })}`,
  };
}

/** The last word where no rule spoke. */
function byMode(request: Request, covers: readonly Cover[], context: PolicyContext): Decision {
  const { permission } = request;
  const { mode, canAsk } = context;
  if (passesUnasked(request, context)) return { kind: 'allow' };
  const rule = `mode ${mode}`;
  const hint = () => hintOf(request, context, { isGuarded: false });
  const open = covers.find((cover) => cover.open !== undefined)?.open;
  const part = open === undefined ? '' : ` In this one it is \`${open}\`.`;
  if (mode === 'read-only') {
    const reason = `${unread(request)}Mode read-only allows no ${NOUNS[permission]}.${part}${instead(request)} ${hint()}`;
    return { kind: 'deny', rule, reason };
  }
  const reason = `${unread(request)}Mode ${mode} asks before each ${NOUNS[permission]}.${part}`;
  if (!canAsk) return { kind: 'deny', rule, reason: `${reason} There is nobody to ask. ${hint()}` };
  const [session, stored] = [ruleForSession(request, context), ruleForGood(request, context)];
  return {
    kind: 'ask',
    reason,
    ...(session !== undefined && { rule: session }),
    ...(stored !== undefined && { storedRule: stored }),
  };
}

/** What the mode itself lets pass, of what is no mere reading. */
function passesUnasked(request: Request, { mode, sandboxed, skipPermissions }: PolicyContext): boolean {
  if (mode === 'auto-edit') return request.permission === 'write';
  if (mode !== 'full-auto') return false;
  if (skipPermissions) return true;
  // A sandbox is around commands; what our own process sends is not in it.
  return sandboxed && (request.permission === 'write' || (request.permission === 'execute' && isShell(request)));
}

function isShell({ tool }: Request): boolean {
  return tool === 'shell' || tool.startsWith('shell_');
}

/** What a model can do where a command is refused for not only reading. */
function instead(request: Request): string {
  if (unreadShell(request) !== undefined) return ' To look at things there are read_file, list_files and search_files.';
  return request.permission === 'execute'
    ? ' To look at things there are read_file, list_files, search_files, and shell with plain commands such as ls, cat, head, tail, wc, pwd, stat, grep or rg, also joined by |, && or ;, without redirects, variables and patterns, on paths inside the workspace.'
    : '';
}

const NOUNS = {
  read: 'reading',
  write: 'change of a file',
  execute: 'command that does more than read',
  network: 'request to the network',
  meta: 'call',
} as const;

/** What would allow a request, as sentences for the end of a denial. */
function hintOf(
  request: Request,
  context: PolicyContext,
  { isGuarded, isFixed = false }: { readonly isGuarded: boolean; readonly isFixed?: boolean },
): string {
  if (request.permission === 'execute') {
    const elsewhere = commandsOf(request).find((subject) => !isInside(workingFolder(subject, context), context));
    // The gate refuses it whatever a rule says.
    if (elsewhere !== undefined) return `${elsewhere.cwd} is outside the workspace, where no command may start.`;
  }
  return context.howToAllow(request, { place: context, rules: context.rules, isGuarded, isFixed });
}
