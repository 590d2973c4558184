/** What a command line would run, as far as its text tells: each simple command in it, and whether all of it is literal. */
import { readLiteral } from './shell-literal.js';
import { type ParsedCommand, parseShell, type ShellWord } from './shell-parse.js';
import { unwrap } from './shell-unwrap.js';

export type SimpleCommand = Omit<ParsedCommand, 'input'> & {
  /** What a wrapper before it runs: `ls` of `env ls` or of `sh -c ls`. */
  readonly isInner: boolean;
};

export type ShellAnalysis = {
  /** Why it can't be judged by what is in it, as the end of a sentence: such a command needs a question. */
  readonly opaque?: string;
  /** Whether `commands` are all that it runs, one after the other, with exactly these words, also within `sh -c`. */
  readonly isLiteral: boolean;
  /** Of an opaque one as far as they could be read; a program that can't be told is a null. */
  readonly commands: readonly SimpleCommand[];
};

const MAX_CHARACTERS = 10_000; // longer ones nobody reads.
const MAX_COMMANDS = 200;
const MAX_INNER = 500; // `env env env …`: each is looked at again without its first word.
const MAX_PARSED_CHARACTERS = 50_000;

// A decision looks at the same command once for each rule, and a long one takes 30 ms.
let last: { readonly command: string; readonly analysis: ShellAnalysis } | undefined;

/** Takes a command line apart. The caps only ever make it opaque; what is in it is found all the same. */
export function analyzeCommand(command: string): ShellAnalysis {
  if (last?.command !== command) last = { command, analysis: analyze(command) };
  return last.analysis;
}

function analyze(command: string): ShellAnalysis {
  const unread = opaqueText(command);
  const { commands, error, isLiteral } = follow(command);
  const opaque =
    unread ?? error ?? (commands.length > MAX_COMMANDS ? `it holds more than ${MAX_COMMANDS} commands` : undefined);
  return { ...(opaque !== undefined && { opaque }), isLiteral: opaque === undefined && isLiteral, commands };
}

function opaqueText(command: string): string | undefined {
  if (command.includes('\0')) return 'it holds a NUL';
  if (command.length > MAX_CHARACTERS) return 'it is too long to be looked through';
  return /[^ -~\n\t]/.test(command) ? 'it holds characters that are not plain ASCII' : undefined;
}

type Text = { readonly text: string; readonly isInner: boolean };

/** The commands of a text and of the texts within it. Where that ends early, the last one is a program that can't be told. */
function follow(text: string): Omit<ShellAnalysis, 'opaque'> & { readonly error?: string } {
  const commands: SimpleCommand[] = [];
  let error: string | undefined;
  let isLiteral = true;
  const inner: (Text | ParsedCommand)[] = [];
  readText({ text: text.slice(0, MAX_PARSED_CHARACTERS), isInner: false });
  // The list grows while it is gone through.
  for (const [index, next] of inner.entries()) {
    if (index >= MAX_INNER) {
      error ??= 'it holds more commands in one another than can be followed';
      break;
    }
    if ('text' in next) readText(next);
    else addCommand(next, true);
  }
  if (text.length > MAX_PARSED_CHARACTERS) error ??= 'it is too long to be looked through';
  if (error === undefined) return { commands, isLiteral };
  return { commands: [...commands, UNREADABLE], isLiteral: false, error };

  function readText({ text, isInner }: Text): void {
    const parsed = parseShell(text);
    if (parsed.error !== undefined) error ??= `bash would not take it (${parsed.error})`;
    isLiteral &&= isWhollyLiteral(text, parsed.commands);
    for (const command of parsed.commands) addCommand(command, isInner);
  }

  function addCommand(command: ParsedCommand, isInner: boolean): void {
    const { input: _input, ...rest } = command;
    commands.push({ ...rest, isInner });
    for (const found of unwrap(command)) {
      if (found === null) {
        isLiteral = false;
        commands.push(UNREADABLE);
      } else inner.push(typeof found === 'string' ? { text: found, isInner: true } : found);
    }
  }
}

const UNREADABLE: SimpleCommand = { words: [null], spelled: [''], redirects: [], isInner: true };

/** Whether two readers make the same words of a text, one of which knows literal commands only. */
function isWhollyLiteral(text: string, parsed: readonly ParsedCommand[]): boolean {
  const literal = readLiteral(text);
  return (
    literal !== null &&
    literal.length === parsed.length &&
    literal.every((words, index) => isSame(words, parsed[index]?.words ?? []))
  );
}

function isSame(one: readonly string[], other: readonly ShellWord[]): boolean {
  return one.length === other.length && one.every((word, index) => word === other[index]);
}

/** The words of a command line that is one literal command, or null. */
export function literalWords(command: string): readonly string[] | null {
  const { isLiteral, commands } = analyzeCommand(command);
  const words = readLiteral(command);
  return isLiteral && commands.filter(({ isInner }) => !isInner).length === 1 ? (words?.[0] ?? null) : null;
}
