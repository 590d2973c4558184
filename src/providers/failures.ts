/** Turns whatever an endpoint or the network did wrong into a ProviderError: its kind, whether to retry, what to do. */
import { ProviderError, type ProviderErrorKind } from '../errors.js';
import type { HttpError, HttpFault, HttpResponse } from '../http.js';
import { type Complaint, complaintInText, excerpt } from './complaint.js';

/** What an error text may name of the endpoint. No key. */
export type Endpoint = {
  readonly name: string;
  /** For people: without password and query. */
  readonly baseUrl: string;
  readonly keyVariable?: string;
  /** Which of its APIs was asked. */
  readonly api: ApiName;
  readonly model: string;
  /** Whether the request offered tools. */
  readonly hasTools: boolean;
};

export type ApiName = 'chat' | 'responses';

type Kind = { readonly failure: ProviderErrorKind; readonly retryable?: boolean | undefined };

const QUOTA =
  /insufficient[ _](quota|balance|credits?|funds)|exceeded your current quota|billing|out of credits|credit balance/i;
const TOO_LONG =
  /context[ _-]?(length|window|size)|maximum context|prompt is too long|(input|prompt|request|message)s? (is|are|was) too (long|large)|too many (input )?tokens|reduce the length|input token count .* exceeds|maximum prompt length|exceeds? the (available|model'?s?|maximum) (context|input)|context .{0,12}overflow|exceeded model token limit/i;
const NO_TOOLS =
  /(does not|doesn't|do not|not) support[^.]{0,40}\b(tools?|function)|\b(tools?|tool use|function calling)[^.]{0,30}(is|are) not supported|support tool use|enable-auto-tool-choice|tools param requires/i;
/** Not `reasoning_effort`, which is about the request. */
export const NAMES_REASONING = /\breasoning(_content|_details)?\b|\bthinking\b/i;
/**
 * How endpoints say that they serve a model, or its tools, through the Responses API alone: OpenAI in three ways, GitHub
 * Copilot by code and words.
 */
const WANTS_RESPONSES =
  /v1\/responses|responses api|not a chat model|unsupported_api_for_model|not accessible via the \/chat\/completions/i;
const FILTERED = /content_filter|content_policy|ResponsibleAI/i;

/** For a response with a failing status. `body` is its text, `now` the milliseconds since the epoch. */
export function failureOfResponse(
  response: Pick<HttpResponse, 'status' | 'headers' | 'proxy'>,
  body: string,
  endpoint: Endpoint,
  now: number,
): ProviderError {
  const { status, proxy } = response;
  const told = complaintInText(body);
  const retryAfterMs = retryAfterOf(response.headers, now) ?? told.retryAfterMs;
  const complaint = { ...told, status, retryAfterMs };
  const kind = wantsResponses(status, complaint, endpoint)
    ? { failure: 'wrong-api' as const }
    : kindOf(complaint, endpoint.hasTools);
  const words = complaint.message === '' ? 'no message' : complaint.message;
  // A proxy may have answered in the endpoint's place.
  const way = proxy === undefined ? '' : ` through the proxy ${proxy}`;
  return new ProviderError(kind.failure, `${endpoint.name} answered ${status}${way}: ${words}`, {
    retryable: kind.retryable,
    retryAfterMs,
    status,
    hint: hintFor(kind, complaint, endpoint),
  });
}

/** For an error object inside a reply that began well. */
export function failureOfChunk(complaint: Complaint): ProviderError {
  const { status, retryAfterMs, message } = complaint;
  const { failure, retryable } = kindOf(complaint, true);
  return new ProviderError(failure, `The endpoint broke off its reply: ${message}`, {
    retryable,
    retryAfterMs,
    status,
  });
}

/** For a reply that ended without saying how. `missing` is what says it; `sawDone`: the stream ended with `[DONE]`. */
export function failureOfCut(sawDone: boolean, missing: string): ProviderError {
  const what = sawDone ? 'ended its reply without saying anything' : 'ended in the middle of its reply';
  return new ProviderError('network', `The endpoint ${what}: no ${missing} came.`);
}

/** For a 200 whose body is neither a stream of events nor a completion: a gateway's page, most often. */
export function failureOfBody(response: HttpResponse, text: string): ProviderError {
  const type = response.headers.get('content-type') ?? 'no content type';
  const words = excerpt(text);
  return new ProviderError(
    'protocol',
    `${response.url} answered ${response.status} with ${type} in place of a reply${words === '' ? '.' : `: ${words}`}`,
    {
      status: response.status,
      hint: 'Check the base URL: it has to lead to an OpenAI-compatible API, most often with /v1 at its end.',
    },
  );
}

/** For a request that got no whole answer. */
export function failureOfNetwork(error: HttpError, endpoint: Endpoint): ProviderError {
  return new ProviderError(
    error.fault === 'redirect' ? 'bad-request' : 'network',
    `${endpoint.name}: ${error.message}`,
    {
      retryable: !HOPELESS.has(error.fault),
      hint: `${error.hint ?? NETWORK_HINTS[error.fault]} The base URL is ${endpoint.baseUrl}.`,
      cause: error,
    },
  );
}

/** The same error without the key in its texts, wherever an endpoint repeated it. */
export function withoutKey(error: ProviderError, key: string | undefined): ProviderError {
  // A short text is a placeholder for servers without keys, and may be a word.
  if (key === undefined || key.length < SHORTEST_KEY_CHARS || !error.message.includes(key)) return error;
  const { failure, retryable, retryAfterMs, status, hint } = error;
  return new ProviderError(failure, error.message.replaceAll(key, '[key]'), { retryable, retryAfterMs, status, hint });
}

const SHORTEST_KEY_CHARS = 8;

function wantsResponses(status: number, { code, message }: Complaint, { api }: Endpoint): boolean {
  const isAboutRequest = status === 400 || status === 404 || status === 405 || status === 422;
  return api === 'chat' && isAboutRequest && WANTS_RESPONSES.test(`${code} ${message}`);
}

function kindOf(complaint: Complaint, hasTools: boolean): Kind {
  const { status, message } = complaint;
  const labels = `${complaint.code} ${complaint.type}`;
  const isServerFault = status !== undefined && status > 500;
  if (isQuota(complaint, labels)) return { failure: 'rate-limit', retryable: false };
  if (status === 429 || /rate_limit|RESOURCE_EXHAUSTED/i.test(labels)) return { failure: 'rate-limit' };
  if (status === 401 || status === 403) return { failure: 'auth' };
  if (!isServerFault) {
    if (status === 413 || /context_length|request_too_large/.test(labels) || TOO_LONG.test(message))
      return { failure: 'too-long' };
    if (hasTools && NO_TOOLS.test(message)) return { failure: 'no-tools' };
    if (FILTERED.test(labels)) return { failure: 'refused' };
  }
  if (status !== undefined) return { failure: kindOfStatus(status) };
  if (/authentication|invalid_api_key|permission/i.test(labels)) return { failure: 'auth' };
  if (/\binvalid_|bad_?request|not_found/i.test(labels)) return { failure: 'bad-request' };
  return { failure: 'overloaded' };
}

/** Nothing left to spend, which waiting does not change. Gemini words a passing limit the same way, with a delay. */
function isQuota({ status, message, retryAfterMs }: Complaint, labels: string): boolean {
  if (status === 402 || /insufficient_(quota|balance)|billing/i.test(labels)) return true;
  return retryAfterMs === undefined && (status === undefined || status < 500) && QUOTA.test(message);
}

function kindOfStatus(status: number): ProviderErrorKind {
  if (status === 408 || status === 409 || status === 425) return 'overloaded';
  if (status === 501 || status === 505) return 'bad-request';
  if (status >= 500) return 'overloaded';
  return status >= 400 ? 'bad-request' : 'protocol';
}

/** The wait that the headers ask for, in milliseconds. */
function retryAfterOf(headers: HttpResponse['headers'], now: number): number | undefined {
  const ms = Number.parseFloat(headers.get('retry-after-ms') ?? '');
  if (ms >= 0) return Math.ceil(ms);
  const value = headers.get('retry-after')?.trim() ?? '';
  const seconds = Number(value === '' ? Number.NaN : value);
  if (seconds >= 0) return Math.ceil(seconds * 1000);
  // Without a letter it is no date, whatever `Date.parse` makes of it.
  const date = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function hintFor(kind: Kind, { status, message }: Complaint, endpoint: Endpoint): string | undefined {
  const { keyVariable, model, baseUrl, api } = endpoint;
  switch (kind.failure) {
    case 'auth':
      return `Check ${keyVariable ?? 'the key'}: it has to be a valid key for ${baseUrl}.`;
    case 'rate-limit':
      return kind.retryable === false
        ? `Check the plan and the billing of your account at ${endpoint.name}.`
        : undefined;
    case 'no-tools':
      return `The model ${model} cannot call tools. Choose another with -m NAME, or let it write its calls as text: CHATCLI_TOOL_PROTOCOL=auto or text.`;
    case 'wrong-api':
      return `The model ${model} is served by the Responses API: CHATCLI_OPENAI_API=responses asks that one.`;
    case 'bad-request': {
      const elsewhere = api === 'responses' ? ' If it has no Responses API: CHATCLI_OPENAI_API=chat.' : '';
      if (status === 404) return `Check the model (${model}) and the base URL (${baseUrl}).${elsewhere}`;
      return NAMES_REASONING.test(message)
        ? 'CHATCLI_SEND_REASONING=auto, always or never sets whether earlier reasoning goes back to the model.'
        : undefined;
    }
    default:
      return undefined;
  }
}

/** What does not pass by waiting. */
const HOPELESS: ReadonlySet<HttpFault> = new Set(['redirect', 'tls', 'bad-url', 'proxy-refused']);

const NETWORK_HINTS: Readonly<Record<HttpFault, string>> = {
  'bad-url': 'Check the base URL.',
  dns: 'Check the spelling of the host, and the network.',
  refused: 'Check that the server runs, and its port.',
  unreachable: 'Check the network, a proxy or a firewall.',
  tls: 'Check the certificate of the server, and whether it should be http.',
  reset: 'The server or something between closed the connection.',
  'first-byte-timeout':
    'The server may be loading a model or be overloaded; CHATCLI_FIRST_BYTE_TIMEOUT sets the limit.',
  'idle-timeout': 'The server went silent in the middle; CHATCLI_IDLE_TIMEOUT sets the limit.',
  redirect: 'Set the base URL to where it leads, if you trust that place.',
  'not-http': 'Check that the port is the one of the API.',
  proxy: 'Check the proxy.',
  'proxy-refused': 'Check the proxy.',
  other: 'Check the network.',
};
