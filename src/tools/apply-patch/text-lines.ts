/** A text as lines with their ends, and the ways in which lines are compared. */
import { foldLookAlikes } from '../edit-file/match-folded.js';

/** From strict to loose: each also overlooks what the ones before it do. */
export const LAYERS = ['exact', 'trailing-blanks', 'outer-blanks', 'look-alikes'] as const;
export type Layer = (typeof LAYERS)[number];

export type TextLines = {
  readonly count: number;
  /** Without their ends. What follows a last line end is no line. */
  readonly texts: readonly string[];
  readonly ends: readonly ('\n' | '\r\n' | '')[];
  /** Offset of each line, and of the end of the text behind the last. */
  readonly starts: readonly number[];
  /** The lines as a layer compares them. */
  as(layer: Layer): readonly string[];
};

/** `hasCharacters`: false where one character is one byte of an unknown encoding, and nothing can look alike. */
export function linesOf(text: string, hasCharacters: boolean): TextLines {
  const texts: string[] = [];
  const ends: ('\n' | '\r\n' | '')[] = [];
  const starts: number[] = [];
  let at = 0;
  while (at < text.length) {
    const newline = text.indexOf('\n', at);
    const hasCr = newline > at && text[newline - 1] === '\r';
    starts.push(at);
    ends.push(newline === -1 ? '' : hasCr ? '\r\n' : '\n');
    texts.push(text.slice(at, newline === -1 ? undefined : hasCr ? newline - 1 : newline));
    at = newline === -1 ? text.length : newline + 1;
  }
  starts.push(text.length);
  const views = new Map<Layer, readonly string[]>([['exact', texts]]);
  return {
    count: texts.length,
    texts,
    ends,
    starts,
    as(layer) {
      const known = views.get(layer);
      if (known !== undefined) return known;
      const view = texts.map((line) => comparable(line, layer, hasCharacters));
      views.set(layer, view);
      return view;
    },
  };
}

/** A line as a layer compares it. */
export function comparable(line: string, layer: Layer, hasCharacters: boolean): string {
  switch (layer) {
    case 'exact':
      return line;
    case 'trailing-blanks':
      return line.slice(0, blanksFrom(line));
    case 'look-alikes':
      return trimBlanks(hasCharacters ? foldLine(line) : line);
    case 'outer-blanks':
      return trimBlanks(line);
    default:
      return layer satisfies never;
  }
}

function trimBlanks(line: string): string {
  let start = 0;
  while (isBlank(line[start])) start++;
  return line.slice(start, Math.max(blanksFrom(line), start));
}

/** Where the blanks at the end of a line start. Not by a pattern: those take long on long runs of blanks. */
function blanksFrom(line: string): number {
  let end = line.length;
  while (isBlank(line[end - 1])) end--;
  return end;
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}

function foldLine(line: string): string {
  return line.normalize('NFC').replace(/[^\0-\x7f]/gu, foldLookAlikes);
}
