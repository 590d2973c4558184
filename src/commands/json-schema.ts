/** `--json-schema`: reads the schema, holds a run's root worker to it, and reads its answer. Loads nothing without it. */
import { boundedRead } from '../config/bounded-read.js';
import { messageOf, UsageError } from '../errors.js';
import type { Outcome } from '../kernel/types.js';
import type { RunTree } from '../runtime/context.js';
import type { AnswerForm } from '../runtime/typed.js';
import type { Worker } from '../workers/types.js';
import { pathFrom } from './io.js';

const FILE_LIMIT_BYTES = 256 * 1024; // With its blanks; what counts is checked without them.

/**
 * The form that the flag asks for: JSON text, or the path of a file with it, relative to `cwd`.
 * @throws {UsageError} when there is no such file, or no valid schema in it.
 */
export async function answerFormOf(
  given: string | undefined,
  cwd: string | undefined,
): Promise<AnswerForm | undefined> {
  if (given === undefined) return undefined;
  const isText = given.trim().startsWith('{');
  const text = isText ? given : await readSchema(given, cwd);
  let schema: Record<string, unknown>;
  try {
    schema = JSON.parse(text);
  } catch (cause) {
    const where = isText ? '' : ` in ${given}`;
    throw new UsageError(`The schema of --json-schema${where} is not JSON: ${messageOf(cause)}`, { cause });
  }
  const { answerCheckOf } = await import('../runtime/typed.js');
  return answerCheckOf(schema);
}

async function readSchema(file: string, cwd: string | undefined): Promise<string> {
  const hint = 'Give --json-schema the schema itself, or the path of a file that holds it.';
  if (file.trim() === '') throw new UsageError('--json-schema is empty.', { hint });
  let text: string | undefined;
  try {
    // It may be a pipe, such as <(jq .schema api.json).
    text = await boundedRead(pathFrom(cwd, file), { maxBytes: FILE_LIMIT_BYTES, anyKind: true });
  } catch (cause) {
    throw new UsageError(`The file ${file} of --json-schema can't be read: ${messageOf(cause)}`, { cause, hint });
  }
  if (text === undefined) throw new UsageError(`The file ${file} of --json-schema is longer than 256 KiB.`);
  return text.replace(/^\uFEFF/, '');
}

/** The same tree, in which the run of `worker` has to end with an answer of that form. */
export function heldTo(form: AnswerForm | undefined, tree: RunTree, worker: Worker): RunTree {
  if (form === undefined) return tree;
  const instructions = tree.toolContext.mask(form.instructions);
  return {
    ...tree,
    rootOptions: { ...tree.rootOptions, checkAnswer: form.check, bareAnswer: form.bare, responseSchema: form.schema },
    systemPromptOf: (each) => {
      const prompt = tree.systemPromptOf(each);
      return each === worker ? `${prompt}\n\n${instructions}` : prompt;
    },
  };
}

/** The value of an answer that fits; undefined where none was asked for, or the run ended otherwise. */
export async function structuredOf(
  outcome: Outcome,
  form: AnswerForm | undefined,
): Promise<{ readonly value: unknown } | undefined> {
  if (form === undefined || outcome.reason !== 'answered') return undefined;
  const { typedValue } = await import('../runtime/typed.js');
  return typedValue(outcome, form);
}
