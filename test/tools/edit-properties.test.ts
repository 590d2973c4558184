import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { patchText } from '../../src/tools/apply-patch/patch-text.js';
import { applyPatchTool } from '../../src/tools/apply-patch/tool.js';
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

  it('that are not UTF-8 stay as they are around an ASCII edit [pain 1]', () => {
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

describe('a patch', () => {
  const ends = fc.constantFrom('\n', '\r\n');
  const lineText = fc.constantFrom(
    'a',
    'b',
    '',
    '  c',
    '\td',
    'é',
    '“q”',
    'x – y',
    'e ',
    '$&',
    'a\rb',
    '\u2028',
    '+',
    '-x',
    '@@',
  );
  const odd = fc.constantFrom(Buffer.from([0xe9]), Buffer.from([0xff, 0x80]), Buffer.from([0x93, 0x71]));
  const asLine = fc.oneof(
    { weight: 12, arbitrary: lineText.map((each) => Buffer.from(each)) },
    { weight: 1, arbitrary: odd },
  );
  const file = fc.record({
    bom: fc.boolean(),
    lines: fc.array(fc.tuple(asLine, ends), { minLength: 1, maxLength: 14 }),
    isOpen: fc.boolean(),
  });
  type File = {
    readonly bom: boolean;
    readonly lines: readonly (readonly [Buffer, string])[];
    readonly isOpen: boolean;
  };
  const bytesOf = ({ bom, lines, isOpen }: File) =>
    Buffer.concat([
      Buffer.from(bom ? '\ufeff' : ''),
      ...lines.flatMap(([line, end], index) => [line, Buffer.from(isOpen && index === lines.length - 1 ? '' : end)]),
    ]);
  const change = fc.record({
    from: fc.nat(14),
    before: fc.nat(3),
    removed: fc.nat(3),
    after: fc.nat(3),
    added: fc.array(fc.constantFrom('NEW', 'MORE', '  in'), { maxLength: 3 }),
  });

  it('never changes a byte outside the lines that it names, whatever encoding and line ends they have', async () => {
    let applied = 0;
    await fc.assert(
      fc.asyncProperty(file, change, async (given, { from, before, removed, after, added }) => {
        const bytes = bytesOf(given);
        const lines = given.lines.map(([line]) => line);
        // Of what is no text the patch shows what a model would see.
        const shown = lines.map((line) => line.toString());
        const start = Math.min(from, lines.length - 1);
        const cut = [start, start + before, start + before + removed, start + before + removed + after];
        const [, keptTo = 0, removedTo = 0, end = 0] = cut;
        const hunk = [
          ...shown.slice(start, keptTo).map((line) => ` ${line}`),
          ...shown.slice(keptTo, removedTo).map((line) => `-${line}`),
          ...added.map((line) => `+${line}`),
          ...shown.slice(removedTo, end).map((line) => ` ${line}`),
        ];
        const { call, get } = await bench({ f: bytes });
        const patch = `*** Begin Patch\n*** Update File: f\n@@\n${hunk.join('\n')}\n*** End Patch`;
        const { ok, output } = await call(applyPatchTool, { patch });
        const now = await get('f');
        if (!ok) {
          expect(now).toEqual(bytes);
          return;
        }
        if (shown.slice(start, end).length === 0) return;
        applied++;
        // It need not be the place that the patch was made from, but one that the patch fits: prefix and suffix say which.
        const matched = Number(/line (\d+)/.exec(output)?.[1]);
        expect(matched).toBeGreaterThan(0);
        const [kept, gone] = [shown.slice(start, keptTo).length, shown.slice(keptTo, removedTo).length];
        const fit = lines.map((_, at) => {
          const head = bytesOf({ ...given, lines: given.lines.slice(0, at + kept), isOpen: false });
          const rest = given.lines.slice(at + kept + gone);
          const tail = bytesOf({ bom: false, lines: rest, isOpen: given.isOpen });
          const isHead = now.subarray(0, head.length).equals(head);
          const isTail = now.length >= head.length + tail.length && now.subarray(now.length - tail.length).equals(tail);
          const middle = now.subarray(head.length, now.length - tail.length).toString();
          return (
            isHead &&
            isTail &&
            middle
              .split(/\r?\n/)
              .filter((line) => line !== '')
              .join('|') === added.join('|')
          );
        });
        const isAtEnd = now.subarray(0, bytes.length).equals(bytes);
        expect(fit.includes(true) || isAtEnd).toBe(true);
      }),
      { numRuns: 600 },
    );
    expect(applied).toBeGreaterThan(50);
  }, 120_000);

  it('of several hunks has spans that account for every character that changed', () => {
    let applied = 0;
    const hunk = fc.record({ old: fc.array(lineText, { maxLength: 2 }), fresh: fc.array(lineText, { maxLength: 2 }) });
    fc.assert(
      fc.property(file, fc.array(hunk, { minLength: 1, maxLength: 3 }), (given, hunks) => {
        const decoded = decodeText(bytesOf(given), 'f');
        const asked = hunks.map(({ old, fresh }) => ({
          header: '@@',
          anchors: [],
          atEnd: false,
          lines: [
            ...old.map((line) => ({ sign: '-' as const, text: line })),
            ...fresh.map((line) => ({ sign: '+' as const, text: line })),
          ],
        }));
        let patched: ReturnType<typeof patchText>;
        try {
          patched = patchText(decoded, asked, 'f');
        } catch (thrown) {
          if (thrown instanceof ToolFailure) return;
          throw thrown;
        }
        applied++;
        let [oldAt, at] = [0, 0];
        const last = { oldStart: decoded.text.length, start: patched.text.length, oldEnd: 0, end: 0 };
        for (const span of [...patched.spans, last]) {
          expect(patched.text.slice(at, span.start)).toBe(decoded.text.slice(oldAt, span.oldStart));
          [oldAt, at] = [span.oldEnd, span.end];
        }
      }),
      { numRuns: 3000 },
    );
    expect(applied).toBeGreaterThan(100);
  });
});
