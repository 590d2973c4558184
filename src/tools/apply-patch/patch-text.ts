/** Carries out the hunks of one file on its text, all or none. Pure: files are the plan's. */
import type { ChangedSpan } from '../diff-display.js';
import { nameLines } from '../edit-file/apply-edits.js';
import { refuseUnsafeBytes } from '../edit-file/byte-edits.js';
import { explainMiss } from '../edit-file/explain-miss.js';
import { pastedMark } from '../edit-file/pasted-marks.js';
import { advanceSpans, type Replacement, replacePlaces } from '../edit-file/replace-places.js';
import { omissionLine } from '../omission.js';
import type { TextFile } from '../text-file.js';
import { ToolFailure } from '../types.js';
import { type Ground, type Misplaced, oldTexts, type PlacedHunk, placeHunks } from './place-hunks.js';
import type { Hunk, HunkLine } from './sections.js';
import { type Layer, linesOf, type TextLines } from './text-lines.js';

export type PatchedText = {
  readonly text: string;
  readonly spans: readonly ChangedSpan[];
  /** For each hunk: its first changed line in the new text, from 1, and how its place was found. */
  readonly reports: readonly { readonly line: number; readonly layer: Layer }[];
};

/** @throws {ToolFailure} `not-found`, `ambiguous`, `placeholder`, `pasted-marks`, `bad-patch`, `unsupported-encoding`. */
export function patchText(file: TextFile, hunks: readonly Hunk[], shown: string): PatchedText {
  const own = hunks.map((hunk) => inFileCharacters(hunk, file));
  const ground: Ground = {
    file: linesOf(file.text, file.encoding === 'utf-8'),
    hasCharacters: file.encoding === 'utf-8',
  };
  const placement = placeHunks(ground, own);
  if (placement.kind === 'misplaced') {
    const { index, why } = placement;
    const hunk = own[index];
    if (hunk === undefined) throw new Error('A hunk that was not placed is one of them.');
    throw misplaced(file, hunk, why, `${shown}, ${nameOf(hunk, index, own.length)}`);
  }
  const changes = placement.hunks.map((placed, index) => {
    refuseSenseless(placed.lines, file, shown, nameOf(placed.hunk, index, own.length));
    const { lines, at } = placed;
    const replacements = replacementsOf(ground.file, lines, at, shown);
    if (file.encoding === 'bytes') refuseUnsafe(file, ground.file, placed, shown);
    return { placed, replacements };
  });
  // New lines for the end of the file may stand in the patch before changes inside of it.
  const all = changes.flatMap(({ replacements }) => replacements).sort((one, other) => one.start - other.start);
  const text = replacePlaces(file.text, all);
  return { text, spans: advanceSpans([], all), reports: changes.map((change) => reportOf(change, all, ground.file)) };
}

/** Bytes where the file is not UTF-8. */
function inFileCharacters(hunk: Hunk, { encoding, bom }: TextFile): Hunk {
  const bare = (text: string) => (bom && text.startsWith('\ufeff') ? text.slice(1) : text);
  const convert = (text: string) =>
    encoding === 'utf-8' ? bare(text) : Buffer.from(bare(text), 'utf8').toString('latin1');
  return {
    ...hunk,
    anchors: hunk.anchors.map(convert),
    lines: hunk.lines.map((line) => ({ ...line, text: convert(line.text) })),
  };
}

/** What stands in the patch as changed; lines that stay are left as the file has them. */
function replacementsOf(file: TextLines, lines: readonly HunkLine[], from: number, shown: string): Replacement[] {
  const replacements: Replacement[] = [];
  let at = from;
  for (let index = 0; index < lines.length; ) {
    if (lines[index]?.sign === ' ') {
      at++;
      index++;
      continue;
    }
    const next = lines.findIndex(({ sign }, other) => other >= index && sign === ' ');
    const run = lines.slice(index, next === -1 ? undefined : next);
    const added = run.filter(({ sign }) => sign === '+');
    const to = at + run.length - added.length;
    replacements.push(replaceLines(file, at, to, added, shown));
    at = to;
    index += run.length;
  }
  return replacements;
}

/** Puts `added` in the place of the lines `from`…`to`. Each gets the line end of the line it replaces, else of its neighbours. */
function replaceLines(
  file: TextLines,
  from: number,
  to: number,
  added: readonly HunkLine[],
  shown: string,
): Replacement {
  const ends = file.ends.slice(from, to);
  const usual = ends.findLast((end) => end !== '') ?? neighbouringEnd(file, from, to);
  const text = added.map(({ text: line, isOpen }, index) => {
    if (isOpen && (index < added.length - 1 || to < file.count))
      throw new ToolFailure('bad-patch', `${shown}: only the last line of a file can be without a newline.`);
    return line + (isOpen ? '' : ends[index] || usual);
  });
  // Behind a last line without an end there is no new line yet.
  const separator = from > 0 && from === file.count && added.length > 0 ? file.ends[from - 1] || usual : '';
  const isSeparate = separator !== '' && file.ends[from - 1] === '';
  return {
    start: file.starts[from] ?? 0,
    end: file.starts[to] ?? 0,
    text: (isSeparate ? separator : '') + text.join(''),
  };
}

function neighbouringEnd({ ends }: TextLines, from: number, to: number): string {
  return ends[from - 1] || ends[to] || ends[from - 2] || '\n';
}

function refuseUnsafe(file: TextFile, lines: TextLines, { lines: hunk, at }: PlacedHunk, shown: string): void {
  const old = oldTexts(hunk);
  const place = { start: lines.starts[at] ?? 0, end: lines.starts[at + old.length] ?? file.text.length };
  const fresh = hunk.filter(({ sign }) => sign === '+').map(({ text }) => text);
  refuseUnsafeBytes(file.text, [place], { old: old.join('\n'), new: fresh.join('\n'), all: false }, shown);
}

function refuseSenseless(lines: readonly HunkLine[], file: TextFile, shown: string, name: string): void {
  const known = oldTexts(lines).join('\n');
  const fresh = lines.filter(({ sign }) => sign === '+').map(({ text }) => text);
  const omission = omissionLine(fresh.join('\n'), known);
  if (omission !== undefined) {
    throw new ToolFailure(
      'placeholder',
      `${shown}, ${name}: it adds the line ${JSON.stringify(omission)}, which stands for text left out. Leave lines that stay out of the patch, or give them with a blank in front.`,
    );
  }
  const pasted = pastedMark(fresh.join('\n'), `${known}\n${file.text}`, shown);
  if (pasted !== undefined)
    throw new ToolFailure(
      'pasted-marks',
      `${shown}, ${name}: it adds ${pasted} that the file does not have: leave that out.`,
    );
}

type Change = { readonly placed: PlacedHunk; readonly replacements: readonly Replacement[] };

function reportOf({ placed, replacements }: Change, all: readonly Replacement[], file: TextLines) {
  const start = replacements[0]?.start ?? file.starts[placed.at] ?? 0;
  const before = all.filter((other) => other.start < start);
  const grown = before.reduce(
    (sum, { start: from, end, text }) => sum + countLines(text) - linesBetween(file, from, end),
    0,
  );
  const index = file.starts.findIndex((offset) => offset >= start);
  return { line: index + 1 + grown, layer: placed.layer };
}

function countLines(text: string): number {
  return text.split('\n').length - 1;
}

function linesBetween({ starts }: TextLines, from: number, to: number): number {
  return starts.filter((offset) => offset >= from && offset < to).length;
}

function nameOf({ header }: Hunk, index: number, count: number): string {
  const which = count === 1 ? 'its hunk' : `hunk ${index + 1} of ${count}`;
  return header === '' || header === '@@' ? which : `${which} (${header})`;
}

const WORDS = { old: 'the hunk', new: 'its new text' };

function misplaced(file: TextFile, hunk: Hunk, why: Misplaced, where: string): ToolFailure {
  const text = file.text.replaceAll('\r\n', '\n');
  switch (why.kind) {
    case 'not-found': {
      const fresh = hunk.lines.filter(({ sign }) => sign !== '-').map((line) => line.text);
      const miss = explainMiss(text, oldTexts(hunk.lines).join('\n'), fresh.join('\n'), WORDS);
      return new ToolFailure('not-found', `${where}: its old lines are not in the file.\n${miss}`);
    }
    case 'no-anchor':
      return new ToolFailure(
        'not-found',
        `${where}: the line ${JSON.stringify(why.anchor)} behind "@@" is not in the file.\n${explainMiss(text, why.anchor, '', { old: 'the patch', new: '' })}`,
      );
    case 'out-of-order':
      return new ToolFailure(
        'not-found',
        `${where}: its old lines are at line ${why.at + 1}, in front of the hunk before it. Put the hunks of a file into the order of their places.`,
      );
    case 'not-behind-anchor':
      return new ToolFailure(
        'not-found',
        `${where}: its old lines are at line ${why.at + 1}, but not behind the line behind "@@". Take another line from above them, or none.`,
      );
    case 'not-at-end':
      return new ToolFailure(
        'not-found',
        `${where}: its old lines are at line ${why.at + 1}, but not at the end of the file. Leave "*** End of File" out.`,
      );
    case 'no-context':
      return new ToolFailure(
        'not-found',
        `${where}: it has no old lines, so its place cannot be told. Give some unchanged lines around the new ones.`,
      );
    case 'ambiguous':
      return new ToolFailure(
        'ambiguous',
        `${where}: it fits ${why.places.length} places: ${nameLines(why.places.map((at) => at + 1))}. Add unchanged lines around it, or the line above the place behind "@@".`,
      );
    default:
      return why satisfies never;
  }
}
