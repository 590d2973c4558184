/** Keeps the start and the end of a text of any length in a fixed number of bytes. */
import { cutEnd } from '../truncate.js';

const HEAD_SHARE = 0.6;
const SMALL_PIECE_BYTES = 4_096; // smaller pieces of the end are joined, so that there never are many.

export type HeadTail = {
  push(text: string): void;
  /** UTF-8 bytes that came. */
  readonly bytes: () => number;
  /** Start and end as far as they are kept, never with half a character; with nothing left out, `head` is all. */
  readonly parts: () => { readonly head: string; readonly tail: string; readonly omittedBytes: number };
};

export function createHeadTail(maxBytes: number): HeadTail {
  const headLimit = Math.floor(maxBytes * HEAD_SHARE);
  let total = 0;
  let head = '';
  let headBytes = 0;
  let headIsFull = false;
  let tail: { readonly text: string; readonly bytes: number }[] = [];
  let tailBytes = 0;

  const pushTail = (text: string) => {
    const bytes = Buffer.byteLength(text);
    const last = tail.at(-1);
    if (last !== undefined && last.bytes + bytes <= SMALL_PIECE_BYTES) {
      tail[tail.length - 1] = { text: last.text + text, bytes: last.bytes + bytes };
    } else tail.push({ text, bytes });
    tailBytes += bytes;
    let dropped = 0;
    while (tailBytes - (tail[dropped]?.bytes ?? 0) >= maxBytes - headBytes) tailBytes -= tail[dropped++]?.bytes ?? 0;
    if (dropped > 0) tail = tail.slice(dropped);
  };

  const push = (text: string) => {
    total += Buffer.byteLength(text);
    if (headIsFull) return pushTail(text);
    const start = cutEnd(text, headLimit - headBytes);
    head += start;
    headBytes += Buffer.byteLength(start);
    if (start.length === text.length) return;
    headIsFull = true;
    pushTail(text.slice(start.length));
  };

  const parts = () => {
    const end = endOf(tail.map(({ text }) => text).join(''), maxBytes - headBytes);
    const omittedBytes = total - headBytes - Buffer.byteLength(end);
    return omittedBytes === 0 ? { head: head + end, tail: '', omittedBytes } : { head, tail: end, omittedBytes };
  };
  return { push, bytes: () => total, parts };
}

function endOf(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let start = bytes.length - maxBytes;
  while (start < bytes.length && isInsideCharacter(bytes[start])) start++;
  return bytes.toString('utf8', start);
}

function isInsideCharacter(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
