/** Notices a run that goes in circles: the same call with the same result, or the same words, and nothing new between. */
import type { StuckMemory, ToolCall } from './types.js';

/** At this many repetitions the model is told. */
export const REPEATS_UNTIL_NOTE = 3;
/** At this many the run ends `stuck`. */
export const REPEATS_UNTIL_END = 5;

export const NOTHING_SEEN: StuckMemory = { seen: [], counts: {} };

/**
 * Counts one call with its result. A result never seen before sets all counts back, so that honest repetition with progress
 * in between (edit, test, edit, test) is never taken for a circle.
 */
export function remember(memory: StuckMemory, fingerprint: number): StuckMemory {
  if (!memory.seen.includes(fingerprint)) {
    return { seen: [...memory.seen, fingerprint], counts: { [fingerprint]: 1 } };
  }
  return { seen: memory.seen, counts: { ...memory.counts, [fingerprint]: repeatsOf(memory, fingerprint) + 1 } };
}

/** Counts words that came again. They are no progress by themselves, so that new ones set nothing back. */
export function rememberText(memory: StuckMemory, fingerprint: number): StuckMemory {
  return { seen: memory.seen, counts: { ...memory.counts, [fingerprint]: repeatsOf(memory, fingerprint) + 1 } };
}

export function repeatsOf(memory: StuckMemory, fingerprint: number): number {
  return memory.counts[fingerprint] ?? 0;
}

export function fingerprintOfCall(call: ToolCall, output: string): number {
  return hash(`call\n${call.name}\n${call.arguments.trim()}\n${output}`);
}

export function fingerprintOfText(text: string): number {
  return hash(`text\n${text.trim()}`);
}

/** A 53-bit string hash (two multiplied 32-bit lanes): enough to tell a run's results apart, and cheap to keep. */
function hash(text: string): number {
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x9e3779b1);
    high = Math.imul(high ^ code, 0x5f356495);
  }
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  return 4294967296 * (2097151 & high) + (low >>> 0);
}
