/** Cuts a stream of bytes into lines while keeping no more of a line than is shown. */

export type RawLine = {
  /** From 1. */
  readonly number: number;
  /** The line's first bytes, without its end (LF or CRLF). */
  readonly bytes: Buffer;
  /** All its bytes, without its end. */
  readonly length: number;
  /** Where it starts in the stream. */
  readonly offset: number;
  readonly end: '\n' | '\r\n' | '';
};

export type LineSplitter = {
  /** The lines that end in this chunk, which must not be changed afterwards. */
  push(chunk: Buffer): readonly RawLine[];
  /** The last line, if it has no end. */
  finish(): RawLine | undefined;
  /** Lines seen so far; one that has only begun counts. */
  lineCount(): number;
};

const LF = 0x0a;
const CR = 0x0d;

/** Only LF ends a line. Lines in front of `firstLine` are counted and not kept. */
export function createLineSplitter(options: {
  readonly firstLine: number;
  readonly maxLineBytes: number;
}): LineSplitter {
  // The line that is being read.
  let [number, offset, length, lastByte] = [1, 0, 0, -1];
  let kept: Buffer[] = [];
  let keptLength = 0;

  function take(chunk: Buffer, from: number, to: number): void {
    if (to === from) return;
    length += to - from;
    lastByte = chunk[to - 1] ?? -1;
    const room = options.maxLineBytes - keptLength;
    if (room <= 0 || number < options.firstLine) return;
    const part = chunk.subarray(from, Math.min(to, from + room));
    kept.push(part);
    keptLength += part.length;
  }

  function currentLine(isTerminated: boolean): RawLine {
    const hasCr = isTerminated && lastByte === CR;
    const ownLength = hasCr ? length - 1 : length;
    const bytes = (kept.length === 1 && kept[0]) || Buffer.concat(kept);
    const end = isTerminated ? (hasCr ? '\r\n' : '\n') : '';
    return { number, bytes: bytes.subarray(0, ownLength), length: ownLength, offset, end };
  }

  function startNext(): void {
    offset += length + 1;
    number++;
    [length, lastByte, kept, keptLength] = [0, -1, [], 0];
  }

  return {
    push(chunk) {
      const lines: RawLine[] = [];
      let at = 0;
      for (let newline = chunk.indexOf(LF); newline !== -1; newline = chunk.indexOf(LF, at)) {
        take(chunk, at, newline);
        if (number >= options.firstLine) lines.push(currentLine(true));
        startNext();
        at = newline + 1;
      }
      take(chunk, at, chunk.length);
      return lines;
    },
    finish: () => (length > 0 && number >= options.firstLine ? currentLine(false) : undefined),
    lineCount: () => (length > 0 ? number : number - 1),
  };
}
