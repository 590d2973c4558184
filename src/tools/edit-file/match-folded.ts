/** Matching without regard to blanks at line ends, and to characters that look alike. */
import { hitsOf, MAX_COUNTED, type Match, NONE, type Place, type Wanted } from './places.js';

type FoldedLayer = 'trailing-blanks' | 'look-alikes';

/**
 * Compares both texts without blanks at line ends; `look-alikes` also folds typographic quotes, dashes and blanks, full-width
 * punctuation and canonically equal characters. Digits, letters, letter case and inner blanks are never folded.
 */
export function matchFolded(text: string, wanted: Wanted, layer: FoldedLayer): Match {
  const file = project(text, layer);
  const old = project(wanted.old, layer).text;
  if (old === '') return NONE;
  // Blanks at the end of `old` were dropped, so it may match only where a line ends: "a " is not in "ab".
  const mustEndLine = /[ \t]$/.test(wanted.old);
  const hits = hitsOf(file.text, old, 1, MAX_COUNTED).filter(
    ({ start, end }) =>
      isBoundary(file, start) && isBoundary(file, end) && (!mustEndLine || (file.text[end] ?? '\n') === '\n'),
  );
  const places = hits.map((hit) => unproject(file, hit));
  const [hit, place] = [hits[0], places[0]];
  if (hit === undefined || place === undefined) return NONE;
  if (places.length > 1) return { kind: 'ambiguous', layer, places };
  if (leavesBlanksBehind(file, hit, place)) return NONE;
  return { kind: 'found', layer, places, replacement: wanted.new };
}

type Projection = {
  readonly text: string;
  /** For each character of `text`, where its source starts; -1 inside a source that became several characters. */
  readonly starts: readonly number[];
  /** For each character of `text`, where its source ends. */
  readonly ends: readonly number[];
  readonly sourceLength: number;
};

function project(source: string, layer: FoldedLayer): Projection {
  const parts: string[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  function add(part: string, start: number, end: number): void {
    parts.push(part);
    for (let index = 0; index < part.length; index++) {
      starts.push(index === 0 ? start : -1);
      ends.push(end);
    }
  }

  let lineStart = 0;
  while (lineStart <= source.length) {
    const newline = source.indexOf('\n', lineStart);
    const lineEnd = newline === -1 ? source.length : newline;
    let stop = lineEnd;
    while (stop > lineStart && (source[stop - 1] === ' ' || source[stop - 1] === '\t')) stop--;
    let at = lineStart;
    for (const cluster of clustersOf(source.slice(lineStart, stop), layer)) {
      add(layer === 'look-alikes' ? foldLookAlikes(cluster) : cluster, at, at + cluster.length);
      at += cluster.length;
    }
    if (newline !== -1) add('\n', newline, newline + 1);
    lineStart = lineEnd + 1;
  }
  return { text: parts.join(''), starts, ends, sourceLength: source.length };
}

const ASCII_ONLY = /^[\0-\x7f]*$/;
/** A character with the marks, and the Hangul vowels and finals, that combine with it. */
const CLUSTER = /[\s\S][\p{M}\u1160-\u11ff]*/gu;

function clustersOf(line: string, layer: FoldedLayer): Iterable<string> {
  // Single code units: what is not folded has to stay comparable at every offset.
  if (layer === 'trailing-blanks' || ASCII_ONLY.test(line)) return line.split('');
  return line.match(CLUSTER) ?? [];
}

const LOOK_ALIKES: ReadonlyMap<string, string> = new Map([
  ...[...'‘’‚‛'].map((quote) => [quote, "'"] as const),
  ...[...'“”„‟'].map((quote) => [quote, '"'] as const),
  ...[...'\u2010\u2011\u2012\u2013\u2014\u2015\u2212'].map((dash) => [dash, '-'] as const),
  ...[...'\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000'].map(
    (blank) => [blank, ' '] as const,
  ),
]);
/** ！ to ～ without digits and letters: those of other widths may be meant. */
const FULL_WIDTH_PUNCTUATION = /[\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff5e]/;
const FULL_WIDTH_SHIFT = 0xfee0;

/** A character, with the marks that combine with it, as the plain one that it looks like. */
export function foldLookAlikes(cluster: string): string {
  const composed = cluster.normalize('NFC');
  const known = LOOK_ALIKES.get(composed);
  if (known !== undefined) return known;
  return FULL_WIDTH_PUNCTUATION.test(composed) && composed.length === 1
    ? String.fromCharCode(composed.charCodeAt(0) - FULL_WIDTH_SHIFT)
    : composed;
}

/** Whether an offset lies between two sources: no edit may cut a composed character in two. */
function isBoundary(file: Projection, offset: number): boolean {
  return file.starts[offset] !== -1;
}

function unproject(file: Projection, hit: Place): Place {
  return { start: file.starts[hit.start] ?? 0, end: file.ends[hit.end - 1] ?? 0 };
}

/** `old` ended in a line whose blanks it did not show: whether they are meant to go can't be known. */
function leavesBlanksBehind(file: Projection, hit: Place, place: Place): boolean {
  return file.text[hit.end - 1] !== '\n' && place.end !== (file.starts[hit.end] ?? file.sourceLength);
}
