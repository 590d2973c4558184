/** Whether every part of a command may run: by the table of those that only read, or by a rule. */
import { resolve, sep } from 'node:path';
import { isInside, type Place, spellingsOf } from './place.js';
import { type CommandSubject, isAtRoot, ruleAllowsWords } from './rule-match.js';
import { isSecretFile } from './secret-files.js';
import { analyzeCommand, type SimpleCommand } from './shell-analysis.js';
import { isReadOnlyCommand, pathOperands } from './shell-table.js';
import { joinWords } from './shell-words.js';
import type { Request, Rule } from './types.js';

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
 * Judges a literal command part by part, with what its wrappers run. One that changes its folder on the way counts only
 * as a whole: behind a `cd` every word may mean something else.
 */
export function coverOf(subject: CommandSubject, request: Request, allow: readonly Rule[], place: Place): Cover {
  if (subject.shell !== undefined) return NONE;
  const { isLiteral, commands } = analyzeCommand(subject.command);
  if (!isLiteral || commands.length === 0 || (commands.length > 1 && commands.some(changesFolder))) return NONE;
  const rules = isAtRoot(subject, place) ? allow : [];
  const parts = commands.map((command) => ({
    command,
    reads: readsOnly(command, subject, place),
    rule: rules.find((rule) => ruleAllowsWords(rule, request.tool, command.words)),
  }));
  if (parts.every(({ reads }) => reads)) return { onlyReads: true };
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

function readsOnly({ words }: SimpleCommand, subject: CommandSubject, place: Place): boolean {
  const known = words.filter((word) => word !== null);
  if (known.length < words.length || !isReadOnlyCommand(joinWords(known))) return false;
  const operands = pathOperands(known);
  if (operands.some((operand) => operand.split('/').includes('..'))) return false;
  const folder = workingFolder(subject, place);
  const paths = [folder, ...operands.map((operand) => resolve(folder, operand))];
  return paths.every((path) => isInside(path, place) && !isSecret(path, place));
}

export function workingFolder({ cwd }: CommandSubject, { roots: [root = sep] }: Place): string {
  return resolve(root, cwd);
}

/** A workspace may be called what it likes. */
export function isSecret(path: string, place: Place): boolean {
  return spellingsOf(path, place).some((spelling) => !place.roots.includes(spelling) && isSecretFile(spelling));
}
