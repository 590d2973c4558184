/**
 * Makes old observations shorter, in two steps: first to their head and tail, then to one line. What was left out stays
 * readable in a file. Pure: writing that file is the caller's.
 */
import type { Message } from '../kernel/types.js';

export type Observation = Extract<Message, { role: 'tool' }>;

/** How much of an observation stays. */
export type Extent = 'head-and-tail' | 'line';

const HEAD_CHARS = 1_200;
const TAIL_CHARS = 600;
/** What a line and its path take: a shorter observation would not get shorter. */
const LINE_CHARS = 200;

/** Results that stay true and needed however long ago they came: what a skill says, and the plan. */
const KEPT_WHOLE: ReadonlySet<string> = new Set(['load_skill', 'update_plan']);

/** The last line of an observation that was made shorter; a second step finds size and file there. */
const MARK = /\n\[Shortened to save space: (.{1,40}) in all; the whole of it is in (.+)\]$/;
const LINE_MARK = /^\[Left out to save space: (.{1,40}); it is in (.+)\]$/;

/** Places of the observations that `extent` makes shorter, before the last `recentRounds` rounds. */
export function shrinkable(messages: readonly Message[], extent: Extent, recentRounds: number): readonly number[] {
  const end = startOfRound(messages, recentRounds);
  const places: number[] = [];
  for (const [index, message] of messages.entries()) {
    if (index >= end) break;
    if (message.role === 'tool' && isShrinkable(message, extent)) places.push(index);
  }
  return places;
}

function isShrinkable({ name, content }: Observation, extent: Extent): boolean {
  if (KEPT_WHOLE.has(name) || LINE_MARK.test(content)) return false;
  if (extent === 'line') return content.length > 2 * LINE_CHARS;
  return !MARK.test(content) && content.length > HEAD_CHARS + TAIL_CHARS + 2 * LINE_CHARS;
}

/** Where the last `count` rounds begin: a round is a reply with calls, and their results. */
export function startOfRound(messages: readonly Message[], count: number): number {
  let left = count;
  for (let index = messages.length - 1; index >= 0 && left > 0; index -= 1) {
    const message = messages[index];
    if (message?.role === 'assistant' && message.toolCalls !== undefined) left -= 1;
    if (left === 0) return index;
  }
  return count === 0 ? messages.length : 0;
}

/** The file that holds the whole of an observation that was made shorter before. */
export function fileOf({ content }: Observation): string | undefined {
  return (MARK.exec(content) ?? LINE_MARK.exec(content))?.[2];
}

/** The same observation, shorter. `file` is where the whole of it can be read; undefined: nowhere. */
export function shrunk(observation: Observation, extent: Extent, file = 'no file: it could not be kept'): Observation {
  const { content } = observation;
  const size = (MARK.exec(content) ?? [])[1] ?? `${content.length} characters`;
  if (extent === 'line') return { ...observation, content: `[Left out to save space: ${size}; it is in ${file}]` };
  const head = content.slice(0, HEAD_CHARS).replace(/[\ud800-\udbff]$/, '');
  const tail = content.slice(-TAIL_CHARS).replace(/^[\udc00-\udfff]/, '');
  const text = `${head}\n[…]\n${tail}\n[Shortened to save space: ${size} in all; the whole of it is in ${file}]`;
  return { ...observation, content: text };
}
