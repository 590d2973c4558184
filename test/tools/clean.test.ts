import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clean, createCleaner, createLineFolder } from '../../src/tools/clean.js';

describe('clean', () => {
  it.each([
    ['plain text', 'a\tb\nc – é 中 😀', 'a\tb\nc – é 中 😀'],
    ['colours', '\x1b[1;31mred\x1b[0m', 'red'],
    ['the alternate screen and a cleared one', '\x1b[?1049h\x1b[2J\x1b[Hx', 'x'],
    ['a title', '\x1b]0;title\x07x', 'x'],
    ['a title ended by ST', '\x1b]0;title\x1b\\x', 'x'],
    ['a title ended by the C1 form of ST', '\x1b]0;title\x9cx', 'x'],
    ['the clipboard', 'a\x1b]52;c;cHdu\x07b', 'ab'],
    ['a link', '\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\', 'text'],
    ['a payload of DCS', 'a\x1bP1;2|secret\nline\x1b\\b', 'ab'],
    ['APC, PM and SOS', '\x1b_a\x1b\\1\x1b^b\x1b\\2\x1bXc\x1b\\3', '123'],
    ['the C1 forms', '\x9b31mred\x9d0;t\x07 \x90q\x9cx\x85y', 'red xy'],
    ['charset and keypad sequences', '\x1b(B\x1b=\x1b>\x1b7x\x1b8\x1bc', 'x'],
    ['a sequence that is cancelled', 'a\x1b[31\x18b', 'ab'],
    ['a sequence inside a sequence', '\x1b[3\x1b[1mx', 'x'],
    ['a broken sequence, but not the text behind it', 'a\x1b[31\nb\x1b\nc', 'a\nb\nc'],
    ['a title without an end, but not the next line', 'a\x1b]0;title\nb', 'a\nb'],
    ['bells, backspaces, NUL and DEL', 'a\x07b\bc\0d\x7fe\x0b\x0c', 'abcde'],
    ['marks of direction', 'a\u202eb\u2066c\u200fd\u061ce', 'abcde'],
    ['zero-width characters', 'a\u200bb\u2060c\ufeffd', 'abcd'],
    ['tag characters', 'a\u{e0041}\u{e007f}b', 'ab'],
    ['nothing of joined emoji', '👩\u200d💻', '👩\u200d💻'],
    ['halves of a pair', 'a\ud83db\ude00c', 'abc'],
    ['line ends of Windows', 'a\r\nb\r\n', 'a\nb\n'],
    ['a lone return', 'a\rb\r', 'a\nb\n'],
    ['a sequence without its end', 'a\x1b[', 'a'],
  ])('handles %s', (_name, text, expected) => {
    expect(clean(text)).toBe(expected);
  });

  it('takes a payload without an end for text again, some time', () => {
    expect(clean(`\x1bP${'x'.repeat(70_000)}`).length).toBeGreaterThan(1_000);
  });
});

/** Text of what is dangerous, and of what makes it up. */
const nasty = fc.array(
  fc.oneof(
    fc.constantFrom(
      '\x1b',
      '[',
      ']',
      'P',
      '\\',
      '\x07',
      '\x9b',
      '\x9c',
      '\x9d',
      '\x90',
      '0;',
      'm',
      '\r',
      '\n',
      '\r\n',
      '\x18',
    ),
    fc.constantFrom(
      '\u202e',
      '\u200b',
      '\ufeff',
      '\u{e0041}',
      '\udb40',
      '\udc41',
      '😀',
      'é',
      'abc',
      ' ',
      '\x1b[?1049h',
      '\x1b]52;c;',
    ),
    fc.string({ unit: 'binary', maxLength: 3 }),
  ),
  { maxLength: 20 },
);
const FORBIDDEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]|\udb40[\udc00-\udc7f]/;

describe('the cleaner of a stream', () => {
  it('lets nothing out that acts on a terminal, wherever the text is cut [A39] [pain 51]', () => {
    const property = fc.property(nasty, (pieces) => {
      const cleaner = createCleaner();
      const output = pieces.map((piece) => cleaner.push(piece)).join('') + cleaner.flush();
      expect(output).not.toMatch(FORBIDDEN);
      expect(output).toBe(clean(pieces.join('')));
      expect(clean(output)).toBe(output);
    });
    fc.assert(property, { numRuns: 5_000, seed: 11 });
  });

  it('gives the same for every single cut', () => {
    const text = 'a\x1b[?1049hb\x1b]0;t\x1b\\c\r\nd\u{e0041}e😀\x9b1mf\rg';
    for (let cut = 0; cut <= text.length; cut++) {
      const cleaner = createCleaner();
      expect(cleaner.push(text.slice(0, cut)) + cleaner.push(text.slice(cut)) + cleaner.flush()).toBe('abc\nde😀f\ng');
    }
  });

  it('keeps returns when it is asked to', () => {
    const cleaner = createCleaner({ keepReturns: true });
    expect(cleaner.push('a\rb\x1b[K\r') + cleaner.push('\nc\r') + cleaner.flush()).toBe('a\rb\r\nc\r');
  });

  it('is quick with ordinary text', () => {
    const text = 'an ordinary line of output, with é and 😀\n'.repeat(1_500);
    const cleaner = createCleaner();
    const start = performance.now();
    for (let piece = 0; piece < 100; piece++) cleaner.push(text);
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});

function fold(...pieces: string[]): string {
  const folder = createLineFolder();
  return pieces.map((piece) => folder.push(piece)).join('') + folder.flush();
}

describe('the line folder', () => {
  it.each([
    ['lines without returns', ['a\nb', 'c\nd'], 'a\nbc\nd'],
    ['a progress bar', ['10%\r20%\r', '30%', '\r100%\ndone\n'], '100%\ndone\n'],
    ['a bar that ends with a return', ['10%\r20%\r'], '20%'],
    ['line ends of Windows', ['a\r\nb\r', '\nc'], 'a\nb\nc'],
    ['doubled returns', ['a\r\r\nb\r\r\n'], 'a\nb\n'],
    ['a cleared line', ['loading\r       \rready\n'], 'ready\n'],
  ])('leaves what stood last: %s', (_name, pieces, expected) => {
    expect(fold(...pieces)).toBe(expected);
  });

  it('gives the same wherever the text is cut', () => {
    const text = 'a\n1%\r2%\r\nb\r\n3%\r4%\r';
    for (let cut = 0; cut <= text.length; cut++) expect(fold(text.slice(0, cut), text.slice(cut))).toBe('a\n2%\nb\n4%');
  });

  it('does not hold back a long line', () => {
    const folder = createLineFolder();
    let output = '';
    for (let piece = 0; piece < 100; piece++) output += folder.push('x'.repeat(1_000));
    expect(output.length).toBeGreaterThan(90_000);
    expect((output + folder.flush()).length).toBe(100_000);
  });

  it('masks a value wherever a line is cut', () => {
    const folder = createLineFolder((text) => text.replaceAll('secret-value', '[redacted]'));
    let output = '';
    for (let piece = 0; piece < 3_000; piece++) output += folder.push('xx secret-') + folder.push('value');
    output += folder.flush();
    expect(output).toBe('xx [redacted]'.repeat(3_000));
  });
});

describe('the line that has no end yet', () => {
  it.each([
    ['as it stands', 'a\nContinue? [y/N] ', 'Continue? [y/N] '],
    ['as a progress bar shows it last', 'a\n10%\r20%\r', '20%'],
    ['without what may be half a secret', 'key: sk-0123456', 'key: …'],
    ['not at all where there is none', 'a\n', ''],
  ])('is seen %s, and stays', (_name, text, rest) => {
    const folder = createLineFolder();
    const pushed = folder.push(text);
    expect(folder.rest()).toBe(rest);
    expect(pushed + folder.flush()).toBe(createLineFolder().push(`${text}\n`).replace(/\n$/, ''));
  });
});
