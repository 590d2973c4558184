/** Counts the lines that restoring a file would add and take away. */
import type { LineCount } from '../session/restore.js';

const MAX_BYTES = 1_000_000;
const MAX_COMPARE_MS = 200;

/** Undefined for what is no text, or too much to compare. */
export async function countLines(): Promise<(from: Buffer, to: Buffer) => LineCount | undefined> {
  const { diffLines } = await import('diff');
  return (from, to) => {
    if (from.length + to.length > MAX_BYTES || from.includes(0) || to.includes(0)) return undefined;
    const parts = diffLines(from.toString('latin1'), to.toString('latin1'), { timeout: MAX_COMPARE_MS });
    if (parts === undefined) return undefined;
    const count = (kind: 'added' | 'removed') =>
      parts.reduce((sum, part) => sum + (part[kind] === true ? part.count : 0), 0);
    return { added: count('added'), removed: count('removed') };
  };
}
