/** What people are shown of a tool's work, as a schema: a part of `schema.ts`. */
import * as z from 'zod';

const count = z.int().nonnegative();
const diffLine = z.strictObject({ sign: z.enum([' ', '+', '-']), line: z.int(), text: z.string() });

const fileDiff = z.strictObject({
  path: z.string(),
  action: z.enum(['added', 'replaced', 'changed', 'moved', 'copied', 'deleted']),
  from: z.string().optional(),
  added: count,
  removed: count,
  lines: z.array(diffLine),
  omitted: count.optional(),
});

export const displaySchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('lines'), lines: z.array(z.string()), omitted: count.optional() }),
  z.strictObject({
    kind: z.literal('diff'),
    path: z.string(),
    added: count,
    removed: count,
    lines: z.array(diffLine),
    omitted: count.optional(),
  }),
  z.strictObject({ kind: z.literal('diffs'), files: z.array(fileDiff) }),
  z.strictObject({ kind: z.literal('table'), head: z.array(z.string()), rows: z.array(z.array(z.string())) }),
]);
