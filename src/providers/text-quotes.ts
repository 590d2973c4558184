/**
 * Tells a block that a model repeats from one that it means. A file, a page or a person's text may hold what looks like
 * a call; a model that quotes it has not asked for anything.
 */
import type { Message } from '../kernel/types.js';

/** White space and escapes may change on the way; fences come and go. */
const UNSEEN = /[\s\\]+/g;
const FENCE_LINE = /^[`~]{3,}\w*$/;

/**
 * Whether a block stands in a tool's result or a person's message: its lines, one after the other, whatever stands
 * between them, such as line numbers. The messages are looked at when the first block is asked about.
 */
export function createQuoteCheck(messages: readonly Message[]): (block: string) => boolean {
  let sources: readonly string[] | undefined;

  return (block) => {
    sources ??= messages.flatMap(({ role, content }) => (role === 'tool' || role === 'user' ? [bare(content)] : []));
    const lines = block.split('\n').map(bare);
    const wanted = lines.filter((line) => line !== '' && !FENCE_LINE.test(line));
    return wanted.length > 0 && sources.some((source) => holds(source, wanted));
  };
}

function holds(source: string, lines: readonly string[]): boolean {
  let at = 0;
  for (const line of lines) {
    const found = source.indexOf(line, at);
    if (found < 0) return false;
    at = found + line.length;
  }
  return true;
}

function bare(text: string): string {
  return text.replace(UNSEEN, '');
}
