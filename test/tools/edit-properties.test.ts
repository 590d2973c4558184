import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffDisplay } from '../../src/tools/diff-display.js';
import { applyEdits } from '../../src/tools/edit-file/apply-edits.js';
import { editFileTool } from '../../src/tools/edit-file/tool.js';
import { decodeText, encodeText } from '../../src/tools/text-file.js';
import { ToolFailure } from '../../src/tools/types.js';
import { bench } from './bench.js';

const RUNS = { numRuns: 400 };

/** Small alphabets, so that repeats, blanks, odd line ends and look-alikes meet often. */
const piece = fc.constantFrom(
  'a',
  'b',
  'x1',
  '  ',
  '\t',
  ' ',
  '\n',
  '\r\n',
  '\r',
  '{',
  '}',
  '"',
  '“',
  '-',
  '–',
  'é',
  'e\u0301',
  '한',
  '😀',
  '\u2028',
  '\u00a0',
  '$&',
);
const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
const rawBytes = fc
  .array(
    fc.oneof(
      { weight: 8, arbitrary: piece.map((part) => Buffer.from(part)) },
      { weight: 1, arbitrary: fc.constantFrom(0xe9, 0xff, 0x93, 0x83).map((byte) => Buffer.from([byte])) },
    ),
    { maxLength: 40 },
  )
  .map((parts) => Buffer.concat(parts));
const withBom = fc
  .tuple(fc.boolean(), rawBytes)
  .map(([bom, bytes]) => (bom ? Buffer.concat([Buffer.from('\ufeff'), bytes]) : bytes));
const lf = (value: string) => value.replaceAll('\r\n', '\n');

/** What an edit gives, or the code of its failure. */
function attempt(
  bytes: Buffer,
  edits: readonly { readonly old: string; readonly new: string; readonly all: boolean }[],
) {
  try {
    const file = decodeText(bytes, 'f');
    const edited = applyEdits(file, edits, 'f');
    return { file, edited, bytes: encodeText({ ...file, text: edited.text }) };
  } catch (thrown) {
    if (thrown instanceof ToolFailure) return thrown.code;
    throw thrown;
  }
}

describe('bytes', () => {
  it('come out of a decoded file as they went in', () => {
    fc.assert(
      fc.property(withBom, (bytes) => {
        expect(encodeText(decodeText(bytes, 'f'))).toEqual(bytes);
      }),
      RUNS,
    );
  });

  it('outside an exact place never change, and inside are the new text with the line ends of the file', () => {
    let applied = 0;
    fc.assert(
      fc.property(withBom, fc.nat(40), fc.nat(20), text, (bytes, from, length, replacement) => {
        const file = decodeText(bytes, 'f');
        // A lone CR next to a line end makes two readings of it, of which this check knows only one.
        if (file.encoding !== 'utf-8' || /\r(?!\n)/.test(file.text + replacement)) return;
        const old = [...lf(file.text)].slice(from, from + length).join('');
        const done = attempt(bytes, [{ old, new: replacement, all: false }]);
        if (typeof done === 'string' || old === '') return;
        applied++;
        const view = lf(file.text);
        expect(view.split(old).length - 1).toBe(1);
        const at = view.indexOf(old);
        expect(lf(done.edited.text)).toBe(lf(view.slice(0, at) + lf(replacement) + view.slice(at + old.length)));
        const [span] = done.edited.spans;
        expect(done.edited.text.slice(0, span?.start)).toBe(file.text.slice(0, span?.oldStart));
        expect(done.edited.text.slice(span?.end)).toBe(file.text.slice(span?.oldEnd));
        expect(lf(file.text.slice(span?.oldStart, span?.oldEnd))).toBe(old);
      }),
      { numRuns: 2000 },
    );
    expect(applied).toBeGreaterThan(20);
  });

  it('that are not UTF-8 stay as they are around an ASCII edit', () => {
    let applied = 0;
    fc.assert(
      fc.property(rawBytes, fc.constantFrom('a', 'b', 'x1', '{', '}', '-'), (noise, old) => {
        const bytes = Buffer.concat([Buffer.from([0xff, 0x0a]), noise]);
        const done = attempt(bytes, [{ old, new: 'NEW', all: true }]);
        if (typeof done === 'string') return;
        applied++;
        expect(done.bytes.toString('latin1')).toBe(bytes.toString('latin1').replaceAll(old, 'NEW'));
      }),
      RUNS,
    );
    expect(applied).toBeGreaterThan(10);
  });
});

/** What the looser layers may overlook. */
function fold(value: string): string {
  return lf(value)
    .split('\n')
    .map((line) => line.replace(/[\u00a0\u3000]/g, ' ').replace(/^[ \t]+|[ \t]+$/g, ''))
    .join('\n')
    .normalize('NFC')
    .replace(/[“”]/g, '"')
    .replace(/[–—]/g, '-');
}

describe('a loose match', () => {
  const line = fc.constantFrom(
    'a',
    'b',
    '  a',
    '\tb',
    '    a',
    'say("a")',
    'say(“a”)',
    'x - y',
    'x – y',
    'café',
    'cafe\u0301',
    '',
    '  ',
    'end ',
  );
  const lines = fc.array(line, { minLength: 1, maxLength: 12 });
  const disturb = fc.constantFrom(
    (value: string) => value.replace(/[ \t]+$/, ''),
    (value: string) => `${value}  `,
    (value: string) => `  ${value}`,
    (value: string) => value.replace(/^[ \t]+/, ''),
    (value: string) => value.replace('\t', '    '),
    (value: string) => value.replace(/[“”]/g, '"').replace('–', '-'),
    (value: string) => value.normalize('NFD'),
    (value: string) => value,
  );

  it('changes one place, which differs from the old text only in what may be overlooked', () => {
    const layers = new Map<string, number>();
    fc.assert(
      fc.property(
        lines,
        fc.nat(12),
        fc.integer({ min: 1, max: 5 }),
        disturb,
        fc.boolean(),
        lines,
        fc.constantFrom('\n', '\r\n'),
        (file, from, count, change, ends, fresh, eol) => {
          const old =
            file
              .slice(from, from + count)
              .map(change)
              .join('\n') + (ends ? '\n' : '');
          const original = file.map((each) => each + eol).join('');
          const done = attempt(Buffer.from(original), [{ old, new: fresh.join('\n'), all: false }]);
          if (typeof done === 'string') return;
          const layer = done.edited.reports[0]?.layer ?? '';
          layers.set(layer, (layers.get(layer) ?? 0) + 1);
          expect(done.edited.spans).toHaveLength(1);
          const [span] = done.edited.spans;
          const region = original.slice(span?.oldStart, span?.oldEnd);
          expect(fold(region)).toBe(fold(old));
          expect(done.edited.text.slice(0, span?.start)).toBe(original.slice(0, span?.oldStart));
          expect(done.edited.text.slice(span?.end)).toBe(original.slice(span?.oldEnd));
          const written = done.edited.text.slice(span?.start, span?.end);
          const trimmed = (value: string) =>
            lf(value)
              .split('\n')
              .map((each) => each.replace(/^[ \t]+/, ''))
              .join('\n');
          expect(layer === 'indentation' ? trimmed(written) : lf(written)).toBe(
            layer === 'indentation' ? trimmed(fresh.join('\n')) : fresh.join('\n'),
          );
        },
      ),
      { numRuns: 5000 },
    );
    expect([...layers.keys()].sort()).toEqual(['exact', 'indentation', 'look-alikes', 'trailing-blanks']);
  });
});

describe('several edits', () => {
  const edits = fc.array(
    fc.record({ old: fc.constantFrom('a', 'b', 'ab', '\n', 'a\n', '{', 'x1'), new: text, all: fc.boolean() }),
    { minLength: 1, maxLength: 5 },
  );

  it('account for every character that changed, and their diff tells the truth', () => {
    let applied = 0;
    fc.assert(
      fc.property(text, edits, (original, given) => {
        const done = attempt(Buffer.from(original), given);
        if (typeof done === 'string') return;
        applied++;
        const { text: result, spans } = done.edited;
        let [oldAt, at] = [0, 0];
        for (const span of [...spans, { oldStart: original.length, start: result.length, oldEnd: 0, end: 0 }]) {
          expect(result.slice(at, span.start)).toBe(original.slice(oldAt, span.oldStart));
          [oldAt, at] = [span.oldEnd, span.end];
        }
        const [oldLines, newLines] = [original, result].map((each) =>
          each.split('\n').map((row) => row.replace(/\r$/, '')),
        );
        const { lines } = diffDisplay({ path: 'f', before: original, after: result, spans });
        for (const { sign, line, text: shown } of lines)
          expect((sign === '-' ? oldLines : newLines)?.[line - 1]).toBe(shown);
        const net = lines.filter(({ sign }) => sign === '+').length - lines.filter(({ sign }) => sign === '-').length;
        const count = (value: string) => value.split('\n').length - (value.endsWith('\n') || value === '' ? 1 : 0);
        expect(net).toBe(count(result) - count(original));
      }),
      { numRuns: 2000 },
    );
    expect(applied).toBeGreaterThan(20);
  });

  it('through the tool, on disk, are all made or none', async () => {
    await fc.assert(
      fc.asyncProperty(withBom, edits, async (bytes, given) => {
        const { call, get } = await bench({ f: bytes });
        const expected = attempt(bytes, given);
        const edited = given.map(({ old, new: replacement, all }) => ({
          old_string: old,
          new_string: replacement,
          replace_all: all,
        }));
        const { ok, code } = await call(editFileTool, { path: 'f', edits: edited });
        expect(ok ? await get('f') : code).toEqual(typeof expected === 'string' ? expected : expected.bytes);
        if (!ok) expect(await get('f')).toEqual(bytes);
      }),
      { numRuns: 60 },
    );
  });
});
