/**
 * Makes observations shorter: to their head and tail, or to one line. What was left out stays readable in a file. Pure:
 * writing that file is the caller's.
 */
import type { Message } from '../kernel/types.js';

export type Observation = Extract<Message, { role: 'tool' }>;

/** How many characters of an observation stay, or that one line does. */
export type Extent = number | 'line';

/** Enough to see what an old result was, and how it came out. */
export const HEAD_AND_TAIL = 1_800;
const HEAD_SHARE = 2 / 3;
/** What a line and its path take: a shorter observation would not get shorter. */
const LINE_CHARS = 200;

/** Results that stay true and needed however long ago they came: what a skill says, and the plan. */
const KEPT_WHOLE: ReadonlySet<string> = new Set(['load_skill', 'update_plan']);

/** The last line of an observation that was made shorter; a second step finds size and file there. */
const MARK = /\n\[Shortened to save space: (.{1,40}) in all; the whole of it is in (.+)\]$/;
const LINE_MARK = /^\[Left out to save space: (.{1,40}); it is in (.+)\]$/;

/** Places of the observations that `extent` makes shorter, from `from` to before `to`. */
export function shrinkable(messages: readonly Message[], extent: Extent, from: number, to: number): readonly number[] {
  const places: number[] = [];
  for (let index = from; index < to; index += 1) {
    const message = messages[index];
    if (message?.role === 'tool' && isShrinkable(message, extent)) places.push(index);
  }
  return places;
}

function isShrinkable({ name, content }: Observation, extent: Extent): boolean {
  if (KEPT_WHOLE.has(name) || LINE_MARK.test(content)) return false;
  return content.length > (extent === 'line' ? 0 : extent) + 2 * LINE_CHARS;
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
  const size = MARK.exec(content)?.[1] ?? `${content.length} characters`;
  if (extent === 'line') return { ...observation, content: `[Left out to save space: ${size}; it is in ${file}]` };
  const text = content.replace(MARK, '');
  const headChars = Math.round(extent * HEAD_SHARE);
  const head = text.slice(0, headChars).replace(/[\ud800-\udbff]$/, '');
  const tail = text.slice(text.length - (extent - headChars)).replace(/^[\udc00-\udfff]/, '');
  const mark = `[Shortened to save space: ${size} in all; the whole of it is in ${file}]`;
  return { ...observation, content: `${head}\n[…]\n${tail}\n${mark}` };
}

/**
 * How much each of some sizes may have so that all together have `room`: the small ones stay whole, and the large ones
 * share what is left alike.
 */
export function fairShare(sizes: readonly number[], room: number): number {
  let left = room;
  const ascending = [...sizes].sort((one, other) => one - other);
  for (const [index, size] of ascending.entries()) {
    const share = left / (ascending.length - index);
    if (size > share) return Math.max(0, Math.floor(share));
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}
