/** Takes in what a command prints: cleaned, folded, masked; its start and end in memory, all of it in a file when it is long. */
import type { OutputStream } from '../../process.js';
import { createCleaner, createLineFolder, type LineFolder } from '../clean.js';
import type { ToolContext } from '../types.js';
import { createHeadTail } from './head-tail.js';
import { createLiveUpdates } from './live-updates.js';
import { createSpool, type Spool, type SpoolEnd } from './spool.js';

export const OUTPUT_LIMIT_BYTES = 18_000; // about 5k tokens; a test run's summary is at its end, its first error near its start.

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
  /** The line that has no end yet. */
  openLine(): string;
  /** All bytes, and where they are, if there are so many that they go to a file. */
  soFar(): Pick<Captured, 'bytes' | 'spool'>;
  finish(): Promise<Captured>;
};

export type CaptureOptions = Pick<ToolContext, 'mask' | 'spoolDirectory'> & {
  /** Shown at a pace that people can bear. */
  readonly update?: (text: string) => void;
  /** Gets all of it as it comes, cleaned. */
  readonly onText?: (text: string) => void;
};

export function createCapture({ mask, update, onText, spoolDirectory }: CaptureOptions): Capture {
  const ends = createHeadTail(OUTPUT_LIMIT_BYTES);
  const live = update && createLiveUpdates(update);
  const filters = { stdout: createFilter(mask), stderr: createFilter(mask) };
  let spool: Spool | undefined;
  let lineEnds = 0;
  let endsLine = true;

  const record = (text: string): Promise<void> | undefined => {
    if (text === '') return undefined;
    const soFar = spool === undefined && ends.bytes() + text.length * 3 > OUTPUT_LIMIT_BYTES ? ends.parts().head : '';
    ends.push(text);
    live?.push(text);
    onText?.(text);
    lineEnds += countLineEnds(text);
    endsLine = text.endsWith('\n');
    if (spool !== undefined) return spool.write(text);
    if (ends.bytes() <= OUTPUT_LIMIT_BYTES) return undefined;
    spool = createSpool(spoolDirectory);
    return spool.write(soFar + text);
  };

  return {
    take: (text, stream) => record(filters[stream].push(text)),
    openLine: () => filters.stdout.rest() || filters.stderr.rest(),
    soFar: () => ({ bytes: ends.bytes(), spool: spool?.soFar() }),
    finish: async () => {
      for (const filter of Object.values(filters)) record(filter.flush());
      live?.finish();
      const lineCount = lineEnds + (endsLine ? 0 : 1);
      return { ...ends.parts(), bytes: ends.bytes(), lineCount, spool: await spool?.finish() };
    },
  };
}

/** Sequences are taken out first: they could hide the middle of a secret, or a return. */
function createFilter(mask: (text: string) => string): LineFolder {
  const cleaner = createCleaner({ keepReturns: true });
  const folder = createLineFolder(mask);
  return {
    push: (text) => folder.push(cleaner.push(text)),
    flush: () => folder.push(cleaner.flush()) + folder.flush(),
    rest: folder.rest,
  };
}

function countLineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}
