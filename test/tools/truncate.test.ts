import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutEnd, cutMiddle, joinCut } from '../../src/tools/truncate.js';

/** Head, mark and tail; the text itself where it fits. */
const cutTo = (text: string, maxBytes: number, how?: string) => {
  const cut = cutMiddle(text, maxBytes);
  return cut === undefined ? text : joinCut(cut, how);
};

describe('a long text', () => {
  it('is left alone when it is short', () => {
    expect(cutTo('abc', 3)).toBe('abc');
    expect(cutTo('é', 2)).toBe('é');
  });

  it('keeps head and tail, and says what is left out and where it is', () => {
    expect(cutTo('1\n2\n3\n4\n5\n6\n7\n8\n9\n0', 10)).toBe('1\n2\n3\n[… 9 bytes (5 lines) left out …]\n9\n0');
    expect(cutTo('abcdefghij', 5, '; see f')).toBe('abc\n[… 5 bytes (1 line) left out; see f …]\nij');
  });

  it('never splits a character, never keeps more than it may, and loses none of the kept', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.integer({ min: 1, max: 80 }), (text, maxBytes) => {
        const cut = cutMiddle(text, maxBytes);
        expect(cut === undefined).toBe(Buffer.byteLength(text) <= maxBytes);
        if (cut === undefined) return;
        const kept = Buffer.byteLength(cut.head) + Buffer.byteLength(cut.tail);
        expect(kept).toBeLessThanOrEqual(maxBytes);
        expect(kept + cut.omittedBytes).toBe(Buffer.byteLength(text));
        expect(text.startsWith(cut.head) && text.endsWith(cut.tail)).toBe(true);
        expect(cut.head + cut.tail).not.toContain('\ufffd');
      }),
    );
  });
});

describe('cutEnd', () => {
  it.each([
    ['abc', 5, 'abc'],
    ['abc', 2, 'ab'],
    ['aé', 2, 'a'],
    ['a😀', 4, 'a'],
  ])('%j in %i bytes is %j', (text, maxBytes, expected) => {
    expect(cutEnd(text, maxBytes)).toBe(expected);
  });
});
