/**
 * The paths that a command names, as far as its words tell: its operands, where it redirects, and values of flags. For
 * keeping it from files that it must not touch; a best effort, since a program may open what it likes.
 */
import { resolve, sep } from 'node:path';
import type { Place } from './place.js';
import { analyzeCommand, type SimpleCommand } from './shell-analysis.js';
import { isReadOnlyCommand, pathOperands } from './shell-table.js';
import { programName } from './shell-unwrap.js';
import { joinWords } from './shell-words.js';
import type { Subject } from './types.js';

type CommandSubject = Extract<Subject, { kind: 'command' }>;

const MAX_PATHS = 2_000; // Each is looked at on disk.

/** Programs whose operands are files that they change. */
const WRITERS = new Set(
  'cp mv ln install tee rm rmdir touch truncate rsync sed perl dd chmod chown patch mkdir unlink'.split(' '),
);

/** Absolute. A word that names no file leads to one that is not there, and does no harm. */
export function namedPaths(subject: CommandSubject, place: Place): readonly string[] {
  return pathsOf(subject, place, (command) => [
    ...operandsOf(command),
    ...command.redirects.map(({ spelled }) => spelled),
  ]);
}

/** Those that it would write to, absolute: behind `>`, and operands of programs that change what they are given. */
export function writtenPaths(subject: CommandSubject, place: Place): readonly string[] {
  return pathsOf(subject, place, (command) => [
    ...(WRITERS.has(programName(command.words[0] ?? '')) ? operandsOf(command) : []),
    ...command.redirects.filter(({ operator }) => operator.includes('>')).map(({ spelled }) => spelled),
  ]);
}

function pathsOf(
  { command, cwd }: CommandSubject,
  { roots: [root = sep], home }: Place,
  wordsOf: (command: SimpleCommand) => readonly string[],
): readonly string[] {
  const folder = resolve(root, cwd);
  const words = new Set(analyzeCommand(command).commands.flatMap(wordsOf));
  return [...words].slice(0, MAX_PATHS).map((word) => resolve(folder, atHome(word, home)));
}

/** Neither the program nor the name of a flag is a file; of a command of the table, neither is its pattern. */
function operandsOf({ words, spelled }: SimpleCommand): readonly string[] {
  const known = words.filter((word) => word !== null);
  if (known.length === words.length && isReadOnlyCommand(joinWords(known))) return pathOperands(known);
  return spelled.slice(1).flatMap((word, index) => candidates(words[index + 1] ?? word));
}

/** `--file=x` may be one file or another, and so may `@x`. */
function candidates(word: string): readonly string[] {
  // No key of ssh, and a name that stands in code and in patterns.
  if (word === '' || word.length > 4_096 || word.includes('\0') || GENERIC_KEY.test(word)) return [];
  const value = /^(?:-[^=]*|[A-Za-z_]\w*)=(.+)$/s.exec(word)?.[1];
  const file = /^@(.+)$/s.exec(value ?? word)?.[1];
  return [word.startsWith('-') ? undefined : word, value, file].filter((found) => found !== undefined);
}

const GENERIC_KEY = /^id_(?!(?:rsa|dsa|ecdsa|ed25519|xmss)(?:_sk)?(?:\.|$))[^./]+$/;

function atHome(word: string, home: string | undefined): string {
  return home === undefined ? word : word.replace(/^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/, () => home);
}
