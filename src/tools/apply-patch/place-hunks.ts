/**
 * Finds where the hunks of one file belong. A place counts only if it is the only one, or if the order of the hunks or a
 * line named behind `@@` leaves no other: a place is never guessed.
 */
import type { Hunk, HunkLine } from './sections.js';
import { comparable, LAYERS, type Layer, type TextLines } from './text-lines.js';

export type PlacedHunk = {
  readonly hunk: Hunk;
  /** Those of the hunk; without blank lines at its end where they only part it from the next. */
  readonly lines: readonly HunkLine[];
  /** Index of the file's line at which its old lines begin. */
  readonly at: number;
  readonly layer: Layer;
};

/** Why a hunk has no place. Indexes of lines count from 0. */
export type Misplaced =
  | { readonly kind: 'not-found' }
  /** It is there, but in front of the hunk before. */
  | { readonly kind: 'out-of-order'; readonly at: number }
  /** It is there, but not behind the line that its header names. */
  | { readonly kind: 'not-behind-anchor'; readonly at: number }
  | { readonly kind: 'not-at-end'; readonly at: number }
  | { readonly kind: 'no-anchor'; readonly anchor: string }
  | { readonly kind: 'no-context' }
  | { readonly kind: 'ambiguous'; readonly places: readonly number[]; readonly layer: Layer };

export type Placement =
  | { readonly kind: 'placed'; readonly hunks: readonly PlacedHunk[] }
  | { readonly kind: 'misplaced'; readonly index: number; readonly why: Misplaced };

/** What is searched. `hasCharacters` as for `linesOf`. */
export type Ground = { readonly file: TextLines; readonly hasCharacters: boolean };

export function placeHunks(ground: Ground, hunks: readonly Hunk[]): Placement {
  // Two hunks may show the same lines between them; where they need not, they do not.
  const apart = placeInOrder(ground, hunks, false);
  if (apart.kind === 'placed') return apart;
  const sharing = placeInOrder(ground, hunks, true);
  return sharing.kind === 'placed' ? sharing : apart;
}

type Candidates = {
  readonly lines: readonly HunkLine[];
  readonly layer: Layer;
  /** Ascending; never empty. */
  readonly places: readonly number[];
  /** How many lines from its place on belong to this hunk alone. */
  readonly span: number;
};

/** Each hunk as early as it fits, then each as late as it fits: where both are the same, there is no other way. */
function placeInOrder(ground: Ground, hunks: readonly Hunk[], mayShare: boolean): Placement {
  const found: Candidates[] = [];
  let cursor = 0;
  for (const [index, hunk] of hunks.entries()) {
    const candidates = candidatesFor(ground, hunk, cursor, mayShare);
    if ('why' in candidates) return { kind: 'misplaced', index, why: candidates.why };
    found.push(candidates);
    if (!goesToTheEnd(hunk)) cursor = (candidates.places[0] ?? 0) + candidates.span;
  }
  let limit = ground.file.count;
  for (const [index, { places, span, layer }] of [...found.entries()].reverse()) {
    const hunk = hunks[index];
    if (hunk === undefined || goesToTheEnd(hunk)) continue;
    const fitting = places.filter((place) => place + span <= limit);
    if (fitting.length > 1) return { kind: 'misplaced', index, why: { kind: 'ambiguous', places: fitting, layer } };
    limit = fitting[0] ?? 0;
  }
  const placed = found.flatMap(({ lines, layer, places: [at] }, index) => {
    const hunk = hunks[index];
    return hunk === undefined || at === undefined ? [] : [{ hunk, lines, layer, at }];
  });
  return { kind: 'placed', hunks: placed };
}

/** A hunk of nothing but new lines, with nothing that names a place. */
function goesToTheEnd({ lines, anchors, position }: Hunk): boolean {
  return position === undefined && anchors.length === 0 && lines.every(({ sign }) => sign === '+');
}

function candidatesFor(
  ground: Ground,
  hunk: Hunk,
  cursor: number,
  mayShare: boolean,
): Candidates | { readonly why: Misplaced } {
  const { count } = ground.file;
  const whole = { lines: hunk.lines, span: spanOf(hunk.lines, mayShare) };
  if (goesToTheEnd(hunk)) return { ...whole, layer: 'exact', places: [count] };
  const old = oldTexts(hunk.lines);
  if (old.length === 0 && hunk.position !== undefined) {
    return count === 0 ? { ...whole, layer: 'exact', places: [0] } : { why: { kind: 'no-context' } };
  }
  const starts = startsBehindAnchors(ground, hunk, cursor, old[0]);
  if ('anchor' in starts) return { why: { kind: 'no-anchor', anchor: starts.anchor } };
  if (old.length === 0) return { ...whole, layer: starts.layer, places: starts.places ?? [count] };

  for (const lines of withAndWithoutBlankEnd(hunk.lines)) {
    const match = findPlaces(ground, { ...hunk, lines }, cursor, starts.places);
    if (match !== undefined) return { ...match, lines, span: spanOf(lines, mayShare) };
  }
  return { why: whyNot(ground, hunk, cursor) };
}

type Found = { readonly layer: Layer; readonly places: readonly number[] };

function findPlaces(
  ground: Ground,
  hunk: Hunk,
  cursor: number,
  starts: readonly number[] | undefined,
): Found | undefined {
  const old = oldTexts(hunk.lines);
  if (hunk.position !== undefined && hunk.position >= cursor && !hunk.atEnd) {
    const isThere = old.every((text, index) => ground.file.texts[(hunk.position ?? 0) + index] === text);
    if (isThere) return { layer: 'exact', places: [hunk.position] };
  }
  for (const layer of LAYERS) {
    const all = matches(ground, old, layer, cursor).filter(
      (at) => !hunk.atEnd || at + old.length === ground.file.count,
    );
    // A line named in front of the place says which of several is meant: the first behind it.
    const places = starts === undefined ? all : unique(starts.map((start) => all.find((at) => at >= start)));
    if (places.length > 0) return { layer, places };
  }
  return undefined;
}

/** `places` undefined: anywhere. */
type Starts = { readonly layer: Layer; readonly places: readonly number[] | undefined };

/** Where the search begins: behind each place at which all anchors stand in order. */
function startsBehindAnchors(
  ground: Ground,
  { anchors }: Hunk,
  cursor: number,
  first: string | undefined,
): Starts | { readonly anchor: string } {
  if (anchors.length === 0) return { layer: 'exact', places: undefined };
  const next = followAnchors(ground, anchors, cursor);
  // What encloses several hunks is named before each, though it stands in front of all of them.
  const found = 'anchor' in next ? followAnchors(ground, anchors, 0) : next;
  if ('anchor' in found) return found;
  // Some repeat the named line as the first of the hunk.
  const isRepeated = first !== undefined && first.trim() === anchors.at(-1)?.trim();
  const places = found.places.map((at) => Math.max(isRepeated ? at : at + 1, cursor));
  return { layer: found.layer, places: unique(places) };
}

/** Where the last anchor stands, for each place of the first one from `from` on; the anchor that is nowhere. */
function followAnchors(ground: Ground, anchors: readonly string[], from: number): Found | { readonly anchor: string } {
  let reached: Found | undefined;
  for (const anchor of anchors) {
    const before = reached?.places;
    const found = firstLayer((layer) => {
      const all = matches(ground, [anchor], layer, from);
      return before === undefined ? all : unique(before.map((start) => all.find((at) => at > start)));
    });
    if (found === undefined) return { anchor };
    const layer = LAYERS[Math.max(LAYERS.indexOf(found.layer), LAYERS.indexOf(reached?.layer ?? 'exact'))];
    reached = { places: found.places, layer: layer ?? found.layer };
  }
  return reached ?? { anchor: '' };
}

function firstLayer(find: (layer: Layer) => readonly number[]): Found | undefined {
  for (const layer of LAYERS) {
    const places = find(layer);
    if (places.length > 0) return { layer, places };
  }
  return undefined;
}

/** Indexes from `from` on at which all lines of `wanted` stand. */
function matches({ file, hasCharacters }: Ground, wanted: readonly string[], layer: Layer, from: number): number[] {
  const lines = file.as(layer);
  const texts = wanted.map((text) => comparable(text, layer, hasCharacters));
  const found: number[] = [];
  for (let at = lines.indexOf(texts[0] ?? '', from); at !== -1; at = lines.indexOf(texts[0] ?? '', at + 1)) {
    if (texts.every((text, index) => lines[at + index] === text)) found.push(at);
  }
  return found;
}

function whyNot(ground: Ground, hunk: Hunk, cursor: number): Misplaced {
  const free = firstLayer((layer) => matches(ground, oldTexts(hunk.lines), layer, 0));
  const at = free?.places.at(-1);
  if (at === undefined) return { kind: 'not-found' };
  if (at < cursor) return { kind: 'out-of-order', at };
  if (hunk.atEnd) return { kind: 'not-at-end', at };
  return hunk.anchors.length > 0 ? { kind: 'not-behind-anchor', at } : { kind: 'not-found' };
}

/** Blank lines at the end may only part a hunk from what follows it in the patch. */
function withAndWithoutBlankEnd(lines: readonly HunkLine[]): readonly (readonly HunkLine[])[] {
  const last = lines.findLastIndex(({ sign, text }) => sign !== ' ' || text !== '');
  const without = lines.slice(0, last + 1);
  return without.length === lines.length || oldTexts(without).length === 0 ? [lines] : [lines, without];
}

export function oldTexts(lines: readonly HunkLine[]): readonly string[] {
  return lines.filter(({ sign }) => sign !== '+').map(({ text }) => text);
}

/** How many old lines a hunk has; if others may show its last unchanged ones too, without those. */
function spanOf(lines: readonly HunkLine[], mayShare: boolean): number {
  const last = mayShare ? lines.findLastIndex(({ sign }) => sign !== ' ') : lines.length - 1;
  return oldTexts(lines.slice(0, last + 1)).length;
}

function unique(places: readonly (number | undefined)[]): readonly number[] {
  return [...new Set(places)].filter((place) => place !== undefined).sort((one, other) => one - other);
}
