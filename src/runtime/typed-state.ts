/** What a checkpoint holds as schemas, for a state that was stored and may not be ours. */
import * as z from 'zod';
import { opaqueSchema, outcomeReasonSchema, toolCallSchema, usageSchema } from '../events/schema.js';
import { openCalls, repair } from '../kernel/transcript.js';
import type { State } from '../kernel/types.js';

const count = z.int().nonnegative();
/** JSON has no `Infinity`, so that no limit is written as null. */
const noLimit = z.null().transform(() => Number.POSITIVE_INFINITY);

/** One message of a history. */
export const messageSchema = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: z.string() }),
  z.strictObject({ role: z.literal('user'), content: z.string() }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.string(),
    reasoning: z.string().optional(),
    toolCalls: z.array(toolCallSchema).optional(),
    replay: z.strictObject({ origin: z.string(), items: z.array(opaqueSchema) }).optional(),
  }),
  z.strictObject({ role: z.literal('tool'), callId: z.string(), name: z.string(), content: z.string() }),
]);

/** Shape, and what must hold between the parts: else the first request of the resumed run would be refused. */
export const stateSchema = z
  .strictObject({
    phase: z.enum(['reason', 'act', 'summary', 'finished']),
    messages: z.array(messageSchema).min(1),
    openingCount: count,
    // The driver may keep limits of its own beside the kernel's; those are not part of the state.
    limits: z.object({ maxTurns: z.int().positive().or(noLimit), maxOutputRetries: count.or(noLimit).optional() }),
    turns: count,
    emptyReplies: count,
    cutReplies: count,
    cutAnswer: z.string(),
    refusals: count,
    usage: usageSchema,
    stuck: z.strictObject({ seen: z.array(z.number()), counts: z.record(z.string(), count) }),
    denials: z.record(z.string(), count),
    endedBy: outcomeReasonSchema.optional(),
  })
  .refine((state) => state.openingCount <= state.messages.length, 'it has fewer messages than it began with')
  .refine((state) => openCalls(state.messages).length > 0 === (state.phase === 'act'), 'open calls and phase disagree')
  .refine((state) => hasPairs(state), 'a call has no result, or a result no call');

type Parsed = z.infer<typeof stateSchema>;

/** Each result stands behind its call, and only the calls of the last reply may be open, in phase `act`. */
function hasPairs({ messages }: Pick<State, 'messages'>): boolean {
  const open = openCalls(messages).length;
  const repaired = repair(messages, '');
  const closed = open === 0 ? repaired : repaired.slice(0, -open);
  return closed.length === messages.length && closed.every((each, index) => each === messages[index]);
}

type Exactly<Left extends Right, Right> = Left;

/** A state with what is known of it; whether it is a state is for `readState`. */
const content = z.strictObject({
  /** Milliseconds since the epoch, as `expiresAt`. */
  sealedAt: z.number(),
  expiresAt: z.number().optional(),
  fingerprint: z.string(),
  /** Of the run that the checkpoint began with, however often it was gone on with. */
  runId: z.string().optional(),
  point: z.enum(['after-llm', 'after-tools', 'after-input', 'terminal']),
  state: z.unknown(),
});

export type SealedContent = z.infer<typeof content>;

/** @throws {Error} naming what does not fit. */
export function readContent(value: unknown): SealedContent {
  return read(content, value);
}

/** @throws {Error} naming what does not fit. */
export function readState(value: unknown): State {
  return read(stateSchema, value);
}

function read<Value>(schema: z.ZodType<Value>, value: unknown): Value {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(z.prettifyError(parsed.error), { cause: parsed.error });
}

/** What the schema lets through is a state, and has a place for each of its fields. */
export type StateSchemaAgrees = [Exactly<Parsed, State>, Exactly<keyof State, keyof Parsed>];
