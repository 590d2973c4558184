/** Line ends of new text: the ones the file has at that place. */
import { diffArrays } from 'diff';
import type { Place } from './places.js';

const MAX_LINE_EDITS = 1000; // Beyond it lines are paired by their order: only line ends in a file of mixed ones depend on it.

/**
 * Gives every line end of `replacement` the form that the file has at `place` (offsets into `original`). Lines that were
 * there before keep their own; in a text without any line end the replacement's own stay as they are.
 */
export function fitLineEnds(original: string, place: Place, replacement: string): string {
  if (!replacement.includes('\n')) return replacement;
  const replaced = original.slice(place.start, place.end);
  const ends = replaced.match(/\r?\n/g) ?? [];
  const usual = ends[0] ?? neighbouringEnd(original, place);
  if (usual === undefined) return replacement;
  const wanted = replacement.replaceAll('\r\n', '\n');
  if (ends.every((end) => end === usual)) return usual === '\n' ? wanted : wanted.replaceAll('\n', usual);

  const lines = wanted.split('\n');
  const own = endsByLine(replaced.split(/\r?\n/), ends, lines);
  return lines.map((line, index) => line + (index < lines.length - 1 ? (own[index] ?? usual) : '')).join('');
}

/** The end of the line that the place lies in, else of the line before it. */
function neighbouringEnd(original: string, place: Place): string | undefined {
  const next = original.indexOf('\n', place.end);
  const newline = next === -1 && place.start > 0 ? original.lastIndexOf('\n', place.start - 1) : next;
  if (newline === -1) return undefined;
  return original[newline - 1] === '\r' ? '\r\n' : '\n';
}

/** For each new line the end of the old line that it is or replaces; an added one takes that of the line before it. */
function endsByLine(
  oldLines: readonly string[],
  ends: readonly string[],
  newLines: readonly string[],
): readonly (string | undefined)[] {
  const changes = diffArrays([...oldLines], [...newLines], { maxEditLength: MAX_LINE_EDITS });
  if (changes === undefined) return newLines.map((_, index) => ends[Math.min(index, ends.length - 1)]);
  const own: (string | undefined)[] = [];
  let at = 0;
  let removed: readonly string[] = [];
  for (const change of changes) {
    const passed = change.added ? removed : ends.slice(at, at + change.value.length);
    if (!change.added) at += change.value.length;
    removed = change.removed ? passed : [];
    if (change.removed) continue;
    const beforeAdded = passed.at(-1) ?? ends[Math.max(at - 1, 0)];
    change.value.forEach((_, index) => {
      own.push(passed[index] ?? (change.added ? beforeAdded : undefined));
    });
  }
  return own;
}
