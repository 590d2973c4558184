/**
 * Chat Completions of any endpoint, through the openai package (see openai-client.ts) with our own reading of the
 * stream: for 50,000 deltas the SDK's needs 5 times as long, and it hides JSON, HTML and broken lines.
 */
import type { ChatCompletionCreateParams, ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { Completions } from 'openai/resources/chat/completions/completions';
import type { ResponseFormatJSONSchema } from 'openai/resources/shared';
import type { HttpClient } from '../http.js';
import { createConverter } from './convert.js';
import { adaptedDialect, type Dialect } from './dialect.js';
import { type Api, type ClosableProvider, type EndpointOptions, openEndpoint } from './endpoint.js';
import { createClient, responseOf } from './openai-client.js';
import type { ReasoningForm } from './presets.js';
import { createChunkReducer } from './stream.js';
import type { ModelRequest } from './types.js';

export type OpenaiChatOptions = EndpointOptions & {
  /** How the reasoning of earlier replies goes back; `none` by default. */
  readonly reasoning?: ReasoningForm | undefined;
  /** Whether it stays so, whatever the endpoint says of it. By default another form is tried once. */
  readonly isReasoningFixed?: boolean | undefined;
  readonly tokensField?: Dialect['tokensField'] | undefined;
};

/** Endpoints refuse these in a request that offers no tools. */
const TOOL_FIELDS = ['tools', 'tool_choice', 'parallel_tool_calls'];

/**
 * A provider for one endpoint.
 * @throws {ConfigError} when `baseUrl` is no http or https URL.
 */
export function openaiChat(options: OpenaiChatOptions): ClosableProvider {
  return openEndpoint(options, (http) => chatApi(options, http));
}

function chatApi(options: OpenaiChatOptions, http: HttpClient): Api {
  const { name, baseUrl, tokensField, reasoning = 'none', isReasoningFixed = false } = options;
  const completions = new Completions(createClient({ baseUrl, http, growingField: 'messages' }));
  const origin = `${name}:chat`;
  let dialect: Dialect = {
    sendsStreamOptions: true,
    tokensField: tokensField ?? 'max_tokens',
    sendsResponseFormat: true,
    reasoning,
    mayChangeReasoning: !isReasoningFixed,
    sendsCallExtras: true,
  };
  let converter = createConverter({ ...dialect, origin });

  function paramsOf(request: ModelRequest): ChatCompletionCreateParams {
    const { model, messages, tools, maxTokens, responseSchema } = request;
    return {
      ...freeOptions(request),
      model,
      // Reasoning is nothing that the SDK's types know of.
      messages: converter.messages(messages) as ChatCompletionMessageParam[],
      ...(tools.length > 0 && { tools: converter.tools(tools) }),
      ...(maxTokens !== undefined && { [dialect.tokensField]: maxTokens }),
      stream: request.stream ?? true,
      ...(request.stream !== false && dialect.sendsStreamOptions && { stream_options: { include_usage: true } }),
      ...(responseSchema && dialect.sendsResponseFormat && { response_format: formatOf(responseSchema) }),
    };
  }

  return {
    name: 'chat',
    createReducer: () => createChunkReducer(origin),
    send(request, signal) {
      const sent = dialect;
      const sentSchema = request.responseSchema !== undefined && sent.sendsResponseFormat;
      const { headers } = request;
      return {
        response: responseOf(completions.create(paramsOf(request), { signal, ...(headers && { headers }) })),
        learn(status, body) {
          const adapted = adaptedDialect(sent, { status, body, sentSchema });
          if (adapted === undefined) return false;
          dialect = adapted;
          converter = createConverter({ ...dialect, origin });
          return true;
        },
      };
    },
  };
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
