/** What an endpoint has shown that it does not take. The standard form goes first, and is changed only on its word. */
import { complaintInText } from './complaint.js';

export type Dialect = {
  /** Asks for the usage at the end of a stream. */
  readonly sendsStreamOptions: boolean;
  readonly tokensField: 'max_tokens' | 'max_completion_tokens';
  /** Sends the schema of an answer as `response_format`. */
  readonly sendsResponseFormat: boolean;
};

/** What an endpoint refused: its status and body, and whether the request had a `response_format` of ours. */
export type Refusal = { readonly status: number; readonly body: string; readonly sentSchema: boolean };

// By its name, or as Groq, Gemini and llama.cpp put it where it can't go together with tools.
const NAMES_RESPONSE_FORMAT = /response_format|json_schema|json mode|response mime type|grammar|structured output/i;

/**
 * The dialect to try next, after a request in `dialect` was refused; undefined where the refusal is about something
 * else. Never the same answer twice in a row.
 */
export function adaptedDialect(dialect: Dialect, { status, body, sentSchema }: Refusal): Dialect | undefined {
  if (status !== 400 && status !== 422) return undefined;
  const { message } = complaintInText(body);
  if (dialect.sendsStreamOptions && /stream_options|include_usage/.test(body))
    return { ...dialect, sendsStreamOptions: false };
  if (dialect.tokensField === 'max_tokens' && /max_completion_tokens/.test(message)) {
    return { ...dialect, tokensField: 'max_completion_tokens' };
  }
  if (sentSchema && dialect.sendsResponseFormat && NAMES_RESPONSE_FORMAT.test(body))
    return { ...dialect, sendsResponseFormat: false };
  return undefined;
}

/** The same of the Responses API. */
export type ResponsesDialect = {
  /** Asks for the model's reasoning in sealed form; models that do not reason refuse to be asked. */
  readonly asksForReasoning: boolean;
  /** Sends back what earlier replies of the endpoint wanted back. */
  readonly sendsReplay: boolean;
  /** Sends the schema of an answer as `text.format`. */
  readonly sendsTextFormat: boolean;
};

/** Sealed by another account or model, or its other half is missing: a history that holds it is refused for ever. */
const REFUSES_REPLAY =
  /invalid_encrypted_content|could not be (verified|decrypted)|of type 'reasoning'|item with id 'rs_/i;
const REFUSES_TO_SEAL = /encrypted[ _]content|["'`]include\b/i;
const NAMES_TEXT_FORMAT = /text\.format/i;

/** As `adaptedDialect`, for a request to the Responses API. */
export function adaptedResponsesDialect(
  dialect: ResponsesDialect,
  { status, body, sentSchema }: Refusal,
): ResponsesDialect | undefined {
  if (status !== 400 && status !== 422 && status !== 404) return undefined;
  if (REFUSES_REPLAY.test(body)) return dialect.sendsReplay ? { ...dialect, sendsReplay: false } : undefined;
  if (dialect.asksForReasoning && REFUSES_TO_SEAL.test(body)) return { ...dialect, asksForReasoning: false };
  const refusesFormat = NAMES_TEXT_FORMAT.test(body) || NAMES_RESPONSE_FORMAT.test(body);
  if (sentSchema && dialect.sendsTextFormat && refusesFormat) return { ...dialect, sendsTextFormat: false };
  return undefined;
}
