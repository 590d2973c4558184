/** Tells a model why its `old_string` was not found: what is there instead, at which lines, from which character on. */
import { type NearestBlock, nearestBlock } from './nearest-block.js';

const MAX_SHOWN_LINES = 8; // Enough to recognise the place; read_file shows the rest.
const MAX_SHOWN_CHARACTERS = 160;

/** What the texts are called by the tool that looked for them. */
export type MissWords = { readonly old: string; readonly new: string };

const EDIT_WORDS: MissWords = { old: 'old_string', new: 'new_string' };

/** Sentences and a numbered excerpt. Both texts have LF line ends. */
export function explainMiss(text: string, old: string, replacement: string, words = EDIT_WORDS): string {
  const lines = text.split('\n');
  const hints = [alreadyThere(text, replacement, words), pastedAround(text, old, words)].filter(
    (hint) => hint !== undefined,
  );
  const nearest = nearestBlock(lines, old.split('\n'));
  const near = nearest === undefined ? 'Nothing in the file is like it.' : describeBlock(lines, old, nearest, words);
  return [...hints, near, 'Read the place with read_file and copy it exactly, without the line numbers.'].join('\n');
}

function alreadyThere(text: string, replacement: string, words: MissWords): string | undefined {
  const at = replacement.trim().length < 4 ? -1 : text.indexOf(replacement);
  if (at === -1) return undefined;
  return `${words.new} is in the file already, at line ${text.slice(0, at).split('\n').length}: the change may have been made before.`;
}

type Wrapping = { readonly what: string; readonly strip: (old: string) => string };

const eachLine = (pattern: RegExp) => (old: string) => {
  const lines = old.split('\n');
  return lines.every((line) => pattern.test(line)) ? lines.map((line) => line.replace(pattern, '')).join('\n') : old;
};

/** What models put around the text they copied. It is named, never taken off: the new text may carry it too. */
const WRAPPINGS: readonly Wrapping[] = [
  { what: 'line numbers', strip: eachLine(/^\s*\d+\s?[│|:→\t] ?/) },
  { what: 'line numbers', strip: eachLine(/^\s*\d+\s?[│|:→\t]/) },
  { what: 'the signs of a diff', strip: eachLine(/^[-+ ]/) },
  { what: 'a code fence', strip: (old) => old.replace(/^```.*\n/, '').replace(/\n```\s*$/, '') },
  {
    what: 'escaped characters (\\n, \\", …)',
    strip: (old) =>
      old
        .replace(/\\(["'`\\])/g, '$1')
        .replace(/\\n/g, '\n')
        .replace(/\\t/g, '\t'),
  },
  {
    what: 'HTML entities',
    strip: (old) => old.replace(/&(lt|gt|amp|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity),
  },
];
const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
  '&quot;': '"',
  '&#39;': "'",
};

function pastedAround(text: string, old: string, words: MissWords): string | undefined {
  if (/^(<{5,} SEARCH|>{5,} REPLACE)/m.test(old)) return `${words.old} has SEARCH/REPLACE marks in it: leave them out.`;
  const found = WRAPPINGS.find(({ strip }) => {
    const stripped = strip(old);
    return stripped !== old && stripped.trim() !== '' && text.includes(stripped);
  });
  if (found !== undefined)
    return `${words.old} has ${found.what} that the file does not have: leave them out, in ${words.new} too.`;
  if (/^\s*(\.\.\.|…)\s*$/m.test(old)) return `${words.old} leaves lines out ("..."): it must be the whole text.`;
  return old.endsWith('\n') && text.endsWith(old.slice(0, -1))
    ? 'The last line of the file does not end in a newline.'
    : undefined;
}

function describeBlock(lines: readonly string[], old: string, block: NearestBlock, words: MissWords): string {
  const oldLines = old.split('\n');
  const length = Math.min(oldLines.length - block.oldFrom, MAX_SHOWN_LINES, lines.length - block.from);
  const shown = Array.from({ length }, (_, index) => block.from + index).map(
    (index) => `${index + 1}│${clip(lines[index] ?? '', 0)}`,
  );
  const range = length === 1 ? `line ${block.from + 1}` : `lines ${block.from + 1}-${block.from + length}`;
  return [`Nearest: ${range}:`, ...shown, ...firstDifference(lines, oldLines, block, words)].join('\n');
}

function firstDifference(
  lines: readonly string[],
  oldLines: readonly string[],
  block: NearestBlock,
  words: MissWords,
): readonly string[] {
  for (let index = block.oldFrom; index < oldLines.length; index++) {
    const wanted = oldLines[index] ?? '';
    const at = block.from + index - block.oldFrom;
    const there = lines[at];
    if (there === undefined) return [`The file ends before line ${index + 1} of ${words.old}.`];
    const from = index === block.oldFrom ? startIn(there, wanted, block.column) : 0;
    const shared = sharedLength(there.slice(from), wanted);
    // The last line of old_string may stop anywhere in the file's line.
    if (shared === wanted.length && (index === oldLines.length - 1 || from + shared === there.length)) continue;
    const column = from + shared;
    return [
      `First difference: line ${at + 1}, column ${column + 1}: the file has ${nameOf(there, column)}, ${words.old} has ${nameOf(wanted, shared)}.`,
      `  ${'file:'.padEnd(words.old.length + 1)} ${visible(clip(there, column))}`,
      `  ${words.old}: ${visible(clip(wanted, shared))}`,
    ];
  }
  return [];
}

/** Where the first line of old_string starts in the file's line; it may start anywhere. */
function startIn(there: string, wanted: string, column: number): number {
  return there.endsWith(wanted) ? there.length - wanted.length : column;
}

function sharedLength(there: string, wanted: string): number {
  let length = 0;
  while (length < wanted.length && there[length] === wanted[length]) length++;
  return length;
}

function nameOf(line: string, column: number): string {
  const character = [...line.slice(column, column + 2)][0];
  if (character === undefined) return 'the end of the line';
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  if (character === ' ') return `a blank (${code})`;
  if (character === '\t') return `a tab (${code})`;
  return /^[!-~]$/.test(character) ? `"${character}"` : `"${character}" (${code})`;
}

/** Blanks as `·`, tabs as `→`, other white space and control characters by number: they must not look alike. */
function visible(line: string): string {
  return line
    .replaceAll(' ', '·')
    .replaceAll('\t', '→')
    .replace(/[\p{Cc}\p{Cf}\p{Z}]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** A part of a long line that holds `column`. */
function clip(line: string, column: number): string {
  if (line.length <= MAX_SHOWN_CHARACTERS) return line;
  const from = Math.max(0, column - MAX_SHOWN_CHARACTERS / 2);
  const part = line.slice(from, from + MAX_SHOWN_CHARACTERS);
  return `${from > 0 ? '…' : ''}${part}${from + part.length < line.length ? '…' : ''}`;
}
