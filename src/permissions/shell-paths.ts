/**
 * The paths that a command names, as far as its words tell. For keeping it from files that it must not touch; a best
 * effort, since a program may open what it likes.
 */
import { resolve, sep } from 'node:path';
import type { Place } from './place.js';
import { programName } from './program-name.js';
import { analyzeCommand } from './shell-analysis.js';
import { pathWords } from './shell-secrets.js';
import type { Subject } from './types.js';

type CommandSubject = Extract<Subject, { kind: 'command' }>;

const MAX_PATHS = 2_000; // Each is looked at on disk.

/** Programs whose operands are files that they change. */
const WRITERS = new Set(
  'cp mv ln install tee rm rmdir touch truncate rsync sed perl dd chmod chown patch mkdir unlink'.split(' '),
);

/** Absolute. A word that names no file leads to one that is not there, and does no harm. */
export function namedPaths(subject: CommandSubject, place: Place): readonly string[] {
  return absolute(pathWords(subject.command), subject, place);
}

/** Those that it would write to, absolute: behind `>`, and operands of programs that change what they are given. */
export function writtenPaths(subject: CommandSubject, place: Place): readonly string[] {
  const words = analyzeCommand(subject.command).commands.flatMap(({ words: [program], spelled, redirects }) => [
    ...writtenBy(programName(program ?? ''), spelled.slice(1)),
    ...redirects.filter(({ operator }) => operator.includes('>')).map(({ spelled: target }) => target),
  ]);
  return absolute(words, subject, place);
}

/** They leave all operands but the last one as they are, unless a flag names the target. */
const COPIERS = new Set(['cp', 'ln', 'install', 'rsync']);

function writtenBy(name: string, args: readonly string[]): readonly string[] {
  if (!WRITERS.has(name)) return [];
  if ((name === 'sed' || name === 'perl') && !args.some((word) => /^-[A-Za-z0-9]*i|^--in-/.test(word))) return [];
  const isLastOnly = COPIERS.has(name) && !args.some((word) => /^(?:-[A-Za-z]*t|--t|--remove-s)/.test(word));
  return (isLastOnly ? args.filter((word) => !word.startsWith('-')).slice(-1) : args).flatMap(valuesIn);
}

/** `of=x` and `--target-directory=x` name x. */
function valuesIn(word: string): readonly string[] {
  const value = /^(?:-[^=]*|[A-Za-z_]\w*)=(.+)$/s.exec(word)?.[1];
  return [...(word.startsWith('-') ? [] : [word]), ...(value === undefined ? [] : [value])];
}

function absolute(
  words: readonly string[],
  { cwd }: CommandSubject,
  { roots: [root = sep], home }: Place,
): readonly string[] {
  const folder = resolve(root, cwd);
  const usable = [...new Set(words)].filter((word) => word !== '' && word.length <= 4_096 && !word.includes('\0'));
  return usable.slice(0, MAX_PATHS).map((word) => resolve(folder, atHome(word, home)));
}

function atHome(word: string, home: string | undefined): string {
  return home === undefined ? word : word.replace(/^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/, () => home);
}
