/** What git does that cannot be taken back, by its words; a beginning of a long flag is that flag for git, too. */
import { hasLetter, hasLong } from './always-ask-words.js';
import { programName } from './program-name.js';
import { gitWithoutGlobals } from './shell-git.js';
import type { ShellWord } from './shell-parse.js';

const LOSES_CHANGES = 'it throws away changes that are not committed';
const LOSES_HISTORY = 'it rewrites or removes history';
const CREDENTIALS = 'it touches credentials';

/** As `programDanger`. */
export function gitDanger(words: readonly ShellWord[]): string | undefined {
  const git = taken(words);
  if (git === undefined) return undefined;
  return ROWS.get(git.subcommand)?.find(({ when }) => when?.(git.args) ?? true)?.reason;
}

/** Whether git changes files of the work tree, which may hold what was never committed. */
export function gitDestroys(words: readonly ShellWord[]): boolean {
  const git = taken(words);
  return git !== undefined && (CHANGES_FILES.has(git.subcommand) || gitDanger(words) === LOSES_CHANGES);
}

const CHANGES_FILES = new Set(
  'reset clean checkout switch restore stash rm mv merge rebase pull revert cherry-pick apply am bisect read-tree checkout-index submodule worktree sparse-checkout'.split(
    ' ',
  ),
);

function taken(
  words: readonly ShellWord[],
): { readonly subcommand: string; readonly args: readonly string[] } | undefined {
  if (programName(words[0] ?? '') !== 'git') return undefined;
  const [, subcommand, ...args] = gitWithoutGlobals(words);
  return typeof subcommand === 'string' ? { subcommand, args: args.map((word) => word ?? '') } : undefined;
}

type Row = { readonly when?: (args: readonly string[]) => boolean; readonly reason: string };

const isForced = (args: readonly string[]) => hasLetter(args, 'f') || hasLong(args, 'force', 2);
const starts = (args: readonly string[], pattern: RegExp) =>
  pattern.test(args.find((word) => !word.startsWith('-')) ?? '');
const history: Row = { reason: LOSES_HISTORY };

const ROWS: ReadonlyMap<string, readonly Row[]> = new Map<string, readonly Row[]>(
  Object.entries({
    reset: [
      {
        when: (args) => hasLong(args, 'hard', 1) || hasLong(args, 'merge', 2) || hasLong(args, 'keep', 1),
        reason: LOSES_CHANGES,
      },
    ],
    clean: [{ reason: LOSES_CHANGES }],
    checkout: [
      { when: replacesFiles, reason: LOSES_CHANGES },
      { when: (args) => hasLetter(args, 'B'), reason: LOSES_HISTORY },
    ],
    switch: [
      { when: (args) => isForced(args) || hasLong(args, 'discard-changes', 2), reason: LOSES_CHANGES },
      { when: (args) => hasLetter(args, 'C') || hasLong(args, 'force-create', 6), reason: LOSES_HISTORY },
    ],
    restore: [{ reason: LOSES_CHANGES }],
    stash: [{ when: (args) => starts(args, /^(?:drop|clear)$/), reason: LOSES_CHANGES }],
    rm: [{ when: (args) => isForced(args) && !hasLong(args, 'cached', 1), reason: LOSES_CHANGES }],
    'checkout-index': [{ when: isForced, reason: LOSES_CHANGES }],
    'read-tree': [{ when: (args) => hasLong(args, 'reset', 1), reason: LOSES_CHANGES }],
    worktree: [{ when: (args) => starts(args, /^remove$/) && isForced(args), reason: LOSES_CHANGES }],
    submodule: [
      { when: (args) => starts(args, /^(?:deinit|update|foreach)$/) && isForced(args), reason: LOSES_CHANGES },
    ],
    push: [
      {
        when: (args) =>
          args.some((word) => /^-[46dnquv]*[fd]/.test(word) || /^[+:]./.test(word)) ||
          ['force', 'mirror', 'delete', 'prune'].some((name) => hasLong(args, name, 2)) ||
          args.some((word) => /^--force-/.test(word)),
        reason: LOSES_HISTORY,
      },
    ],
    branch: [
      {
        when: (args) => hasLetter(args, 'DMCf') || hasLong(args, 'delete', 2) || hasLong(args, 'force', 3),
        reason: LOSES_HISTORY,
      },
    ],
    tag: [
      {
        when: (args) => hasLetter(args, 'df') || hasLong(args, 'delete', 1) || hasLong(args, 'force', 3),
        reason: LOSES_HISTORY,
      },
    ],
    commit: [{ when: (args) => hasLong(args, 'amend', 2), reason: LOSES_HISTORY }],
    reflog: [{ when: (args) => starts(args, /^(?:expire|delete)$/), reason: LOSES_HISTORY }],
    fetch: [{ when: (args) => isForced(args) || args.some((word) => /^\+./.test(word)), reason: LOSES_HISTORY }],
    pull: [
      { when: (args) => isForced(args) || hasLetter(args, 'r') || hasLong(args, 'rebase', 1), reason: LOSES_HISTORY },
    ],
    rebase: [history],
    'filter-branch': [history],
    'filter-repo': [history],
    'update-ref': [history],
    replace: [history],
    gc: [history],
    prune: [history],
    credential: [{ reason: CREDENTIALS }],
  }),
);

/** A branch and a file look alike; two operands, or one with the ending of a file, are not a branch alone. */
function replacesFiles(args: readonly string[]): boolean {
  if (
    args.some((word) => /^--$|^--pathspec-f/.test(word)) ||
    isForced(args) ||
    hasLong(args, 'ours', 2) ||
    hasLong(args, 'theirs', 2)
  )
    return true;
  const operands = args.filter((word) => !word.startsWith('-'));
  if (operands.some((word) => /^\.{1,2}(?:\/|$)|^:|[*?[]|\/$/.test(word))) return true;
  if (hasLetter(args, 'bBt') || hasLong(args, 'orphan', 3) || hasLong(args, 'track', 2)) return false;
  return operands.length > 1 || operands.some((word) => /\.[A-Za-z][A-Za-z0-9]{0,5}$/.test(word));
}
