/**
 * Puts the `reasoning_details` of a stream together, in which OpenRouter hands on what providers sign or encrypt. They
 * are to go back in the order they came, unchanged; a detail that was cut into fragments goes back as one.
 */
import type { Opaque } from '../kernel/types.js';
import { asRecord, type JsonRecord, textOf } from './json.js';

export type ReasoningItems = {
  /** Takes the details of one chunk, and gives the words in them. */
  add(details: readonly unknown[]): string;
  items(): readonly Opaque[];
};

/** The fields that come in pieces. The rest, a signature for one, comes whole. */
const IN_PIECES = ['text', 'summary'] as const;

export function createReasoningItems(): ReasoningItems {
  const items: Record<string, unknown>[] = [];

  function addOne(detail: JsonRecord): string {
    const last = items.at(-1);
    const isRest = last !== undefined && detail.index !== undefined && isSame(last, detail);
    const known: JsonRecord = isRest ? last : {};
    const words = IN_PIECES.map((field) => textOf(detail[field])).join('');
    const given = Object.entries(detail).filter(([, value]) => value !== undefined && value !== null);
    const joined = IN_PIECES.flatMap((field) => {
      const text = textOf(known[field]) + textOf(detail[field]);
      return text === '' ? [] : [[field, text] as const];
    });
    const item = { ...known, ...Object.fromEntries([...given, ...joined]) };
    if (isRest) items[items.length - 1] = item;
    else items.push(item);
    return words;
  }

  return {
    add: (details) =>
      details
        .map((value) => asRecord(value))
        .map((detail) => (detail ? addOne(detail) : ''))
        .join(''),
    items: () => items,
  };
}

/** An encrypted detail is always whole. */
function isSame(last: JsonRecord, detail: JsonRecord): boolean {
  return detail.type === last.type && detail.index === last.index && detail.data === undefined;
}
