/** What an endpoint has shown that it does not take. The standard form goes first, and is changed only on its word. */
import { complaintInText } from './complaint.js';
import { NAMES_REASONING } from './failures.js';
import type { ReasoningForm } from './presets.js';

export type Dialect = {
  /** Asks for the usage at the end of a stream. */
  readonly sendsStreamOptions: boolean;
  readonly tokensField: 'max_tokens' | 'max_completion_tokens';
  /** Sends the schema of an answer as `response_format`. */
  readonly sendsResponseFormat: boolean;
  readonly reasoning: ReasoningForm;
  /** Whether the endpoint may have another form than this one; once, so that a model that takes none is an end. */
  readonly mayChangeReasoning: boolean;
  /** Sends what came along with a tool call, e.g. Gemini's thought signature. */
  readonly sendsCallExtras: boolean;
};

/** What an endpoint refused: its status and body, and whether the request had a `response_format` of ours. */
export type Refusal = { readonly status: number; readonly body: string; readonly sentSchema: boolean };

// By its name, or as Groq, Gemini and llama.cpp put it where it can't go together with tools.
const NAMES_RESPONSE_FORMAT = /response_format|json_schema|json mode|response mime type|grammar|structured output/i;

const REFUSED =
  /unsupported|not (supported|permitted|allowed)|unrecognized|unknown|unexpected|extra (inputs|fields)|additional propert|forbidden/i;
const MISSING = /missing|passed back|is required|must (include|contain|have|be provided)/i;

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
  if (dialect.sendsCallExtras && /extra_content/.test(message) && REFUSED.test(message))
    return { ...dialect, sendsCallExtras: false };
  return withOtherReasoning(dialect, message);
}

/** Groq, Cerebras and Mistral refuse the field; DeepSeek and Moonshot refuse to go on without it. */
function withOtherReasoning(dialect: Dialect, message: string): Dialect | undefined {
  const { reasoning, mayChangeReasoning } = dialect;
  if (!mayChangeReasoning || !NAMES_REASONING.test(message)) return undefined;
  const changed = { ...dialect, mayChangeReasoning: false };
  if (reasoning !== 'none' && REFUSED.test(message)) return { ...changed, reasoning: 'none' };
  if (reasoning !== 'reasoning_content' && MISSING.test(message)) return { ...changed, reasoning: 'reasoning_content' };
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
