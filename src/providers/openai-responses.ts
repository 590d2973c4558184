/**
 * The Responses API of any endpoint that has it, through the openai package (see openai-client.ts) with our own reading
 * of the stream. The endpoint is asked to store nothing, so each request carries the whole history, as with Chat
 * Completions, and the model's reasoning comes sealed and goes back with the message that it led to.
 */
import type { ResponseCreateParams } from 'openai/resources/responses/responses';
import { Responses } from 'openai/resources/responses/responses';
import type { HttpClient } from '../http.js';
import { adaptedResponsesDialect, type ResponsesDialect } from './dialect.js';
import { type Api, type ClosableProvider, type EndpointOptions, openEndpoint } from './endpoint.js';
import { asRecord } from './json.js';
import { createClient, responseOf } from './openai-client.js';
import { createResponsesConverter } from './responses-convert.js';
import { responsesOptions } from './responses-options.js';
import { createResponseReducer } from './responses-stream.js';
import type { ModelRequest } from './types.js';

const SEALED_REASONING = 'reasoning.encrypted_content';

const STANDARD: ResponsesDialect = { asksForReasoning: true, sendsReplay: true, sendsTextFormat: true };

/**
 * A provider for one endpoint.
 * @throws {ConfigError} when `baseUrl` is no http or https URL.
 */
export function openaiResponses(options: EndpointOptions): ClosableProvider {
  return openEndpoint(options, (http) => responsesApi(options, http));
}

function responsesApi({ name, baseUrl }: EndpointOptions, http: HttpClient): Api {
  const origin = `${name}:responses`;
  const responses = new Responses(createClient({ baseUrl, http, growingField: 'input' }));
  const converter = createResponsesConverter(origin);
  /** By model: one that does not reason must not take its reasoning from another. */
  const dialects = new Map<string, ResponsesDialect>();

  function paramsOf(request: ModelRequest, dialect: ResponsesDialect): ResponseCreateParams {
    const { model, messages, tools, maxTokens, responseSchema } = request;
    const { text, include, ...options } = responsesOptions(request);
    const instructions = converter.instructions(messages);
    const format = responseSchema && dialect.sendsTextFormat ? formatOf(responseSchema) : undefined;
    const included = [
      ...(Array.isArray(include) ? include : []),
      ...(dialect.asksForReasoning ? [SEALED_REASONING] : []),
    ];
    return {
      ...options,
      model,
      ...(instructions !== undefined && { instructions }),
      input: converter.input(messages, dialect.sendsReplay),
      ...(tools.length > 0 && { tools: converter.tools(tools) }),
      ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
      ...((text || format) && { text: { ...asRecord(text), ...(format && { format }) } }),
      ...(included.length > 0 && { include: included }),
      stream: request.stream ?? true,
      store: false,
    };
  }

  return {
    name: 'responses',
    createReducer: () => createResponseReducer(origin),
    send(request, signal) {
      const { model, headers, responseSchema } = request;
      const sent = dialects.get(model) ?? STANDARD;
      const params = paramsOf(request, sent);
      return {
        response: responseOf(responses.create(params, { signal, ...(headers && { headers }) })),
        learn(status, body) {
          const adapted = adaptedResponsesDialect(sent, { status, body, sentSchema: responseSchema !== undefined });
          if (adapted !== undefined) dialects.set(model, adapted);
          return adapted !== undefined;
        },
      };
    },
  };
}

/** Not strict: that takes only schemas of a narrow form, and the answer is checked by us all the same. */
function formatOf(schema: Readonly<Record<string, unknown>>) {
  return { type: 'json_schema' as const, name: 'answer', schema: { ...schema }, strict: false };
}
