/** Finds the lines of a file that are most like a text that is not in it. Bounded: it must not be slower than an edit. */

/** Line `from` of the file, from its character `column` on, stands where line `oldFrom` of the text looked for does. */
export type NearestBlock = { readonly from: number; readonly column: number; readonly oldFrom: number };

const MAX_REPEATS = 20; // A line that stands more often in the text looked for tells nothing about the place.
const MAX_COMPARED_LINES = 20_000;
const MAX_COMPARED_CHARACTERS = 200;
const LEAST_LIKENESS = 0.4; // Below it, showing the line would mislead more than help.

export function nearestBlock(file: readonly string[], old: readonly string[]): NearestBlock | undefined {
  return byEqualLines(file, old) ?? byCommonStart(file, old) ?? byLikeness(file, old);
}

/** Each equal line votes for the place it would put the text at; long lines count more than braces. */
function byEqualLines(file: readonly string[], old: readonly string[]): NearestBlock | undefined {
  const indexes = new Map<string, number[]>();
  for (const [index, line] of old.entries()) {
    const known = indexes.get(line.trim());
    if (known === undefined) indexes.set(line.trim(), [index]);
    else if (known.length < MAX_REPEATS) known.push(index);
  }
  indexes.delete('');
  const votes = new Map<number, number>();
  let best: { readonly from: number; readonly weight: number } | undefined;
  for (const [index, line] of file.entries()) {
    const content = line.trim();
    for (const oldIndex of indexes.get(content) ?? []) {
      const from = index - oldIndex;
      const weight = (votes.get(from) ?? 0) + Math.min(content.length, 20);
      votes.set(from, weight);
      if (best === undefined || weight > best.weight) best = { from, weight };
    }
  }
  if (best === undefined || best.weight < 3) return undefined;
  // The text may begin in front of the file's first line.
  return { from: Math.max(best.from, 0), column: 0, oldFrom: Math.max(-best.from, 0) };
}

/** The line that shares the longest piece with the start of the text: for long lines, and for changes within one. */
function byCommonStart(file: readonly string[], old: readonly string[]): NearestBlock | undefined {
  const oldFrom = old.findIndex((line) => line.trim() !== '');
  const line = old[oldFrom] ?? '';
  const wanted = line.trim();
  const least = Math.max(8, Math.ceil(Math.min(wanted.length, MAX_COMPARED_CHARACTERS) / 2));
  if (wanted.length < least) return undefined;
  const start = wanted.slice(0, least);
  const from = file.findIndex((other) => other.includes(start));
  if (from === -1) return undefined;
  return { from, column: Math.max((file[from] ?? '').indexOf(start) - line.indexOf(start), 0), oldFrom };
}

function byLikeness(file: readonly string[], old: readonly string[]): NearestBlock | undefined {
  const oldFrom = old.findIndex((line) => line.trim() !== '');
  const wanted = pairsOf(old[oldFrom] ?? '');
  let best: { readonly from: number; readonly likeness: number } | undefined;
  for (const [from, line] of file.slice(0, MAX_COMPARED_LINES).entries()) {
    const likeness = likenessOf(wanted, pairsOf(line));
    if (likeness >= LEAST_LIKENESS && (best === undefined || likeness > best.likeness)) best = { from, likeness };
  }
  return best === undefined ? undefined : { from: best.from, column: 0, oldFrom };
}

function pairsOf(line: string): ReadonlySet<string> {
  const text = line.trim().toLowerCase().slice(0, MAX_COMPARED_CHARACTERS);
  return new Set(Array.from({ length: Math.max(text.length - 1, 0) }, (_, index) => text.slice(index, index + 2)));
}

/** Dice's coefficient: 1 for the same pairs of characters, 0 for none in common. */
function likenessOf(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size === 0 || other.size === 0) return 0;
  let common = 0;
  for (const pair of one) if (other.has(pair)) common++;
  return (2 * common) / (one.size + other.size);
}
