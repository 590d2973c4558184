/** What can go wrong on the way to a server, as one typed error with a sentence for people. */
import { messageOf } from './errors.js';
import { hostAndPort, type ProxyServer } from './http-proxy.js';

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
  /** The way to the proxy broke, or its own way on: it may pass. */
  | 'proxy'
  /** The proxy wants a password, or does not let us through. */
  | 'proxy-refused'
  | 'other';

/** A request that got no whole answer. `message` says what happened and where, without query or password of the URL. */
export class HttpError extends Error {
  readonly fault: HttpFault;
  /** What to do, where the kind of fault alone does not tell. */
  readonly hint: string | undefined;

  constructor(fault: HttpFault, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'HttpError';
    this.fault = fault;
    this.hint = options.hint;
  }
}

const BROKEN: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ERR_STREAM_PREMATURE_CLOSE']);
const UNREACHABLE: ReadonlySet<string> = new Set(['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL']);
const TLS = /^(CERT_|ERR_TLS|ERR_SSL|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|EPROTO)/;

/** The error for what Node reports of a request to `url`; `cause` is kept, and is the error where it is one of ours. */
export function networkError(cause: unknown, url: URL): HttpError {
  if (cause instanceof HttpError) return cause;
  const code = codeOf(cause);
  const place = shownUrl(url);
  const fail = (fault: HttpFault, message: string) => new HttpError(fault, message, { cause });
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return fail('dns', `The host ${url.hostname} was not found (${code}).`);
  if (code === 'ECONNREFUSED') return fail('refused', `Nothing answers at ${place}: the connection was refused.`);
  if (UNREACHABLE.has(code)) return fail('unreachable', `${place} cannot be reached (${code}).`);
  if (TLS.test(code)) return tlsError(cause, code, url);
  if (BROKEN.has(code)) return fail('reset', `The connection to ${place} broke (${code}).`);
  if (code.startsWith('HPE_')) return fail('not-http', `${place} does not speak HTTP (${code}).`);
  return fail('other', `The request to ${place} failed: ${messageOf(cause) || code || 'no reason given'}.`);
}

const UNKNOWN_ISSUER = /^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(VERIFY|GET_ISSUER))/;
const NOT_TLS = /^(EPROTO|ERR_SSL)/;

/** OpenSSL's codes, in words that say what to do. */
function tlsError(cause: unknown, code: string, url: URL): HttpError {
  const place = shownUrl(url);
  const fail = (why: string, hint: string) =>
    new HttpError('tls', `No secure connection to ${place}: ${why} (${code}).`, { hint, cause });
  if (UNKNOWN_ISSUER.test(code))
    return fail(
      'its certificate comes from an issuer that is not trusted here',
      "If it is your own or your company's, set CHATCLI_CA_BUNDLE to a PEM file with the certificate of its issuer.",
    );
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return fail(
      code === 'CERT_HAS_EXPIRED' ? 'its certificate has expired' : 'its certificate is not valid yet',
      'Check the clock of this machine; else the server needs a new one, and CHATCLI_CA_BUNDLE does not help with this.',
    );
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH')
    return fail(
      messageOf(cause),
      'Use a host name that the certificate is for; CHATCLI_CA_BUNDLE does not help with this.',
    );
  if (NOT_TLS.test(code)) return fail(messageOf(cause), 'Check whether the URL should begin with http://.');
  return fail(messageOf(cause), 'CHATCLI_CA_BUNDLE names a PEM file with further issuers to trust.');
}

const PROXY_HINT =
  'HTTPS_PROXY, for http:// URLs HTTP_PROXY, and for both ALL_PROXY name the proxy; NO_PROXY lists what is reached without one.';

/** The error for what Node reports of a request that went no further than the proxy. */
export function proxyError(cause: unknown, proxy: ProxyServer): HttpError {
  const { fault, message, hint } = networkError(cause, proxy.url);
  // A certificate does not change by itself.
  return new HttpError(
    fault === 'tls' ? 'proxy-refused' : 'proxy',
    `The proxy ${hostAndPort(proxy.url)} failed: ${message}`,
    {
      hint: [hint, PROXY_HINT].filter((text) => text !== undefined).join(' '),
      cause,
    },
  );
}

/** The error for a proxy that answers with a status in place of a way to `target`, which is `host:port`. */
export function proxyRefusal(proxy: ProxyServer, target: string, status: number, words: string): HttpError {
  const answer = `${status}${words === '' ? '' : ` ${words}`}`;
  const message = `The proxy ${hostAndPort(proxy.url)} did not let us through to ${target}: it answered ${answer}.`;
  const advice =
    status === 407
      ? 'It asks for a name and a password that it knows: put them into the URL of the proxy, as in http://<user>:<password>@host:port.'
      : status < 500
        ? `Ask who runs the proxy to allow ${target}, or check that it is a proxy.`
        : `It could not reach ${target} itself.`;
  return new HttpError(status >= 500 ? 'proxy' : 'proxy-refused', message, { hint: `${advice} ${PROXY_HINT}` });
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
