import { describe, expect, it } from 'vitest';
import { changedSpan, diffDisplay } from '../../src/tools/diff-display.js';

function shown(before: string, after: string): readonly string[] {
  const { lines } = diffDisplay('f', before, after, [changedSpan(before, after)]);
  return lines.map(({ sign, line, text }) => `${sign}${line} ${text}`);
}

describe('diffDisplay', () => {
  it.each<[string, string, string, string[]]>([
    ['a changed line', 'a\nb\nc\n', 'a\nB\nc\n', [' 1 a', '-2 b', '+2 B', ' 3 c']],
    ['a new file', '', 'a\nb\n', ['+1 a', '+2 b']],
    ['an emptied file', 'a\nb\n', '', ['-1 a', '-2 b']],
    ['a removed line', 'a\nb\nc\n', 'a\nc\n', [' 1 a', '-2 b', ' 2 c']],
    ['an added line', 'a\nc\n', 'a\nb\nc\n', [' 1 a', '+2 b', ' 3 c']],
    ['a line added at the end', 'a\n', 'a\nb\n', [' 1 a', '+2 b']],
    ['a line added behind an open last line', 'a', 'a\nb', [' 1 a', '+2 b']],
    ['two lines made one', 'a\nb\nc\n', 'ab\nc\n', ['-1 a', '-2 b', '+1 ab', ' 2 c']],
    [
      'unchanged lines within the change',
      'a\nb\nc\nd\n',
      'A\nb\nc\nD\n',
      ['-1 a', '+1 A', ' 2 b', ' 3 c', '-4 d', '+4 D'],
    ],
    ['no carriage returns', 'a\r\nb\r\n', 'a\r\nB\r\n', [' 1 a', '-2 b', '+2 B']],
    [
      'a change in front of much else',
      '1\n2\n3\n4\n5\n6\n',
      'x\n2\n3\n4\n5\n6\n',
      ['-1 1', '+1 x', ' 2 2', ' 3 3', ' 4 4'],
    ],
  ])('shows %s', (_, before, after, lines) => {
    expect(shown(before, after)).toEqual(lines);
  });

  it('cuts long lines and long diffs', () => {
    expect(shown('', 'x'.repeat(1000))).toEqual([`+1 ${'x'.repeat(400)}…`]);
    const many = 'x\n'.repeat(1000);
    expect(diffDisplay('f', '', many, [changedSpan('', many)])).toMatchObject({ omitted: 800 });
  });
});
