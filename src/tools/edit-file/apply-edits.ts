/** Carries out the edits of one call on a text, in order, all or none. Pure: files are the tool's. */
import type { ChangedSpan } from '../diff-display.js';
import { omissionLine } from '../omission.js';
import { hasLoneSurrogate, lineIndexAt, lineStarts, type TextFile, viewWithLf } from '../text-file.js';
import { ToolFailure } from '../types.js';
import { refuseUnsafeBytes } from './byte-edits.js';
import { explainMiss } from './explain-miss.js';
import { fitLineEnds } from './fit-line-ends.js';
import { findPlaces } from './match.js';
import { pastedMark } from './pasted-marks.js';
import { type Edit, hitsOf, type Layer, MAX_COUNTED, type Place } from './places.js';
import { advanceSpans, type Replacement, replacePlaces } from './replace-places.js';

/** What one edit did. `line` is the first changed one, from 1, right after this edit. */
export type EditReport = { readonly layer: Layer; readonly count: number; readonly lines: readonly number[] };

export type EditedText = {
  readonly text: string;
  /** What changed between the first text and the last. */
  readonly spans: readonly ChangedSpan[];
  readonly reports: readonly EditReport[];
};

const MAX_RESULT_CHARACTERS = 50_000_000; // A replace_all may multiply a file; nobody means that.

/**
 * @throws {ToolFailure} `empty-old`, `no-change`, `placeholder`, `pasted-marks`, `not-found`, `ambiguous`, `overlap`,
 * `unsupported-encoding`, `too-large`. No edit counts then.
 */
export function applyEdits(file: TextFile, edits: readonly Edit[], shown: string): EditedText {
  let edited: EditedText = { text: file.text, spans: [], reports: [] };
  for (const [index, edit] of edits.entries()) {
    try {
      edited = applyEdit({ ...file, text: edited.text }, edited, comparable(edit, file), {
        shown,
        original: file.text,
      });
    } catch (thrown) {
      if (!(thrown instanceof ToolFailure) || edits.length === 1) throw thrown;
      const message = `Edit ${index + 1} of ${edits.length} failed, so none was made. ${thrown.message}`;
      throw new ToolFailure(thrown.code, message, { cause: thrown });
    }
  }
  if (edited.text === file.text) throw noChange(shown);
  return edited;
}

/** The edit in the characters of the file's text: bytes where it is not UTF-8, and without a copied byte order mark. */
function comparable(edit: Edit, file: TextFile): Edit {
  const convert = (text: string) => {
    const bare = file.bom && text.startsWith('\ufeff') ? text.slice(1) : text;
    return file.encoding === 'utf-8' ? bare : Buffer.from(bare, 'utf8').toString('latin1');
  };
  if (hasLoneSurrogate(edit.old) || hasLoneSurrogate(edit.new)) {
    throw new ToolFailure(
      'unsupported-encoding',
      'The text has half of a surrogate pair in it, which no file can hold.',
    );
  }
  return { old: convert(edit.old), new: convert(edit.new), all: edit.all };
}

type Scene = { readonly shown: string; readonly original: string };

function applyEdit(file: TextFile, before: EditedText, edit: Edit, scene: Scene): EditedText {
  refuseSenseless(file, edit, scene.shown);
  if (file.text === '' && edit.old === '') {
    const whole = [{ start: 0, end: 0, text: edit.new }];
    return record(before, whole, 'exact');
  }
  const view = viewWithLf(file.text);
  const wanted = {
    old: edit.old.replaceAll('\r\n', '\n'),
    new: edit.new.replaceAll('\r\n', '\n'),
    all: edit.all,
    hasCharacters: file.encoding === 'utf-8',
  };
  const match = findPlaces(view.text, wanted);
  if (match.kind === 'none') throw notFound(view.text, wanted.old, wanted.new, scene);
  if (match.kind === 'ambiguous') throw ambiguous(view.text, match.places, match.layer, scene.shown);

  const toOriginal = ({ start, end }: Place) => ({ start: view.toOriginal(start), end: view.toOriginal(end) });
  // A text without line ends has none to keep: there the new text's own are written.
  const replacement = match.layer === 'indentation' ? match.replacement : edit.new;
  const places = match.places.map(toOriginal);
  if (file.encoding === 'bytes') refuseUnsafeBytes(file.text, places, edit, scene.shown);
  refuseHuge(file.text, places, replacement, scene.shown);
  return record(
    before,
    places.map((place) => ({ ...place, text: fitLineEnds(file.text, place, replacement) })),
    match.layer,
  );
}

function record(before: EditedText, replacements: readonly Replacement[], layer: Layer): EditedText {
  const starts = lineStarts(before.text);
  let added = 0; // Lines that the replacements so far put in.
  const lines = replacements.map(({ start, end, text }) => {
    const line = lineIndexAt(starts, start) + 1 + added;
    added += text.split('\n').length - before.text.slice(start, end).split('\n').length;
    return line;
  });
  return {
    text: replacePlaces(before.text, replacements),
    spans: advanceSpans(before.spans, replacements),
    reports: [...before.reports, { layer, count: replacements.length, lines: [...new Set(lines)] }],
  };
}

function refuseSenseless(file: TextFile, edit: Edit, shown: string): void {
  if (edit.old === '' && file.text !== '') {
    throw new ToolFailure(
      'empty-old',
      `old_string is empty, but ${shown} has content. Give the text to replace; to add text, repeat the line next to it in both strings; to replace everything, use write_file.`,
    );
  }
  if (edit.old === edit.new) throw noChange(shown);
  const omission = omissionLine(edit.new, edit.old);
  if (omission !== undefined) {
    throw new ToolFailure(
      'placeholder',
      `new_string has the line ${JSON.stringify(omission)}, which stands for text left out. Writing it would delete that text: give new_string in full, or make the edit smaller.`,
    );
  }
  const pasted = pastedMark(edit.new, `${edit.old}\n${file.text}`, shown);
  if (pasted !== undefined) {
    throw new ToolFailure('pasted-marks', `new_string has ${pasted} that ${shown} does not have: leave that out.`);
  }
}

function refuseHuge(text: string, places: readonly Place[], replacement: string, shown: string): void {
  const length = text.length + places.length * replacement.length;
  if (length <= MAX_RESULT_CHARACTERS) return;
  throw new ToolFailure('too-large', `${places.length} replacements would make ${shown} larger than 50 MB.`);
}

function noChange(shown: string): ToolFailure {
  return new ToolFailure('no-change', `${shown} would stay as it is: old_string and new_string say the same.`);
}

function ambiguous(text: string, places: readonly Place[], layer: Layer, shown: string): ToolFailure {
  const starts = lineStarts(text);
  const lines = [...new Set(places.map(({ start }) => lineIndexAt(starts, start) + 1))];
  const count = places.length === MAX_COUNTED ? `${MAX_COUNTED} times or more` : `${places.length} times`;
  const loosely = layer === 'exact' ? '' : ` (${LAYER_NOTES[layer]})`;
  const advice = layer === 'exact' ? ', or set replace_all to change all of them' : '';
  return new ToolFailure(
    'ambiguous',
    `old_string is in ${shown} ${count}${loosely}: ${nameLines(lines)}. Add lines around it until it fits only one place${advice}.`,
  );
}

function notFound(text: string, old: string, replacement: string, { shown, original }: Scene): ToolFailure {
  if (text !== original && hitsOf(viewWithLf(original).text, old, 1, 1).length > 0) {
    return new ToolFailure(
      'overlap',
      `Its old_string is in ${shown}, but an earlier edit of this call changed that place. Make one edit of the two.`,
    );
  }
  return new ToolFailure('not-found', `old_string is not in ${shown}.\n${explainMiss(text, old, replacement)}`);
}

/** How a place was found, for the result. */
export const LAYER_NOTES: Readonly<Record<Layer, string>> = {
  exact: 'exactly',
  'trailing-blanks': 'not counting blanks at line ends',
  indentation: "not counting indentation; the new lines got the file's",
  'look-alikes': 'taking characters that look alike for the same',
};

const MAX_NAMED_LINES = 10;

/** `line 3`, or `lines 1, 4, 9 and 12 more`. */
export function nameLines(lines: readonly number[]): string {
  const named = lines.slice(0, MAX_NAMED_LINES).join(', ');
  const rest = lines.length - MAX_NAMED_LINES;
  return `${lines.length === 1 ? 'line' : 'lines'} ${named}${rest > 0 ? ` and ${rest} more` : ''}`;
}
