/** Takes in what a command prints: cleaned, folded, masked; its start and end in memory, all of it in a file when it is long. */
import type { OutputStream } from '../../process.js';
import { createCleaner, createLineFolder, type TextFilter } from '../clean.js';
import type { ToolContext } from '../types.js';
import { createHeadTail } from './head-tail.js';
import { createLiveUpdates } from './live-updates.js';
import { createSpool, type Spool, type SpoolEnd } from './spool.js';

const OUTPUT_LIMIT_BYTES = 18_000; // about 5k tokens; a test run's summary is at its end, its first error near its start.

export type Captured = {
  readonly head: string;
  /** Empty when `head` is all. */
  readonly tail: string;
  readonly bytes: number;
  readonly omittedBytes: number;
  readonly lineCount: number;
  readonly spool: SpoolEnd | undefined;
};

export type Capture = {
  /** A promise while the file is being written. */
  take(text: string, stream: OutputStream): Promise<void> | undefined;
  finish(): Promise<Captured>;
};

export function createCapture({
  mask,
  update,
  spoolDirectory,
}: Pick<ToolContext, 'mask' | 'update' | 'spoolDirectory'>): Capture {
  const ends = createHeadTail(OUTPUT_LIMIT_BYTES);
  const live = createLiveUpdates(update);
  const filters = { stdout: createFilter(mask), stderr: createFilter(mask) };
  let spool: Spool | undefined;
  let lineEnds = 0;
  let endsLine = true;

  const record = (text: string): Promise<void> | undefined => {
    if (text === '') return undefined;
    const soFar = spool === undefined && ends.bytes() + text.length * 3 > OUTPUT_LIMIT_BYTES ? ends.parts().head : '';
    ends.push(text);
    live.push(text);
    lineEnds += countLineEnds(text);
    endsLine = text.endsWith('\n');
    if (spool !== undefined) return spool.write(text);
    if (ends.bytes() <= OUTPUT_LIMIT_BYTES) return undefined;
    spool = createSpool(spoolDirectory);
    return spool.write(soFar + text);
  };

  return {
    take: (text, stream) => record(filters[stream].push(text)),
    finish: async () => {
      for (const filter of Object.values(filters)) record(filter.flush());
      live.finish();
      const lineCount = lineEnds + (endsLine ? 0 : 1);
      return { ...ends.parts(), bytes: ends.bytes(), lineCount, spool: await spool?.finish() };
    },
  };
}

/** Sequences are taken out first: they could hide the middle of a secret, or a return. */
function createFilter(mask: (text: string) => string): TextFilter {
  const cleaner = createCleaner({ keepReturns: true });
  const folder = createLineFolder(mask);
  return {
    push: (text) => folder.push(cleaner.push(text)),
    flush: () => folder.push(cleaner.flush()) + folder.flush(),
  };
}

function countLineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}
