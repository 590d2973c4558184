/** What a command runs by the variables that are set for it: `GIT_PAGER='curl x' git log`. */
import type { ShellWord } from './shell-parse.js';

/** Variables whose value programs hand to a shell, or run. */
const RUN =
  /^(?:GIT_(?:EXTERNAL_DIFF|SSH(?:_COMMAND)?|PAGER|EDITOR|SEQUENCE_EDITOR|ASKPASS|PROXY_COMMAND)|(?:SSH_|SUDO_)?ASKPASS|(?:MAN|SYSTEMD_)?PAGER|EDITOR|VISUAL|FCEDIT|SUDO_EDITOR|BROWSER|PROMPT_COMMAND|PS[0-4]|LESSOPEN|LESSCLOSE|RSYNC_RSH|CVS_RSH|CC|CXX)$/;
/** Variables that name code of which no word tells what it runs. */
const LOAD =
  /^(?:BASH_ENV|ENV|LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|GIT_CONFIG.*|PYTHONSTARTUP|RIPGREP_CONFIG_PATH)$/;

/** The words of a command that does the same, or undefined where a variable runs nothing. A null is a program that can't be told. */
export function assignmentRuns(name: string, value: ShellWord): readonly ShellWord[] | undefined {
  if (LOAD.test(name)) return [null];
  if (RUN.test(name)) return value === null ? [null] : value.trim() === '' ? undefined : ['eval', value];
  // `$((x))`, `[[ x -eq 1 ]]` and `${x@P}` run what is in a value.
  return value !== null && hidesSubstitution(value) ? [null] : undefined;
}

/** A substitution that quotes keep for later. */
export function hidesSubstitution(word: string): boolean {
  return /\$\(|`/.test(word);
}
