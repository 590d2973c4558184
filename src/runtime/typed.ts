/**
 * Answers that have to fit a schema: what the model is told, how its text is judged, and the value in the end. Asking
 * again is the kernel's, from what `check` says is wrong; a summary at a turn limit is never held against a schema.
 */
import * as z from 'zod';
import { ChatcliError, messageOf, UsageError } from '../errors.js';
import type { Outcome } from '../kernel/types.js';
import { compileSchema, type JsonSchema, schemaText } from './typed-schema.js';

/** A form that answers have to have, for one run or many: it keeps nothing. */
export type AnswerForm<Value = unknown> = {
  /** For `RunOptions.responseSchema`. */
  readonly schema: JsonSchema;
  /** For the end of the system prompt. */
  readonly instructions: string;
  /** For `RunOptions.checkAnswer`. Never throws. */
  readonly check: (answer: string) => Promise<TypedCheck<Value>>;
  /** For `RunOptions.bareAnswer`: the JSON text alone, without the code fence that may be around it. */
  readonly bare: (answer: string) => string;
};

/** An `AnswerCheck`, with the value; or with why an answer that fits the schema can't be made into one. */
export type TypedCheck<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: true; readonly failure: OutputParseError }
  | { readonly ok: false; readonly feedback: string };

/** No answer fitted, and the model may not be asked again: exit code 1, `error_schema`. */
export class OutputRetriesExhausted extends ChatcliError {
  /** How often it was asked again. */
  readonly retries: number;

  constructor(retries: number, message: string) {
    super('output', message);
    this.retries = retries;
  }
}

/** The answer fits the schema, but a transform or refinement of it threw. The model is not asked again for that. */
export class OutputParseError extends ChatcliError {
  /** The answer as the model wrote it. */
  readonly answer: string;

  constructor(answer: string, message: string, options: { cause?: unknown } = {}) {
    super('output', message, options);
    this.answer = answer;
  }
}

/** What the kernel takes where `limits.maxOutputRetries` says nothing. */
const DEFAULT_RETRIES = 3;
const ANSWER_LIMIT_BYTES = 1_000_000; // A schema's patterns may take very long on more.
const ANSWER_LIMIT_LEVELS = 500; // Whoever walks it may do so by recursion.
const PROBLEMS_AT_MOST = 10;
const PROBLEM_LIMIT_CHARS = 300;

/**
 * The form that a zod schema or a JSON Schema (2020-12 or draft-07, as an object) describes. What the model is told of a
 * zod schema is its JSON Schema; refinements can't be written as one, and are told of when an answer fails them. In a
 * JSON Schema `format`, the notes of OpenAPI (`example`, `discriminator`, `externalDocs`, `xml`) and `x-…` are for the
 * model and not checked; any other keyword that is not known is taken for a misspelt one. Ajv is loaded for JSON Schemas
 * only.
 * @throws {UsageError} when the schema is not valid, longer than 64 KiB as JSON, or can't be written as JSON Schema.
 */
export function answerCheckOf<Schema extends z.core.$ZodType>(schema: Schema): Promise<AnswerForm<z.output<Schema>>>;
export function answerCheckOf(schema: JsonSchema): Promise<AnswerForm>;
export async function answerCheckOf(schema: z.core.$ZodType | JsonSchema): Promise<AnswerForm> {
  const { jsonSchema, judge } = isZod(schema) ? zodForm(schema) : await jsonForm(schema);
  const text = schemaText(jsonSchema);
  return {
    schema: jsonSchema,
    instructions:
      'Your final answer must be one JSON value that fits this JSON Schema, with nothing before or behind it ' +
      `(calls of tools are no answers and stay as they are):\n${text}`,
    check: async (answer) => checkAnswer(answer, judge),
    bare: withoutFence,
  };
}

/**
 * The value of a run that was held to `form`; undefined where the run ended without an answer (a limit, a cancel, a
 * failure of another kind): its outcome says why. `retries` is the `maxOutputRetries` of the run.
 * @throws {OutputRetriesExhausted} when no answer fitted.
 * @throws {OutputParseError} when the answer fits the schema but can't be converted.
 */
export async function typedValue<Value>(
  { reason, answer, error }: Pick<Outcome, 'reason' | 'answer' | 'error'>,
  form: AnswerForm<Value>,
  retries = DEFAULT_RETRIES,
): Promise<{ readonly value: Value } | undefined> {
  if (error?.kind === 'output') throw new OutputRetriesExhausted(retries, error.message);
  if (reason !== 'answered') return undefined;
  const check = await form.check(answer);
  // A stage around the loop may have changed an answer that had passed.
  if (!check.ok) throw new OutputParseError(answer, check.feedback);
  if ('failure' in check) throw check.failure;
  return { value: check.value };
}

/** Judges a parsed value. Problems are one a line, each with its place. */
type Judge = (value: unknown) => Promise<Judged>;
type Judged =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'misfit'; readonly problems: readonly string[] }
  | { readonly kind: 'unconvertible'; readonly problems: readonly string[]; readonly cause: unknown };

async function checkAnswer(answer: string, judge: Judge): Promise<TypedCheck<unknown>> {
  if (Buffer.byteLength(answer) > ANSWER_LIMIT_BYTES) {
    return refused(['it is longer than 1 MB'], 'Send a shorter one.');
  }
  let value: unknown;
  try {
    value = JSON.parse(withoutFence(answer));
  } catch (cause) {
    return refused([`it is not JSON: ${messageOf(cause)}`], 'Send the JSON alone, without any other words.');
  }
  if (isTooDeep(value))
    return refused([`it is nested deeper than ${ANSWER_LIMIT_LEVELS} levels`], 'Send a flatter one.');
  try {
    const judged = await judge(value);
    if (judged.kind === 'value') return { ok: true, value: judged.value };
    if (judged.kind === 'misfit') return refused(judged.problems, 'Send the whole JSON again, corrected.');
    const message = `The answer fits its schema but can't be converted: ${judged.problems.join('; ')}`;
    return { ok: true, failure: new OutputParseError(answer, message, { cause: judged.cause }) };
  } catch (cause) {
    // A schema that refers to itself may have no end for some values.
    return refused([`it can't be checked: ${messageOf(cause)}`], 'Send a simpler one.');
  }
}

function refused(problems: readonly string[], advice: string): TypedCheck<unknown> {
  const shown = problems.slice(0, PROBLEMS_AT_MOST).map((problem) => `- ${problem.slice(0, PROBLEM_LIMIT_CHARS)}`);
  const more = problems.length - shown.length;
  const rest = more > 0 ? [`- and ${more} more`] : [];
  return { ok: false, feedback: ['The answer does not have its form:', ...shown, ...rest, advice].join('\n') };
}

function isTooDeep(value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= ANSWER_LIMIT_LEVELS; depth += 1) {
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
    if (level.length === 0) return false;
  }
  return true;
}

/** The text inside one code fence, where that is all there is. */
function withoutFence(answer: string): string {
  const text = answer.trim();
  const firstBreak = text.indexOf('\n');
  if (!text.startsWith('```') || !text.endsWith('```') || firstBreak === -1) return text;
  return /^```[\w+-]*\s*$/.test(text.slice(0, firstBreak)) ? text.slice(firstBreak + 1, -3) : text;
}

type Form = { readonly jsonSchema: JsonSchema; readonly judge: Judge };

async function jsonForm(jsonSchema: JsonSchema): Promise<Form> {
  const problemsOf = await compileSchema(jsonSchema);
  const judge: Judge = async (value) => {
    const problems = problemsOf(value);
    return problems.length === 0 ? { kind: 'value', value } : { kind: 'misfit', problems };
  };
  return { jsonSchema, judge };
}

function isZod(schema: z.core.$ZodType | JsonSchema): schema is z.core.$ZodType {
  return typeof schema === 'object' && schema !== null && '_zod' in schema;
}

function zodForm(schema: z.core.$ZodType): Form {
  let jsonSchema: JsonSchema;
  try {
    const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input' });
    jsonSchema = rest;
  } catch (cause) {
    throw new UsageError(`The schema can't be written as JSON Schema: ${messageOf(cause)}`, { cause });
  }
  return { jsonSchema, judge: (value) => judgeByZod(schema, value) };
}

async function judgeByZod(schema: z.core.$ZodType, value: unknown): Promise<Judged> {
  let parsed: z.core.util.SafeParseResult<unknown>;
  try {
    parsed = await z.safeParseAsync(schema, value);
  } catch (cause) {
    return { kind: 'unconvertible', problems: [messageOf(cause)], cause };
  }
  if (parsed.success) return { kind: 'value', value: parsed.data };
  return { kind: 'misfit', problems: parsed.error.issues.map(({ path, message }) => `${placeOf(path)}: ${message}`) };
}

/** As a JSON Pointer, like Ajv's. */
function placeOf(path: readonly PropertyKey[]): string {
  return path.length === 0 ? 'the whole' : path.map((key) => `/${String(key)}`).join('');
}
