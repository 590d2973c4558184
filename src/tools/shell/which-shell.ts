/** The shells that can be set, as data: how each is called, and what a model has to know to write for it. */
import { ConfigError } from '../../errors.js';

export type ShellKind = {
  /** What the model and the person are told that commands are written for. */
  readonly title: string;
  /** Whether `permissions/shell-parse.ts` reads commands as this shell does; without that none is let pass for its words. */
  readonly isRead: boolean;
  /** Arguments before the command, which is the last one. */
  readonly flags: readonly string[];
  /** Words of ours in front of the command, and behind it. */
  readonly prefix?: string;
  readonly suffix?: string;
  /** In place of `prefix` for a command with a pipe: it also has the shell tell how each part of the last pipeline ended. */
  readonly pipelinePrefix?: string;
  /** Takes its own quotes apart, so that on Windows nobody may add some. Runs the first line only. */
  readonly isCmd?: true;
  /** The end of the tool's text. */
  readonly advice: string;
};

// Two pipes lose the order between stdout and stderr; one for both keeps it, and only the shell can make it one. A
// second shell that kept our words apart would take 2 ms of CPU time at each call.
const ONE_PIPE = process.platform === 'win32' ? '' : 'exec 2>&1; ';
// The exit codes go into the side pipe when the shell ends, however it ends, and by a number that no script uses itself.
// A trap of the script's own takes the place of ours. The braces keep `set -x` from showing it.
const TELL_PARTS = `{ builtin echo "\${PIPESTATUS[@]}" >&47||:; } 2>/dev/null`;
const ONE_PIPE_AND_PARTS = process.platform === 'win32' ? '' : `exec 2>&1 47>&3 3>&-;trap '${TELL_PARTS}' EXIT; `;
// Where there is no console to be set, output comes as it is.
const UTF8 = 'try{$OutputEncoding=[Console]::OutputEncoding=[Text.UTF8Encoding]::new($false)}catch{};';
const POWERSHELL_FLAGS = ['-NoLogo', '-NoProfile', '-NonInteractive', '-Command'];

const QUOTING = `Put patterns in single quotes. Example: {"command": "npm test -- --run 'src/a.test.ts'"}`;
const PLAIN = 'No [[ ]], no arrays, no <(…).';
const POWERSHELL =
  "Write PowerShell, not bash: $env:NAME = 'value', $null for /dev/null, no here documents. stdout and stderr may come out of order. Any failure is exit code 1: end with `; exit $LASTEXITCODE` where the number counts.";

const KINDS = {
  bash: {
    title: 'bash',
    isRead: true,
    flags: ['--noprofile', '--norc', '-c'],
    prefix: ONE_PIPE,
    pipelinePrefix: ONE_PIPE_AND_PARTS,
    advice: QUOTING,
  },
  sh: { title: 'POSIX sh', isRead: true, flags: ['-c'], prefix: ONE_PIPE, advice: `${PLAIN} ${QUOTING}` },
  dash: { title: 'POSIX sh (dash)', isRead: true, flags: ['-c'], prefix: ONE_PIPE, advice: `${PLAIN} ${QUOTING}` },
  // Not read: `=ls` is a path there, and /etc/zshenv may change what any word means.
  zsh: {
    title: 'zsh',
    isRead: false,
    flags: ['-f', '-c'],
    prefix: ONE_PIPE,
    advice: `An unquoted pattern that fits nothing is an error. ${QUOTING}`,
  },
  // Not read: backslashes count within single quotes, so that 'a\' does not end there.
  fish: {
    title: 'fish',
    isRead: false,
    flags: ['--no-config', '-c'],
    advice: `Write fish, not bash: set -x NAME value, $status for $?, no here documents. stdout and stderr may come out of order. ${QUOTING}`,
  },
  pwsh: {
    title: 'PowerShell (pwsh)',
    isRead: false,
    flags: POWERSHELL_FLAGS,
    prefix: UTF8,
    advice: `${POWERSHELL} ${QUOTING}`,
  },
  powershell: {
    title: 'Windows PowerShell 5.1',
    isRead: false,
    flags: POWERSHELL_FLAGS,
    prefix: UTF8,
    advice: `${POWERSHELL} There is no && and no ||: write a; if ($?) { b }. ${QUOTING}`,
  },
  cmd: {
    title: 'cmd.exe',
    isRead: false,
    flags: ['/d', '/s', '/c'],
    prefix: '"chcp 65001>nul&',
    suffix: '"',
    isCmd: true,
    advice:
      'Write cmd, not bash: one line, %NAME%, nul for /dev/null. stdout and stderr may come out of order. Put patterns in double quotes. Example: {"command": "npm test -- --run \\"src/a.test.ts\\""}',
  },
} as const satisfies Readonly<Record<string, ShellKind>>;

export type ShellName = keyof typeof KINDS;

export const SHELL_NAMES = Object.keys(KINDS) as readonly ShellName[];

/** Where none is set on Windows, the first of these that is there. */
export const SHELLS_OF_WINDOWS: readonly ShellName[] = ['bash', 'pwsh', 'powershell', 'cmd'];

export function kindOf(name: ShellName): ShellKind {
  return KINDS[name];
}

/**
 * Which shell a program is, by its file name.
 * @throws {ConfigError} when it is none of those that we know how to call.
 */
export function shellNamed(file: string): ShellName {
  const base = file.replace(/^.*[\\/]/, '').replace(/\.exe$/i, '');
  const name = SHELL_NAMES.find((known) => known === base.toLowerCase());
  if (name !== undefined) return name;
  throw new ConfigError(`CHATCLI_SHELL is "${file}", and that is no shell that can be used here.`, {
    hint: `Set it to the name or the absolute path of one of: ${SHELL_NAMES.join(', ')}. Unset: bash.`,
  });
}

const HAS_PIPE = /(?:^|[^|])\|(?!\|)/;

export type CommandLine = {
  readonly args: readonly string[];
  /** For cmd, whose arguments may not be quoted any further. */
  readonly verbatimArguments: boolean;
  readonly hasSidePipe: boolean;
};

/** What makes the shell run a command. Our own words end before it begins, so that it means what it would mean alone. */
export function commandLineFor(kind: ShellKind, command: string): CommandLine {
  const { flags, prefix = '', suffix = '', pipelinePrefix = '', isCmd = false } = kind;
  const hasSidePipe = pipelinePrefix !== '' && HAS_PIPE.test(command);
  const words = hasSidePipe ? pipelinePrefix : prefix;
  return { args: [...flags, `${words}${command}${suffix}`], verbatimArguments: isCmd, hasSidePipe };
}

/** A shell shows our words too, where it complains about the line behind them, or shows each that it reads (`set -v`). */
export function withoutOurWords({ prefix = '', pipelinePrefix = '' }: ShellKind, output: string): string {
  const quoted = [pipelinePrefix, prefix].find((words) => words !== '' && output.includes(`: \`${words}`));
  const text = quoted === undefined ? output : output.replace(`: \`${quoted}`, ': `');
  return pipelinePrefix === '' ? text : text.replace(`\n${TELL_PARTS}\n`, '\n');
}
