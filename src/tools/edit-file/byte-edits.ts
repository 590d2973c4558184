/** What may be edited in a file that is not UTF-8: only what keeps every other byte the character it was. */
import { isUtf8 } from 'node:buffer';
import { ToolFailure } from '../types.js';
import type { Edit, Place } from './places.js';

const NOT_ASCII = /[\x80-\xff]/;
/** Second bytes that double-byte encodings (Shift-JIS, GBK, Big5 …) share with ASCII. */
const MAYBE_SECOND_BYTE = /[0-9@-~]/;

/**
 * `text` and both strings have one character a byte, the strings as UTF-8.
 * @throws {ToolFailure} `unsupported-encoding`.
 */
export function refuseUnsafeBytes(text: string, places: readonly Place[], edit: Edit, shown: string): void {
  const isAscii = !NOT_ASCII.test(edit.old) && !NOT_ASCII.test(edit.new);
  const isSafe = isAscii
    ? !places.some((place) => mayStartInsideCharacter(text, place))
    : // Lines that are UTF-8 by themselves, and not just ASCII, are taken at their word.
      NOT_ASCII.test(edit.old) && places.every((place) => isUtf8(Buffer.from(linesAround(text, place), 'latin1')));
  if (isSafe) return;
  throw new ToolFailure(
    'unsupported-encoding',
    isAscii
      ? `${shown} is not UTF-8, and old_string starts right behind a character that is not ASCII: it may cut one in two. Start it at another ASCII character.`
      : `${shown} is not UTF-8, so characters that are not ASCII cannot be written into it. Use ASCII only, or convert the file with a shell command, e.g. iconv.`,
  );
}

function mayStartInsideCharacter(text: string, { start }: Place): boolean {
  return NOT_ASCII.test(text[start - 1] ?? '') && MAYBE_SECOND_BYTE.test(text[start] ?? '');
}

function linesAround(text: string, { start, end }: Place): string {
  const lineEnd = text.indexOf('\n', Math.max(end - 1, start));
  return text.slice(start === 0 ? 0 : text.lastIndexOf('\n', start - 1) + 1, lineEnd === -1 ? text.length : lineEnd);
}
