import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { literalWords } from '../../src/permissions/shell-analysis.js';

describe('literalWords', () => {
  it.each([
    ['bare words', 'ls -la src/a-b_c.ts', ['ls', '-la', 'src/a-b_c.ts']],
    ['blanks around and between', '  wc   -l  a  ', ['wc', '-l', 'a']],
    ['single quotes, with anything inside', "grep -n 'a|b $x `c` \\d \"' f", ['grep', '-n', 'a|b $x `c` \\d "', 'f']],
    ['double quotes around plain text', 'grep "a b | c;d" f', ['grep', 'a b | c;d', 'f']],
    ['empty quotes', "grep '' f", ['grep', '', 'f']],
    ['an equals sign behind the first word', 'x --a=b c=d', ['x', '--a=b', 'c=d']],
  ])('reads %s', (_name, command, words) => {
    expect(literalWords(command)).toEqual(words);
  });

  it.each([
    ['nothing', ''],
    ['blanks only', '   '],
    ['and', 'ls && rm x'],
    ['or', 'ls || rm x'],
    ['a semicolon', 'ls; rm x'],
    ['a pipe', 'ls | sh'],
    ['a pipe of both streams', 'ls |& sh'],
    ['the background', 'ls & rm x'],
    ['a newline', 'ls\nrm x'],
    ['a carriage return', 'ls\rrm x'],
    ['a tab', 'ls\tx'],
    ['a redirect', 'ls > x'],
    ['a redirect without blanks', 'ls>x'],
    ['an input', 'cat < x'],
    ['a here string', 'cat <<< x'],
    ['process substitution', 'ls >(tee x)'],
    ['a variable', 'ls $HOME'],
    ['a variable in double quotes', 'ls "$HOME"'],
    ['command substitution', 'ls $(rm x)'],
    ['backticks', 'ls `rm x`'],
    ['backticks in double quotes', 'ls "`rm x`"'],
    ['an ANSI-C string', "find . $'-delete'"],
    ['a star', 'ls *'],
    ['a question mark', 'ls ?'],
    ['a bracket', 'ls [a]'],
    ['braces', 'find . {-delete,-print}'],
    ['a tilde', 'ls ~'],
    ['a backslash', 'find . \\-delete'],
    ['a continuation', 'find . -de\\\nlete'],
    ['a backslash in double quotes', 'grep "\\d" f'],
    ['history in double quotes', 'grep "!x" f'],
    ['an assignment before the command', 'A=b ls'],
    ['an assignment alone', 'A=b'],
    ['an appending assignment', 'PATH+=:. ls'],
    ['a comment', 'ls # x'],
    ['parentheses', '(ls)'],
    ['a group', '{ ls; }'],
    ['a negation', '! ls'],
    ['a keyword', 'time ls'],
    ['an empty program', "'' x"],
    ['touching parts', "ls 'a'b"],
    ['touching quotes', `cu''rl x`],
    ['quotes left open', "ls 'a"],
    ['NUL', 'ls \0x'],
    ['an escape character', 'ls \u001b[0m'],
    ['letters beyond ASCII', 'ls é'],
    ['a line separator', 'ls\u2028rm x'],
    ['more than 10,000 characters', `ls ${'a'.repeat(10_000)}`],
  ])('does not read %s', (_name, command) => {
    expect(literalWords(command)).toBeNull();
  });

  it.each(['bash', 'sh'])('gives the words that %s itself makes', (shell) => {
    const piece = fc.oneof(
      fc.constantFrom(
        ' ',
        '  ',
        "'",
        '"',
        '\\',
        '$',
        '`',
        '!',
        '=',
        '~',
        '*',
        '{',
        '}',
        ',',
        '-',
        '--',
        '#',
        ';',
        '|',
        '&',
      ),
      fc.constantFrom(
        'a',
        'B',
        '1',
        '.',
        '/',
        ':',
        '@',
        '%',
        '+',
        '_',
        'x=y',
        "'a b'",
        '"c d"',
        "'$x'",
        '"x;y"',
        '(',
        ')',
        '<',
        '>',
      ),
    );
    const commands = fc.sample(
      fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => `f ${pieces.join('')}`),
      { numRuns: 4_000, seed: 7 },
    );
    const read = commands.flatMap((command) => {
      const words = literalWords(command);
      return words === null ? [] : [{ command, words }];
    });
    expect(read.length).toBeGreaterThan(300);
    const script = `f() { printf '%s\\0' "$#" "$@"; }; for c in "$@"; do eval "$c"; done`;
    const made = spawnSync(
      shell,
      [
        ...(shell === 'bash' ? ['--noprofile', '--norc'] : []),
        '-c',
        script,
        shell,
        ...read.map(({ command }) => command),
      ],
      {
        encoding: 'utf8',
        maxBuffer: 1e8,
      },
    );
    expect(made.stderr).toBe('');
    const expected = read.map(({ words }) =>
      [`${words.length - 1}`, ...words.slice(1)].map((word) => `${word}\0`).join(''),
    );
    expect(made.stdout).toBe(expected.join(''));
  });
});
