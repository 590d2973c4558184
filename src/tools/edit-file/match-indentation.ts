/** Matching of whole lines whose indentation differs uniformly, and re-indenting of what is put in their place. */
import { lineStarts } from '../text-file.js';
import { MAX_COUNTED, type Match, NONE, type Place, type Wanted } from './places.js';
import { translationOf } from './translate-indentation.js';

/**
 * Compares whole lines by what stands between their outer blanks. The single place is used only if one translation turns every
 * line's indentation in `old` into the file's; the new lines are translated likewise.
 */
export function matchIndentation(text: string, wanted: Wanted): Match {
  const old = linesOf(wanted.old);
  const starts = lineStarts(text);
  const file = text.split('\n');
  const first = candidates(file, old.lines);
  const places = first.map((index) => placeOf(starts, index, old, text));
  const [index, place] = [first[0], places[0]];
  if (index === undefined || place === undefined) return NONE;
  if (places.length > 1) return { kind: 'ambiguous', layer: 'indentation', places };

  const found = file.slice(index, index + old.lines.length);
  if (isDoubtfulEnd(found, old, place, text)) return NONE;
  const replacement = reindent(wanted.new, old.lines, found);
  return replacement === undefined ? NONE : { kind: 'found', layer: 'indentation', places, replacement };
}

type OldLines = { readonly lines: readonly string[]; readonly endsWithLf: boolean };

function linesOf(old: string): OldLines {
  const endsWithLf = old.endsWith('\n');
  return { lines: (endsWithLf ? old.slice(0, -1) : old).split('\n'), endsWithLf };
}

function candidates(file: readonly string[], old: readonly string[]): readonly number[] {
  const wanted = old.map(contentOf);
  const anchor = wanted.findIndex((line) => line !== '');
  const found: number[] = [];
  for (let at = anchor; at < file.length && found.length < MAX_COUNTED; at++) {
    if (contentOf(file[at] ?? '') !== wanted[anchor]) continue;
    const start = at - anchor;
    const fits = wanted.every((line, index) => {
      const other = file[start + index];
      return other !== undefined && contentOf(other) === line;
    });
    if (fits) found.push(start);
  }
  return found;
}

function placeOf(starts: readonly number[], index: number, old: OldLines, text: string): Place {
  const next = starts[index + old.lines.length] ?? text.length + 1;
  return { start: starts[index] ?? 0, end: old.endsWithLf ? Math.min(next, text.length) : next - 1 };
}

/** An unterminated last line is no match for a terminated one, and blanks that `old` does not show may be meant to stay. */
function isDoubtfulEnd(found: readonly string[], old: OldLines, place: Place, text: string): boolean {
  if (old.endsWithLf) return text[place.end - 1] !== '\n';
  return /[ \t]$/.test(found.at(-1) ?? '');
}

/** The new text in the file's indentation; undefined where it can't be told how its lines are meant. */
function reindent(text: string, old: readonly string[], found: readonly string[]): string | undefined {
  const lines = text.split('\n');
  const indents = indentsOf(lines);
  if (indents.length === 0) return text;
  const oldIndents = indentsOf(old);
  const fileIndents = indentsOf(found);
  const translate = translationOf(
    oldIndents.map((indent, index) => ({ from: indent, to: fileIndents[index] ?? '' })),
    indents,
  );
  if (translate === undefined) return undefined;

  if (speaksLike(indents, oldIndents)) {
    const translated = lines.map((line) => {
      if (contentOf(line) === '') return line;
      const indent = translate(indentOf(line));
      return indent === undefined ? undefined : indent + line.slice(indentOf(line).length);
    });
    return translated.includes(undefined) ? undefined : translated.join('\n');
  }
  // The new text may have the file's indentation already, although the old one did not.
  return speaksLike(indents, fileIndents) && indents.every((indent) => indent.startsWith(commonStart(fileIndents)))
    ? text
    : undefined;
}

/** Whether new lines start where the old ones did and end at a depth that those had: then both count alike. */
function speaksLike(indents: readonly string[], model: readonly string[]): boolean {
  return indents[0] === model[0] && model.includes(indents.at(-1) ?? '');
}

function commonStart(indents: readonly string[]): string {
  return indents.reduce((common, indent) => {
    let length = 0;
    while (length < common.length && common[length] === indent[length]) length++;
    return common.slice(0, length);
  });
}

/** The indentation of each line that has more than blanks. */
function indentsOf(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => contentOf(line) !== '').map(indentOf);
}

function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

/** A line without outer blanks and tabs; other white space is content. */
function contentOf(line: string): string {
  let start = 0;
  let end = line.length;
  while (start < end && (line[start] === ' ' || line[start] === '\t')) start++;
  while (end > start && (line[end - 1] === ' ' || line[end - 1] === '\t')) end--;
  return line.slice(start, end);
}
