/** What a call wants to send, held against what may be sent. */
import { clean } from '../clean.js';
import { ToolFailure } from '../types.js';
import type { Asked } from './exchange.js';

export type RequestInput = {
  readonly method?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
};

const METHODS: readonly string[] = ['GET', 'POST', 'HEAD'];
/** What frames the message, names the host or says who we are to a server that remembers us. */
const OURS =
  /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|keep-alive|accept-encoding|cookie|proxy-.*)$/;
const MAX_BODY_BYTES = 1_000_000;

/** @throws {ToolFailure} `bad-method`, `bad-header`, `bad-body`, `secret`. */
export function readRequest(
  { method = 'GET', headers = {}, body }: RequestInput,
  mask: (text: string) => string,
): Asked {
  const verb = method.trim().toUpperCase();
  if (!METHODS.includes(verb))
    throw new ToolFailure(
      'bad-method',
      `${JSON.stringify(method.slice(0, 40))} cannot be used. The methods are ${METHODS.join(', ')}.`,
    );
  if (body !== undefined && verb !== 'POST')
    throw new ToolFailure('bad-body', `A ${verb} request has no body. Use POST, or put it into the URL.`);
  if (Buffer.byteLength(body ?? '') > MAX_BODY_BYTES)
    throw new ToolFailure('bad-body', `The body has more than ${MAX_BODY_BYTES / 1_000_000} MB.`);
  const named = Object.entries(headers).map(([name, value]) => [headerName(name), headerValue(name, value)] as const);
  const sent = [...named.flat(), body ?? ''].join('\n');
  if (holdsKey(sent, mask)) throw new ToolFailure('secret', 'The request holds a key of the person. It was not sent.');
  const type = body !== undefined &&
    !named.some(([name]) => name === 'content-type') && { 'content-type': typeOf(body) };
  return {
    method: verb,
    headers: { ...Object.fromEntries(named), ...type },
    ...(verb === 'POST' && { body: body ?? '' }),
  };
}

/** Masking may also take out what acts on a terminal, and that alone is no key: a body may have CRLF, say. */
export function holdsKey(text: string, mask: (text: string) => string): boolean {
  const plain = clean(text);
  return mask(plain) !== plain;
}

function headerName(name: string): string {
  const lower = name.trim().toLowerCase();
  const refuse = (why: string) =>
    new ToolFailure('bad-header', `The header ${JSON.stringify(name.slice(0, 60))} ${why}`);
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower)) throw refuse('is no header name.');
  if (OURS.test(lower)) throw refuse('cannot be set. Leave it out.');
  return lower;
}

function headerValue(name: string, value: string): string {
  if (/^[\t\x20-\x7e]*$/.test(value)) return value.trim();
  throw new ToolFailure(
    'bad-header',
    `The value of the header ${JSON.stringify(name.slice(0, 60))} is not printable ASCII.`,
  );
}

function typeOf(body: string): string {
  try {
    JSON.parse(body);
    return 'application/json';
  } catch {
    return /^[\w.%+-]+=[^\s]*$/.test(body) ? 'application/x-www-form-urlencoded' : 'text/plain; charset=utf-8';
  }
}
