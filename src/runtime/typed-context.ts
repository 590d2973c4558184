/** A context operation as a schema: what a program asks for may come from JSON, or from code without types. */
import * as z from 'zod';
import { UsageError } from '../errors.js';
import type { ContextOp } from './lanes.js';
import { messageSchema } from './typed-state.js';

const text = z.string('must be a text');

const contextOpSchema = z.strictObject({
  opId: text.refine((id) => id.trim() !== '', 'is empty'),
  type: z.enum(['replace', 'switch', 'compact', 'restore']),
  lane: text.optional(),
  messages: z.array(messageSchema).optional(),
  systemPrompt: text.optional(),
  reason: text.optional(),
});

const PROBLEMS_AT_MOST = 5;

/**
 * The operation as a copy of its own.
 * @throws {UsageError} naming each place that does not fit.
 */
export function readContextOp(value: ContextOp): ContextOp {
  const parsed = contextOpSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const problems = issues.slice(0, PROBLEMS_AT_MOST).map(({ path, message }) => {
    const place = path.map(String).join('.');
    return place === '' ? message : `${place}: ${message}`;
  });
  const more = issues.length > PROBLEMS_AT_MOST ? [`and ${issues.length - PROBLEMS_AT_MOST} more`] : [];
  throw new UsageError(`The context operation is not valid: ${[...problems, ...more].join('; ')}.`, {
    hint: 'Nothing of it was applied. Messages have the form that agent.messages() gives.',
  });
}
