/** Finds the place that an edit means: exactly, else by the looser layers. Works on text with LF line ends. */
import { matchFolded } from './match-folded.js';
import { matchIndentation } from './match-indentation.js';
import { hitsOf, MAX_COUNTED, type Match, NONE, type Wanted } from './places.js';

const LOOSE_LIMIT_CHARACTERS = 1_000_000; // The looser layers hold several numbers for each character.

/**
 * The looser layers only find a place: what is written stays literal, but for the file's own indentation. Each needs its place
 * to be the only one.
 */
export function findPlaces(text: string, wanted: Wanted): Match {
  const exact = matchExact(text, wanted);
  if (exact.kind !== 'none' || text.length > LOOSE_LIMIT_CHARACTERS || wanted.old.trim() === '') return exact;

  // Both overlook outer blanks only, so the longest line has to be there. This spares most misses the long way.
  const isLineThere = text.includes(longestLine(wanted.old));
  const canLookAlike = wanted.hasCharacters && NOT_ASCII.test(text + wanted.old);
  const layers = [
    () => (isLineThere ? matchFolded(text, wanted, 'trailing-blanks') : NONE),
    () => (isLineThere ? matchIndentation(text, wanted) : NONE),
    () => (canLookAlike ? matchFolded(text, wanted, 'look-alikes') : NONE),
  ];
  for (const layer of layers) {
    const match = layer();
    if (match.kind !== 'none') return match;
  }
  return NONE;
}

const NOT_ASCII = /[^\0-\x7f]/;

function longestLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.reduce((longest, line) => (line.length > longest.length ? line : longest));
}

function matchExact(text: string, { old, new: replacement, all }: Wanted): Match {
  if (all) {
    const places = hitsOf(text, old, old.length, Number.POSITIVE_INFINITY);
    return places.length === 0 ? NONE : { kind: 'found', layer: 'exact', places, replacement };
  }
  // Hits that overlap each other count too: which of them is meant can't be known.
  const places = hitsOf(text, old, 1, MAX_COUNTED);
  if (places.length === 0) return NONE;
  if (places.length > 1) return { kind: 'ambiguous', layer: 'exact', places };
  return { kind: 'found', layer: 'exact', places, replacement };
}
