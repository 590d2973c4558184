/** What the commands that run other commands run: `ls` of `env A=b ls`, of `find . -exec ls ';'`, of `sh -c ls`. */
import { programName } from './program-name.js';
import { inGit } from './shell-git.js';
import type { Inner, ParsedCommand, ShellWord } from './shell-parse.js';
import { WRAPPERS, type Wrapper } from './shell-wrappers.js';

/** What `command` runs beside itself, one step inwards. */
export function unwrap(command: ParsedCommand): readonly Inner[] {
  const [program] = command.words;
  if (program === undefined || program === null) return [];
  const name = programName(program);
  if (SHELLS.has(name)) return inShell(command);
  const wrapper = WRAPPERS.get(name);
  if (wrapper !== undefined) return inWrapper(command, wrapper);
  return READERS.get(name)?.(command) ?? [];
}

const SHELLS = new Set('sh bash zsh dash ksh mksh ash yash rbash'.split(' '));

const READERS: ReadonlyMap<string, (command: ParsedCommand) => readonly Inner[]> = new Map([
  ['find', ({ words, spelled }) => inFind(words, spelled)],
  ['git', ({ words }) => inGit(words)],
  ['eval', ({ words }) => [joined(words.slice(words[1] === '--' ? 2 : 1))]],
  ['trap', ({ words }) => inTrap(words)],
  ['alias', ({ words }) => words.slice(1).map(aliasValue)],
  ['source', ({ words }) => inSource(words)],
  ['.', ({ words }) => inSource(words)],
  ['busybox', (command) => inMultiCall(command)],
  ['toybox', (command) => inMultiCall(command)],
  ['su', ({ words }) => inSwitchUser(words)],
  ['runuser', ({ words }) => inSwitchUser(words)],
  ['at', ({ input }) => [input ?? null]],
  ['batch', ({ input }) => [input ?? null]],
  // It loads code as a builtin.
  ['enable', ({ words }) => (words.some((word) => word === null || /^-[a-z]*f/.test(word)) ? [null] : [])],
]);

/** Text of several words, as `eval` makes it. */
function joined(words: readonly ShellWord[]): string | null {
  return words.every((word) => word !== null) ? words.join(' ') : null;
}

function from(command: ParsedCommand, index: number): ParsedCommand {
  return { words: command.words.slice(index), spelled: command.spelled.slice(index), redirects: [] };
}

function inWrapper(command: ParsedCommand, wrapper: Wrapper): readonly Inner[] {
  const { words } = command;
  let index = 1;
  let isText = wrapper.runs === 'text';
  for (; index < words.length; index++) {
    const word = words[index];
    if (word === null || word === undefined) return [null];
    if (word === '--') {
      index++;
      break;
    }
    if (wrapper.assigns && /^[^=-][^=]*=/.test(word)) continue;
    if (!word.startsWith('-') || (word === '-' && !wrapper.flags.has('-'))) break;
    if (wrapper.prints?.includes(word)) return [];
    const read = readFlag(word, wrapper);
    if (read === undefined) return [null];
    if (read.kind === 'argv') isText = false;
    if (read.kind === 'text') {
      const text = read.value ?? words[index + 1];
      // What `env -S` makes of a backslash is not what a shell does.
      if (text === null || text === undefined || text.includes('\\')) return [null];
      const rest = joined(words.slice(index + (read.value === undefined ? 2 : 1)));
      return rest === '' ? [text] : [text, rest === null ? null : `${text} ${rest}`];
    }
    if (read.takesNext) index++;
  }
  for (let left = wrapper.operands ?? 0; left > 0; left--) {
    if (words[index] === null) return [null];
    index++;
  }
  if (wrapper.assigns) while (/^[^=]+=/.test(words[index] ?? '')) index++;
  const text = wrapper.textOption === words[index] ? words[index + 1] : undefined;
  if (text !== undefined) return [text];
  if (index >= words.length) return wrapper.readsInput ? [command.input ?? null] : [];
  return [isText ? joined(words.slice(index)) : from(command, index)];
}

type ReadFlag = { readonly kind: 'other' | 'argv' | 'text'; readonly takesNext: boolean; readonly value?: string };

/** Undefined for a flag that is not known: what comes behind it may be its value or the program. */
function readFlag(word: string, { flags }: Wrapper): ReadFlag | undefined {
  const equals = word.indexOf('=');
  if (word.startsWith('--')) {
    const kind = flags.get(equals < 0 ? word : word.slice(0, equals));
    if (kind === undefined) return undefined;
    if (kind === 'text') return { kind, takesNext: false, ...(equals >= 0 && { value: word.slice(equals + 1) }) };
    return { kind: kind === 'argv' ? kind : 'other', takesNext: kind === 'value' && equals < 0 };
  }
  let isArgv = false;
  for (let at = 1; at < word.length || word === '-'; at++) {
    const kind = flags.get(word === '-' ? word : `-${word.charAt(at)}`);
    const rest = word.slice(at + 1);
    if (kind === undefined) return undefined;
    if (kind === 'text') return { kind, takesNext: false, ...(rest !== '' && { value: rest }) };
    if (kind === 'argv') isArgv = true;
    if (kind === 'value') return { kind: isArgv ? 'argv' : 'other', takesNext: rest === '' };
    if (kind === 'attached' || word === '-') break;
  }
  return { kind: isArgv ? 'argv' : 'other', takesNext: false };
}

/** `-c TEXT`, or text that comes in; a script file is a program as any other. */
function inShell({ words, input }: ParsedCommand): readonly Inner[] {
  let readsText = false;
  let readsInput = false;
  let index = 1;
  for (; index < words.length; index++) {
    const word = words[index];
    if (word === null || word === undefined) return [null];
    if (word === '--help' || word === '--version') return [];
    if (word === '-' || word === '--') {
      index++;
      break;
    }
    if (/^--(?:rcfile|init-file)$/.test(word)) index++;
    else if (/^[-+][^-]/.test(word)) {
      if (word.startsWith('-') && word.includes('c')) readsText = true;
      if (word.includes('s')) readsInput = true;
      if (/[oO]/.test(word)) index++;
    } else if (!word.startsWith('--')) break;
  }
  const operand = words[index];
  if (readsText) return [operand ?? null];
  if (operand === undefined || readsInput) return [input ?? null];
  return isUnseenFile(operand) ? [input ?? null] : [];
}

/** A file whose text is not on the disk. */
function isUnseenFile(word: ShellWord): boolean {
  return word === null || word === '-' || /^\/(?:dev|proc)\//.test(word);
}

function inSource(words: readonly ShellWord[]): readonly Inner[] {
  const file = words[words[1] === '--' ? 2 : 1];
  return file === undefined || !isUnseenFile(file) ? [] : [null];
}

const FIND_EXECUTES = new Set(['-exec', '-execdir', '-ok', '-okdir']);
const FIND_TAKES_VALUE =
  /^-(?:i?name|i?path|i?regex|i?lname|type|maxdepth|mindepth|size|newer\w*|[acm](?:min|time)|user|group|perm)$/;

function inFind(words: readonly ShellWord[], spelled: readonly string[]): readonly Inner[] {
  const found: Inner[] = [];
  for (let index = 1; index < words.length; index++) {
    const word = words[index];
    // A variable may hold `-exec`; behind `-name` it is what is looked for.
    if (word === null && !FIND_TAKES_VALUE.test(words[index - 1] ?? '')) found.push(null);
    if (!FIND_EXECUTES.has(word ?? '')) continue;
    const start = index + 1;
    index = start;
    while (index < words.length && words[index] !== ';' && !(words[index] === '+' && words[index - 1] === '{}'))
      index++;
    found.push({ words: words.slice(start, index), spelled: spelled.slice(start, index), redirects: [] });
  }
  return found;
}

function inTrap(words: readonly ShellWord[]): readonly Inner[] {
  const [text, ...signals] = words.slice(words[1] === '--' ? 2 : 1);
  if (text === undefined || text === '' || signals.length === 0 || text?.startsWith('-')) return [];
  return [text];
}

function aliasValue(word: ShellWord): Inner {
  if (word === null) return null;
  return word.includes('=') ? word.slice(word.indexOf('=') + 1) : '';
}

function inMultiCall(command: ParsedCommand): readonly Inner[] {
  return command.words.length < 2 || command.words[1]?.startsWith('-') ? [] : [from(command, 1)];
}

/** `su -c TEXT`, wherever that stands; `runuser -u NAME PROGRAM` can't be told from it for sure. */
function inSwitchUser(words: readonly ShellWord[]): readonly Inner[] {
  const found: Inner[] = [];
  for (const [index, word] of words.entries()) {
    if (index === 0) continue;
    const value = /^(?:--(?:session-)?command=|-[a-z]*c(?=.))(.*)$/s.exec(word ?? '')?.[1];
    if (word === null) found.push(null);
    else if (/^(?:-[a-z]*c|--(?:session-)?command)$/.test(word)) found.push(words[index + 1] ?? null);
    else if (value !== undefined) found.push(value);
    else if (word === '-u' || word === '--user') found.push(null);
  }
  return found;
}
