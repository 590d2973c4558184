/** Reads the JSON that models write by hand. jsonrepair mends it; what could only be guessed at is refused. */
import { jsonrepair } from 'jsonrepair';
import { parseJson } from './json.js';

/** A backslash that JSON does not know, as in `"\d+"`: jsonrepair drops it, and the text would mean something else. */
const UNKNOWN_ESCAPE = /(?<!\\)(?:\\\\)*\\[^"'\\/bfnrtu\r\n]/;

const ENTITY = /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([\da-f]{1,6}));/gi;

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** The value of a JSON text, mended where that is safe; undefined where it is not, or where there is none. */
export function readLooseJson(text: string): unknown {
  const trimmed = withoutFence(text.trim());
  // A text without any quote has them as entities.
  const readable = trimmed.includes('"') ? trimmed : decodeEntities(trimmed);
  return parseJson(trimmed) ?? parseJson(readable) ?? repaired(readable);
}

/** The text of an XML attribute. One that has raw `<` or `&` in it was not written as XML, and stays as it is. */
export function decodeAttribute(text: string): string {
  const isEscaped = !/<|&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[\da-f]+);)/i.test(text);
  return isEscaped ? decodeEntities(text) : text;
}

function decodeEntities(text: string): string {
  return text.replace(ENTITY, (entity, name?: string, decimal?: string, hex?: string) => {
    if (name !== undefined) return NAMED[name.toLowerCase()] ?? entity;
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : entity;
  });
}

function withoutFence(text: string): string {
  return /^```\w*\n([\s\S]*?)\n?```$/.exec(text)?.[1]?.trim() ?? text;
}

function repaired(text: string): unknown {
  // jsonrepair also completes a text that was cut off: half a file would be written as if it were the whole.
  if (!/^[{[][\s\S]*[}\]]$/.test(text) || UNKNOWN_ESCAPE.test(text)) return undefined;
  try {
    const mended = jsonrepair(text);
    // From `'it's'` jsonrepair makes `it"s`.
    const inventsQuotes = !text.includes('"') && mended.includes('\\"');
    return inventsQuotes ? undefined : parseJson(mended);
  } catch {
    return undefined; // Beyond repair: the caller says so.
  }
}
