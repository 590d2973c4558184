/** A word of advice where a command failed because it was written for another shell. */
import type { ShellName } from './which-shell.js';

type Row = {
  readonly shells: readonly ShellName[];
  /** What the command holds, and what came of it; error names rather than sentences, which are translated. */
  readonly command: RegExp;
  readonly output: RegExp;
  /** Whether the exit code may be 0 all the same. */
  readonly mayEndWell?: true;
  readonly hint: string;
};

const POWERSHELLS = ['pwsh', 'powershell'] as const;
const UNIX = ['bash', 'sh', 'dash', 'zsh', 'fish'] as const;
const PARSER = /ParserError|not a valid statement separator|reserved for future use/;
const UNKNOWN = /CommandNotFound|not recognized/;

/** The first row that fits counts. */
const ROWS: readonly Row[] = [
  {
    shells: ['powershell'],
    command: /&&|\|\|/,
    output: PARSER,
    hint: 'Windows PowerShell 5.1 has no && and no ||: write a; if ($?) { b }',
  },
  {
    shells: POWERSHELLS,
    command: /<<-?\s*['"]?\w/,
    output: PARSER,
    hint: "PowerShell has no here documents: write the file with write_file, or use @' … '@",
  },
  {
    shells: POWERSHELLS,
    command: /(?:^|[;&|\n]\s*)(?:export\s|[A-Za-z_]\w*=)/,
    output: UNKNOWN,
    hint: "PowerShell sets variables of the environment by $env:NAME = 'value'",
  },
  {
    shells: POWERSHELLS,
    command: /\[\[|\b(?:then|fi|do|done|esac)\b|\(\)\s*\{|\/dev\/null|\b(?:rm|cp|mkdir|ls)\s+-\w/,
    output: /ParserError|dev[\\/]null|NamedParameterNotFound|AmbiguousParameter|parameter name/,
    hint: 'this shell is PowerShell, not bash: if (…) { … }, $null for /dev/null, -Recurse -Force for -rf',
  },
  {
    shells: ['cmd'],
    command: /(?:^|[&|]\s*)(?:ls|cat|grep|rm|cp|mv|touch|export|head|tail|pwd|which)\b|\$\w|'/,
    output: /./,
    hint: 'this shell is cmd.exe, not bash: dir, type, findstr, del, copy, move, set, %NAME%, double quotes',
  },
  {
    shells: UNIX,
    command: /\b(?:pwsh|powershell)(?:\.exe)?\b[^']*"[^"]*\$(?:_|env:)/i,
    output: /./,
    hint: 'the shell replaces $_ and $env within double quotes before PowerShell sees them: use single quotes',
  },
  {
    shells: UNIX,
    command: /\$_\.|\$env:|(?:^|[;|{(]\s*)(?:Get|Set|New|Remove|Select|Where|ForEach|Write|Test|Out)-[A-Z]/,
    output: /not found|syntax error|parse error|unknown command|bad substitution|expected/i,
    hint: 'this shell is not PowerShell, and the command is written for it',
  },
  {
    shells: ['sh', 'dash'],
    command: /\[\[|<\(|\w=\(|(?:^|[;&|]\s*)(?:source|function|shopt)\s/,
    output: /not found|syntax error/i,
    hint: 'this shell is POSIX sh: no [[ ]], no arrays, no <(…), and . in place of source',
  },
  {
    shells: ['fish'],
    command: /<<|\$\?|(?:^|[;&|\n]\s*)(?:[A-Za-z_]\w*=\S*\s*(?:$|[;&|\n])|(?:if|for|while)\b[^\n]*\b(?:then|do)\b)/,
    output: /^fish: /m,
    mayEndWell: true, // Version 3.6 ends with 0 after an error of syntax.
    hint: 'this shell is fish: set NAME value, $status, blocks end with `end`, no here documents',
  },
];

const LOOKED_AT = 2_000; // characters of a command; mistakes of this kind stand at its start.

export type Ended = { readonly command: string; readonly output: string; readonly exitCode: number | null };

/** What to tell about a command that failed, or undefined where nothing is known of it. */
export function dialectHint(shell: ShellName, { command, output, exitCode }: Ended): string | undefined {
  const start = command.slice(0, LOOKED_AT);
  const row = ROWS.find(
    ({ shells, ...row }) => shells.includes(shell) && row.command.test(start) && row.output.test(output),
  );
  return exitCode === 0 && row?.mayEndWell !== true ? undefined : row?.hint;
}
