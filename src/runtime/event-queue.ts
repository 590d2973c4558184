/** Turns pushed items into an async iterable for one reader. */
import { UsageError } from '../errors.js';

export type EventQueue<Item> = {
  readonly push: (item: Item) => void;
  /** No more items come; the reader ends after those that wait. */
  readonly end: () => void;
  /**
   * For one reader, once: asking for a second iterator throws a `UsageError`. Leaving the loop before the end calls
   * `onLeave`, and is over when that is.
   */
  readonly items: AsyncIterable<Item>;
};

/** Nothing is lost before the reader comes: items wait for it. */
export function createEventQueue<Item>(onLeave: () => Promise<void>): EventQueue<Item> {
  const waiting: Item[] = [];
  let ended = false;
  let left = false;
  let isRead = false;
  let wake: (() => void) | undefined;

  function notify(): void {
    wake?.();
    wake = undefined;
  }

  async function* read(): AsyncGenerator<Item, void, undefined> {
    for (;;) {
      const item = waiting.shift();
      if (item !== undefined) {
        yield item;
      } else if (ended || left) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }

  function readOnce(): AsyncIterator<Item, void, undefined> {
    if (isRead) {
      throw new UsageError('The events of a run have one reader, and they are read already. More readers: onEvent.');
    }
    isRead = true;
    const reader = read();
    return {
      next: () => reader.next(),
      return: async () => {
        const isEarly = !ended && !left;
        left = true;
        waiting.length = 0;
        notify();
        if (isEarly) await onLeave();
        return reader.return();
      },
    };
  }

  return {
    push(item) {
      if (left || ended) return;
      waiting.push(item);
      notify();
    },
    end() {
      ended = true;
      notify();
    },
    items: { [Symbol.asyncIterator]: readOnce },
  };
}
