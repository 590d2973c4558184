/**
 * Whether words name a command that a rule forbids, for a program that may run it in a way of its own: `npx curl x`,
 * `tar -I 'curl x'`, `ssh host curl x`. A guess that is wide on purpose; it only ever leads to a question.
 */
import { programName } from './program-name.js';
import type { ShellWord } from './shell-parse.js';
import { operandsOf } from './shell-table.js';

// What their words say is never run. Git's subcommands are read by `shell-git.ts`.
const QUIET = new Set('echo printf : true false cd mkdir rmdir touch rm which type whereis git'.split(' '));

/** `fixed`: the words of the rule, its program first, without a last `*`. */
export function mentions(fixed: readonly string[], words: readonly ShellWord[]): boolean {
  const [program, ...rest] = words;
  if (fixed.length === 0 || program === undefined || program === null || rest.length === 0) return false;
  const name = programName(program);
  // `printf -v` evaluates the name that it is given.
  if (
    (QUIET.has(name) && !(name === 'printf' && rest[0] === '-v')) ||
    onlyPrints(words) ||
    operandsOf(words) !== undefined
  )
    return false;
  return expressionFor(fixed).test(rest.map((word) => word ?? '').join(' '));
}

function onlyPrints([program, flag]: readonly ShellWord[]): boolean {
  return program === 'command' && /^-[pvV]*[vV]/.test(flag ?? '');
}

const compiled = new Map<string, RegExp>();

function expressionFor(fixed: readonly string[]): RegExp {
  const key = fixed.join('\0');
  const known = compiled.get(key);
  if (known !== undefined) return known;
  // A word by itself, or what a short flag has attached; `curl.se` and `--with-curl` are something else.
  const source = `(?:(?<![\\w.-])|(?<=(?:^|\\s)-[A-Za-z]))${fixed.map(literally).join('[^\\w-]+')}(?:\\.exe)?(?![\\w-]|\\.\\w)`;
  const made = new RegExp(source, 'i');
  compiled.set(key, made);
  return made;
}

function literally(word: string): string {
  return word.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
