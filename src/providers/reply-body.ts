/**
 * Reads the body of a reply as events, whatever the endpoint made of it: a stream, a whole JSON object although a
 * stream was asked for, or a page that is no reply at all. Decides by the first bytes, since content types lie.
 */
import { ProviderError } from '../errors.js';
import type { HttpResponse } from '../http.js';
import { complaintIn, excerpt } from './complaint.js';
import { failureOfBody } from './failures.js';
import { asRecord, type JsonRecord, parseJson } from './json.js';
import { createSseReader } from './sse.js';

/** Events that came in together. `isTail`: the body ended within the last one, which may be cut. */
export type EventBatch = { readonly events: readonly string[]; readonly isTail: boolean };

export const DONE = '[DONE]';

const JSON_LIMIT_BYTES = 64 * 1024 * 1024;
const PAGE_LIMIT_BYTES = 64 * 1024; // Enough for an excerpt behind a page's head.
const PREFIX_CHARS = 16; // As long as the longest beginning of an event stream's line that we look for.

/**
 * The data of the events of a reply. A whole JSON object comes as one event and `[DONE]`; `isReply` says whether it is
 * one of the API that was asked.
 * @throws {ProviderError} `protocol` for what is no reply; and whatever `response.body` throws.
 */
export async function* readEvents(
  response: HttpResponse,
  isReply: (body: JsonRecord) => boolean,
): AsyncGenerator<EventBatch, void, undefined> {
  const sse = createSseReader();
  const start: Uint8Array[] = [];
  let form: 'unknown' | 'events' | 'json' | 'page' = 'unknown';
  let size = 0;
  for await (const bytes of response.body) {
    if (form === 'events') {
      yield { events: sse.push(bytes), isTail: false };
      continue;
    }
    start.push(bytes);
    size += bytes.length;
    if (form === 'unknown') form = formOf(start, response);
    if (form === 'events') for (const part of start) yield { events: sse.push(part), isTail: false };
    else if (size > (form === 'json' ? JSON_LIMIT_BYTES : PAGE_LIMIT_BYTES)) break;
  }
  const text = Buffer.concat(form === 'events' ? [] : start).toString();
  if (form === 'json') yield { events: [wholeReply(text, response, isReply), DONE], isTail: false };
  else if (form === 'page' || text.trim() !== '') throw failureOfBody(response, text);
  else yield { events: sse.end(), isTail: true };
}

function formOf(start: readonly Uint8Array[], response: HttpResponse): 'unknown' | 'events' | 'json' | 'page' {
  const text = Buffer.concat(start)
    .toString()
    .replace(/^\uFEFF?\s*/, '');
  if (text === '') return 'unknown';
  if (text.startsWith('{') || text.startsWith('[')) return 'json';
  if (text.startsWith('<')) return 'page';
  if (response.headers.get('content-type')?.includes('text/event-stream')) return 'events';
  if (/^(data|event|id|retry)?:/.test(text)) return 'events';
  return text.length < PREFIX_CHARS ? 'unknown' : 'page';
}

/** The text, if it is a reply or an error: the reducer tells these apart. */
function wholeReply(text: string, response: HttpResponse, isReply: (body: JsonRecord) => boolean): string {
  const value = parseJson(text);
  const body = asRecord(value);
  if ((body && isReply(body)) || complaintIn(value)) return text;
  if (value !== undefined) throw failureOfBody(response, text);
  throw new ProviderError('protocol', `${response.url} answered with broken JSON: ${excerpt(text)}`, {
    status: response.status,
  });
}
