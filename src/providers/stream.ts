/**
 * The one reducer from the chunks of a Chat Completions stream, in whatever dialect, to our deltas. Pure: bytes,
 * lines and time are the caller's job. Text comes out at once; calls, usage and the end when nothing can change them.
 */
import { ProviderError } from '../errors.js';
import type { FinishReason } from '../kernel/types.js';
import { createCallAssembler } from './calls.js';
import { complaintIn } from './complaint.js';
import { failureOfChunk, failureOfCut } from './failures.js';
import { asRecord, type JsonRecord, textOf } from './json.js';
import type { ReplyReducer } from './read-reply.js';
import { createReasoningItems } from './reasoning-items.js';
import { createThinkTags, type ThinkTags } from './think-tags.js';
import type { ModelDelta } from './types.js';
import { type Counts, countsOf, largest } from './usage.js';

const NOTHING: readonly ModelDelta[] = [];

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  end_turn: 'stop',
  stop_sequence: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  tool_calls: 'tool_calls',
  tool_use: 'tool_calls',
  function_call: 'tool_calls',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  content_filter: 'content_filter',
  safety: 'content_filter',
  sensitive: 'content_filter',
  refusal: 'content_filter',
};

/** Finish reasons that are failures of the endpoint (OpenRouter, DeepSeek, Zhipu, vLLM). */
const FAILED: ReadonlySet<string> = new Set(['error', 'insufficient_system_resource', 'network_error', 'abort']);

/**
 * A reducer for one reply. The work per chunk does not grow with what came before. `origin` names endpoint and API, for
 * what only they take back.
 */
export function createChunkReducer(origin = 'chat'): ReplyReducer {
  const assembler = createCallAssembler();
  const reasoningItems = createReasoningItems();
  const thinkTags = createThinkTags();
  let usage: Counts | undefined;
  let finishReason: FinishReason | undefined;
  let hasContent = false;

  function noteUsage(value: unknown): void {
    const counts = countsOf(value);
    if (counts) usage = usage ? largest(usage, counts) : counts;
  }

  function readBody(body: JsonRecord, isWhole: boolean): readonly ModelDelta[] {
    if (Array.isArray(body.tool_calls)) for (const fragment of body.tool_calls) assembler.add(fragment, isWhole);
    // Some send the same reasoning under several names.
    const inItems = Array.isArray(body.reasoning_details) ? reasoningItems.add(body.reasoning_details) : '';
    const reasoning = textOf(body.reasoning_content) || textOf(body.reasoning) || inItems;
    const { content } = body;
    if (reasoning === '' && typeof content === 'string' && content !== '') return thinkTags.push(content);
    const deltas: ModelDelta[] = [];
    if (reasoning !== '') deltas.push({ type: 'reasoning', text: reasoning });
    if (typeof content === 'string') deltas.push(...thinkTags.push(content));
    else if (Array.isArray(content)) for (const part of content) deltas.push(...readPart(part, thinkTags));
    deltas.push(...said('text', textOf(body.refusal)));
    return deltas;
  }

  function noteFinish(reason: unknown): void {
    if (typeof reason !== 'string' || reason === '') return;
    const known = reason.toLowerCase();
    if (FAILED.has(known)) throw new ProviderError('overloaded', `The endpoint ended its reply with "${reason}".`);
    finishReason = Object.hasOwn(FINISH_REASONS, known) ? FINISH_REASONS[known] : 'unknown';
  }

  function push(value: unknown): readonly ModelDelta[] {
    const chunk = asRecord(value);
    const complaint = chunk?.choices === undefined || chunk.error ? complaintIn(value) : undefined;
    if (complaint) throw failureOfChunk(complaint);
    if (chunk === undefined) throw new ProviderError('protocol', 'The endpoint sent a chunk that is no object.');
    noteUsage(chunk.usage);
    noteUsage(asRecord(chunk.x_groq)?.usage);
    const choice = Array.isArray(chunk.choices) ? asRecord(chunk.choices[0]) : undefined;
    if (choice === undefined) return NOTHING;
    noteUsage(choice.usage);
    const delta = asRecord(choice.delta);
    const body = delta ?? asRecord(choice.message);
    const deltas = body ? readBody(body, delta === undefined) : NOTHING;
    if (deltas.length > 0) hasContent = true;
    if (choice.error) throw failureOfChunk(complaintIn(choice) ?? { message: 'no message', code: '', type: '' });
    noteFinish(choice.finish_reason);
    return deltas;
  }

  const usageDeltas = (): readonly ModelDelta[] => (usage ? [{ type: 'usage', usage }] : NOTHING);

  function finish(sawDone: boolean): readonly ModelDelta[] {
    const calls = assembler.calls();
    const isAnswer = calls.length === 0 && (finishReason ?? 'stop') === 'stop';
    const held = thinkTags.end(isAnswer);
    const isSaid = hasContent || held.length > 0 || calls.length > 0;
    if (finishReason === undefined && !(sawDone && isSaid)) throw failureOfCut(sawDone, 'finish reason');
    const items = reasoningItems.items();
    return [
      ...held,
      ...usageDeltas(),
      ...(items.length === 0 ? NOTHING : [{ type: 'replay', replay: { origin, items } } as const]),
      ...calls.map((call): ModelDelta => ({ type: 'call', call })),
      { type: 'end', finishReason: reasonOfEnd(finishReason, calls.length > 0) },
    ];
  }

  return {
    push,
    isReply: (body) => body.choices !== undefined,
    isFinished: () => finishReason !== undefined,
    // The usage comes behind the finish reason.
    isOver: () => false,
    usage: usageDeltas,
    finish,
  };
}

/** Some endpoints say `stop` although they call tools, or nothing at all. */
function reasonOfEnd(reason: FinishReason | undefined, hasCalls: boolean): FinishReason {
  if (hasCalls && (reason === undefined || reason === 'stop')) return 'tool_calls';
  return reason ?? 'stop';
}

function said(type: 'text' | 'reasoning', text: string): readonly ModelDelta[] {
  return text === '' ? NOTHING : [{ type, text }];
}

/** One part of a content list: text as OpenAI has it, thinking as Mistral has it. Others have nothing to show. */
function readPart(value: unknown, thinkTags: ThinkTags): readonly ModelDelta[] {
  const part = asRecord(value);
  const isThinking = part?.type === 'thinking' || part?.type === 'reasoning';
  if (isThinking) return said('reasoning', joinTexts(part.thinking ?? part.reasoning ?? part.text));
  return thinkTags.push(textOf(value) || textOf(part?.text));
}

function joinTexts(value: unknown): string {
  if (!Array.isArray(value)) return textOf(value);
  return value.map((part) => (typeof part === 'string' ? part : textOf(asRecord(part)?.text))).join('');
}
