/** A provider whose replies stand in a script: for tests, for the demo, and for trying the program without a model. */
import * as z from 'zod';
import { ConfigError, ProviderError } from '../errors.js';
import type { FinishReason } from '../kernel/types.js';
import type { ModelDelta, ModelRequest, Provider } from './types.js';
import { wait } from './wait.js';

const count = z.number().int().nonnegative();

const errorSchema = z.strictObject({
  kind: z.enum([
    'auth',
    'rate-limit',
    'overloaded',
    'too-long',
    'no-tools',
    'wrong-api',
    'bad-request',
    'network',
    'protocol',
    'refused',
  ]),
  message: z.string(),
  retryable: z.boolean().optional(),
  retryAfterMs: count.optional(),
  status: count.optional(),
});

const replySchema = z.strictObject({
  text: z.string().optional(),
  reasoning: z.string().optional(),
  toolCalls: z
    .array(
      z.strictObject({
        id: z.string().optional(),
        name: z.string(),
        arguments: z.union([z.record(z.string(), z.unknown()), z.string()]).optional(),
      }),
    )
    .optional(),
  finishReason: z.enum(['stop', 'tool_calls', 'length', 'content_filter', 'unknown']).optional(),
  usage: z
    .strictObject({
      promptTokens: count.optional(),
      completionTokens: count.optional(),
      cachedTokens: count.optional(),
      reasoningTokens: count.optional(),
      totalTokens: count.optional(),
    })
    .optional(),
  delayMs: count.optional(),
  error: errorSchema.optional(),
});

const scriptSchema = z.union([z.array(replySchema), z.strictObject({ replies: z.array(replySchema) })]);

/**
 * One reply, for one request. `delayMs` passes before it; `error` comes in place of its end, after whatever else it
 * says. The finish reason is `tool_calls` with tool calls, else `stop`.
 */
export type ScriptedReply = z.infer<typeof replySchema>;

export type Script = readonly ScriptedReply[] | { readonly replies: readonly ScriptedReply[] };

/** A provider that remembers what it was asked, in order. */
export type ScriptedProvider = Provider & { readonly requests: readonly ModelRequest[] };

/**
 * Reads a script from JSON text. `sourceName` is what messages call it, most often its path.
 * @throws {ConfigError} naming the source, and the place in it that is not right.
 */
export function parseScript(text: string, sourceName: string): readonly ScriptedReply[] {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError(`${sourceName} is not JSON: ${why}`, { cause });
  }
  // Chosen by hand: of a union zod can only say that no side fits.
  const isList = Array.isArray(value);
  const result = (isList ? scriptSchema.options[0] : scriptSchema.options[1]).safeParse(value);
  if (!result.success) {
    const issue = result.error.issues[0];
    const place = issue?.path.map(String).join('.') || 'the whole';
    throw new ConfigError(`${sourceName} is no script of replies: ${place}: ${issue?.message ?? 'not valid'}`, {
      hint: 'A script is {"replies": [{"text": "…"}, {"toolCalls": [{"name": "…", "arguments": {}}]}]}.',
    });
  }
  return repliesOf(result.data);
}

/** A provider named `scripted` that gives the script's replies one after the other, then fails. */
export function createScriptedProvider(script: Script): ScriptedProvider {
  const replies = repliesOf(script);
  const requests: ModelRequest[] = [];

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelDelta, void, undefined> {
    signal.throwIfAborted();
    const reply = replies[requests.length];
    requests.push(request);
    if (reply === undefined) throw exhausted(replies.length);
    if (reply.delayMs) await wait(reply.delayMs, signal);
    for (const delta of deltasOf(reply)) {
      signal.throwIfAborted();
      yield delta;
    }
    if (reply.error) throw new ProviderError(reply.error.kind, reply.error.message, reply.error);
    yield { type: 'end', finishReason: finishReasonOf(reply) };
  }

  return { name: 'scripted', stream, requests };
}

function repliesOf(script: Script): readonly ScriptedReply[] {
  return 'replies' in script ? script.replies : script;
}

function* deltasOf(reply: ScriptedReply): Generator<ModelDelta, void, undefined> {
  for (const text of piecesOf(reply.reasoning)) yield { type: 'reasoning', text };
  for (const text of piecesOf(reply.text)) yield { type: 'text', text };
  for (const { id = '', name, arguments: value = {} } of reply.toolCalls ?? []) {
    yield { type: 'call', call: { id, name, arguments: typeof value === 'string' ? value : JSON.stringify(value) } };
  }
  if (reply.usage) {
    const { promptTokens = 0, completionTokens = 0, cachedTokens = 0, reasoningTokens = 0 } = reply.usage;
    const totalTokens = reply.usage.totalTokens ?? promptTokens + completionTokens;
    yield { type: 'usage', usage: { promptTokens, completionTokens, cachedTokens, reasoningTokens, totalTokens } };
  }
}

/** A text word by word, each with the blanks behind it, so that readers see a stream. */
function piecesOf(text = ''): readonly string[] {
  return text.match(/\s*\S+\s*|\s+/g) ?? [];
}

function finishReasonOf(reply: ScriptedReply): FinishReason {
  return reply.finishReason ?? (reply.toolCalls?.length ? 'tool_calls' : 'stop');
}

function exhausted(count: number): ProviderError {
  return new ProviderError('protocol', `script exhausted after ${count} replies: another was asked for.`, {
    hint: 'Add a reply to the script, or end it with one that calls no tool.',
  });
}
