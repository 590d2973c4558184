/** Bytes to text and back without loss: byte order mark, encoding, line ends. */
import { isUtf8 } from 'node:buffer';
import { ToolFailure } from './types.js';

export type TextFile = {
  /** `bytes`: not valid UTF-8; `text` then holds one character for each byte. */
  readonly encoding: 'utf-8' | 'bytes';
  /** Whether the file starts with a UTF-8 byte order mark, which is not part of `text`. */
  readonly bom: boolean;
  readonly text: string;
};

const UTF8_BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Takes a file's bytes apart so that `encodeText` gives the same bytes again.
 * @throws {ToolFailure} `unsupported-encoding` for UTF-16 and UTF-32, `binary` where there is a NUL byte.
 */
export function decodeText(bytes: Buffer, shown: string): TextFile {
  const wide = wideEncoding(bytes);
  if (wide !== undefined) {
    throw new ToolFailure(
      'unsupported-encoding',
      `${shown} is ${wide} text, which cannot be edited here. Convert it with a shell command, e.g. iconv.`,
    );
  }
  if (bytes.includes(0)) {
    throw new ToolFailure('binary', `${shown} is a binary file (it has NUL bytes), which cannot be edited as text.`);
  }
  const bom = bytes.subarray(0, UTF8_BOM.length).equals(UTF8_BOM);
  const body = bom ? bytes.subarray(UTF8_BOM.length) : bytes;
  const encoding = isUtf8(body) ? 'utf-8' : 'bytes';
  return { encoding, bom, text: body.toString(encoding === 'utf-8' ? 'utf8' : 'latin1') };
}

export function encodeText({ encoding, bom, text }: TextFile): Buffer {
  const body = Buffer.from(text, encoding === 'utf-8' ? 'utf8' : 'latin1');
  return bom ? Buffer.concat([UTF8_BOM, body]) : body;
}

/** UTF-16 or UTF-32, told by its byte order mark; undefined for anything else. Four bytes are enough. */
export function wideEncoding(head: Uint8Array): 'UTF-16LE' | 'UTF-16BE' | 'UTF-32LE' | 'UTF-32BE' | undefined {
  const [a, b, c, d] = head;
  // UTF-32LE starts like UTF-16LE, so it is looked for first.
  if (a === 0xff && b === 0xfe) return c === 0 && d === 0 ? 'UTF-32LE' : 'UTF-16LE';
  if (a === 0xfe && b === 0xff) return 'UTF-16BE';
  return a === 0 && b === 0 && c === 0xfe && d === 0xff ? 'UTF-32BE' : undefined;
}

/** The characters that Windows-1252 has for 0x80 to 0x9f; five of these bytes are unused and stay control characters. */
const WINDOWS_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';

/** Bytes of an unknown encoding as people most likely wrote them; to be shown, never to be written back. */
export function showBytes(bytes: Buffer): string {
  // Node 20's TextDecoder takes Windows-1252 for Latin-1, where these are control characters.
  return bytes
    .toString('latin1')
    .replace(/[\x80-\x9f]/g, (character) => WINDOWS_1252[character.charCodeAt(0) - 0x80] ?? character);
}

/** A lone half of a surrogate pair has no UTF-8 form: it would be written as U+FFFD. */
export function hasLoneSurrogate(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}

export type LineEndView = {
  /** The text with each CRLF as LF. A CR alone stays. */
  readonly text: string;
  /** Where an offset of `text` lies in the original; the LF of a CRLF lies in front of its CR. */
  toOriginal(offset: number): number;
};

/** Lets a text be searched without regard to CRLF or LF. */
export function viewWithLf(original: string): LineEndView {
  const carriageReturns: number[] = [];
  for (let at = original.indexOf('\r\n'); at !== -1; at = original.indexOf('\r\n', at + 2)) carriageReturns.push(at);
  if (carriageReturns.length === 0) return { text: original, toOriginal: (offset) => offset };

  function toOriginal(offset: number): number {
    let low = 0;
    let high = carriageReturns.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      // Each earlier CR was left out of the view, so the one with this index lies `middle` places further left there.
      if ((carriageReturns[middle] ?? 0) - middle < offset) low = middle + 1;
      else high = middle;
    }
    return offset + low;
  }
  return { text: original.replaceAll('\r\n', '\n'), toOriginal };
}

/** Offsets at which lines start. LF ends a line; nothing else does. There is at least one line. */
export function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

/** Index of the line that holds an offset, from 0. */
export function lineIndexAt(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
