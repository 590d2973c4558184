/** The shape of a git command line: what stands before the subcommand. */
import type { ShellWord } from './shell-parse.js';
import { programName } from './shell-unwrap.js';

// Flags before the subcommand whose value may be the next word.
const TAKES_VALUE = new Set([
  '-C',
  '-c',
  '--git-dir',
  '--work-tree',
  '--namespace',
  '--exec-path',
  '--super-prefix',
  '--config-env',
  '--attr-source',
  '--list-cmds',
]);

/** The words of a git command without the flags before its subcommand; others as they are. */
export function gitWithoutGlobals(words: readonly ShellWord[]): readonly ShellWord[] {
  const [program] = words;
  if (typeof program !== 'string' || programName(program) !== 'git') return words;
  let index = 1;
  for (let word = words[index]; typeof word === 'string' && word.startsWith('-'); word = words[index]) {
    index += TAKES_VALUE.has(word) ? 2 : 1;
  }
  return [program, ...words.slice(index)];
}
