/** What `agent.stream` yields: the visible parts of a run, ended by exactly one of done, cancelled or error. */
import type { AgentEvent } from '../events/types.js';
import type { Outcome, RunError, ToolCall } from '../kernel/types.js';

export type StreamChunk =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  /** Once its arguments are complete. */
  | { readonly type: 'tool-call'; readonly call: ToolCall }
  | { readonly type: 'tool-result'; readonly callId: string; readonly ok: boolean; readonly output: string }
  /** The reply broke off and is asked for anew after `waitMs`: its `text` and `reasoning` so far are void. */
  | { readonly type: 'retry'; readonly attempt: number; readonly waitMs: number; readonly reason: string }
  /** As `retry`, and another model is asked. */
  | { readonly type: 'fallback'; readonly from: string; readonly to: string; readonly reason: string }
  | { readonly type: 'done'; readonly outcome: Outcome }
  | { readonly type: 'cancelled'; readonly reason: string }
  | { readonly type: 'error'; readonly error: RunError; readonly outcome: Outcome };

/** The chunks that an event of the root run shows; its end comes from the outcome. */
export function chunksOf(event: AgentEvent): readonly StreamChunk[] {
  if (event.parentRunId !== undefined) return [];
  switch (event.type) {
    case 'text-delta':
      return [{ type: 'text', text: event.text }];
    case 'reasoning-delta':
      return [{ type: 'reasoning', text: event.text }];
    case 'message':
      return event.toolCalls.map((call) => ({ type: 'tool-call', call }));
    case 'tool-end':
      return [{ type: 'tool-result', callId: event.callId, ok: event.ok, output: event.output }];
    case 'retry':
      return [{ type: 'retry', attempt: event.attempt, waitMs: event.waitMs, reason: event.reason }];
    case 'fallback':
      return [{ type: 'fallback', from: event.from, to: event.to, reason: event.reason }];
    default:
      return [];
  }
}

/** The last chunk. A limit is an end with what there is, so it is `done`; its outcome says which. */
export function lastChunk(outcome: Outcome): StreamChunk {
  if (outcome.reason === 'interrupted') return { type: 'cancelled', reason: outcome.error?.message ?? 'interrupted' };
  if (outcome.reason !== 'failed') return { type: 'done', outcome };
  return { type: 'error', error: outcome.error ?? { kind: 'internal', message: 'It failed.' }, outcome };
}
