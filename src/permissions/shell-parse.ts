/** Reads the one form of shell command that can be judged by its words: a single simple command without expansions. */

const MAX_CHARACTERS = 10_000;
const PRINTABLE_ASCII = /^[ -~]*$/;

// A word is bare, wholly single-quoted, or double-quoted around characters that mean nothing there. It ends at a blank
// or at the end: parts that touch (`a'b'`) make one word for the shell, and are left to it.
const WORD = /(?:([A-Za-z0-9_@%+=:,./-]+)|'([^']*)'|"([^"$`!\\]*)")(?= |$)/y;

// First words that are grammar and not a program.
const RESERVED = new Set(
  'if then elif else fi for in while until do done case esac select function time coproc'.split(' '),
);

/**
 * The words that the shell would make of `command`, or null when it is anything but one literal command: with an
 * operator, redirect, expansion, glob, brace, tilde, assignment, comment or newline; empty; longer than 10,000 characters; not printable ASCII.
 */
export function literalWords(command: string): string[] | null {
  if (command.length > MAX_CHARACTERS || !PRINTABLE_ASCII.test(command)) return null;
  const text = command.replace(/^ +| +$/g, '');
  const words: string[] = [];
  let at = 0;
  while (at < text.length) {
    WORD.lastIndex = at;
    const match = WORD.exec(text);
    if (match === null) return null;
    words.push(match[1] ?? match[2] ?? match[3] ?? '');
    at += match[0].length;
    while (text[at] === ' ') at++;
  }
  const [program] = words;
  // `a=b cmd` sets a variable for the command; a quoted one does not, but is not worth telling apart.
  if (program === undefined || program === '' || program.includes('=') || RESERVED.has(program)) return null;
  return words;
}
