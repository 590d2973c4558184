/**
 * The reducer from the events of a Responses stream, or a whole response, to our deltas. Pure, like stream.ts. Events
 * are known by their `type`; what nobody announced or what comes late, twice or only at the end is taken all the same.
 */
import { ProviderError } from '../errors.js';
import type { FinishReason, ToolCall } from '../kernel/types.js';
import { argumentsText } from './calls.js';
import { complaintIn } from './complaint.js';
import { failureOfChunk, failureOfCut } from './failures.js';
import { asRecord, type JsonRecord, textOf } from './json.js';
import type { ReplyReducer } from './read-reply.js';
import { createOutputItems, type OutputItem } from './responses-items.js';
import { BETWEEN_TEXTS, type KeptPart, phaseOf, reasoningItem, replayOf } from './responses-replay.js';
import type { ModelDelta } from './types.js';
import { type Counts, countsOf, largest } from './usage.js';

const NOTHING: readonly ModelDelta[] = [];

/** Events that carry a piece of text or reasoning: where in it, the item it belongs to, and the name of its place there. */
const PIECES: Readonly<Record<string, Piece>> = {
  'response.output_text.delta': { type: 'message', part: 'content', field: 'delta' },
  'response.output_text.done': { type: 'message', part: 'content', field: 'text', isWhole: true },
  'response.refusal.delta': { type: 'message', part: 'content', field: 'delta' },
  'response.refusal.done': { type: 'message', part: 'content', field: 'refusal', isWhole: true },
  'response.reasoning_text.delta': { type: 'reasoning', part: 'content', field: 'delta' },
  'response.reasoning_text.done': { type: 'reasoning', part: 'content', field: 'text', isWhole: true },
  'response.reasoning_summary_text.delta': { type: 'reasoning', part: 'summary', field: 'delta' },
  'response.reasoning_summary_text.done': { type: 'reasoning', part: 'summary', field: 'text', isWhole: true },
};

type Piece = {
  readonly type: 'message' | 'reasoning';
  readonly part: 'content' | 'summary';
  readonly field: 'delta' | 'text' | 'refusal';
  /** It is all of its part, and is heard only where no piece of that came. */
  readonly isWhole?: true;
};

/** `incomplete_details.reason` of a response that stopped short. */
const INCOMPLETE: Readonly<Record<string, FinishReason>> = {
  max_output_tokens: 'length',
  max_tokens: 'length',
  content_filter: 'content_filter',
};

/** A reducer for one reply. `origin` names who is sent back what the reply wants back: see `Replay`. */
export function createResponseReducer(origin: string): ReplyReducer {
  const items = createOutputItems();
  let usage: Counts | undefined;
  let finishReason: FinishReason | undefined;
  let hasText = false;
  let hasReasoning = false;

  /** A piece of an item. Texts, and parts of reasoning, stand apart from the one before them. */
  function say(item: OutputItem, part: string, text: string): readonly ModelDelta[] {
    if (text === '') return NOTHING;
    const isReasoning = item.type === 'reasoning';
    const isNew = isReasoning ? !item.parts.has(part) : item.chars === 0;
    const between = isNew && (isReasoning ? hasReasoning : hasText) ? BETWEEN_TEXTS : '';
    item.parts.add(part);
    item.chars += text.length;
    if (isReasoning) hasReasoning = true;
    else hasText = true;
    return [{ type: isReasoning ? 'reasoning' : 'text', text: between + text }];
  }

  function readPiece(event: JsonRecord, piece: Piece): readonly ModelDelta[] {
    const item = items.of(piece.type, event);
    const part = partName(piece.part, event[`${piece.part}_index`]);
    return piece.isWhole && item.parts.has(part) ? NOTHING : say(item, part, textOf(event[piece.field]));
  }

  /** What an item tells that no event before it told. */
  function complete(item: OutputItem, whole: JsonRecord): readonly ModelDelta[] {
    item.whole ??= whole;
    if (item.type === 'function_call') {
      noteCall(item, whole);
      return NOTHING;
    }
    return (['summary', 'content'] as const).flatMap((kind) => {
      const parts = whole[kind];
      if (!Array.isArray(parts)) return NOTHING;
      return parts.flatMap((value, index) => {
        const part = asRecord(value);
        const name = partName(kind, index);
        return item.parts.has(name) ? NOTHING : say(item, name, textOf(part?.text) || textOf(part?.refusal));
      });
    });
  }

  /** `isEnd`: the event says that it ended, whatever the response itself says. */
  function readResponse(response: JsonRecord, isEnd: boolean): readonly ModelDelta[] {
    const counts = countsOf(response.usage);
    if (counts) usage = usage ? largest(usage, counts) : counts;
    const { status } = response;
    if (status === 'failed' || asRecord(response.error)) throw failureOf(response);
    if (status === 'cancelled') throw new ProviderError('overloaded', 'The endpoint cancelled its reply.');
    if (!isEnd && (status === 'in_progress' || status === 'queued')) return NOTHING;
    const output = recordsIn(response.output);
    const deltas = items.matching(output).flatMap(([item, whole]) => complete(item, whole));
    const reason = textOf(asRecord(response.incomplete_details)?.reason);
    if (status !== 'incomplete' && reason === '') finishReason = 'stop';
    else finishReason = Object.hasOwn(INCOMPLETE, reason) ? INCOMPLETE[reason] : 'unknown';
    return deltas;
  }

  function push(value: unknown): readonly ModelDelta[] {
    const event = asRecord(value);
    const type = textOf(event?.type);
    const piece = Object.hasOwn(PIECES, type) ? PIECES[type] : undefined;
    if (event && piece) return readPiece(event, piece);
    switch (type) {
      case 'response.output_item.added': {
        const item = items.begin(event?.item, event?.output_index);
        if (item?.type === 'function_call') noteCall(item, asRecord(event?.item) ?? {});
        return NOTHING;
      }
      case 'response.function_call_arguments.delta':
        items.of('function_call', event ?? {}).text += textOf(event?.delta);
        return NOTHING;
      case 'response.function_call_arguments.done':
        noteCall(items.of('function_call', event ?? {}), event ?? {});
        return NOTHING;
      case 'response.output_item.done': {
        const item = items.ending(event?.item, event?.output_index);
        return item ? complete(item, asRecord(event?.item) ?? {}) : NOTHING;
      }
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
      case 'response.done':
        return readResponse({ status: type.slice('response.'.length), ...asRecord(event?.response) }, true);
      case 'error':
        throw failureOf(event ?? {});
      case '':
        return readUntyped(value, event);
      default:
        return NOTHING; // It still shows that the endpoint is alive.
    }
  }

  /** A whole response has no `type`, nor has the error of something between the endpoint and us. */
  function readUntyped(value: unknown, event: JsonRecord | undefined): readonly ModelDelta[] {
    if (event && isResponse(event)) return readResponse(event, false);
    if (complaintIn(value)) throw failureOf(value);
    if (event === undefined) throw new ProviderError('protocol', 'The endpoint sent an event that is no object.');
    return NOTHING;
  }

  const usageDeltas = (): readonly ModelDelta[] => (usage ? [{ type: 'usage', usage }] : NOTHING);

  function finish(sawDone: boolean): readonly ModelDelta[] {
    const calls = items.all().flatMap((item) => callOf(item) ?? []);
    const hasSaid = hasText || calls.length > 0;
    if (finishReason === undefined && !(sawDone && hasSaid)) throw failureOfCut(sawDone, 'end of the response');
    const replay = replayOf(
      origin,
      items.all().flatMap((item) => keptPart(item) ?? []),
    );
    const reason = finishReason ?? 'stop';
    return [
      ...usageDeltas(),
      ...calls.map((call): ModelDelta => ({ type: 'call', call })),
      ...(replay ? [{ type: 'replay' as const, replay }] : []),
      { type: 'end', finishReason: reason === 'stop' && calls.length > 0 ? 'tool_calls' : reason },
    ];
  }

  const isFinished = (): boolean => finishReason !== undefined;
  return { push, isReply: isResponse, isFinished, isOver: isFinished, usage: usageDeltas, finish };
}

function isResponse(body: JsonRecord): boolean {
  return body.object === 'response' || Array.isArray(body.output);
}

function recordsIn(list: unknown): readonly JsonRecord[] {
  return Array.isArray(list) ? list.map(asRecord).filter((record) => record !== undefined) : [];
}

function partName(kind: string, index: unknown): string {
  return `${kind} ${typeof index === 'number' ? index : 0}`;
}

/** Takes over what `from`, an item or an event, tells of a call: what is whole replaces what came in pieces. */
function noteCall(item: OutputItem, from: JsonRecord): void {
  item.callId = textOf(from.call_id) || item.callId;
  item.name = textOf(from.name) || item.name;
  item.text = argumentsText(from.arguments) || item.text;
}

function callOf({ type, callId, id, name, text }: OutputItem): ToolCall | undefined {
  if (type !== 'function_call' || (name === '' && text === '')) return undefined;
  return { id: callId || id, name, arguments: text.trim() === '' ? '{}' : text };
}

function keptPart(item: OutputItem): KeptPart | undefined {
  if (item.type === 'reasoning') return reasoningItem(item.whole);
  if (item.type === 'function_call') return callOf(item) && { type: 'call' };
  return item.chars === 0 ? undefined : { type: 'text', chars: item.chars, ...phaseOf(item.whole ?? {}) };
}

function failureOf(value: unknown): ProviderError {
  return failureOfChunk(complaintIn(value) ?? { message: 'no message', code: '', type: '' });
}
