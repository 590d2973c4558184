/** Gathers the lines of one read: numbered, bounded, and with notes on what can't be seen in them. */
import { isUtf8 } from 'node:buffer';
import type { RawLine } from '../line-splitter.js';
import { showBytes } from '../text-file.js';
import { characterStart } from '../truncate.js';

const MAX_PAGE_BYTES = 18_000; // About 5k tokens.
const MAX_LINE_CHARACTERS = 2000;
/** How much of a line has to be known to show all that is ever shown of it. */
export const MAX_LINE_BYTES = MAX_LINE_CHARACTERS * 4; // No character has more.
const MAX_NAMED = 5;
const UTF8_BOM = Buffer.from([0xef, 0xbb, 0xbf]);

export type Page = {
  /** Takes the next line, unless the page is full. */
  add(line: RawLine): void;
  isFull(): boolean;
  /** `12│text`: the bar can't be mistaken for a tab or blank of the text. */
  readonly lines: readonly string[];
  /** Sentences on cut lines, other encodings and line ends. `path` goes into the command that shows more. */
  notes(path: string): readonly string[];
};

export function createPage(limitLines: number): Page {
  const lines: string[] = [];
  const cut: { readonly number: number; readonly nextByte: number }[] = [];
  const foreign: number[] = [];
  const ends = { '\n': 0, '\r\n': 0, '': 0 };
  let bytes = 0;
  let isFull = false;

  function add(line: RawLine): void {
    if (isFull) return;
    const shown = decodeLine(line);
    const hidden = line.length - shown.length;
    const text = `${line.number}│${shown.text}${hidden > 0 ? `… [${hidden} more bytes]` : ''}`;
    const size = Buffer.byteLength(text) + 1;
    isFull = lines.length > 0 && bytes + size > MAX_PAGE_BYTES;
    if (isFull) return;
    lines.push(text);
    bytes += size;
    ends[line.end]++;
    if (hidden > 0) cut.push({ number: line.number, nextByte: line.offset + shown.length + 1 });
    if (!shown.isUtf8) foreign.push(line.number);
    isFull = lines.length === limitLines;
  }

  function notes(path: string): readonly string[] {
    const found: string[] = [];
    const [first] = cut;
    if (first !== undefined) {
      found.push(
        `${nameLines(cut.map(({ number }) => number))} cut at 2,000 characters. search_files finds text in the rest; to read on: tail -c +${first.nextByte} ${quote(path)} | head -c 4000`,
      );
    }
    if (foreign.length > 0) {
      found.push(
        `Not UTF-8, shown as Windows-1252: ${nameLines(foreign)}. edit_file keeps such bytes, with ASCII strings.`,
      );
    }
    if (ends['\r\n'] > 0) found.push(ends['\n'] > 0 ? 'Line ends are mixed, CRLF and LF.' : 'Line ends are CRLF.');
    return found;
  }

  return { add, lines, notes, isFull: () => isFull };
}

/** The start of a line as text. `length` is in bytes of the file. */
function decodeLine(line: RawLine): { readonly text: string; readonly length: number; readonly isUtf8: boolean } {
  const isCut = line.bytes.length < line.length;
  const whole = isCut ? line.bytes.subarray(0, characterStart(line.bytes, line.bytes.length - 1)) : line.bytes;
  if (!isUtf8(whole)) {
    const length = Math.min(line.bytes.length, MAX_LINE_CHARACTERS);
    return { text: showBytes(line.bytes.subarray(0, length)), length, isUtf8: false };
  }
  const bomLength = line.number === 1 && whole.subarray(0, 3).equals(UTF8_BOM) ? UTF8_BOM.length : 0;
  const text = whole.toString('utf8', bomLength);
  if (text.length <= MAX_LINE_CHARACTERS) return { text, length: whole.length, isUtf8: true };
  // Half a surrogate pair is no character.
  const kept = text.slice(0, MAX_LINE_CHARACTERS).replace(/[\ud800-\udbff]$/, '');
  return { text: kept, length: bomLength + Buffer.byteLength(kept), isUtf8: true };
}

function nameLines(numbers: readonly number[]): string {
  const rest = numbers.length - MAX_NAMED;
  const named = numbers.slice(0, MAX_NAMED).join(', ');
  return `${numbers.length === 1 ? 'Line' : 'Lines'} ${named}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function quote(path: string): string {
  return /^[\w./@-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
