/** Cuts a long text in the middle: its start says what it is, its end how it came out. */

const HEAD_SHARE = 0.6;

export type Cut = {
  readonly head: string;
  readonly tail: string;
  readonly omittedBytes: number;
  /** Lines no character of which is kept, plus those kept in part. */
  readonly omittedLines: number;
};

/**
 * The head and the tail of a cut text with a line between them that says what is left out, and how to get it where there
 * is a way.
 */
export function joinCut(cut: Cut, howToGetIt = ''): string {
  const lines = cut.omittedLines === 1 ? '1 line' : `${cut.omittedLines} lines`;
  const mark = `[… ${cut.omittedBytes} bytes (${lines}) left out${howToGetIt} …]`;
  return `${cut.head}${cut.head.endsWith('\n') ? '' : '\n'}${mark}${cut.tail.startsWith('\n') ? '' : '\n'}${cut.tail}`;
}

/** Head and tail of `text`, `maxBytes` together; undefined if all of it fits. No character is split. */
export function cutMiddle(text: string, maxBytes: number): Cut | undefined {
  // No text has fewer bytes than characters, nor more than three for each of them.
  if (text.length * 3 <= maxBytes) return undefined;
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return undefined;
  const headEnd = characterStart(bytes, Math.floor(maxBytes * HEAD_SHARE));
  const tailStart = nextCharacterStart(bytes, bytes.length - (maxBytes - headEnd));
  const middle = bytes.subarray(headEnd, tailStart);
  return {
    head: bytes.toString('utf8', 0, headEnd),
    tail: bytes.toString('utf8', tailStart),
    omittedBytes: middle.length,
    omittedLines: middle.toString('latin1').split('\n').length,
  };
}

/** The longest start of `text` with at most `maxBytes` of UTF-8. */
export function cutEnd(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  return bytes.length <= maxBytes ? text : bytes.toString('utf8', 0, characterStart(bytes, maxBytes));
}

/** The start of the character that the byte at `offset` belongs to. */
export function characterStart(bytes: Uint8Array, offset: number): number {
  let at = offset;
  while (at > 0 && isContinuation(bytes[at])) at--;
  return at;
}

function nextCharacterStart(bytes: Uint8Array, offset: number): number {
  let at = offset;
  while (at < bytes.length && isContinuation(bytes[at])) at++;
  return at;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
