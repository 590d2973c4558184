/**
 * Chat Completions of any endpoint, through the openai package (see openai-client.ts) with our own reading of the
 * stream: for 50,000 deltas the SDK's needs 5 times as long, and it hides JSON, HTML and broken lines.
 */
import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions';
import type { ResponseFormatJSONSchema } from 'openai/resources/shared';
import { ConfigError, ProviderError } from '../errors.js';
import { createHttpClient, HttpError, type HttpResponse } from '../http.js';
import { excerpt } from './complaint.js';
import { createConverter } from './convert.js';
import { adaptedDialect, type Dialect } from './dialect.js';
import { type Endpoint, failureOfNetwork, failureOfResponse, withoutKey } from './failures.js';
import { parseJson } from './json.js';
import { createCompletions, responseOf } from './openai-client.js';
import { DONE, type EventBatch, readEvents } from './reply-body.js';
import { type ChunkReducer, createChunkReducer } from './stream.js';
import type { ModelDelta, ModelRequest, Provider } from './types.js';

export type OpenaiChatOptions = {
  /** The preset's name, for messages. */
  readonly name: string;
  /** With its `/v1`, if the endpoint has one. */
  readonly baseUrl: string;
  /** Absent: no `authorization` header is sent. */
  readonly apiKey?: string | undefined;
  /** Where the key comes from, for the hint at a refused one. */
  readonly keyVariable?: string | undefined;
  /** See `createConverter`; false by default. */
  readonly sendReasoning?: boolean | undefined;
  readonly tokensField?: Dialect['tokensField'] | undefined;
  readonly organization?: string | undefined;
  readonly project?: string | undefined;
  /** Sent with every request; they win over ours. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** From sending to the first byte of the reply; 120,000 by default. */
  readonly firstByteTimeoutMs?: number | undefined;
  /** Between two bytes of the reply; 75,000 by default. */
  readonly idleTimeoutMs?: number | undefined;
  /** Milliseconds since the epoch, for a `retry-after` that is a date. */
  readonly now?: (() => number) | undefined;
};

/** A provider with connections of its own, which `close` drops. */
export type OpenaiChat = Provider & { close(): void };

const FIRST_BYTE_TIMEOUT_MS = 120_000;
const IDLE_TIMEOUT_MS = 75_000;
const ERROR_BODY_LIMIT_BYTES = 64 * 1024;
/** Endpoints refuse these in a request that offers no tools. */
const TOOL_FIELDS = ['tools', 'tool_choice', 'parallel_tool_calls'];

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
  const completions = createCompletions(baseUrl, http);
  const converter = createConverter({ sendReasoning: options.sendReasoning ?? false });
  let dialect: Dialect = {
    sendsStreamOptions: true,
    tokensField: options.tokensField ?? 'max_tokens',
    sendsResponseFormat: true,
  };

  function paramsOf(request: ModelRequest): ChatCompletionCreateParams {
    const { model, messages, tools, maxTokens, responseSchema } = request;
    return {
      ...freeOptions(request),
      model,
      messages: converter.messages(messages),
      ...(tools.length > 0 && { tools: converter.tools(tools) }),
      ...(maxTokens !== undefined && { [dialect.tokensField]: maxTokens }),
      stream: request.stream ?? true,
      ...(request.stream !== false && dialect.sendsStreamOptions && { stream_options: { include_usage: true } }),
      ...(responseSchema && dialect.sendsResponseFormat && { response_format: formatOf(responseSchema) }),
    };
  }

  async function ask(request: ModelRequest, signal: AbortSignal, endpoint: Endpoint): Promise<HttpResponse> {
    for (;;) {
      const sentDialect = dialect;
      const response = await responseOf(
        completions.create(paramsOf(request), { signal, ...(request.headers && { headers: request.headers }) }),
      );
      if (response.ok) return response;
      const body = await response.text(ERROR_BODY_LIMIT_BYTES);
      const sentSchema = request.responseSchema !== undefined && sentDialect.sendsResponseFormat;
      const adapted = adaptedDialect(sentDialect, { status: response.status, body, sentSchema });
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

/** What a caller adds to the body. What is ours to say, or goes only with tools that are not offered, is left out. */
function freeOptions({ options = {}, tools, responseSchema }: ModelRequest): Record<string, unknown> {
  const { stream_options: _, ...free } = options;
  const dropped = [...(tools.length > 0 ? [] : TOOL_FIELDS), ...(responseSchema ? ['response_format'] : [])];
  return Object.fromEntries(Object.entries(free).filter(([name]) => !dropped.includes(name)));
}

/** Not strict: that takes only schemas of a narrow form, and the answer is checked by us all the same. */
function formatOf(schema: Readonly<Record<string, unknown>>): ResponseFormatJSONSchema {
  return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: false } };
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
      // Pieces of a call's arguments show nothing for minutes, and must not pass for silence.
      if (reading.deltas.length === 0 && !sawDone && !batch.isTail) yield ACTIVITY;
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

const ACTIVITY: ModelDelta = { type: 'activity' };

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
