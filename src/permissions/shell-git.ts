/** The shape of a git command line: what stands before the subcommand, and which commands are hidden in its words. */

import { programName } from './program-name.js';
import type { Inner, ShellWord } from './shell-parse.js';

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

// Settings whose value git hands to a shell, or runs.
const RUNS =
  /^(?:core\.(?:pager|editor|fsmonitor|sshcommand|gitproxy|askpass|alternaterefscommand)|pager\.|sequence\.editor|diff\.external|interactive\.difffilter|credential\.|gpg\.|(?:diff|filter|merge|mergetool|difftool|browser|man|remote|sendemail|trailer|uploadpack)\..*\.?(?:textconv|command|clean|smudge|process|driver|cmd|path|uploadpack|receivepack|vcs|packobjectshook))/i;

/** Aliases and settings given by `-c`, and what `rebase -x`, `bisect run`, `submodule foreach` and filters run. */
export function inGit(words: readonly ShellWord[]): readonly Inner[] {
  const found: Inner[] = [];
  for (let index = 1; index < words.length; index++) {
    const word = words[index];
    if (typeof word !== 'string' || !word.startsWith('-')) break;
    if (word === '-c') found.push(...inSetting(words[index + 1] ?? null));
    if (word.startsWith('--config-env')) found.push(null);
    if (TAKES_VALUE.has(word)) index++;
  }
  const [, subcommand, ...args] = gitWithoutGlobals(words);
  const rest = (from: number): Inner => joined(args.slice(from));
  if (subcommand === 'bisect' && args[0] === 'run') found.push(rest(1));
  if (subcommand === 'submodule' && args.includes('foreach')) {
    const start = args.findIndex((word, index) => index > args.indexOf('foreach') && !word?.startsWith('-'));
    if (start > 0) found.push(rest(start));
  }
  if (subcommand === 'config' || subcommand === 'clone' || subcommand === 'init') found.push(...inConfig(args));
  for (const [index, word] of args.entries()) {
    const value = EXECUTES.get(subcommand ?? '')?.exec(word ?? '') ?? TRANSPORTS.exec(word ?? '');
    if (value?.[1] !== undefined) found.push(value[1]);
    else if (value) found.push(args[index + 1] ?? null);
  }
  return found;
}

const EXECUTES: ReadonlyMap<string, RegExp> = new Map([
  ['rebase', /^(?:-x(?=.)|--exec=)(.*)$|^(?:-x|--exec)$/s],
  ['difftool', /^(?:-x(?=.)|--extcmd=)(.*)$|^(?:-x|--extcmd)$/s],
  ['filter-branch', /^--[a-z]+-filter$/],
  ['grep', /^-O(?=.)(.*)$/s],
  ['clone', /^-u(?=.)(.*)$|^-u$/s],
  ['merge-index', /^(?!-)(.*)$/s],
  ['for-each-repo', /^(?!-)(.*)$/s],
]);

/** What another end is reached by, and what opens or sends things, in whatever subcommand. */
const TRANSPORTS =
  /^(?:--(?:upload-pack|receive-pack|exec|sendmail-cmd|open-files-in-pager|extcmd)=|ext::)(.*)$|^--(?:upload-pack|receive-pack|exec|sendmail-cmd)$/s;

/** `git config alias.x '!…'`, `git clone -c core.sshCommand=…`: what comes later runs it. */
function inConfig(args: readonly ShellWord[]): readonly Inner[] {
  return args.flatMap((word, index) => {
    if (word === null) return [];
    const next = args[index + 1];
    if (RUNS.test(word) || /^alias\./i.test(word)) {
      if (word.includes('=')) return inSetting(word);
      return next === undefined ? [] : next === null ? [null] : inSetting(`${word}=${next}`);
    }
    const attached = /^(?:-c|--config=)(.+)$/s.exec(word)?.[1];
    return attached === undefined ? [] : inSetting(attached);
  });
}

function inSetting(setting: ShellWord): readonly Inner[] {
  if (setting === null) return [null];
  const equals = setting.indexOf('=');
  const [key, value] = [setting.slice(0, Math.max(0, equals)), setting.slice(equals + 1)];
  if (/^alias\./i.test(key)) return [value.startsWith('!') ? value.slice(1) : `git ${value}`];
  return RUNS.test(key) ? [value.replace(/^!/, '')] : [];
}

function joined(words: readonly ShellWord[]): string | null {
  return words.every((word) => word !== null) ? words.join(' ') : null;
}
