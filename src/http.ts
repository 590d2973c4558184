/**
 * The one HTTP client: fetch-shaped, over node:http and node:https. What a status means is the caller's business.
 * On Node 20 the global fetch costs 0.3 s once and 6 ms a turn for its web streams, which nobody here needs.
 */
import type { Agent, ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { HttpError, isBrokenConnection, networkError, redirectError, shownUrl, timeoutError } from './http-fault.js';

export { HttpError, type HttpFault } from './http-fault.js';

export type HttpRequest = {
  /** `GET` by default. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
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

export type HttpClientOptions = {
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

type Transport = { readonly request: typeof import('node:http').request; readonly agent: Agent };

type Exchange = {
  readonly url: URL;
  readonly request: HttpRequest;
  readonly headers: Readonly<Record<string, string>>;
  readonly transport: Transport;
  readonly limits: HttpClientOptions;
  readonly isResent: boolean;
};

/** How far the reader of a body is. */
type Reading = { isStarted: boolean; isReleased: boolean };

/** Guards one request: a time limit at a time, the signal, and why it was given up. */
type Guard = {
  arm(limitMs: number, fault: 'first-byte-timeout' | 'idle-timeout'): void;
  disarm(): void;
  /** No more limits, no more listening to the signal. */
  release(): void;
  wasStopped(): boolean;
  /** What to throw, given what Node reports: the reason of our own stop goes first. */
  explain(cause: unknown): unknown;
};

const TEXT_LIMIT_BYTES = 8 * 1024 * 1024;
const LINGER_MS = 50; // The end of a finished body is most often in the same packet as its last words.
const LONGEST_TIMER_MS = 2_147_483_647; // Node fires at once for anything longer; here it means no limit.
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** A client with connections of its own, kept alive between requests. */
export function createHttpClient(limits: HttpClientOptions): HttpClient {
  const transports = new Map<string, Transport>();

  async function transportFor(url: URL): Promise<Transport> {
    const known = transports.get(url.protocol);
    if (known) return known;
    // Loaded when needed: TLS alone takes 5 ms to load.
    const { request, Agent } = url.protocol === 'https:' ? await import('node:https') : await import('node:http');
    // Two first requests may meet here.
    const transport = transports.get(url.protocol) ?? { request, agent: new Agent({ keepAlive: true }) };
    transports.set(url.protocol, transport);
    return transport;
  }

  async function fetch(target: string, request: HttpRequest = {}): Promise<HttpResponse> {
    request.signal?.throwIfAborted();
    const url = parseUrl(target);
    const headers = { ...limits.headers, ...request.headers };
    const transport = await transportFor(url);
    request.signal?.throwIfAborted();
    return exchange({ url, request, headers, transport, limits, isResent: false });
  }

  return {
    fetch,
    close: () => {
      for (const { agent } of transports.values()) agent.destroy();
    },
  };
}

function parseUrl(target: string): URL {
  const url = URL.canParse(target) ? new URL(target) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new HttpError('bad-url', `${JSON.stringify(target.slice(0, 200))} is not an http or https URL.`);
}

function exchange(parts: Exchange): Promise<HttpResponse> {
  const { url, request, limits, isResent } = parts;
  return new Promise((resolve, reject) => {
    const outgoing = open(parts);
    const guard = createGuard(outgoing, url, request.signal);
    guard.arm(limits.firstByteTimeoutMs, 'first-byte-timeout');
    let isAnswered = false;
    outgoing.once('response', (incoming) => {
      isAnswered = true;
      const redirect = redirectOf(incoming, parts);
      if (redirect === undefined) return resolve(respond(incoming, guard, parts));
      guard.release();
      incoming.destroy();
      reject(redirect);
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

function open({ url, request, headers, transport, isResent }: Exchange): ClientRequest {
  const { method = 'GET', body } = request;
  // A resent request must not meet another stale connection.
  const agent = isResent ? false : transport.agent;
  const length = body === undefined ? undefined : { 'content-length': String(Buffer.byteLength(body)) };
  try {
    return transport.request(url, { method, headers: { ...headers, ...length }, agent });
  } catch (cause) {
    throw networkError(cause, url); // A header with a character that may not be in it.
  }
}

function redirectOf(incoming: IncomingMessage, { url, request }: Exchange): HttpError | undefined {
  const status = incoming.statusCode ?? 0;
  if (!REDIRECTS.has(status) || (request.method ?? 'GET') === 'GET') return undefined;
  return redirectError(url, status, incoming.headers.location ?? '');
}

function createGuard(outgoing: ClientRequest, url: URL, signal: AbortSignal | undefined): Guard {
  let timer: NodeJS.Timeout | undefined;
  let stopped: { readonly reason: unknown } | undefined;

  function stop(reason: unknown): void {
    stopped ??= { reason };
    outgoing.destroy();
  }
  function onAbort(): void {
    stop(signal?.reason);
  }
  function disarm(): void {
    clearTimeout(timer);
    timer = undefined;
  }
  function release(): void {
    disarm();
    signal?.removeEventListener('abort', onAbort);
  }

  signal?.addEventListener('abort', onAbort, { once: true });
  return {
    arm: (limitMs, fault) => {
      clearTimeout(timer);
      if (limitMs > LONGEST_TIMER_MS) return;
      timer = setTimeout(() => stop(timeoutError(fault, limitMs, url)), limitMs);
    },
    disarm,
    release,
    wasStopped: () => stopped !== undefined,
    explain: (cause) => (stopped ? stopped.reason : networkError(cause, url)),
  };
}

function respond(incoming: IncomingMessage, guard: Guard, parts: Exchange): HttpResponse {
  const status = incoming.statusCode ?? 0;
  // Without a listener Node forgets the error of a body that nobody reads yet.
  incoming.on('error', () => {});
  const reading = { isStarted: false, isReleased: false };
  const body = readBody(incoming, guard, parts.limits.idleTimeoutMs, reading);
  const release = (): void => {
    reading.isReleased = true;
    if (!reading.isStarted) void drain(incoming, guard);
  };
  return {
    url: shownUrl(parts.url),
    status,
    ok: status >= 200 && status < 300,
    headers: headersOf(incoming.headers),
    body,
    text: (maxBytes = TEXT_LIMIT_BYTES) => readText(body, maxBytes),
    release,
  };
}

async function* readBody(
  incoming: IncomingMessage,
  guard: Guard,
  idleTimeoutMs: number,
  reading: Reading,
): AsyncGenerator<Uint8Array, void, undefined> {
  reading.isStarted = true;
  let isWhole = false;
  try {
    // Pieces that came in together come out as one. The iterator's own clean-up would close the connection.
    for await (const bytes of incoming.iterator({ destroyOnReturn: false })) {
      guard.disarm();
      yield bytes;
      guard.arm(idleTimeoutMs, 'idle-timeout');
    }
    isWhole = true;
  } catch (cause) {
    throw guard.explain(cause);
  } finally {
    if (reading.isReleased) await drain(incoming, guard);
    else {
      guard.release();
      if (!isWhole) incoming.destroy();
    }
  }
}

/** Reads on without looking, until the end or for `LINGER_MS`. */
function drain(incoming: IncomingMessage, guard: Guard): Promise<void> {
  guard.release();
  return new Promise((resolve) => {
    if (incoming.destroyed) return resolve();
    const timer = setTimeout(() => incoming.destroy(), LINGER_MS);
    incoming.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
    incoming.resume();
  });
}

async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true });
    size += bytes.length;
    if (size >= maxBytes) break;
  }
  return text + decoder.decode();
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
