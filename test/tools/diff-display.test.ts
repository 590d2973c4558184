import { describe, expect, it } from 'vitest';
import { changedSpan, diffDisplay, type TextChange, wholeDiff } from '../../src/tools/diff-display.js';

function change(before: string, after: string): TextChange {
  return { path: 'f', before, after, spans: [changedSpan(before, after)] };
}

function shown(before: string, after: string): readonly string[] {
  const { lines } = diffDisplay(change(before, after));
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
    expect(diffDisplay(change('', 'x\n'.repeat(1000)))).toMatchObject({ omitted: 800 });
  });

  it('counts every line that comes or goes, also those that are cut', () => {
    expect(diffDisplay(change('a\nb\nc\n', 'a\nB\nBB\nc\n'))).toMatchObject({ added: 2, removed: 1 });
    expect(diffDisplay(change('', 'x\n'.repeat(1000)))).toMatchObject({ added: 1000, removed: 0 });
    const before = Array.from({ length: 300 }, () => 'x\n'.repeat(9) + 'o\n'.repeat(11)).join('');
    const spans = Array.from({ length: 300 }, (_, index) => ({
      oldStart: index * 40,
      oldEnd: index * 40 + 1,
      start: index * 42,
      end: index * 42 + 3,
    }));
    const after = Array.from({ length: 300 }, () => `y\nx\n${'x\n'.repeat(8)}${'o\n'.repeat(11)}`).join('');
    const display = diffDisplay({ path: 'f', before, after, spans });
    expect([display.lines.length, display.added, display.removed]).toEqual([200, 300, 0]);
  });
});

describe('wholeDiff', () => {
  it('has all lines at full length', () => {
    const after = `${'x'.repeat(1000)}\n`.repeat(5000);
    const { lines, ...counted } = wholeDiff(change('y\n', after));
    expect(counted).toEqual({ kind: 'diff', path: 'f', added: 5000, removed: 1 });
    expect(lines.length).toBe(5001);
    expect(lines.at(-1)).toEqual({ sign: '+', line: 5000, text: 'x'.repeat(1000) });
  });
});
