/**
 * The same look as `always-ask-words.ts` at text whose words can't be told: wide on purpose, so that it also finds what is
 * only quoted.
 */

/** What a text without quotes and backslashes may do that cannot be taken back, as the end of a sentence. */
export function dangerOfText(plain: string): string | undefined {
  if (!MENTION.test(plain)) return undefined;
  return DANGERS.find(({ pattern }) => pattern.test(plain))?.reason;
}

/** The part of it that is about what lies between commands, which no words tell. */
export function dangerInText(plain: string): string | undefined {
  return BETWEEN.find(({ pattern }) => pattern.test(plain))?.reason;
}

// Where a program's name may stand: at the start of a command, or behind a word that runs what follows.
const WRAPPERS =
  'then|do|else|xargs|env|exec|command|builtin|nohup|time|timeout|nice|ionice|setsid|stdbuf|eval|busybox|-exec|-execdir|-c';
const START = String.raw`(?:^|[;&|({\x60\n!]|(?:^|\s)(?:${WRAPPERS})(?:\s+-\S+|\s+\d\S*)*\s)\s*(?:[A-Za-z_]\w*=\S*\s+)*(?:[^\s;&|(){}\x60!]*/)?`;
/** Anything up to the end of the simple command. */
const REST = String.raw`[^;&|\n]*`;
const GIT = String.raw`git(?:\s+(?:-[Cc]\s+\S+|--?[a-z-]+(?:=\S+)?))*\s+`;

type Danger = {
  /** What every text that fits the pattern has somewhere in it. */
  readonly mention: string;
  readonly pattern: RegExp;
  readonly reason: string;
};

function program(names: string, rest = ''): Pick<Danger, 'mention' | 'pattern'> {
  return { mention: names, pattern: new RegExp(String.raw`${START}(?:${names})(?=$|[\s;&|)}\x60])${rest}`) };
}

function git(rest: string): Pick<Danger, 'mention' | 'pattern'> {
  return { mention: 'git', pattern: new RegExp(`${START}${GIT}(?:${rest})`) };
}

const BETWEEN: readonly Danger[] = [
  {
    mention: 'curl|wget',
    // An interpreter alone runs what comes in; `python -m json.tool` reads it.
    pattern:
      /\b(?:curl|wget)\b[^;&\n]*\|\s*(?:\S*\/)?(?:(?:ba|z|da|k|fi|c|tc|a|mk)?sh\b|(?:python|perl|ruby|php|lua|node|deno|bun)[\d.]*(?:\s+-)?\s*(?=$|[;&|\n)]))/,
    reason: 'it runs what it downloads',
  },
  {
    mention: String.raw`\(\s*\)`,
    pattern: /(?:^|[;&|\s])([^\s(){};&|]+)\s*\(\s*\)\s*[{(][^})]*(?<=[{(;&|\s])\1\s*\|\s*\1(?=[\s;&|})])/,
    reason: 'it multiplies itself until the machine stops',
  },
];

const DANGERS: readonly Danger[] = [
  ...BETWEEN,
  {
    ...program('rm', String.raw`${REST}\s(?:-[A-Za-z]*[rR][A-Za-z]*|--rec[a-z]*)(?=$|[\s;&|)}\x60])`),
    reason: 'it deletes folders with all that is in them',
  },
  {
    ...program('find', String.raw`${REST}\s(?:-delete|-exec(?:dir)?\s+(?:\S*/)?(?:rm|shred))(?=$|\s)`),
    reason: 'it deletes what it finds',
  },
  { ...program('rimraf'), reason: 'it deletes folders with all that is in them' },
  { ...program('shred|wipe|srm'), reason: 'it destroys files for good' },
  {
    ...program('sudo|doas|su|pkexec|runuser'),
    reason: 'it runs with the rights of another user',
  },
  {
    ...program(String.raw`dd|mkfs[.\w]*|mke2fs|mkswap|fdisk|sfdisk|cfdisk|parted|wipefs|blkdiscard|diskutil|hdparm`),
    reason: 'it works on disks',
  },
  { mention: '/dev/', pattern: />\s*\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper\/)/, reason: 'it writes to a disk' },
  { ...program('shutdown|reboot|halt|poweroff|telinit'), reason: 'it stops the machine' },
  {
    ...program('chmod|chown|chgrp', String.raw`${REST}\s(?:-[A-Za-z]*R|--recursive)`),
    reason: 'it changes the rights of whole folders',
  },
  {
    ...git(
      [
        String.raw`reset\b${REST}\s--(?:hard|merge|keep)`,
        'clean\\b',
        String.raw`checkout\b${REST}\s(?:--(?=\s|$)|-f\b|--force\b|\.(?=\s|$))`,
        String.raw`switch\b${REST}\s(?:-f\b|--force\b|--discard-changes)`,
        'restore\\b',
        String.raw`stash\s+(?:drop|clear)`,
      ].join('|'),
    ),
    reason: 'it throws away changes that are not committed',
  },
  {
    ...git(
      [
        String.raw`push\b${REST}\s(?:-[a-zA-Z]*[fd][a-zA-Z]*(?=$|\s)|--force|--mirror|--delete|--prune|\+\S|:\S)`,
        String.raw`branch\b${REST}\s(?:-[a-zA-Z]*[DM][a-zA-Z]*|--delete)(?=$|\s)`,
        String.raw`tag\b${REST}\s(?:-d|--delete)(?=$|\s)`,
        'rebase\\b|filter-branch\\b|filter-repo\\b|update-ref\\b|replace\\b|gc\\b|prune\\b',
        String.raw`commit\b${REST}\s--amend`,
        String.raw`reflog\s+(?:expire|delete)`,
      ].join('|'),
    ),
    reason: 'it rewrites or removes history',
  },
  {
    mention: String.raw`\.(?:ssh|aws|gnupg|netrc|git-credentials)|/proc/`,
    pattern: /(?:^|[\s=/~])\.(?:ssh|aws|gnupg|netrc|git-credentials)(?=$|[\s/;&|)}])|\/proc\/[^\s]*\/environ\b/,
    reason: 'it touches credentials',
  },
  {
    ...program('npm|pnpm|yarn|cargo|twine|gem', String.raw`${REST}\s(?:publish|unpublish|yank)\b`),
    reason: 'it publishes',
  },
];

// The patterns take 4 ms to compile, when they are first tried; most commands mention nothing of what they look for.
const MENTION = new RegExp(DANGERS.map(({ mention }) => mention).join('|'));
