/** What is put into the words of a program that runs it elsewhere, or in another language: `ssh host rm -rf x`. */
import { dangerOfText } from './always-ask-text.js';
import { programName } from './program-name.js';
import type { ShellWord } from './shell-parse.js';

const INTERPRETER =
  /^(?:(?:python|pypy|perl|ruby|php|lua|tclsh)[\d.]*|node|nodejs|deno|bun|[gmn]?awk|osascript|expect)$/;
const CARRIER =
  /^(?:ssh|docker|podman|nerdctl|kubectl|npx|bunx|pnpm|yarn|npm|setarch|linux(?:32|64)|nsenter|setpriv|prlimit|eatmydata|tmux|screen|entr|hyperfine|xterm|vim?|nvim|ex|ed|emacs)$/;
/** What languages call it. */
const REMOVES_TREES = /\b(?:rmtree|rm_rf|rm_r|remove_tree|remove_dir_all)\b|\brm(?:dir)?(?:Sync)?\b[^;]*\brecursive\b/;

const MAX_WORDS = 40; // each is tried as the start of a command.

/** As `programDanger`. */
export function carriedDanger([program, ...args]: readonly ShellWord[]): string | undefined {
  const name = programName(program ?? '');
  const isInterpreter = INTERPRETER.test(name);
  if (!isInterpreter && !CARRIER.test(name)) return undefined;
  const words = args.slice(0, MAX_WORDS).map((word) => (word ?? '').replace(/["'\\]/g, ''));
  if (isInterpreter && words.some((word) => REMOVES_TREES.test(word))) {
    return 'it deletes folders with all that is in them';
  }
  for (const index of words.keys()) {
    const reason = dangerOfText(words.slice(index).join(' '));
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** Whether it runs, in a language of its own, what no word tells. */
export function runsUnknownText(words: readonly ShellWord[]): boolean {
  return INTERPRETER.test(programName(words[0] ?? '')) && words.includes(null);
}
