/** What a response says, as text for the model: Markdown of a page, JSON in lines, text in its own encoding. */
import type { HttpResponse } from '../../http.js';
import { clean } from '../clean.js';
import { ToolFailure } from '../types.js';
import { readBody } from './body.js';
import { decodeText, markOf } from './charset.js';

export type Content = {
  readonly text: string;
  /** What was done with it, as notes: converted, cut, read as another encoding. */
  readonly notes: readonly string[];
  readonly bytes: number;
  readonly title?: string | undefined;
};

export const MAX_BODY_BYTES = 5_000_000;
const BINARY =
  /^(?:image\/(?!svg)|audio\/|video\/|font\/|model\/|application\/(?:pdf|zip|gzip|x-tar|wasm|x-7z-|vnd\.(?!.*(?:json|xml|yaml))))/;
const LOOKED_AT_BYTES = 8000;

/** @throws {ToolFailure} `binary`, `bad-encoding`; what the body throws otherwise. */
export async function readContent(
  response: HttpResponse,
  { raw, url }: { raw: boolean; url: string },
): Promise<Content> {
  const { type, charset } = contentType(response);
  if (BINARY.test(type)) {
    response.release();
    throw binary(type, response.headers.get('content-length'));
  }
  const { bytes, isCut } = await readBody(response, MAX_BODY_BYTES);
  if (
    markOf(bytes) === undefined &&
    !/^utf-?(?:16|32)/i.test(charset ?? '') &&
    bytes.subarray(0, LOOKED_AT_BYTES).includes(0)
  )
    throw binary(type, String(bytes.length));
  const decoded = decodeText(bytes, charset);
  const notes = [
    ...(isCut ? [`cut after ${MAX_BODY_BYTES / 1_000_000} MB`] : []),
    ...(decoded.charset === 'utf-8' ? [] : [`read as ${decoded.charset}`]),
  ];
  const text = clean(decoded.text);
  if (!raw && isHtml(type, text)) {
    const { htmlToMarkdown } = await import('./markdown.js');
    const page = await htmlToMarkdown(text, url);
    const words = page.isCut ? 'only the words of its beginning' : 'only its words';
    const how = page.isBare ? `${words}, since the page is too large or too deep to convert` : 'as Markdown';
    return { text: page.text, title: page.title, notes: [...notes, how], bytes: bytes.length };
  }
  return { text: !raw && isJson(type) ? prettyJson(text) : text, notes, bytes: bytes.length };
}

/** `type` in lower case, empty where the server says none. */
export function contentType(response: HttpResponse): { readonly type: string; readonly charset: string | undefined } {
  const header = response.headers.get('content-type') ?? '';
  const charset = /;\s*charset\s*=\s*"?([\w:.-]{1,40})/i.exec(header)?.[1];
  return {
    type: clean(header.split(';')[0] ?? '')
      .trim()
      .toLowerCase(),
    charset,
  };
}

function binary(type: string, size: string | null): ToolFailure {
  const what = [type || 'of no stated type', ...(size === null ? [] : [`${size} bytes`])].join(', ');
  return new ToolFailure(
    'binary',
    `The content is binary (${what}), so it was not read. Look for a page about it, or its text form.`,
  );
}

function isHtml(type: string, text: string): boolean {
  if (type === 'text/html' || type === 'application/xhtml+xml') return true;
  return type === '' && /^\s*<(?:!doctype html|html)\b/i.test(text);
}

function isJson(type: string): boolean {
  return /^(?:application|text)\/(?:[\w.-]+\+)?json$/.test(type);
}

/** In lines, so that it can be cut at one; numbers beyond JavaScript's stay what they are only if nothing is touched. */
function prettyJson(text: string): string {
  if (text.includes('\n') || text.length > 1_000_000 || /\d{16}/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
