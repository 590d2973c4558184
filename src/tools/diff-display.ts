/** The diff that people see of a changed file, made from the changed places and not from a comparison of whole files. */
import { diffArrays } from 'diff';
import type { DiffLine, Display } from '../events/types.js';
import { lineIndexAt, lineStarts } from './text-file.js';

/** Characters `oldStart`…`oldEnd` of the text before became `start`…`end` of the text after. */
export type ChangedSpan = {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly start: number;
  readonly end: number;
};

/** What became of a text: `spans` are sorted and don't overlap; outside of them both texts are equal. */
export type TextChange = {
  readonly path: string;
  readonly before: string;
  readonly after: string;
  readonly spans: readonly ChangedSpan[];
};

type DiffDisplay = Extract<Display, { kind: 'diff' }>;

const CONTEXT_LINES = 3;
const MAX_SHOWN_LINES = 200; // Several screens; `omitted` tells of the rest.
const MAX_LINE_CHARACTERS = 400; // Enough for code; a minified line would fill the screen.
const MAX_COMPARED_LINES = 4000; // Above it a changed block is shown as removed and added as a whole.
const MAX_COMPARE_MS = 100;

/** The start of the diff, for looking at what was done. `added` and `removed` count all of it. */
export function diffDisplay(change: TextChange): DiffDisplay {
  const whole = diffOf(change, MAX_SHOWN_LINES);
  const omitted = whole.omitted + Math.max(whole.lines.length - MAX_SHOWN_LINES, 0);
  const lines = whole.lines.slice(0, MAX_SHOWN_LINES).map(({ text, ...line }) => ({
    ...line,
    text: text.length > MAX_LINE_CHARACTERS ? `${text.slice(0, MAX_LINE_CHARACTERS)}…` : text,
  }));
  return { ...whole.counted, lines, ...(omitted > 0 && { omitted }) };
}

/** The diff with all its lines at full length: what a person agrees to must be what comes. */
export function wholeDiff(change: TextChange): DiffDisplay {
  const { counted, lines } = diffOf(change, Number.POSITIVE_INFINITY);
  return { ...counted, lines };
}

/** Hunks until there are `enough` lines; what changed behind them is only counted. */
function diffOf({ path, before, after, spans }: TextChange, enough: number) {
  const [oldText, newText] = [linesOf(before), linesOf(after)];
  const regions = mergeTouching(spans.map((span) => regionOf(span, oldText, newText)));
  const lines: DiffLine[] = [];
  let shownTo = 0; // First line of `after` that no hunk shows yet.
  let [added, removed, omitted] = [0, 0, 0];
  for (const [index, region] of regions.entries()) {
    const changed = compare(oldText, newText, region);
    const [more, fewer] = [countOf('+', changed), countOf('-', changed)];
    added += more;
    removed += fewer;
    if (lines.length >= enough) {
      omitted += more + fewer;
      continue;
    }
    const from = Math.max(region.from - CONTEXT_LINES, shownTo);
    const next = regions[index + 1]?.from ?? Number.POSITIVE_INFINITY;
    shownTo = Math.min(region.to + CONTEXT_LINES, next, newText.count);
    for (const line of contextLines(newText, from, region.from)) lines.push(line);
    for (const line of changed) lines.push(line);
    for (const line of contextLines(newText, region.to, shownTo)) lines.push(line);
  }
  return { counted: { kind: 'diff', path, added, removed } as const, lines, omitted };
}

function countOf(sign: DiffLine['sign'], lines: readonly DiffLine[]): number {
  return lines.reduce((count, line) => count + (line.sign === sign ? 1 : 0), 0);
}

/** The span between the common start and the common end of two texts. */
export function changedSpan(before: string, after: string): ChangedSpan {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  let tail = 0;
  while (tail < shorter - start && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  return { oldStart: start, oldEnd: before.length - tail, start, end: after.length - tail };
}

/** A text as lines that are cut out only when they are shown. What follows a last LF is no line. */
type Lines = { readonly text: string; readonly starts: readonly number[]; readonly count: number };

function linesOf(text: string): Lines {
  const starts = lineStarts(text);
  return { text, starts, count: starts.length - (starts.at(-1) === text.length ? 1 : 0) };
}

function sliceLines({ text, starts, count }: Lines, from: number, to: number): string[] {
  return Array.from({ length: Math.max(Math.min(to, count) - from, 0) }, (_, index) => {
    const line = text.slice(starts[from + index], (starts[from + index + 1] ?? text.length + 1) - 1);
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  });
}

function contextLines(lines: Lines, from: number, to: number): readonly DiffLine[] {
  return sliceLines(lines, from, to).map((text, index) => diffLine(' ', from + index, text));
}

function startsLine({ text }: Lines, offset: number): boolean {
  return offset === 0 || text[offset - 1] === '\n';
}

/** Lines `oldFrom`…`oldTo` became `from`…`to`; counted from 0, ends exclusive. */
type Region = { readonly oldFrom: number; readonly oldTo: number; readonly from: number; readonly to: number };

function regionOf(span: ChangedSpan, before: Lines, after: Lines): Region {
  // What follows the span on its line is the same in both, so both take it in, unless both stop at a line's start.
  const isWhole = startsLine(before, span.oldEnd) && startsLine(after, span.end);
  const rest = isWhole ? 0 : 1;
  return {
    oldFrom: lineIndexAt(before.starts, span.oldStart),
    oldTo: lineIndexAt(before.starts, span.oldEnd) + rest,
    from: lineIndexAt(after.starts, span.start),
    to: lineIndexAt(after.starts, span.end) + rest,
  };
}

function mergeTouching(regions: readonly Region[]): readonly Region[] {
  const merged: Region[] = [];
  for (const region of regions) {
    const last = merged.at(-1);
    if (last !== undefined && (region.from <= last.to || region.oldFrom <= last.oldTo)) {
      merged[merged.length - 1] = { ...last, oldTo: region.oldTo, to: region.to };
    } else merged.push(region);
  }
  return merged;
}

function compare(before: Lines, after: Lines, region: Region): readonly DiffLine[] {
  const oldLines = sliceLines(before, region.oldFrom, region.oldTo);
  const newLines = sliceLines(after, region.from, region.to);
  const total = oldLines.length + newLines.length;
  // One line for another is most of what replace_all does, and there may be thousands of places.
  const isPlain = total <= 2 && oldLines[0] !== newLines[0];
  const changes =
    !isPlain && total <= MAX_COMPARED_LINES ? diffArrays(oldLines, newLines, { timeout: MAX_COMPARE_MS }) : undefined;
  let [oldAt, newAt] = [region.oldFrom, region.from];
  if (changes === undefined) {
    return [
      ...oldLines.map((text) => diffLine('-', oldAt++, text)),
      ...newLines.map((text) => diffLine('+', newAt++, text)),
    ];
  }
  return changes.flatMap(({ value, added, removed }) =>
    value.map((text) => {
      if (removed) return diffLine('-', oldAt++, text);
      if (!added) oldAt++;
      return diffLine(added ? '+' : ' ', newAt++, text);
    }),
  );
}

function diffLine(sign: DiffLine['sign'], index: number, text: string): DiffLine {
  return { sign, line: index + 1, text };
}
