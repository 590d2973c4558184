/**
 * What all APIs of an OpenAI-compatible endpoint have in common: headers and time limits, asking again in a form that
 * the endpoint takes, reading the reply, and failures told without the key. What is sent, an `Api` says.
 */
import { ConfigError, ProviderError } from '../errors.js';
import { createHttpClient, type HttpClient, HttpError, type HttpResponse, type ProxySettings } from '../http.js';
import { type ApiName, type Endpoint, failureOfNetwork, failureOfResponse, withoutKey } from './failures.js';
import { type ReplyReducer, readReply } from './read-reply.js';
import type { ModelDelta, ModelRequest, Provider } from './types.js';

export type EndpointOptions = {
  /** The preset's name, for messages. */
  readonly name: string;
  /** With its `/v1`, if the endpoint has one. */
  readonly baseUrl: string;
  /** Absent: no `authorization` header is sent. */
  readonly apiKey?: string | undefined;
  /** Where the key comes from, for the hint at a refused one. */
  readonly keyVariable?: string | undefined;
  readonly organization?: string | undefined;
  readonly project?: string | undefined;
  /** Sent with every request; they win over ours. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Proxies by the scheme of the URL, and the hosts that need none. Absent: none; the environment is not read. */
  readonly proxy?: ProxySettings | undefined;
  /** Certificates to trust, in PEM, in place of Node's own store. */
  readonly ca?: readonly string[] | undefined;
  /** From sending to the first byte of the reply; 120,000 by default. */
  readonly firstByteTimeoutMs?: number | undefined;
  /** Between two bytes of the reply; 75,000 by default. */
  readonly idleTimeoutMs?: number | undefined;
  /** Milliseconds since the epoch, for a `retry-after` that is a date. */
  readonly now?: (() => number) | undefined;
};

/** One of an endpoint's APIs. */
export type Api = {
  readonly name: ApiName;
  /** Sends the request in the form that the endpoint takes, as far as that is known by now. */
  send(request: ModelRequest, signal: AbortSignal): Attempt;
  createReducer(): ReplyReducer;
};

/** A request that is on its way. */
export type Attempt = {
  readonly response: Promise<HttpResponse>;
  /** Learns from its refusal; true where another form of it is worth a try. */
  learn(status: number, body: string): boolean;
};

/** A provider with connections of its own, which `close` drops. */
export type ClosableProvider = Provider & { close(): void };

const FIRST_BYTE_TIMEOUT_MS = 120_000;
const IDLE_TIMEOUT_MS = 75_000;
const ERROR_BODY_LIMIT_BYTES = 64 * 1024;

/**
 * A provider for one API of one endpoint.
 * @throws {ConfigError} when `baseUrl` is no http or https URL.
 */
export function openEndpoint(options: EndpointOptions, openApi: (http: HttpClient) => Api): ClosableProvider {
  const { name, baseUrl, apiKey, keyVariable, now = Date.now } = options;
  const shownBaseUrl = checkedUrl(baseUrl);
  const http = createHttpClient({
    firstByteTimeoutMs: options.firstByteTimeoutMs ?? FIRST_BYTE_TIMEOUT_MS,
    idleTimeoutMs: options.idleTimeoutMs ?? IDLE_TIMEOUT_MS,
    headers: headersOf(options),
    ...(options.proxy && { proxy: options.proxy }),
    ...(options.ca && { ca: options.ca }),
  });
  const api = openApi(http);

  async function ask(request: ModelRequest, signal: AbortSignal, endpoint: Endpoint): Promise<HttpResponse> {
    for (;;) {
      const attempt = api.send(request, signal);
      const response = await attempt.response;
      if (response.ok) return response;
      const body = await response.text(ERROR_BODY_LIMIT_BYTES);
      if (!attempt.learn(response.status, body)) throw failureOfResponse(response, body, endpoint, now());
    }
  }

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelDelta, void, undefined> {
    const endpoint = {
      name,
      baseUrl: shownBaseUrl,
      keyVariable,
      api: api.name,
      model: request.model,
      hasTools: request.tools.length > 0,
    };
    try {
      signal.throwIfAborted();
      const response = await ask(request, signal, endpoint);
      for await (const delta of readReply(response, api.createReducer())) yield delta;
    } catch (thrown) {
      if (signal.aborted) throw signal.reason;
      const failure = thrown instanceof HttpError ? failureOfNetwork(thrown, endpoint) : thrown;
      throw failure instanceof ProviderError ? withoutKey(failure, apiKey) : failure;
    }
  }

  return { name, stream, close: http.close };
}

function checkedUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.origin + url.pathname;
  throw new ConfigError(`The base URL ${JSON.stringify(baseUrl)} is not an http or https URL.`, {
    hint: 'Set it like http://127.0.0.1:8000/v1.',
  });
}

function headersOf({ apiKey, organization, project, headers }: EndpointOptions): Record<string, string> {
  return {
    accept: 'application/json',
    'content-type': 'application/json',
    'user-agent': 'chatcli',
    ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    ...(organization && { 'openai-organization': organization }),
    ...(project && { 'openai-project': project }),
    ...headers,
  };
}
