/** Bytes from the web as text: by their own mark, by what the server says, by what the page says, else by a look. */
import { isUtf8 } from 'node:buffer';

export type Decoded = {
  readonly text: string;
  /** By its name in the encoding standard, e.g. `utf-8`, `windows-1252`, `shift_jis`. */
  readonly charset: string;
};

const HEAD_BYTES = 4096; // Where a page has to say it is the first 1024; some do it later.

/** Never fails: a byte that is none of its encoding becomes U+FFFD. */
export function decodeText(bytes: Uint8Array, named: string | undefined): Decoded {
  const label =
    markOf(bytes) ?? known(named) ?? known(namedInside(bytes)) ?? (isUtf8(bytes) ? 'utf-8' : 'windows-1252');
  const decoder = new TextDecoder(label);
  return { text: decoder.decode(bytes), charset: decoder.encoding };
}

/** The encoding that a byte order mark says. */
export function markOf(bytes: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' | undefined {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

function known(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return undefined; // A name that nobody knows: as if there were none.
  }
}

function namedInside(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, HEAD_BYTES)).toString('latin1');
  const name = /<meta\b[^<>]{0,300}?\bcharset\s*=\s*["']?\s*([\w:.-]{1,40})/i.exec(head)?.[1];
  // What can be read as ASCII is no UTF-16, whatever it says.
  if (name !== undefined) return /^utf-?16/i.test(name) ? 'utf-8' : name;
  return /^\s*<\?xml\b[^<>]{0,300}?\bencoding\s*=\s*["']([\w:.-]{1,40})/i.exec(head)?.[1];
}
