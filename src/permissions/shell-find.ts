/** The part of find's language that only looks: tests, and how they are joined. `-exec`, `-delete`, `-fprint` are not in it. */
import type { Operand } from './shell-table.js';

const TAKES_VALUE = new Set('-name -iname -path -ipath -type -maxdepth -mindepth -size -newer -mtime -mmin'.split(' '));
const ALONE = new Set('-print -print0 -prune -empty -not -a -and -o -or ! ( )'.split(' '));

/** The folders that find goes through and the files it looks at, or undefined when it may do more than look. */
export function readFind(words: readonly string[]): readonly Operand[] | undefined {
  const startsExpression = (word: string) => word.startsWith('-') || ALONE.has(word) || word === ',';
  const first = words.findIndex(startsExpression);
  const roots = first < 0 ? words : words.slice(0, first);
  const operands = roots.map((path) => ({ path }));
  if (first < 0) return operands;
  for (let index = first; index < words.length; index++) {
    const word = words[index] ?? '';
    if (ALONE.has(word)) continue;
    const value = words[++index];
    if (!TAKES_VALUE.has(word) || value === undefined) return undefined;
    if (word === '-newer') operands.push({ path: value });
  }
  return operands;
}
