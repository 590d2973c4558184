/** Programs that do what cannot be taken back, by their words. Git's are in `always-ask-git.ts`. */

import { programName } from './program-name.js';
import { readFind } from './shell-find.js';
import type { ShellWord } from './shell-parse.js';

type Words = readonly ShellWord[];
type Redirects = readonly { readonly operator: string; readonly spelled: string }[];

/** What a program with these words may do that cannot be taken back, as the end of a sentence. */
export function programDanger(words: Words, spelled: readonly string[], redirects: Redirects): string | undefined {
  if (redirects.some(({ operator, spelled }) => operator.includes('>') && isDisk(spelled))) return WRITES_DISK;
  if ([...spelled, ...redirects.map(({ spelled }) => spelled)].some(isCredential)) return CREDENTIALS;
  const name = nameOf(words);
  if (name === undefined) return undefined;
  const args = words.slice(1).map((word) => word ?? '');
  return DANGERS.find(({ programs, when }) => programs.test(name) && (when?.(args) ?? true))?.reason;
}

/** Whether it removes or overwrites files that it is told of. */
export function programDestroys(words: Words, spelled: readonly string[]): boolean {
  const name = nameOf(words);
  return (
    name !== undefined && (DESTROYERS.test(name) || programDanger(words, spelled, [])?.includes('delete') === true)
  );
}

const DESTROYERS =
  /^(?:rm|rmdir|unlink|mv|truncate|shred|wipe|srm|dd|patch|tee|rsync|sponge|install|unzip|tar|7z|cpio)$/;

function nameOf([program]: Words): string | undefined {
  return typeof program === 'string' ? programName(program) : undefined;
}

/** Whether the letter stands in a cluster of flags, before `--`. */
export function hasLetter(args: readonly string[], letters: string): boolean {
  const pattern = new RegExp(`^-[A-Za-z0-9]*[${letters}]`);
  return flagsOf(args).some((word) => pattern.test(word));
}

/** Whether a long flag stands there, or a beginning of it that is at least `least` letters long. */
export function hasLong(args: readonly string[], name: string, least: number): boolean {
  return flagsOf(args).some((word) => {
    const given = word.replace(/=.*$/s, '');
    return given.length >= least + 2 && `--${name}`.startsWith(given);
  });
}

function flagsOf(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).filter((word) => word.startsWith('-'));
}

const DELETES_FOLDERS = 'it deletes folders with all that is in them';
const WRITES_DISK = 'it writes to a disk';
const CREDENTIALS = 'it touches credentials';

function isDisk(word: string): boolean {
  return /(?:^|=)\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk|mapper\/)/.test(word);
}

function isCredential(word: string): boolean {
  return /(?:^|[\s=@:,/~])\.(?:ssh|aws|gnupg|netrc|git-credentials)(?=$|[\s/,:])|\/proc\/[^\s]*\/environ\b/i.test(word);
}

type Danger = {
  readonly programs: RegExp;
  readonly when?: (args: readonly string[]) => boolean;
  readonly reason: string;
};

const isRecursive = (args: readonly string[]) => hasLetter(args, 'rR') || hasLong(args, 'recursive', 1);

const DANGERS: readonly Danger[] = [
  { programs: /^rm$/, when: isRecursive, reason: DELETES_FOLDERS },
  { programs: /^rimraf$/, reason: DELETES_FOLDERS },
  {
    programs: /^rsync$/,
    when: (args) => hasLong(args, 'delete', 3) || args.some((word) => /^--(?:delete|remove-s)/.test(word)),
    reason: DELETES_FOLDERS,
  },
  {
    programs: /^find$/,
    // A name that is looked for may look like a flag.
    when: (args) =>
      readFind(args) === undefined &&
      args.some((word, at) => word === '-delete' || (/^-(?:exec|ok)/.test(word) && isRemover(args[at + 1]))),
    reason: 'it deletes what it finds',
  },
  {
    programs: /^fd(?:find)?$/,
    when: (args) =>
      args.some((word, at) => {
        const [, attached] = /^(?:-[A-Za-z]*[xX]|--exec(?:-batch)?(?:=|$))(.*)$/s.exec(word) ?? [];
        return attached !== undefined && isRemover(attached === '' ? args[at + 1] : attached);
      }),
    reason: 'it deletes what it finds',
  },
  {
    programs: /^g?xargs$/,
    when: (args) => args.some((word) => isRemover(word)),
    reason: 'it deletes what it is given',
  },
  { programs: /^(?:shred|wipe|srm)$/, reason: 'it destroys files for good' },
  { programs: /^(?:g?sudo|doas|su|pkexec|runuser|run0)$/, reason: 'it runs with the rights of another user' },
  {
    programs:
      /^(?:dd|mkfs[.\w]*|mke2fs|mkswap|(?:[sc]?f|[sc]?g)disk|mdadm|badblocks|parted|wipefs|blkdiscard|diskutil|hdparm|cryptsetup|(?:lv|vg|pv)remove|zpool)$/,
    reason: 'it works on disks',
  },
  { programs: /^(?:tee|cp|mv|install|ddrescue|sponge)$/, when: (args) => args.some(isDisk), reason: WRITES_DISK },
  { programs: /^(?:shutdown|reboot|halt|poweroff|telinit)$/, reason: 'it stops the machine' },
  { programs: /^init$/, when: ([level]) => /^[06]$/.test(level ?? ''), reason: 'it stops the machine' },
  // As a signal it is the first word, behind one it means every process.
  { programs: /^kill$/, when: (args) => args.slice(1).includes('-1'), reason: 'it ends every process' },
  { programs: /^killall5$/, reason: 'it ends every process' },
  {
    programs: /^(?:systemctl|loginctl)$/,
    when: (args) => args.some((word) => /^(?:poweroff|reboot|halt|kexec|rescue|emergency)$/.test(word)),
    reason: 'it stops the machine',
  },
  {
    programs: /^(?:chmod|chown|chgrp|setfacl)$/,
    when: (args) => hasLetter(args, 'R') || hasLong(args, 'recursive', 3),
    reason: 'it changes the rights of whole folders',
  },
  {
    programs: /^security$/,
    when: (args) => args.some((word) => /^(?:find|dump|export|delete)-?/.test(word)),
    reason: CREDENTIALS,
  },
  { programs: /^(?:secret-tool|pass|keyring)$/, reason: CREDENTIALS },
  { programs: /^gh$/, when: ([first, second]) => first === 'auth' && second !== 'status', reason: CREDENTIALS },
  { programs: /^gpg2?$/, when: (args) => args.some((word) => /^--export-secret/.test(word)), reason: CREDENTIALS },
  // npm takes the beginning of a command for it.
  {
    programs: /^npm$/,
    when: (args) => args.some((word) => /^(?:un)?pub(?:l|li|lis|lish)?$/.test(word)),
    reason: 'it publishes',
  },
  {
    programs:
      /^(?:pnpm|yarn|bun|deno|jsr|npx|bunx|lerna|changeset|cargo|twine|gem|poetry|uv|hatch|flit|vsce|ovsx|gradlew?)$/,
    when: (args) => args.some((word) => /^(?:publish|unpublish|yank)$/.test(word)),
    reason: 'it publishes',
  },
  { programs: /^twine$/, when: ([first]) => first === 'upload', reason: 'it publishes' },
  {
    programs: /^python[\d.]*$/,
    when: (args) => args.some((word, at) => word === '-m' && args[at + 1] === 'twine' && args[at + 2] === 'upload'),
    reason: 'it publishes',
  },
  { programs: /^(?:gem|docker|podman|helm)$/, when: ([first]) => first === 'push', reason: 'it publishes' },
  { programs: /^gh$/, when: ([what, verb]) => what === 'release' && verb === 'create', reason: 'it publishes' },
  { programs: /^gh$/, when: (args) => args.slice(0, 2).includes('delete'), reason: 'it deletes what is on the server' },
];

function isRemover(word: string | undefined): boolean {
  return word !== undefined && /^(?:rm|rmdir|unlink|shred|truncate)$/.test(programName(word));
}
