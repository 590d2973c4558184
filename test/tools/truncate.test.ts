import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutEnd, cutMiddle, truncateOutput } from '../../src/tools/truncate.js';

describe('truncateOutput', () => {
  it('leaves a short text alone', () => {
    expect(truncateOutput('abc', 3)).toBe('abc');
    expect(truncateOutput('é', 2)).toBe('é');
  });

  it('keeps head and tail, and says what is left out', () => {
    expect(truncateOutput('1\n2\n3\n4\n5\n6\n7\n8\n9\n0', 10)).toBe('1\n2\n3\n[… 9 bytes (5 lines) left out …]\n9\n0');
    expect(truncateOutput('abcdefghij', 5)).toBe('abc\n[… 5 bytes (1 lines) left out …]\nij');
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
