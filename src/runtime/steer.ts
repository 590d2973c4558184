/** The queue of text that comes in while a run is on: steered by a person, or injected by a program. */

export const QUEUE_LIMIT = 64;

export type QueuedInput = {
  readonly inputId: string;
  readonly kind: 'steer' | 'inject';
  readonly text: string;
};

export type InputRefusal = 'empty' | 'full' | 'closed';

export type Pushed =
  | { readonly ok: true; readonly inputId: string }
  | { readonly ok: false; readonly reason: InputRefusal };

export type Inbox = {
  /** Takes text in, trimmed, at the end of the queue. */
  readonly push: (text: string, kind: QueuedInput['kind']) => Pushed;
  /** All that waits, in order; it waits no more. For the moment before a model call. */
  readonly take: () => readonly QueuedInput[];
  /** Closes the queue if nothing waits, so that nothing can slip in behind the last look; true when it is closed. */
  readonly sealIfEmpty: () => boolean;
  /** Closes the queue and gives back what could not be delivered. */
  readonly close: () => readonly QueuedInput[];
};

export function createInbox(newId: () => string): Inbox {
  let queue: QueuedInput[] = [];
  let isClosed = false;

  const take = () => {
    const taken = queue;
    queue = [];
    return taken;
  };

  return {
    push(text, kind) {
      const trimmed = text.trim();
      if (isClosed) return { ok: false, reason: 'closed' };
      if (trimmed === '') return { ok: false, reason: 'empty' };
      if (queue.length >= QUEUE_LIMIT) return { ok: false, reason: 'full' };
      const inputId = newId();
      queue.push({ inputId, kind, text: trimmed });
      return { ok: true, inputId };
    },
    take,
    sealIfEmpty() {
      isClosed ||= queue.length === 0;
      return isClosed;
    },
    close() {
      isClosed = true;
      return take();
    },
  };
}
