/** One run at a time: what is under way, and how it is reached from outside. */
import { InterruptedError, messageOf, WorkerError } from '../errors.js';
import type { AgentEvent, EventSink } from '../events/types.js';
import type { Outcome } from '../kernel/types.js';
import type { CancelOptions, RunHandle, SteerOptions, SteerResult } from './agent-types.js';
import { createEventQueue, type EventQueue } from './event-queue.js';
import { createInbox, type Inbox, type QueuedInput } from './steer.js';

const DEFAULT_REASON = 'user_cancelled';

export type ActiveRun = {
  readonly id: string;
  readonly inbox: Inbox;
  readonly signal: AbortSignal;
  readonly events: EventQueue<AgentEvent>;
};

export type RunSlot = {
  readonly active: () => ActiveRun | undefined;
  /** Occupies the slot until `work` ends; `work` must not throw. */
  readonly start: (id: string, outer: AbortSignal | undefined, work: (run: ActiveRun) => Promise<Outcome>) => RunHandle;
  readonly push: (kind: QueuedInput['kind'], text: string, options?: SteerOptions) => SteerResult;
  readonly cancel: (options?: CancelOptions) => boolean;
  /** Resolves when no run is under way. */
  readonly idle: () => Promise<void>;
  /** Hands the run under way its events and those of its children; what is told of the conversation is none of them. */
  readonly sink: EventSink;
  /** Fails the run under way, if there is one. */
  readonly fail: (reason: string) => void;
};

/** An empty slot. `onEnd` is called when a run is over and its slot not yet free: nothing can come between the two. */
export function createRunSlot(newId: () => string, onEnd: () => void): RunSlot {
  let current: (ActiveRun & { readonly abort: (reason: Error) => void }) | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function start(id: string, outer: AbortSignal | undefined, work: (run: ActiveRun) => Promise<Outcome>): RunHandle {
    const controller = new AbortController();
    const abort = (reason: Error) => controller.abort(reason);
    const follow = () => controller.abort(asInterrupt(outer?.reason));
    if (outer?.aborted) follow();
    outer?.addEventListener('abort', follow, { once: true });
    const events = createEventQueue<AgentEvent>(async () => {
      abort(new InterruptedError(undefined, 'reader_left'));
      await result;
    });
    const run = { id, inbox: createInbox(newId), signal: controller.signal, events, abort };
    current = run;
    const result = work(run).finally(() => {
      outer?.removeEventListener('abort', follow);
      try {
        onEnd();
      } finally {
        if (current === run) current = undefined;
        events.end();
      }
    });
    last = result.catch(() => undefined);
    return { id, events: events.items, result };
  }

  return {
    active: () => current,
    start,
    push(kind, text, { expectedRunId } = {}) {
      if (current === undefined) return { ok: false, reason: 'idle' };
      if (expectedRunId !== undefined && expectedRunId !== current.id) return { ok: false, reason: 'mismatch' };
      return current.inbox.push(text, kind);
    },
    cancel({ runId, reason = DEFAULT_REASON } = {}) {
      if (current === undefined || (runId !== undefined && runId !== current.id)) return false;
      current.abort(new InterruptedError(undefined, reason));
      return true;
    },
    idle: async () => {
      await last;
    },
    sink(event) {
      if (current !== undefined && (event.runId === current.id || event.parentRunId === current.id))
        current.events.push(event);
    },
    fail: (reason) => current?.abort(new WorkerError(reason)),
  };
}

/** A cancel is told as one, whatever reason the caller's own signal carries. */
function asInterrupt(reason: unknown): InterruptedError {
  if (reason instanceof InterruptedError) return reason;
  const isTold = reason instanceof Error || typeof reason !== 'object';
  return new InterruptedError(undefined, isTold ? messageOf(reason) : DEFAULT_REASON);
}
