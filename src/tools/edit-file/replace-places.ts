/** Keeps account of what edits replaced, from the first text to the last, so that a diff needs no comparison of files. */
import type { ChangedSpan } from '../diff-display.js';
import type { Place } from './places.js';

export type Replacement = Place & { readonly text: string };

/** The text with all replacements (sorted, without overlap) made. */
export function replacePlaces(text: string, replacements: readonly Replacement[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const replacement of replacements) {
    parts.push(text.slice(at, replacement.start), replacement.text);
    at = replacement.end;
  }
  parts.push(text.slice(at));
  return parts.join('');
}

/** The spans after further replacements of the present text; what touches grows together. */
export function advanceSpans(
  spans: readonly ChangedSpan[],
  replacements: readonly Replacement[],
): readonly ChangedSpan[] {
  const advanced: ChangedSpan[] = [];
  let shift = 0; // New length less old length of all replacements passed so far.
  let oldShift = 0; // Present offset less first offset, behind all spans passed so far.
  let [s, r] = [0, 0];
  while (s < spans.length || r < replacements.length) {
    const first = Math.min(
      spans[s]?.start ?? Number.POSITIVE_INFINITY,
      replacements[r]?.start ?? Number.POSITIVE_INFINITY,
    );
    const shiftBefore = shift;
    const oldStart = first - oldShift;
    let end = first;
    for (;;) {
      const span = spans[s];
      const replacement = replacements[r];
      if (span !== undefined && span.start <= end) {
        end = Math.max(end, span.end);
        oldShift = span.end - span.oldEnd;
        s++;
      } else if (replacement !== undefined && replacement.start <= end) {
        end = Math.max(end, replacement.end);
        shift += replacement.text.length - (replacement.end - replacement.start);
        r++;
      } else break;
    }
    advanced.push({ oldStart, oldEnd: end - oldShift, start: first + shiftBefore, end: end + shift });
  }
  return advanced;
}
