/** What can go wrong on the way to a server, as one typed error with a sentence for people. */
import { messageOf } from './errors.js';

/** What broke, for callers that decide by it. */
export type HttpFault =
  | 'bad-url'
  | 'dns'
  | 'refused'
  | 'unreachable'
  | 'tls'
  | 'reset'
  | 'first-byte-timeout'
  | 'idle-timeout'
  | 'redirect'
  | 'not-http'
  | 'other';

/** A request that got no whole answer. `message` says what happened and where, without query or password of the URL. */
export class HttpError extends Error {
  readonly fault: HttpFault;

  constructor(fault: HttpFault, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'HttpError';
    this.fault = fault;
  }
}

const BROKEN: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ERR_STREAM_PREMATURE_CLOSE']);
const UNREACHABLE: ReadonlySet<string> = new Set(['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL']);
const TLS = /^(CERT_|ERR_TLS|ERR_SSL|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|EPROTO)/;

/** The error for what Node reports of a request to `url`; `cause` is kept. */
export function networkError(cause: unknown, url: URL): HttpError {
  const code = codeOf(cause);
  const place = shownUrl(url);
  const fail = (fault: HttpFault, message: string) => new HttpError(fault, message, { cause });
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return fail('dns', `The host ${url.hostname} was not found (${code}).`);
  if (code === 'ECONNREFUSED') return fail('refused', `Nothing answers at ${place}: the connection was refused.`);
  if (UNREACHABLE.has(code)) return fail('unreachable', `${place} cannot be reached (${code}).`);
  if (TLS.test(code)) return fail('tls', `No secure connection to ${place}: ${messageOf(cause)} (${code}).`);
  if (BROKEN.has(code)) return fail('reset', `The connection to ${place} broke (${code}).`);
  if (code.startsWith('HPE_')) return fail('not-http', `${place} does not speak HTTP (${code}).`);
  return fail('other', `The request to ${place} failed: ${messageOf(cause) || code || 'no reason given'}.`);
}

/** Whether the connection was closed under the request. */
export function isBrokenConnection(cause: unknown): boolean {
  return BROKEN.has(codeOf(cause));
}

export function timeoutError(fault: 'first-byte-timeout' | 'idle-timeout', limitMs: number, url: URL): HttpError {
  const what = fault === 'idle-timeout' ? 'stopped sending for' : 'did not answer within';
  return new HttpError(fault, `${shownUrl(url)} ${what} ${limitMs / 1000} s.`);
}

export function redirectError(url: URL, status: number, location: string): HttpError {
  const target = URL.canParse(location, url.href) ? shownUrl(new URL(location, url)) : 'somewhere else';
  return new HttpError(
    'redirect',
    `${shownUrl(url)} redirects to ${target} (status ${status}). It is not followed, since that would hand over the key.`,
  );
}

/** The URL for a message: a password or a query may hold a key. */
export function shownUrl(url: URL): string {
  return url.origin + url.pathname;
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
}
