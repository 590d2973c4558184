/**
 * The one HTTP client: fetch-shaped, over node:http and node:https. What a status means is the caller's business.
 * On Node 20 the global fetch costs 0.3 s once and 6 ms a turn for its web streams, which nobody here needs.
 */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { createBody } from './http-body.js';
import {
  HttpError,
  isBrokenConnection,
  networkError,
  proxyError,
  proxyRefusal,
  redirectError,
  shownUrl,
} from './http-fault.js';
import { createGuard, type Guard } from './http-guard.js';
import { hostAndPort, proxyFor } from './http-proxy.js';
import { type Address, createRoutes, type Line, type Route, type RouteSettings } from './http-route.js';

export { HttpError, type HttpFault } from './http-fault.js';
export type { ProxySettings } from './http-proxy.js';
export type { Address, RouteSettings } from './http-route.js';

export type HttpRequest = {
  /** `GET` by default. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /**
   * Where to connect: the caller has looked the name up, and judged what it found. TLS is checked for the name all the
   * same. Has no say where a proxy is in the way.
   */
  readonly connectTo?: readonly Address[];
  /** Hands a redirect back as it is whatever the method, for a caller that follows on its own. */
  readonly handsBackRedirects?: boolean;
};

export type HttpHeaders = {
  get(name: string): string | null;
  entries(): IterableIterator<[string, string]>;
};

export type HttpResponse = {
  readonly url: string;
  readonly status: number;
  readonly ok: boolean;
  readonly headers: HttpHeaders;
  /** `host:port` of the proxy that passed it on and may have answered itself; not for a tunnel. */
  readonly proxy?: string;
  /**
   * The bytes as they come; to be read once. Leaving the loop early drops the connection.
   * @throws {HttpError} when the connection breaks or stays silent; the signal's reason when it aborts.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /** The body as UTF-8 text, cut after about `maxBytes` (default 8 MiB). Throws as `body` does. */
  text(maxBytes?: number): Promise<string>;
  /**
   * Says that the rest of the body is not wanted; a loop over `body` is then to be left. What comes within 50 ms is
   * read, so that the connection can serve again; more than that drops it.
   */
  release(): void;
};

export type HttpClientOptions = RouteSettings & {
  /** From sending to the first byte of the body: some servers send their headers long before. */
  readonly firstByteTimeoutMs: number;
  /** Between two bytes of the body, while somebody waits for them. Any byte counts, comments too. */
  readonly idleTimeoutMs: number;
  /** Sent with every request; a request's own headers win. */
  readonly headers?: Readonly<Record<string, string>>;
};

export type HttpClient = {
  /**
   * Sends a request and waits for the response's headers. Redirects are never followed, since they would carry the
   * key elsewhere: a redirected GET is handed back as it is, any other is an error.
   * @throws {HttpError} when there is no answer; the signal's reason when it aborts.
   */
  fetch(url: string, request?: HttpRequest): Promise<HttpResponse>;
  /** Drops every connection. */
  close(): void;
};

type Exchange = {
  readonly url: URL;
  readonly request: HttpRequest;
  readonly headers: Readonly<Record<string, string>>;
  readonly route: Route;
  readonly limits: HttpClientOptions;
  readonly isResent: boolean;
};

const TEXT_LIMIT_BYTES = 8 * 1024 * 1024;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** A client with connections of its own, kept alive between requests. */
export function createHttpClient(limits: HttpClientOptions): HttpClient {
  const routes = createRoutes(limits);

  async function fetch(target: string, request: HttpRequest = {}): Promise<HttpResponse> {
    request.signal?.throwIfAborted();
    const url = parseUrl(target);
    const headers = { ...limits.headers, ...request.headers };
    const route = await routes.routeFor(url);
    request.signal?.throwIfAborted();
    return exchange({ url, request, headers, route, limits, isResent: false });
  }

  return { fetch, close: routes.close };
}

/** Whether a request to `url` would go through a proxy, which then looks the name up itself. */
export function usesProxy(url: URL, { proxy = {} }: RouteSettings): boolean {
  return proxyFor(url, proxy) !== undefined;
}

function parseUrl(target: string): URL {
  const url = URL.canParse(target) ? new URL(target) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new HttpError('bad-url', `${JSON.stringify(target.slice(0, 200))} is not an http or https URL.`);
}

function exchange(parts: Exchange): Promise<HttpResponse> {
  const { url, request, limits, isResent } = parts;
  return new Promise((resolve, reject) => {
    const line: Line = { cut: () => undefined };
    const outgoing = open(parts, line);
    const guard = createGuard({
      outgoing,
      line,
      url,
      signal: request.signal,
      faultOf: (cause) => faultOf(cause, parts),
    });
    guard.arm(limits.firstByteTimeoutMs, 'first-byte-timeout');
    let isAnswered = false;
    outgoing.once('response', (incoming) => {
      isAnswered = true;
      const refusal = refusalIn(incoming, parts);
      if (refusal === undefined) return resolve(respond(incoming, guard, parts));
      guard.release();
      incoming.destroy();
      reject(refusal);
    });
    // Stays on after the response, where it has nothing to say: the body tells what breaks then.
    outgoing.on('error', (cause) => {
      if (isAnswered) return;
      guard.release();
      const isStale = outgoing.reusedSocket && isBrokenConnection(cause) && !guard.wasStopped();
      // The server closed the kept connection just as we took it, so it never saw this request (see `reusedSocket`
      // in Node's documentation).
      if (isStale && !isResent) resolve(exchange({ ...parts, isResent: true }));
      else reject(guard.explain(cause));
    });
    outgoing.end(request.body);
  });
}

function open(parts: Exchange, line: Line): ClientRequest {
  const { url, request, headers, route, isResent } = parts;
  const { method = 'GET', body, connectTo } = request;
  const length = body === undefined ? undefined : { 'content-length': String(Buffer.byteLength(body)) };
  try {
    // A resent request must not meet another stale connection.
    return route.open(url, { method, headers: { ...headers, ...length }, isFresh: isResent, line, connectTo });
  } catch (cause) {
    throw networkError(cause, url); // A header with a character that may not be in it.
  }
}

function faultOf(cause: unknown, { url, route }: Exchange): HttpError {
  return route.proxy ? proxyError(cause, route.proxy) : networkError(cause, url);
}

/** What is no answer of the server: a redirect that is not followed, or a proxy that wants to know who asks. */
function refusalIn(incoming: IncomingMessage, { url, request, route }: Exchange): HttpError | undefined {
  const status = incoming.statusCode ?? 0;
  if (status === 407 && route.proxy)
    return proxyRefusal(route.proxy, hostAndPort(url), status, incoming.statusMessage ?? '');
  if (!REDIRECTS.has(status) || (request.method ?? 'GET') === 'GET' || request.handsBackRedirects) return undefined;
  return redirectError(url, status, incoming.headers.location ?? '');
}

function respond(incoming: IncomingMessage, guard: Guard, { url, route, limits }: Exchange): HttpResponse {
  const status = incoming.statusCode ?? 0;
  const body = createBody(incoming, guard, limits.idleTimeoutMs);
  return {
    url: shownUrl(url),
    status,
    ok: status >= 200 && status < 300,
    headers: headersOf(incoming.headers),
    ...(route.proxy && { proxy: hostAndPort(route.proxy.url) }),
    body: body.bytes,
    text: (maxBytes = TEXT_LIMIT_BYTES) => body.text(maxBytes),
    release: body.release,
  };
}

function headersOf(headers: IncomingHttpHeaders): HttpHeaders {
  const textOf = (value: string | string[] | undefined): string =>
    Array.isArray(value) ? value.join(', ') : (value ?? '');
  return {
    get: (name) => {
      const value = headers[name.toLowerCase()];
      return value === undefined ? null : textOf(value);
    },
    entries: function* () {
      for (const [name, value] of Object.entries(headers)) yield [name, textOf(value)];
    },
  };
}
