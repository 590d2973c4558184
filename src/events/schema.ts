/**
 * The event stream as schemas, for events that come from outside: a file, a pipe, a stored run. One schema a kind;
 * a check at the end holds them and the types of `types.ts` together.
 */
import * as z from 'zod';
import { displaySchema } from './schema-display.js';
import { type AgentEvent, PLAN_STATUSES } from './types.js';

/** A value that is no event of this version. The message says where it differs. */
export class InvalidEvent extends Error {
  override readonly name = 'InvalidEvent';
}

const count = z.int().nonnegative();

export const usageSchema = z.strictObject({
  requests: count,
  promptTokens: count,
  completionTokens: count,
  cachedTokens: count,
  reasoningTokens: count,
  totalTokens: count,
});

export const opaqueSchema = z.record(z.string(), z.unknown());

export const toolCallSchema = z.strictObject({
  id: z.string().min(1),
  name: z.string(),
  arguments: z.string(),
  extra: opaqueSchema.optional(),
});

export const outcomeReasonSchema = z.enum([
  'answered',
  'turn-limit',
  'timeout',
  'budget',
  'stuck',
  'denied',
  'interrupted',
  'failed',
]);

const durationMs = z.number().nonnegative();
const runError = z.strictObject({
  kind: z.string(),
  code: z.string().optional(),
  message: z.string(),
  hint: z.string().optional(),
});
const command = z.strictObject({ command: z.string(), exitCode: z.int().nullable() });
const proof = z.strictObject({ filesChanged: z.array(z.string()), commandsSinceLastEdit: z.array(command) });

/** One kind of event: its body, and the stamp that all have. Nothing else may be in it. */
function event<Type extends AgentEvent['type'], Body extends z.ZodRawShape>(type: Type, body: Body) {
  return z.strictObject({
    v: z.literal(1),
    seq: z.int().positive(),
    at: z.number(),
    runId: z.string().min(1),
    parentRunId: z.string().min(1).optional(),
    worker: z.string(),
    type: z.literal(type),
    ...body,
  });
}

const runStart = event('run-start', {
  task: z.string(),
  model: z.string(),
  cwd: z.string(),
  maxTurns: z.int().positive(),
  timeoutMs: z.number(),
});

const runEnd = event('run-end', {
  reason: outcomeReasonSchema,
  answer: z.string(),
  turns: count,
  usage: usageSchema,
  proof,
  durationMs,
  error: runError.optional(),
});

const turnStart = event('turn-start', { turn: z.int().positive(), purpose: z.enum(['turn', 'summary']) });

const turnEnd = event('turn-end', {
  turn: z.int().positive(),
  finishReason: z.enum(['stop', 'tool_calls', 'length', 'content_filter', 'unknown']).optional(),
  usage: usageSchema,
});

const message = event('message', {
  text: z.string(),
  reasoning: z.string().optional(),
  toolCalls: z.array(toolCallSchema),
  incomplete: z.literal(true).optional(),
});

const toolStart = event('tool-start', {
  callId: z.string(),
  name: z.string(),
  arguments: z.string(),
  subject: z.string().optional(),
});

const toolEnd = event('tool-end', {
  callId: z.string(),
  name: z.string(),
  ok: z.boolean(),
  code: z.string().optional(),
  denied: z.boolean().optional(),
  rule: z.string().optional(),
  durationMs,
  attempts: count,
  output: z.string(),
  touched: z.array(z.string()).optional(),
  command: command.optional(),
  display: displaySchema.optional(),
});

const approvalRequest = event('approval-request', {
  approvalId: z.string(),
  callId: z.string(),
  tool: z.string(),
  subject: z.string(),
  shown: z.string(),
  hasInvisible: z.literal(true).optional(),
  cwd: z.string().optional(),
  reason: z.string(),
  matched: z.object({ rule: z.string(), source: z.string() }).optional(),
  rule: z.string().optional(),
  storedRule: z.string().optional(),
  display: displaySchema.optional(),
});

const userQuestion = event('user-question', {
  questionId: z.string(),
  callId: z.string(),
  question: z.string(),
  options: z.array(z.string()).optional(),
});

const planUpdate = event('plan-update', {
  steps: z.array(z.strictObject({ text: z.string(), status: z.enum(PLAN_STATUSES), owner: z.string().optional() })),
});

const approvalResponse = event('approval-response', {
  approvalId: z.string(),
  answer: z.enum(['once', 'session', 'always', 'no']),
  message: z.string().optional(),
  by: z.enum(['rule', 'timeout']).optional(),
});

const retry = event('retry', {
  attempt: z.int().positive(),
  maxAttempts: z.int().positive(),
  waitMs: durationMs,
  reason: z.string(),
});

const workerEnd = event('worker-end', {
  index: count,
  total: count,
  status: z.enum(['done', 'failed', 'timed-out', 'cancelled']),
  durationMs,
  turns: count,
  error: runError.optional(),
});

const input = event('input', {
  inputId: z.string(),
  kind: z.enum(['steer', 'inject']),
  status: z.enum(['taken', 'dropped']),
  text: z.string(),
});

const context = z.discriminatedUnion('operation', [
  event('context', {
    operation: z.enum(['shrink', 'summary', 'trim']),
    reason: z.enum(['window', 'refused']),
    messages: count,
    tokensBefore: count,
    tokensAfter: count,
    windowTokens: count.optional(),
  }),
  event('context', {
    operation: z.enum(['replace', 'switch', 'compact', 'restore']),
    operationId: z.string(),
    lane: z.string(),
    reason: z.string(),
    messages: count,
  }),
]);

const contextFill = z.strictObject({
  tokens: count,
  isEstimate: z.boolean(),
  window: z
    .strictObject({ tokens: count, source: z.enum(['setting', 'table', 'endpoint', 'default', 'refusal']) })
    .optional(),
  parts: z.strictObject({ system: count, tools: count, user: count, assistant: count, results: count }),
});

const outputCheck = event('output-check', {
  status: z.enum(['passed', 'refused']),
  attempt: z.int().positive(),
  feedback: z.string().optional(),
});

/** Any event; which one is told by `type`. */
export const eventSchema = z.discriminatedUnion('type', [
  runStart,
  turnStart,
  event('text-delta', { text: z.string() }),
  event('reasoning-delta', { text: z.string() }),
  message,
  toolStart,
  event('tool-update', { callId: z.string(), text: z.string() }),
  toolEnd,
  approvalRequest,
  approvalResponse,
  userQuestion,
  event('user-answer', { questionId: z.string(), answer: z.string().optional() }),
  planUpdate,
  turnEnd,
  retry,
  event('fallback', { from: z.string(), to: z.string(), reason: z.string() }),
  event('usage', { usage: usageSchema, costUsd: z.number().nullable(), context: contextFill.optional() }),
  event('worker-start', { index: count, total: count, task: z.string() }),
  workerEnd,
  input,
  context,
  event('tool-heartbeat', { callIds: z.array(z.string()) }),
  outputCheck,
  event('checkpoint', { point: z.enum(['after-llm', 'after-tools', 'after-input', 'terminal']), token: z.string() }),
  event('notice', { level: z.enum(['info', 'warning']), code: z.string(), text: z.string() }),
  runEnd,
]);

/**
 * The value as an event.
 * @throws {InvalidEvent} when its kind is unknown, or when a field is missing, of another type or one too many.
 */
export function parseEvent(value: unknown): AgentEvent {
  const parsed = eventSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new InvalidEvent(`This is no event of version 1:\n${z.prettifyError(parsed.error)}`, { cause: parsed.error });
}

/** The same as a JSON Schema (draft 2020-12), for readers in other languages. */
export function eventJsonSchema(): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(eventSchema);
}

/** A type written out in full, so that two can be held against each other whatever they were made of. */
type Plain<Value> = Value extends object
  ? Value extends readonly (infer Item)[]
    ? readonly Plain<Item>[]
    : { readonly [Key in keyof Value]: Plain<Value[Key]> }
  : Value;

type Same<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false;

type Parsed = z.infer<typeof eventSchema>;

type Kinds = AgentEvent['type'] | Parsed['type'];

type None<Nothing extends never> = Nothing;

/** A kind that is added or changed in one place only breaks the build here. */
export type SchemasAgree = None<
  {
    [Kind in Kinds]: Same<
      Plain<Extract<AgentEvent, { type: Kind }>>,
      Plain<Extract<Parsed, { type: Kind }>>
    > extends true
      ? never
      : Kind;
  }[Kinds]
>;
