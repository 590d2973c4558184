/**
 * The commands that only read, with every flag that is known to keep it so: what is not listed is not read-only.
 * Left out on purpose: `grep -r` and `rg --hidden` and their like (they read secret files that no operand names),
 * `tail -f` (does not end), `rg --pre` and `--hostname-bin` (run programs), `-z` of rg (runs decompressors), flags
 * that name further files to read (`grep -f`, `wc --files0-from`), and what follows links out of the workspace.
 */
import { literalWords } from './shell-analysis.js';

/**
 * Whether a flag takes a value: never, always (`-n 5`, `-n5`, `--lines=5`, `--lines 5`), or only as `--color=x`. That
 * of a `count` must be a number: where a program takes flags before its operands only, as head does on macOS, another
 * word there would be one more file.
 */
type FlagKind = 'alone' | 'value' | 'count' | 'optional';

type Entry = {
  readonly flags: ReadonlyMap<string, FlagKind>;
  /** Whether `-5` stands for a count. */
  readonly counts: boolean;
  /** Flags that replace the first operand, which otherwise is a pattern; absent where all operands are paths. */
  readonly pattern?: readonly string[];
};

/** A read-only command taken apart. */
type Invocation = { readonly paths: readonly string[] };

/** Whether a whole command line is one literal command of the table. Where its operands lead is another question. */
export function isReadOnlyCommand(command: string): boolean {
  const words = literalWords(command);
  return words !== null && takeApart(words) !== undefined;
}

/** The operands of a read-only command that are paths, in order; empty for any other command. */
export function pathOperands(words: readonly string[]): readonly string[] {
  return takeApart(words)?.paths ?? [];
}

/** The words of a command line by their use, or undefined when the table does not hold it with these flags. */
function takeApart(words: readonly string[]): Invocation | undefined {
  const [program = '', ...rest] = words;
  const entry = TABLE.get(program);
  if (entry === undefined) return undefined;
  const operands: string[] = [];
  const used = new Set<string>();
  let onlyOperands = false;
  for (let index = 0; index < rest.length; index++) {
    const word = rest[index] ?? '';
    if (onlyOperands || !word.startsWith('-') || word === '-') operands.push(word);
    else if (word === '--') onlyOperands = true;
    else {
      const read = word.startsWith('--') ? readLong(word, entry) : readCluster(word, entry);
      if (read === undefined) return undefined;
      for (const flag of read.flags) used.add(flag);
      if (read.needs === undefined) continue;
      // The next word is the flag's value, even if it looks like a flag.
      const value = rest[++index];
      if (value === undefined || (read.needs === 'count' && !COUNT.test(value))) return undefined;
    }
  }
  const { pattern } = entry;
  if (pattern === undefined || pattern.some((flag) => used.has(flag))) return { paths: operands };
  return operands.length === 0 ? undefined : { paths: operands.slice(1) };
}

const COUNT = /^[+-]?\d+[A-Za-z]{0,3}$/;

/** `needs` is set when the next word is the value of the last flag. */
type ReadFlags = { readonly flags: readonly string[]; readonly needs?: 'value' | 'count' };

/** `--name` or `--name=value`, spelled out: an abbreviation may stand for a flag that is not in the table. */
function readLong(word: string, entry: Entry): ReadFlags | undefined {
  const equals = word.indexOf('=');
  const flag = equals < 0 ? word : word.slice(0, equals);
  const kind = entry.flags.get(flag);
  if (kind === undefined || (kind === 'alone' && equals >= 0)) return undefined;
  return equals < 0 && (kind === 'value' || kind === 'count') ? { flags: [flag], needs: kind } : { flags: [flag] };
}

/** `-abc`, `-n5`, `-5`: each letter must be known, and the first that takes a value takes the rest of the word. */
function readCluster(word: string, entry: Entry): ReadFlags | undefined {
  if (entry.counts && /^-\d+$/.test(word)) return { flags: [] };
  const flags: string[] = [];
  for (const [offset, letter] of [...word.slice(1)].entries()) {
    const kind = entry.flags.get(`-${letter}`);
    if (kind === undefined) return undefined;
    flags.push(`-${letter}`);
    const isLast = offset + 2 === word.length;
    if (kind === 'value' || kind === 'count') return isLast ? { flags, needs: kind } : { flags };
  }
  return { flags };
}

/** A program's flags: letters and long names that stand alone, names of both kinds with a value, long ones with `=`. */
type Spec = {
  readonly alone: string;
  readonly long?: string;
  readonly value?: string;
  readonly count?: string;
  readonly optional?: string;
  readonly counts?: true;
  readonly pattern?: readonly string[];
};

function entryOf({ alone, long = '', value = '', count = '', optional = '', counts, pattern }: Spec): Entry {
  const flags = new Map<string, FlagKind>();
  const names = (text: string) => text.split(' ').filter((name) => name !== '');
  for (const letter of alone) flags.set(`-${letter}`, 'alone');
  for (const name of names(long)) flags.set(`--${name}`, 'alone');
  for (const name of names(optional)) flags.set(`--${name}`, 'optional');
  for (const name of names(value)) flags.set(dashed(name), 'value');
  for (const name of names(count)) flags.set(dashed(name), 'count');
  return { flags, counts: counts === true, ...(pattern !== undefined && { pattern }) };
}

function dashed(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`;
}

const TABLE: ReadonlyMap<string, Entry> = new Map(
  Object.entries({
    ls: entryOf({
      alone: 'aAlhH1rtSRdFpisngoXUCxmcukNQqvZ',
      long: 'all almost-all author directory full-time group-directories-first human-readable inode no-group numeric-uid-gid reverse recursive size',
      optional: 'classify color',
      value: 'I w T ignore hide sort time time-style format indicator-style quoting-style',
    }),
    cat: entryOf({
      alone: 'AbeEnstTuv',
      long: 'show-all number number-nonblank show-ends squeeze-blank show-tabs show-nonprinting',
    }),
    head: entryOf({
      alone: 'qvz',
      long: 'quiet silent verbose zero-terminated',
      count: 'n c lines bytes',
      counts: true,
    }),
    tail: entryOf({
      alone: 'qvz',
      long: 'quiet silent verbose zero-terminated',
      count: 'n c lines bytes',
      counts: true,
    }),
    wc: entryOf({ alone: 'lwcmL', long: 'lines words bytes chars max-line-length' }),
    pwd: entryOf({ alone: 'LP', long: 'logical physical' }),
    stat: entryOf({ alone: 'Lt', long: 'dereference terse', value: 'c format printf' }),
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
    }),
  }),
);
