/** Whether a command line only reads, by `shell-table-data.ts`, and which paths its words may lead to. */
import { basename, join } from 'node:path';
import { analyzeCommand } from './shell-analysis.js';
import { readFind } from './shell-find.js';
import type { ShellWord } from './shell-parse.js';
import { type Entry, GIT_TABLE, TABLE } from './shell-table-data.js';

/** A path that a read-only command may open; `mustBeFile`: if it is a folder, files in it are opened that no word names. */
export type Operand = { readonly path: string; readonly mustBeFile?: true };

/** Whether a whole command line is made of literal commands of the table. Where its operands lead is another question. */
export function isReadOnlyCommand(command: string): boolean {
  return readOnlyOperands(command) !== undefined;
}

/**
 * The paths that a command line of the table may open, relative to where it starts, or undefined for any other one.
 * `cd FOLDER` in it may take effect or not: what comes behind is there for both.
 */
export function readOnlyOperands(command: string): readonly Operand[] | undefined {
  const { isLiteral, commands } = analyzeCommand(command);
  if (!isLiteral) return undefined;
  const operands: Operand[] = [];
  let folders = ['.'];
  for (const { words } of commands) {
    const target = folderChange(words);
    if (target === undefined) {
      const found = operandsOf(words);
      if (found === undefined) return undefined;
      for (const operand of found) for (const folder of folders) operands.push(inFolder(operand, folder));
    } else {
      if (folders.length > MAX_FOLDERS) return undefined;
      const moved = folders.map((folder) => inFolder({ path: target }, folder).path);
      for (const path of moved) operands.push({ path });
      folders = [...folders, ...moved];
    }
  }
  return operands;
}

const MAX_FOLDERS = 8; // each `cd` doubles them.

/**
 * Whether a command only reads in an environment of its own (`tools/shell/environment.ts`), which it has where the whole line is
 * of the table: beside other commands it has not.
 */
export function needsOwnEnvironment([program]: readonly ShellWord[]): boolean {
  return program === 'git' || program === 'rg';
}

/** The operand of `cd FOLDER`. */
function folderChange(words: readonly ShellWord[]): string | undefined {
  const [program, target, ...more] = words;
  if (program !== 'cd' || typeof target !== 'string' || more.length > 0) return undefined;
  return target === '' || target.startsWith('-') ? undefined : target;
}

function inFolder(operand: Operand, folder: string): Operand {
  // Not joined for `.`, so that what is said of a path is said as it is written; `..` has to stay visible.
  if (folder === '.' || operand.path.startsWith('/')) return operand;
  return { ...operand, path: `${folder}/${operand.path}` };
}

/** The paths that one simple command of the table may open, or undefined when the table does not hold it with these words. */
export function operandsOf(command: readonly ShellWord[]): readonly Operand[] | undefined {
  const words = command.filter((word) => word !== null);
  if (words.length < command.length) return undefined;
  const [program = '', ...rest] = words;
  if (program === 'find') return readFind(rest);
  if (program !== 'git') return takeApart(rest, TABLE.get(program));
  const [subcommand = '', ...more] = rest[0] === '--no-pager' ? rest.slice(1) : rest;
  return takeApart(more, GIT_TABLE.get(subcommand));
}

/** The words behind a program's name by their use. */
function takeApart(words: readonly string[], entry: Entry | undefined): readonly Operand[] | undefined {
  if (entry === undefined) return undefined;
  if (entry.operands === 'anything') return [];
  const operands: string[] = [];
  /** Flags behind an operand, and their values: more operands for a program that takes flags first. */
  const perhaps: string[] = [];
  const used = new Set<string>();
  let onlyOperands = false;
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? '';
    if (onlyOperands || !word.startsWith('-') || word === '-') {
      operands.push(word);
      continue;
    }
    const isPerhaps = operands.length > 0 && entry.permutes !== true;
    if (isPerhaps) perhaps.push(word);
    if (word === '--') {
      onlyOperands = true;
      continue;
    }
    const read = word.startsWith('--') ? readLong(word, entry) : readCluster(word, entry);
    if (read === undefined) return undefined;
    for (const flag of read.flags) used.add(flag);
    let { value } = read;
    if (read.needsValue) {
      // The next word is the flag's value, even if it looks like a flag.
      value = words[++index];
      if (value === undefined) return undefined;
      if (isPerhaps) perhaps.push(value);
    }
    const flag = read.flags.at(-1) ?? '';
    if (value !== undefined && entry.flags.get(flag) === 'count' && !COUNT.test(value)) return undefined;
    const must = entry.values?.get(flag);
    if (must !== undefined && (value === undefined || !must.test(value))) return undefined;
  }
  return opened(entry, operands, perhaps, used);
}

function opened(
  entry: Entry,
  operands: readonly string[],
  perhaps: readonly string[],
  used: ReadonlySet<string>,
): readonly Operand[] | undefined {
  const { pattern, maxOperands, operand } = entry;
  if (maxOperands !== undefined && operands.length + perhaps.length > maxOperands) return undefined;
  if (operand !== undefined && !operands.every((word) => operand.test(word))) return undefined;
  if (entry.operands === 'words') return [];
  const hasPattern = pattern !== undefined && !pattern.some((flag) => used.has(flag));
  if (hasPattern && operands.length === 0) return undefined;
  const paths = [...operands.slice(hasPattern ? 1 : 0), ...perhaps];
  if (entry.operands === 'paths') return paths.map((path) => ({ path }));
  const within = paths.flatMap((path) => paths.map((other) => join(path, basename(other))));
  return [...paths.map((path) => ({ path, mustBeFile: true as const })), ...within.map((path) => ({ path }))];
}

const COUNT = /^[+-]?\d+[A-Za-z]{0,3}$/;

/** `needsValue` is set when the next word is the value of the last flag. */
type ReadFlags = { readonly flags: readonly string[]; readonly needsValue?: true; readonly value?: string };

/** `--name` or `--name=value`, spelled out: an abbreviation may stand for a flag that is not in the table. */
function readLong(word: string, entry: Entry): ReadFlags | undefined {
  const equals = word.indexOf('=');
  const flag = equals < 0 ? word : word.slice(0, equals);
  const kind = entry.flags.get(flag);
  if (kind === undefined || (kind === 'alone' && equals >= 0)) return undefined;
  if (equals >= 0) return { flags: [flag], value: word.slice(equals + 1) };
  return kind === 'value' || kind === 'count' ? { flags: [flag], needsValue: true } : { flags: [flag] };
}

/** `-abc`, `-n5`, `-5`: each letter must be known, and the first that takes a value takes the rest of the word. */
function readCluster(word: string, entry: Entry): ReadFlags | undefined {
  if (entry.counts && /^-\d+$/.test(word)) return { flags: [] };
  const flags: string[] = [];
  for (const [offset, letter] of [...word.slice(1)].entries()) {
    const kind = entry.flags.get(`-${letter}`);
    if (kind === undefined) return undefined;
    flags.push(`-${letter}`);
    const rest = word.slice(offset + 2);
    if (kind === 'optional') return { flags, value: rest };
    if (kind === 'value' || kind === 'count') return rest === '' ? { flags, needsValue: true } : { flags, value: rest };
  }
  return { flags };
}
