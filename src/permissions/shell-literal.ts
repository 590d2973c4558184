/**
 * Reads the one form of shell text that can be judged by its words: simple commands in a row, and nothing in them that
 * the shell would change. A reader of its own, so that what counts is what two of them agree on.
 */

// A word is bare, wholly single-quoted, or double-quoted around characters that mean nothing there. It ends at a blank,
// at an operator or at the end: parts that touch (`a'b'`) make one word for the shell, and are left to it.
const WORD = /(?:([A-Za-z0-9_@%+=:,./-]+)|'([^']*)'|"([^"$`!\\]*)")(?=[ ;|&\n]|$)/y;
// A single `&` and `|&` are none of these; an empty command between two of them is no word.
const OPERATOR = /(?:&&|\|\||\||;|\n)[ \n]*/y;
const BLANKS = / */y;

// First words that are grammar and not a program.
const RESERVED = new Set(
  'if then elif else fi for in while until do done case esac select function time coproc'.split(' '),
);

/**
 * The words of each simple command, where `text` is nothing but literal commands joined by `&&`, `||`, `;`, `|` and
 * newlines; null for anything else: redirects, expansions, patterns, braces, tildes, assignments, comments, groups, jobs in
 * the background.
 */
export function readLiteral(text: string): string[][] | null {
  const commands: string[][] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match !== null) at += match[0].length;
    return match;
  };
  const start = /[ \n]*/y;
  take(start);
  while (at < text.length) {
    const words: string[] = [];
    for (;;) {
      const match = take(WORD);
      if (match === null) break;
      words.push(match[1] ?? match[2] ?? match[3] ?? '');
      take(BLANKS);
    }
    const [program] = words;
    // `a=b cmd` sets a variable for the command; a quoted one does not, but is not worth telling apart.
    if (program === undefined || program === '' || program.includes('=') || RESERVED.has(program)) return null;
    commands.push(words);
    if (at < text.length && take(OPERATOR) === null) return null;
  }
  return commands.length === 0 ? null : commands;
}
