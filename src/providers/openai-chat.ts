/**
 * Chat Completions of any endpoint, through the openai package. Of the SDK serve its resource, its types and its URL
 * building; measured on Node 20, three parts are replaced:
 * - its headers, since the WHATWG `Headers` that it makes load undici: 35 ms and 4.4 MiB, more than the SDK itself;
 * - its stream, which needs 5 times as long as ours for 50,000 deltas and hides JSON, HTML and broken lines;
 * - its errors, which keep nothing of a body that has no `error` in it, and lose the cause of a timeout.
 */
import { OpenAI } from 'openai/client';
import type { ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions';
import { ConfigError, ProviderError } from '../errors.js';
import { createHttpClient, HttpError, type HttpResponse } from '../http.js';
import { excerpt } from './complaint.js';
import { createConverter } from './convert.js';
import { adaptedDialect, type Dialect } from './dialect.js';
import { type Endpoint, failureOfNetwork, failureOfResponse, withoutKey } from './failures.js';
import { parseJson } from './json.js';
import { DONE, type EventBatch, readEvents } from './reply-body.js';
import { type ChunkReducer, createChunkReducer } from './stream.js';
import type { ModelDelta, ModelRequest, Provider } from './types.js';

export type OpenaiChatOptions = {
  /** The preset's name, for messages. */
  readonly name: string;
  /** With its `/v1`, if the endpoint has one. */
  readonly baseUrl: string;
  /** Absent: no `authorization` header is sent. */
  readonly apiKey?: string;
  /** Where the key comes from, for the hint at a refused one. */
  readonly keyVariable?: string;
  /** See `createConverter`; false by default. */
  readonly sendReasoning?: boolean;
  readonly tokensField?: Dialect['tokensField'];
  readonly organization?: string;
  readonly project?: string;
  /** Sent with every request; they win over ours. */
  readonly headers?: Readonly<Record<string, string>>;
  /** From sending to the first byte of the reply; 120,000 by default. */
  readonly firstByteTimeoutMs?: number;
  /** Between two bytes of the reply; 75,000 by default. */
  readonly idleTimeoutMs?: number;
  /** Milliseconds since the epoch, for a `retry-after` that is a date. */
  readonly now?: () => number;
};

/** A provider with connections of its own, which `close` drops. */
export type OpenaiChat = Provider & { close(): void };

const FIRST_BYTE_TIMEOUT_MS = 120_000;
const IDLE_TIMEOUT_MS = 75_000;
const ERROR_BODY_LIMIT_BYTES = 64 * 1024;
const NO_TIMEOUT_MS = 2_147_483_647; // The SDK's timer never runs out before ours; Node takes no longer one.

/**
 * A provider for one endpoint.
 * @throws {ConfigError} when `baseUrl` is no http or https URL.
 */
export function openaiChat(options: OpenaiChatOptions): OpenaiChat {
  const { name, baseUrl, apiKey, keyVariable, now = Date.now } = options;
  const shownBaseUrl = checkedUrl(baseUrl);
  const http = createHttpClient({
    firstByteTimeoutMs: options.firstByteTimeoutMs ?? FIRST_BYTE_TIMEOUT_MS,
    idleTimeoutMs: options.idleTimeoutMs ?? IDLE_TIMEOUT_MS,
    headers: headersOf(options),
  });
  const converter = createConverter({ sendReasoning: options.sendReasoning ?? false });
  let dialect: Dialect = { sendsStreamOptions: true, tokensField: options.tokensField ?? 'max_tokens' };

  function paramsOf({ model, messages, tools, maxTokens }: ModelRequest): ChatCompletionCreateParamsStreaming {
    return {
      model,
      messages: converter.messages(messages),
      ...(tools.length > 0 && { tools: converter.tools(tools) }),
      ...(maxTokens !== undefined && { [dialect.tokensField]: maxTokens }),
      stream: true,
      ...(dialect.sendsStreamOptions && { stream_options: { include_usage: true } }),
    };
  }

  async function ask(request: ModelRequest, signal: AbortSignal, endpoint: Endpoint): Promise<HttpResponse> {
    for (;;) {
      const sentDialect = dialect;
      const response = await sendThroughSdk(paramsOf(request), baseUrl, (url, body) =>
        http.fetch(url, { method: 'POST', body, signal }),
      );
      if (response.ok) return response;
      const body = await response.text(ERROR_BODY_LIMIT_BYTES);
      const adapted = adaptedDialect(sentDialect, response.status, body);
      if (adapted === undefined) throw failureOfResponse(response, body, endpoint, now());
      dialect = adapted;
    }
  }

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelDelta, void, undefined> {
    const endpoint = {
      name,
      baseUrl: shownBaseUrl,
      keyVariable,
      model: request.model,
      hasTools: request.tools.length > 0,
    };
    try {
      signal.throwIfAborted();
      for await (const delta of readReply(await ask(request, signal, endpoint))) yield delta;
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

function headersOf({ apiKey, organization, project, headers }: OpenaiChatOptions): Record<string, string> {
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

/**
 * Sends a request with the SDK and hands back our own response, whatever its status. A client serves one request:
 * it costs little, and what failed is then known to belong to this one.
 */
async function sendThroughSdk(
  params: ChatCompletionCreateParamsStreaming,
  baseUrl: string,
  send: (url: string, body: string) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  let result: HttpResponse | undefined;
  let failure: { readonly thrown: unknown } | undefined;
  const client = new OpenAI({
    // Given, all of them, so that the SDK looks for none in the environment. The key is in our own headers.
    apiKey: 'unused',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    baseURL: baseUrl,
    maxRetries: 0,
    logLevel: 'off',
    fetch: async (url, init) => {
      try {
        result = await send(String(url), String(init?.body));
      } catch (thrown) {
        failure = { thrown };
        throw thrown;
      }
      // What the SDK looks at of a response. It must not take an error's body from us.
      return { ok: true, status: 200, url: result.url, headers: result.headers } as unknown as Response;
    },
  });
  client.buildRequest = async ({ method, path, body }) => ({
    // The headers are our client's.
    req: { method, body: JSON.stringify(body) } as Awaited<ReturnType<OpenAI['buildRequest']>>['req'],
    url: client.buildURL(path, null),
    timeout: NO_TIMEOUT_MS,
  });
  try {
    await client.chat.completions.create(params).asResponse();
  } catch (thrown) {
    throw failure ? failure.thrown : thrown;
  }
  if (result === undefined) throw new Error('The SDK answered without asking.');
  return result;
}

/**
 * The deltas of a reply. Neighbouring pieces of text that came in together are joined: a reader of 50,000 deltas has
 * then a few hundred to show, and none of them later.
 */
async function* readReply(response: HttpResponse): AsyncGenerator<ModelDelta, void, undefined> {
  const reducer = createChunkReducer();
  let sawDone = false;
  try {
    for await (const batch of readEvents(response)) {
      const reading = reduceBatch(reducer, batch);
      for (const delta of reading.deltas) yield delta;
      if (reading.failure) throw reading.failure;
      sawDone = reading.sawDone;
      if (sawDone) {
        response.release();
        break;
      }
    }
  } catch (thrown) {
    // Nothing that matters comes after a finish reason, and some servers never close the connection properly.
    if (!(thrown instanceof HttpError && reducer.isFinished())) {
      for (const delta of reducer.usage()) yield delta;
      throw thrown;
    }
  }
  for (const delta of reducer.finish(sawDone)) yield delta;
}

type Reading = { readonly deltas: readonly ModelDelta[]; readonly sawDone: boolean; readonly failure?: unknown };

function reduceBatch(reducer: ChunkReducer, { events, isTail }: EventBatch): Reading {
  const deltas: ModelDelta[] = [];
  let sawDone = false;
  try {
    for (const data of events) {
      if (data.trim() === '') continue;
      sawDone = data.startsWith(DONE);
      if (sawDone) break;
      const chunk = parseJson(data);
      if (chunk !== undefined) join(deltas, reducer.push(chunk));
      // A body cut inside its last line is told by the missing finish reason.
      else if (!isTail)
        throw new ProviderError('protocol', `The endpoint sent an event that is not JSON: ${excerpt(data)}`);
    }
  } catch (failure) {
    return { deltas, sawDone, failure };
  }
  return { deltas, sawDone };
}

function join(deltas: ModelDelta[], more: readonly ModelDelta[]): void {
  for (const delta of more) {
    const last = deltas.at(-1);
    const isText = delta.type === 'text' || delta.type === 'reasoning';
    if (isText && last?.type === delta.type)
      deltas[deltas.length - 1] = { type: delta.type, text: last.text + delta.text };
    else deltas.push(delta);
  }
}
