/** Turns pushed items into an async iterable for one reader. */

export type EventQueue<Item> = {
  readonly push: (item: Item) => void;
  /** No more items come; the reader ends after those that wait. */
  readonly end: () => void;
  /** For one reader, once. Leaving the loop early calls `onLeave`. */
  readonly items: AsyncIterable<Item>;
};

/** Nothing is lost before the reader comes: items wait for it. */
export function createEventQueue<Item>(onLeave: () => void): EventQueue<Item> {
  const waiting: Item[] = [];
  let ended = false;
  let left = false;
  let wake: (() => void) | undefined;

  function notify(): void {
    wake?.();
    wake = undefined;
  }

  async function* read(): AsyncGenerator<Item, void, undefined> {
    try {
      for (;;) {
        const item = waiting.shift();
        if (item !== undefined) {
          yield item;
        } else if (ended) {
          return;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      if (!ended && !left) onLeave();
      left = true;
    }
  }

  /** A generator that never began does not run its `finally`, so leaving before the first item is noticed here. */
  function readOnce(): AsyncIterator<Item, void, undefined> {
    const reader = read();
    return {
      next: () => reader.next(),
      return: () => {
        if (!ended && !left) onLeave();
        left = true;
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
