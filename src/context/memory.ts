/** What of a conversation enters a request: all of it, or what fits a window. The conversation itself is never changed. */
import type { Message } from '../kernel/types.js';
import { countMessage, estimateTokens } from './tokens.js';

/** About what the smallest of the usual models can read, tools and reply left aside. */
const WINDOW_TOKENS = 128_000;
/** Once over, down to this part of the window: the next requests then begin alike, and the provider's cache holds. */
const TRIM_TO = 0.75;

/** A strategy. Same messages in, same messages out; the order stays. */
export type Memory = {
  /**
   * The messages to send, as a new list. `openingCount` is how many messages the run that is on began with
   * (`State.openingCount`): the last of them is its task, which is never left out. Without it every user message
   * counts as the task of what follows it.
   */
  readonly context: (messages: readonly Message[], openingCount?: number) => readonly Message[];
};

export type WindowOptions = {
  /** 128,000 by default. */
  readonly maxTokens?: number | undefined;
  /** Tokens of one text, in place of the estimate `estimateTokens`. */
  readonly count?: ((text: string) => number) | undefined;
};

/** Everything, always. */
export function fullMemory(): Memory {
  return { context: (messages) => [...messages] };
}

/**
 * As much as fits into `maxTokens`, the oldest left out first: of each task its oldest rounds, then the task with its
 * last round. A reply and its tool results stay or go together. The current task, what was last said and system
 * messages are kept even when they alone are over.
 */
export function windowMemory({ maxTokens = WINDOW_TOKENS, count = estimateTokens }: WindowOptions = {}): Memory {
  // A message is counted once, however many requests it is part of.
  const counted = new WeakMap<Message, number>();
  const tokensOf = (message: Message): number => {
    const known = counted.get(message);
    if (known !== undefined) return known;
    const tokens = countMessage(message, count);
    counted.set(message, tokens);
    return tokens;
  };
  return {
    context(messages, openingCount) {
      const window = createWindow(maxTokens, messages.length);
      for (const group of groupsOf(messages, tokensOf)) window.add(group, startsTask(messages, group, openingCount));
      return messages.filter((_, index) => !window.isLeftOut(index));
    },
  };
}

/** Messages that stay or go together: `from` to before `to`. */
type Group = { readonly from: number; to: number; tokens: number; readonly role: Message['role'] };

/** A reply with the results behind it is one group, any other message is one by itself. */
function groupsOf(messages: readonly Message[], tokensOf: (message: Message) => number): readonly Group[] {
  const groups: Group[] = [];
  let last: Group | undefined;
  for (const [index, message] of messages.entries()) {
    const tokens = tokensOf(message);
    if (message.role !== 'tool' || last?.role !== 'assistant') {
      last = { from: index, to: index + 1, tokens, role: message.role };
      groups.push(last);
    } else {
      last.to = index + 1;
      last.tokens += tokens;
    }
  }
  return groups;
}

/** Within the run that is on, what a person adds later is no task: the one it began with stays. */
function startsTask(messages: readonly Message[], group: Group, openingCount = messages.length): boolean {
  return group.role === 'user' && group.from < openingCount;
}

/** A task and what was said for it; `next` is the first of its rounds that is still in. */
type Task = { readonly head?: Group; readonly rounds: Group[]; next: number };

/**
 * Takes the conversation in as it grew and trims it where a request of then would have been over. So the outcome
 * follows from the messages alone, and stays the same until the window is full again. Each group goes at most once.
 */
function createWindow(
  maxTokens: number,
  size: number,
): {
  readonly add: (group: Group, isTask: boolean) => void;
  readonly isLeftOut: (index: number) => boolean;
} {
  const tasks: Task[] = [{ rounds: [], next: 0 }];
  const gone = new Uint8Array(size);
  let oldest = 0;
  let total = 0;

  function drop(group: Group | undefined): void {
    if (group === undefined) return;
    total -= group.tokens;
    gone.fill(1, group.from, group.to);
  }

  /** Leaves out the oldest that may go; false when nothing may. */
  function dropOldest(): boolean {
    const task = tasks[oldest];
    if (task === undefined) return false;
    const isCurrent = oldest === tasks.length - 1;
    if (task.next < task.rounds.length - 1) {
      drop(task.rounds[task.next]);
      task.next += 1;
      return true;
    }
    if (isCurrent) return false;
    // A question goes with its last answer: half of the two would mislead.
    drop(task.head);
    drop(task.rounds[task.next]);
    oldest += 1;
    return true;
  }

  return {
    add(group, isTask) {
      total += group.tokens;
      if (isTask) tasks.push({ head: group, rounds: [], next: 0 });
      else if (group.role !== 'system') tasks.at(-1)?.rounds.push(group);
      if (total <= maxTokens) return;
      while (total > maxTokens * TRIM_TO && dropOldest());
    },
    isLeftOut: (index) => gone[index] === 1,
  };
}
