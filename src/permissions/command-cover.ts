/** Whether every part of a command may run: by the table of those that only read, or by a rule. */
import { resolve, sep } from 'node:path';
import { isInside, type Place, spellingsOf } from './place.js';
import { type CommandSubject, isAtRoot, ruleAllowsWords } from './rule-match.js';
import { isReading } from './rule-names.js';
import { isSecretFile } from './secret-files.js';
import { analyzeCommand, type SimpleCommand } from './shell-analysis.js';
import { needsOwnEnvironment, type Operand, operandsOf, readOnlyOperands } from './shell-table.js';
import { joinWords } from './shell-words.js';
import type { Request, Rule, RuleSet } from './types.js';

export type Cover = {
  /** All of it only reads files of the workspace that are not secret. */
  readonly onlyReads: boolean;
  /** The first rule that was needed, where every part passes by the table or by rules; undefined otherwise, or for none. */
  readonly rule?: Rule;
  /** The first part that nothing lets pass, beside others that something does. */
  readonly open?: string;
};

const NONE: Cover = { onlyReads: false };

/**
 * Judges a literal command part by part, with what its wrappers run. One that changes its folder on the way passes only
 * where all of it reads: behind a `cd` every other word may mean something else.
 */
export function coverOf(subject: CommandSubject, request: Request, rules: RuleSet, place: Place): Cover {
  if (subject.shell !== undefined) return NONE;
  const { isLiteral, commands } = analyzeCommand(subject.command);
  if (!isLiteral || commands.length === 0) return NONE;
  const withheld = [...rules.deny, ...rules.ask].some(({ spec, tools }) => spec?.kind === 'path' && isReading(tools));
  if (!(withheld && commands.some(goesThroughFolders)) && isFree(readOnlyOperands(subject.command), subject, place)) {
    return { onlyReads: true };
  }
  if (commands.length > 1 && commands.some(changesFolder)) return NONE;
  const allow = isAtRoot(subject, place) ? rules.allow : [];
  const parts = commands.map((command) => ({
    command,
    // What reads only in an environment of its own has none beside other commands.
    reads: !needsOwnEnvironment(command.words) && isFree(operandsOf(command.words), subject, place),
    rule: allow.find((rule) => ruleAllowsWords(rule, request.tool, command.words)),
  }));
  const left = parts.find(({ reads, rule }) => !reads && rule === undefined);
  if (left !== undefined) {
    return parts.length === 1 || parts.every((part) => !part.reads && part.rule === undefined)
      ? NONE
      : { onlyReads: false, open: joinWords(left.command.spelled) };
  }
  const rule = parts.find((part) => !part.reads)?.rule;
  return { onlyReads: false, ...(rule !== undefined && { rule }) };
}

const FOLDER_CHANGERS = new Set(['cd', 'pushd', 'popd']);

function changesFolder({ words: [program] }: SimpleCommand): boolean {
  return program === undefined || program === null || FOLDER_CHANGERS.has(program);
}

/** It opens files that no word of it names, those too that a rule keeps from being read. */
function goesThroughFolders({ words: [program] }: SimpleCommand): boolean {
  return program === 'rg';
}

/** Whether operands of the table lead to files of the workspace that are not secret; there are none for other commands. */
function isFree(operands: readonly Operand[] | undefined, subject: CommandSubject, place: Place): boolean {
  if (operands === undefined || operands.some(({ path }) => path.split('/').includes('..'))) return false;
  const folder = workingFolder(subject, place);
  if (operands.some(({ path, mustBeFile }) => mustBeFile && place.isFolder?.(resolve(folder, path)))) return false;
  const paths = [folder, ...operands.map(({ path }) => resolve(folder, path))];
  return paths.every((path) => isInside(path, place) && !isSecret(path, place));
}

export function workingFolder({ cwd }: CommandSubject, { roots: [root = sep] }: Place): string {
  return resolve(root, cwd);
}

/** A workspace may be called what it likes. */
export function isSecret(path: string, place: Place): boolean {
  return spellingsOf(path, place).some((spelling) => !place.roots.includes(spelling) && isSecretFile(spelling));
}
