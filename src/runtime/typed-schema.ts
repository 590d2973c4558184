/** Checks values against a JSON Schema given as an object. Ajv is loaded at the first schema. */
import type { ErrorObject, Options, ValidateFunction } from 'ajv';
import { messageOf, UsageError } from '../errors.js';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** It goes along with every request: about 16k tokens. */
const SCHEMA_LIMIT_BYTES = 64 * 1024;

const OPTIONS: Options = {
  // A misspelt keyword would silently check nothing. Missing types are no mistake, and lists of types are common.
  strictSchema: true,
  strictTypes: false,
  strictTuples: false,
  strictRequired: false,
  // An annotation, as 2020-12 has it: what cannot be checked is no reason to refuse a schema.
  validateFormats: false,
  allErrors: true,
  // What every object inherits, such as `toString`, is not in the answer.
  ownProperties: true,
  addUsedSchema: false,
  logger: false,
};

/** Of OpenAPI, whose schemas people have at hand: they check nothing there either. */
const NOTES: ReadonlySet<string> = new Set(['example', 'discriminator', 'externalDocs', 'xml']);
const EXTENSION = /^x-[\w$:-]*$/i;

/**
 * The problems of a value, each with its place as a JSON Pointer; none where it fits.
 * @throws {UsageError} when the schema is no valid one of 2020-12 or draft-07, or too long.
 */
export async function compileSchema(schema: JsonSchema): Promise<(value: unknown) => readonly string[]> {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw new UsageError('The schema is not a JSON object.');
  }
  schemaText(schema);
  const validate = await compiled(schema);
  return (value) => (validate(value) ? [] : (validate.errors ?? []).map(problemOf));
}

/**
 * A schema as JSON.
 * @throws {UsageError} when it is longer than 64 KiB, nested too deeply or in a circle.
 */
export function schemaText(schema: JsonSchema): string {
  let text: string;
  try {
    text = JSON.stringify(schema);
  } catch (cause) {
    throw new UsageError(`The schema can't be written as JSON: ${messageOf(cause)}`, { cause });
  }
  if (Buffer.byteLength(text) <= SCHEMA_LIMIT_BYTES) return text;
  throw new UsageError(`The schema is longer than ${SCHEMA_LIMIT_BYTES / 1024} KiB.`);
}

async function compiled(schema: JsonSchema): Promise<ValidateFunction> {
  const { $schema: dialect = '' } = schema;
  let validate: ValidateFunction;
  try {
    // By their default exports: a bundle of CommonJS that is loaded late has no others.
    const ajv = String(dialect).includes('draft-07')
      ? new (await import('ajv')).default(OPTIONS)
      : new (await import('ajv/dist/2020.js')).default(OPTIONS);
    ajv.addVocabulary(notesIn(schema));
    validate = ajv.compile(schema);
  } catch (cause) {
    throw new UsageError(`The schema is not valid: ${messageOf(cause)}`, {
      cause,
      hint: 'It has to be a JSON Schema of 2020-12 or draft-07, without references to other files.',
    });
  }
  if ('$async' in validate) throw new UsageError('The schema is not valid: "$async" is no keyword of JSON Schema.');
  return validate;
}

/** The keywords in a schema that are notes for its readers; a property of such a name does no harm. */
function notesIn(schema: unknown, found: Set<string> = new Set()): string[] {
  if (typeof schema === 'object' && schema !== null) {
    for (const [key, value] of Object.entries(schema)) {
      if (NOTES.has(key) || EXTENSION.test(key)) found.add(key);
      notesIn(value, found);
    }
  }
  return [...found];
}

function problemOf({ instancePath, message = 'does not fit', params }: ErrorObject): string {
  const detail: unknown = params.additionalProperty ?? params.allowedValues ?? params.allowedValue;
  return `${instancePath || 'the whole'}: ${message}${detail === undefined ? '' : ` (${JSON.stringify(detail)})`}`;
}
