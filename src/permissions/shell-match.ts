/** Compares what rules name with the commands that an analysis found. */

import { programName } from './program-name.js';
import { analyzeCommand, type ShellAnalysis } from './shell-analysis.js';
import { gitWithoutGlobals } from './shell-git.js';
import { mentions } from './shell-mention.js';
import type { ShellWord } from './shell-parse.js';

/**
 * The words of a rule's command, e.g. of `npm run *`: a last `*` stands for any further words, `:*` is read as ` *`.
 * Undefined where it is not one literal command.
 */
export function parseCommandSpec(text: string): readonly string[] | undefined {
  const match = /^(.*?)(?:\s+\*|:\*)$/s.exec(text.trim());
  const isOpen = match !== null || text.trim() === '*';
  const fixed = match === null ? (isOpen ? '' : text) : (match[1] ?? '');
  if (fixed.trim() === '') return isOpen ? ['*'] : undefined;
  const { isLiteral, commands } = analyzeCommand(fixed);
  const outer = commands.filter(({ isInner }) => !isInner);
  const words = outer.length === 1 && isLiteral ? outer[0]?.words : undefined;
  if (words === undefined) return undefined;
  const known = words.flatMap((word) => (word === null ? [] : [word]));
  return isOpen ? [...known, '*'] : known;
}

/** Whether words are those of a rule, of which a last `*` stands for any further ones. A null is no word of any rule. */
export function wordsMatch(spec: readonly string[], words: readonly ShellWord[]): boolean {
  return compare(spec, words) === 'yes';
}

/** Whether a rule that forbids `spec` covers a command anywhere in the tree, also by a path to the same program. */
export function deniedBy(spec: readonly string[], { commands }: ShellAnalysis): boolean {
  return commands.some(({ words }) => verdict(spec, words) === 'yes');
}

/**
 * Whether it may be one that `spec` forbids, for all that can be told from words that depend on the machine, and from
 * what programs are told that may run others.
 */
export function mayBeDeniedBy(spec: readonly string[], { commands }: ShellAnalysis): boolean {
  const named = byName(spec);
  const fixed = named.at(-1) === '*' ? named.slice(0, -1) : named;
  return commands.some(({ words }) => verdict(spec, words) !== 'no' || mentions(fixed, words));
}

/** Whether there is a command of which nobody can tell what program it is. */
export function hasUnreadableProgram({ commands }: ShellAnalysis): boolean {
  return commands.some(({ words }) => words[0] === null);
}

type Verdict = 'yes' | 'perhaps' | 'no';

function verdict(spec: readonly string[], words: readonly ShellWord[]): Verdict {
  const named = byName(spec);
  const verdicts = [compare(named, byName(words)), compare(named, byName(gitWithoutGlobals(words)))];
  return verdicts.find((one) => one === 'yes') ?? verdicts.find((one) => one === 'perhaps') ?? 'no';
}

function byName<W extends ShellWord>(words: readonly W[]): (W | string)[] {
  const [program, ...rest] = words;
  if (program === undefined || program === null) return [...words];
  return [program === '*' ? program : programName(program), ...rest];
}

function compare(spec: readonly string[], words: readonly ShellWord[]): Verdict {
  if (words.length === 0) return 'no';
  const isOpen = spec.at(-1) === '*';
  const fixed = isOpen ? spec.slice(0, -1) : spec;
  for (const [index, word] of fixed.entries()) {
    const other = words[index];
    // One null can stand for several words or for none: what is behind it is anybody's guess.
    if (other === null) return 'perhaps';
    if (other !== word) return 'no';
  }
  const more = words.slice(fixed.length);
  if (isOpen || more.length === 0) return 'yes';
  return more.every((word) => word === null) ? 'perhaps' : 'no';
}
