/** What tools give back, held against what they may: it comes from code that is not ours. */
import * as z from 'zod';
import { messageOf } from '../errors.js';
import type { Subject } from '../permissions/types.js';
import type { Effect, ToolOutput } from './types.js';

const count = z.int().nonnegative();

const diffLine = z.object({ sign: z.enum([' ', '+', '-']), line: z.int(), text: z.string() });
const fileDiff = z.object({
  path: z.string(),
  action: z.enum(['added', 'replaced', 'changed', 'moved', 'copied', 'deleted']),
  from: z.string().optional(),
  added: count,
  removed: count,
  lines: z.array(diffLine),
  omitted: count.optional(),
});

const display = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('lines'), lines: z.array(z.string()), omitted: count.optional() }),
  z.object({
    kind: z.literal('diff'),
    path: z.string(),
    added: count,
    removed: count,
    lines: z.array(diffLine),
    omitted: count.optional(),
  }),
  z.object({ kind: z.literal('diffs'), files: z.array(fileDiff) }),
  z.object({ kind: z.literal('table'), head: z.array(z.string()), rows: z.array(z.array(z.string())) }),
]);

const effect = z.custom<Effect>(
  (value) => typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string',
  'an effect is an object with a `type`',
);

const output = z.object({
  ok: z.boolean(),
  output: z.string(),
  display: display.optional(),
  code: z.string().optional(),
  effects: z.array(effect).optional(),
  retryable: z.boolean().optional(),
  touched: z.array(z.string()).optional(),
  command: z.object({ command: z.string(), exitCode: z.int().nullable() }).optional(),
}) satisfies z.ZodType<ToolOutput>;

const subjects = z.array(
  z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('path'), path: z.string() }),
    z.object({ kind: z.literal('command'), command: z.string(), cwd: z.string(), shell: z.string().optional() }),
    z.object({ kind: z.literal('url'), url: z.string() }),
    z.object({ kind: z.literal('none') }),
  ]),
) satisfies z.ZodType<readonly Subject[]>;

/** The output of a tool that ran; a failed one that says what is wrong with it where it is none. */
export function checkedOutput(toolName: string, given: unknown): ToolOutput {
  const { value, problem } = read(output, given);
  if (value !== undefined) return value;
  const expected = 'A tool returns {ok: true or false, output: TEXT}, and fields of `ToolOutput` if it likes.';
  return {
    ok: false,
    code: 'bad-result',
    output: `${toolName} ran, but what it gave back is no result: ${problem} ${expected}`,
  };
}

/**
 * What a tool says that its call is about.
 * @throws {Error} when it is no list of subjects: the policy could not judge the call.
 */
export function checkedSubjects(given: unknown): readonly Subject[] {
  const { value, problem } = read(subjects, given);
  if (value === undefined) throw new Error(`its subjects() gave no list of subjects: ${problem}`);
  return value;
}

/** What a tool shows before it runs, if it is anything that can be shown. */
export function checkedDisplay(given: unknown): ToolOutput['display'] {
  return read(display, given).value;
}

type Read<Value> = { readonly value?: Value; readonly problem?: string };

function read<Value>(schema: z.ZodType<Value>, given: unknown): Read<Value> {
  try {
    const parsed = schema.safeParse(given);
    if (parsed.success) return { value: parsed.data };
    const issues = parsed.error.issues.map(({ path, message }) => [...path.map(String), message].join(': '));
    return { problem: `${issues.join('; ')}.` };
  } catch (thrown) {
    // A getter that throws, say.
    return { problem: `it can't be read: ${messageOf(thrown)}.` };
  }
}
