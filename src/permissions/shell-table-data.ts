/**
 * The programs that only read, with every flag that is known to keep it so, on GNU, BSD and busybox alike: what is not
 * listed is not read-only. Left out on purpose: `grep -r`, `diff -r` and `rg --hidden` (they read secret files that no
 * operand names), `tail -f` (does not end), `rg --pre`, `sort --compress-program`, `diff -l` and their like (run programs),
 * `-z` of rg and file (run decompressors), `sort -o`, `file -C`, `date -s` (write), flags that name further files to read
 * (`grep -f`, `wc --files0-from`, `date -f`), and what follows links out of the workspace.
 */

/**
 * Whether a flag takes a value: never, always (`-n 5`, `-n5`, `--lines=5`, `--lines 5`), or only attached (`--color=x`,
 * `-Iseconds`). That of a `count` must be a number.
 */
export type FlagKind = 'alone' | 'value' | 'count' | 'optional';

export type Entry = {
  readonly flags: ReadonlyMap<string, FlagKind>;
  /** Whether `-5` stands for a count. */
  readonly counts: boolean;
  /** What the operands are; `anything`: no word has a meaning. A `file` must not be a folder, or it would be gone through. */
  readonly operands: 'paths' | 'files' | 'words' | 'anything';
  /** Flags that replace the first operand, which otherwise is a pattern; absent where it is an operand as the others. */
  readonly pattern?: readonly string[];
  readonly maxOperands?: number;
  /** Takes flags behind its operands on every system; of others these may be operands, too. */
  readonly permutes?: true;
  /** How an operand must look. */
  readonly operand?: RegExp;
  /** How the value of a flag must look. */
  readonly values?: ReadonlyMap<string, RegExp>;
};

/** A program's flags: letters and long names that stand alone, names of both kinds with a value, long ones with `=`. */
type Spec = Partial<Omit<Entry, 'flags' | 'counts'>> & {
  readonly alone?: string;
  readonly long?: string;
  readonly value?: string;
  readonly count?: string;
  readonly optional?: string;
  readonly counts?: true;
};

function entryOf({ alone = '', long = '', value = '', count = '', optional = '', counts, ...rest }: Spec): Entry {
  const flags = new Map<string, FlagKind>();
  const names = (text: string) => text.split(' ').filter((name) => name !== '');
  for (const letter of alone) flags.set(`-${letter}`, 'alone');
  for (const name of names(long)) flags.set(`--${name}`, 'alone');
  for (const name of names(optional)) flags.set(dashed(name), 'optional');
  for (const name of names(value)) flags.set(dashed(name), 'value');
  for (const name of names(count)) flags.set(dashed(name), 'count');
  return { operands: 'paths', ...rest, flags, counts: counts === true };
}

function dashed(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`;
}

const HEAD = entryOf({
  alone: 'qvz',
  long: 'quiet silent verbose zero-terminated',
  count: 'n c lines bytes',
  counts: true,
});

export const TABLE: ReadonlyMap<string, Entry> = new Map(
  Object.entries({
    ls: entryOf({
      alone: 'aAlhH1rtSRdFpisngoXUCxmcukNQqvZ',
      long: 'all almost-all author directory full-time group-directories-first human-readable inode no-group numeric-uid-gid reverse recursive size',
      // A value of `-I`, which BSD knows without one, is an operand for us, too.
      optional: 'I classify color',
      count: 'w T',
      value: 'ignore hide sort time time-style format indicator-style quoting-style',
    }),
    cat: entryOf({
      alone: 'AbeEnstTuv',
      long: 'show-all number number-nonblank show-ends squeeze-blank show-tabs show-nonprinting',
    }),
    head: HEAD,
    tail: HEAD,
    wc: entryOf({ alone: 'lwcmL', long: 'lines words bytes chars max-line-length' }),
    pwd: entryOf({ alone: 'LP', long: 'logical physical' }),
    echo: entryOf({ operands: 'anything' }),
    stat: entryOf({ alone: 'Lt', long: 'dereference terse', value: 'c format printf' }),
    file: entryOf({
      alone: 'bhikLNr0I',
      long: 'brief mime mime-type mime-encoding keep-going dereference no-dereference no-pad raw print0',
      value: 'e F exclude separator',
    }),
    grep: entryOf({
      alone: 'EFGPivwxcLlqshHnboTaIUZz',
      long: 'extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case invert-match word-regexp line-regexp count files-without-match files-with-matches quiet silent no-messages no-filename with-filename line-number byte-offset only-matching initial-tab text null',
      optional: 'color colour',
      value: 'e regexp label binary-files',
      count: 'm A B C max-count after-context before-context context',
      counts: true,
      pattern: ['-e', '--regexp'],
    }),
    rg: entryOf({
      alone: 'iSsvwxclnNHIoFPUabqp0',
      long: 'ignore-case smart-case case-sensitive invert-match word-regexp line-regexp count count-matches files-with-matches files-without-match line-number no-line-number with-filename no-filename only-matching fixed-strings pcre2 multiline multiline-dotall text quiet heading no-heading column no-column trim vimgrep json stats no-messages byte-offset null crlf no-unicode',
      value:
        'e A B C m M d r j t T regexp after-context before-context context max-count max-columns max-depth replace threads type type-not color sort sortr',
      pattern: ['-e', '--regexp'],
      permutes: true,
    }),
    sort: entryOf({
      alone: 'bdfgiMhnRrVcCmsuz',
      long: 'ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse version-sort merge stable unique zero-terminated debug',
      optional: 'check',
      value: 'k t key field-separator sort',
    }),
    // A second operand is a file to write to.
    uniq: entryOf({
      alone: 'cdDiuz',
      long: 'count repeated ignore-case unique zero-terminated',
      optional: 'all-repeated group',
      count: 'f s w skip-fields skip-chars check-chars',
      maxOperands: 1,
    }),
    cut: entryOf({
      alone: 'snz',
      long: 'complement only-delimited zero-terminated',
      value: 'b c f d bytes characters fields delimiter output-delimiter',
    }),
    tr: entryOf({ alone: 'cCdst', long: 'complement delete squeeze-repeats truncate-set1', operands: 'words' }),
    diff: entryOf({
      alone: 'uqsynpctTNiEbwBadZ',
      long: 'normal brief report-identical-files side-by-side rcs show-c-function expand-tabs initial-tab new-file ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines text minimal strip-trailing-cr suppress-common-lines left-column',
      optional: 'unified context color',
      value: 'I F L label ignore-matching-lines show-function-line',
      count: 'U C W width tabsize',
      operands: 'files',
      maxOperands: 2,
    }),
    basename: entryOf({ alone: 'az', long: 'multiple zero', value: 's suffix', operands: 'words' }),
    dirname: entryOf({ alone: 'z', long: 'zero', operands: 'words' }),
    which: entryOf({ alone: 'a', long: 'all', operands: 'words' }),
    uname: entryOf({
      alone: 'asnrvmpio',
      long: 'all kernel-name nodename kernel-release kernel-version machine processor hardware-platform operating-system',
      maxOperands: 0,
    }),
    // Any other operand sets the clock. `-d` does so on BSD.
    date: entryOf({
      alone: 'uR',
      long: 'utc universal rfc-email',
      optional: 'I iso-8601 date rfc-3339',
      operands: 'words',
      maxOperands: 1,
      operand: /^\+/,
    }),
  }),
);

// Of a format with `%G` and of one that the repository may define, git has signatures checked by a program of its choice.
const GIT_FORMAT = /^(?:oneline|short|medium|full|fuller|reference|email|raw|(?:t?format:)?(?!.*%G).*%.*)$/s;
const GIT_FORMATS = new Map([
  ['--format', GIT_FORMAT],
  ['--pretty', GIT_FORMAT],
]);

/**
 * The same for subcommands of git. Left out: what shows contents (`-p`, `-S`, `-G`, `-L` let filters of the repository
 * run), `--show-signature`, `--output`, and all other subcommands: they run what the repository's configuration says.
 */
export const GIT_TABLE: ReadonlyMap<string, Entry> = new Map(
  Object.entries({
    log: entryOf({
      alone: 'iEFz',
      long: 'oneline graph all no-merges merges first-parent reverse stat shortstat numstat name-only name-status summary abbrev-commit no-abbrev-commit no-decorate no-color no-patch follow topo-order date-order author-date-order no-renames relative-date left-right cherry-mark full-history simplify-by-decoration regexp-ignore-case extended-regexp fixed-strings invert-grep all-match parents children no-notes boundary no-expand-tabs',
      optional: 'decorate color pretty format branches tags remotes abbrev date no-walk',
      count: 'n max-count skip min-parents max-parents',
      value: 'since until after before author committer grep diff-filter',
      counts: true,
      values: GIT_FORMATS,
      permutes: true,
    }),
    'rev-parse': entryOf({
      alone: 'q',
      long: 'verify quiet symbolic symbolic-full-name all show-toplevel show-prefix show-cdup git-dir absolute-git-dir git-common-dir is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository show-superproject-working-tree revs-only no-revs flags no-flags',
      optional: 'short abbrev-ref branches tags remotes',
      permutes: true,
    }),
  }),
);
