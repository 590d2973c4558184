/**
 * Reads shell text into the simple commands that it holds, wherever they stand: in lists, groups, functions, conditions,
 * substitutions, here documents. What a wrapper among them runs is `shell-unwrap.ts`'s to say.
 */
import {
  type Assignment,
  type Command,
  type CommandArgument,
  forEachChild,
  parse,
  type SyntaxNode,
  type Word,
} from 'unbash';
import { assignmentRuns, hidesSubstitution } from './shell-assigns.js';

/** A word as the shell would make it, or null where that depends on the machine: expansions, patterns, braces, `~`. */
export type ShellWord = string | null;

export type ParsedCommand = {
  readonly words: readonly ShellWord[];
  /** The same words without their quotes, with what is expanded left as it is written. */
  readonly spelled: readonly string[];
  readonly redirects: readonly { readonly operator: string; readonly spelled: string }[];
  /** What a here document or here string gives it to read; null where that can't be told. */
  readonly input?: ShellWord;
};

/** What a command runs beside itself: a command; text that a shell reads; null for one that can't be told. */
export type Inner = ParsedCommand | string | null;

export type ParsedText = {
  readonly commands: readonly ParsedCommand[];
  /** What bash would not take, or what is too deep to be followed. */
  readonly error?: string;
};

/** Every simple command of `text`, in the order of the text; as far as it goes where there is an error. */
export function parseShell(text: string): ParsedText {
  const commands: ParsedCommand[] = [];
  let error: string | undefined;
  const visit = (node: SyntaxNode): void => {
    if (node.type === 'Script') error ??= node.errors?.[0]?.message;
    if (node.type === 'Command') commands.push(...readAssignments(node), readCommand(node));
    // Names and subscripts in it are evaluated.
    if ((node.type === 'TestUnary' || node.type === 'TestBinary') && operandsOf(node).some(hidesSubstitution)) {
      commands.push(toCommand([null]));
    }
    if ((node.type === 'CommandExpansion' || node.type === 'ProcessSubstitution') && node.script === undefined) {
      error ??= 'a substitution that is not closed';
    }
    forEachChild(node, visit);
  };
  try {
    visit(parse(text));
  } catch (thrown) {
    // Its own limit is far above what a stack can take.
    if (!(thrown instanceof RangeError)) throw thrown;
    error ??= 'too many levels';
  }
  return { commands, ...(error !== undefined && { error }) };
}

function readCommand({ name, args, redirects }: Command): ParsedCommand {
  const written: readonly CommandArgument[] = name === undefined ? args : [name, ...args];
  const input = redirects.map(inputOf).findLast((found) => found !== undefined);
  return {
    words: written.map(decodeArgument),
    spelled: written.map((word) => (word.type === 'Word' ? word.value : word.text)),
    redirects: redirects.flatMap((redirect) =>
      redirect.type === 'Redirect' && redirect.target !== undefined
        ? [{ operator: redirect.operator, spelled: redirect.target.value }]
        : [],
    ),
    ...(input !== undefined && { input }),
  };
}

/** What the variables before a command run, as commands beside it. */
function readAssignments({ prefix }: Command): readonly ParsedCommand[] {
  return prefix.flatMap((part) => {
    if (part.type !== 'Assignment' || part.index !== undefined) return [];
    const words = assignmentRuns(part.name, assignedValue(part));
    return words === undefined ? [] : [toCommand(words)];
  });
}

function assignedValue({ value }: Assignment): ShellWord {
  return value.type === 'ArrayValue' ? null : decode(value);
}

function operandsOf(node: Extract<SyntaxNode, { type: 'TestUnary' | 'TestBinary' }>): readonly string[] {
  const operands = node.type === 'TestUnary' ? [node.operand] : [node.left, node.right];
  return operands.flatMap((operand) => decode(operand) ?? []);
}

function toCommand(words: readonly ShellWord[]): ParsedCommand {
  return { words, spelled: words.map((word) => word ?? ''), redirects: [] };
}

function inputOf(redirect: Command['redirects'][number]): ShellWord | undefined {
  if (redirect.type === 'HereString') return redirect.target === undefined ? null : decode(redirect.target);
  if (redirect.type !== 'HereDoc') return undefined;
  const isPlain = redirect.delimiter?.quoted === true || !/[$`\\]/.test(redirect.body.text);
  return isPlain ? redirect.body.text : null;
}

function decodeArgument(argument: CommandArgument): ShellWord {
  if (argument.type === 'Word') return decode(argument);
  const { name, append, index, value } = argument;
  if (index !== undefined || value.type === 'ArrayValue') return null;
  const decoded = decode(value);
  return decoded === null ? null : `${name}${append === true ? '+' : ''}=${decoded}`;
}

function decode({ text, value, parts }: Word): ShellWord {
  if (/(?:^|[=:])~/.test(text)) return null;
  if (parts === undefined) return value;
  let word = '';
  for (const part of parts) {
    switch (part.type) {
      case 'Literal':
      case 'SingleQuoted':
      case 'AnsiCQuoted':
        word += part.value;
        break;
      case 'DoubleQuoted':
        for (const child of part.parts) {
          if (child.type !== 'Literal') return null;
          word += child.value;
        }
        break;
      default:
        return null;
    }
  }
  return word;
}
