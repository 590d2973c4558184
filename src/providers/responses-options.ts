/**
 * What a caller adds to a request, for the Responses API. Which API a model is asked through may be decided late, so
 * options come under the names of Chat Completions too, and get their new ones here.
 */
import { asRecord, type JsonRecord } from './json.js';
import type { ModelRequest } from './types.js';

/** Endpoints refuse these in a request that offers no tools. */
const TOOL_FIELDS = ['tools', 'tool_choice', 'parallel_tool_calls'];

/**
 * The fields to add to the body, those of `text`, `reasoning` and `include` joined with ours. What goes only with tools
 * that are not offered, or has no meaning here, is left out; a name that is not known stays as it is.
 */
export function responsesOptions(request: ModelRequest): Readonly<Record<string, unknown>> {
  const { options = {}, tools } = request;
  const {
    stream_options: _,
    reasoning_effort: effort,
    reasoning,
    max_tokens: oldMaxTokens,
    max_completion_tokens: maxTokens = oldMaxTokens,
    response_format: format,
    verbosity,
    text,
    tool_choice: toolChoice,
    ...free
  } = options;
  const named = {
    max_output_tokens: maxTokens,
    reasoning: joined(reasoning, { effort }),
    text: joined(text, { verbosity, format: formatOf(format) }),
    tool_choice: choiceOf(toolChoice),
  };
  const fields = Object.entries({ ...present(named), ...free });
  return Object.fromEntries(fields.filter(([name]) => tools.length > 0 || !TOOL_FIELDS.includes(name)));
}

function joined(given: unknown, ours: JsonRecord): JsonRecord | undefined {
  const fields = { ...asRecord(given), ...present(ours) };
  return Object.keys(fields).length === 0 ? undefined : fields;
}

/** `{type, json_schema: {name, schema}}` has become `{type, name, schema}`. */
function formatOf(format: unknown): JsonRecord | undefined {
  const { json_schema: schema, ...rest } = asRecord(format) ?? {};
  return asRecord(format) && { ...rest, ...asRecord(schema) };
}

/** `{type, function: {name}}` has become `{type, name}`. */
function choiceOf(choice: unknown): unknown {
  const { function: named, ...rest } = asRecord(choice) ?? {};
  return asRecord(named) ? { ...rest, ...asRecord(named) } : choice;
}

function present(fields: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
