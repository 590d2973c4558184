/** Reads the text of a patch: the `*** Begin Patch` format here, unified diffs by `parse-unified.ts`. */
import { hasLoneSurrogate } from '../text-file.js';
import { ToolFailure } from '../types.js';
import { isUnified, parseUnified } from './parse-unified.js';
import type { Hunk, HunkLine, Section } from './sections.js';

const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const HEADER = /^\s*\*\*\* (Add File|Delete File|Update File):\s*(.*?)\s*$/;
const MOVE = /^\s*\*\*\* Move to:\s*(.*?)\s*$/;
const END_OF_FILE = /^\*\*\* End of File\s*$/;
/** Line numbers in a hunk's header are not part of this format, and mostly wrong: they say nothing. */
const NUMBERED_HUNK = /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/;

/** @throws {ToolFailure} `bad-patch`, with the line. */
export function parsePatch(text: string): readonly Section[] {
  if (hasLoneSurrogate(text)) throw badPatch('it has half of a surrogate pair in it, which no file can hold.');
  const lines = text.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  const begin = lines.findIndex((line) => line.trim() === BEGIN);
  if (begin === -1) {
    if (isUnified(lines)) return parseUnified(lines);
    throw badPatch(`there is no line "${BEGIN}", and it is no unified diff.`);
  }
  const end = lines.findLastIndex((line) => line.trim() === END);
  if (end < begin) throw badPatch(`there is no line "${END}": it was cut off. Send all of it.`);
  const second = lines.findIndex((line, index) => index > begin && line.trimEnd() === BEGIN);
  if (second !== -1) throw badPatch(`line ${second + 1} begins a second patch. Put all sections into one.`);

  const sections = readSections({ lines, at: begin + 1, end });
  if (sections.length === 0) throw badPatch('it has no sections.');
  return sections;
}

export function badPatch(problem: string): ToolFailure {
  return new ToolFailure('bad-patch', `The patch cannot be read: ${problem}\nNothing was written.`);
}

/** The lines of a patch and how far they are read. */
type Reader = { readonly lines: readonly string[]; at: number; readonly end: number };

function readSections(reader: Reader): readonly Section[] {
  const sections: Section[] = [];
  for (skipBlank(reader); reader.at < reader.end; skipBlank(reader)) sections.push(readSection(reader));
  return sections;
}

function skipBlank(reader: Reader): void {
  while (reader.at < reader.end && current(reader).trim() === '') reader.at++;
}

function current({ lines, at }: Reader): string {
  return lines[at] ?? '';
}

function readSection(reader: Reader): Section {
  const [, kind, path = ''] = HEADER.exec(current(reader)) ?? [];
  if (kind === undefined) {
    const found = JSON.stringify(current(reader));
    throw atLine(
      reader,
      `${found} is no header. A section begins with "*** Add File: PATH", "*** Update File: PATH" or "*** Delete File: PATH".`,
    );
  }
  if (path === '') throw atLine(reader, 'the header names no file.');
  reader.at++;
  if (kind === 'Delete File') return { kind: 'delete', path };
  return kind === 'Add File' ? readAdd(reader, path) : readUpdate(reader, path);
}

function readAdd(reader: Reader, path: string): Section {
  const content: string[] = [];
  for (; reader.at < reader.end && current(reader).startsWith('+'); reader.at++) content.push(current(reader).slice(1));
  skipBlank(reader);
  if (reader.at < reader.end && !HEADER.test(current(reader)))
    throw atLine(reader, `every line of the new file ${path} must begin with "+".`);
  return { kind: 'add', path, content: content.map((line) => `${line}\n`).join(''), mayReplace: true };
}

function readUpdate(reader: Reader, path: string): Section {
  const moveTo = MOVE.exec(current(reader))?.[1];
  if (moveTo === '') throw atLine(reader, 'it names no file.');
  if (moveTo !== undefined) reader.at++;
  const hunks: Hunk[] = [];
  while (reader.at < reader.end && !HEADER.test(unlessContext(current(reader)))) {
    if (hunks.length === 0 || hunks.at(-1)?.atEnd) skipBlank(reader);
    if (reader.at === reader.end || HEADER.test(current(reader))) break;
    hunks.push(readHunk(reader, path, hunks.length === 0));
  }
  if (hunks.length === 0) throw atLine(reader, `the update of ${path} has no hunks, so it would change nothing.`);
  return { kind: 'update', path, hunks, ...(moveTo !== undefined && { moveTo }) };
}

/** Behind the lines of a hunk a header begins at the line's start: with a blank before it, it is a line of the file. */
function unlessContext(line: string): string {
  return line.startsWith(' ') ? '' : line;
}

function readHunk(reader: Reader, path: string, isFirst: boolean): Hunk {
  const headers: string[] = [];
  for (; reader.at < reader.end && current(reader).startsWith('@@'); reader.at++)
    headers.push(current(reader).trimEnd());
  if (headers.length === 0 && !isFirst) {
    throw atLine(reader, `${JSON.stringify(current(reader))} does not begin with " ", "-", "+" or "@@".`);
  }
  const lines: HunkLine[] = [];
  for (; reader.at < reader.end; reader.at++) {
    const line = readLine(current(reader));
    if (line === undefined) break;
    lines.push(line);
  }
  if (lines.length === 0) throw atLine(reader, `a hunk of ${path} has no lines that begin with " ", "-" or "+".`);
  const atEnd = reader.at < reader.end && END_OF_FILE.test(current(reader));
  if (atEnd) reader.at++;
  return { header: headers.join(' '), anchors: headers.flatMap(anchorOf), lines, atEnd };
}

function anchorOf(header: string): readonly string[] {
  // The blank behind the signs parts them from the line, whose own indentation may follow.
  const text = NUMBERED_HUNK.test(header) ? '' : header.slice(2).replace(/^ /, '');
  return text.trim() === '' ? [] : [text];
}

function readLine(line: string): HunkLine | undefined {
  if (line === '') return { sign: ' ', text: '' };
  const sign = line[0];
  return sign === ' ' || sign === '-' || sign === '+' ? { sign, text: line.slice(1) } : undefined;
}

function atLine({ at }: Reader, problem: string): ToolFailure {
  return badPatch(`line ${at + 1}: ${problem}`);
}
