/** Reads what a process prints. When it ends is `process.ts`'s to find out. */
import type { Readable } from 'node:stream';

const KEPT_BYTES = 1_000_000;

export type OutputStream = 'stdout' | 'stderr';

export type OutputOptions = {
  /** How much of the start of each stream the result keeps: 1 MB unless told. */
  readonly maxBytes?: number;
  /**
   * Gets all output as it comes, never half a character; what it throws, `runProcess` throws at the end. A promise
   * holds the program back; only what was written by then may still come meanwhile.
   */
  readonly onOutput?: (text: string, stream: OutputStream) => void | Promise<void>;
};

/** Reads both streams: decodes, keeps the start of each, and holds the program back while `onOutput` is busy. */
export function readOutput(streams: readonly (readonly [OutputStream, Readable | null])[], options: OutputOptions) {
  const open = streams.flatMap(([name, stream]) =>
    stream === null ? [] : [{ name, stream, ...createStart(options) }],
  );
  const taker = createTaker(
    options.onOutput,
    open.map(({ stream }) => stream),
  );
  let bytes = 0;
  for (const { name, stream, decoder, keep } of open) {
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      keep(chunk);
      taker.hand(decoder.decode(chunk, { stream: true }), name);
    });
    // The stream may break when it is given up; what came until then counts.
    stream.on('error', noop);
  }
  const ended = Promise.all(open.map(({ stream }) => new Promise<void>((resolve) => stream.once('close', resolve))));
  const finish = async () => {
    for (const { stream } of open) stream.destroy();
    for (const { name, decoder } of open) taker.hand(decoder.decode(), name);
    await taker.finish();
    const keptOf = (wanted: OutputStream) => open.find(({ name }) => name === wanted)?.kept() ?? { text: '', bytes: 0 };
    const [stdout, stderr] = [keptOf('stdout'), keptOf('stderr')];
    return { stdout: stdout.text, stderr: stderr.text, bytes, omittedBytes: bytes - stdout.bytes - stderr.bytes };
  };
  return { ended, finish };
}

/** Hands text to the caller. While a promise of the caller's is open, `streams` stand still. */
function createTaker(onOutput: OutputOptions['onOutput'], streams: readonly Readable[]) {
  let pending: Promise<void> = Promise.resolve();
  let failure: { readonly cause: unknown } | undefined;
  const fail = (cause: unknown) => {
    failure ??= { cause };
  };
  const hand = (text: string, name: OutputStream) => {
    if (text === '') return;
    let taking: unknown;
    try {
      taking = onOutput?.(text, name);
    } catch (cause) {
      fail(cause);
    }
    if (!(taking instanceof Promise)) return;
    for (const stream of streams) stream.pause();
    const all = Promise.all([pending, taking]).then(noop, fail);
    pending = all;
    void all.then(() => {
      if (pending === all) for (const stream of streams) stream.resume();
    });
  };
  const finish = async () => {
    await pending;
    if (failure !== undefined) throw failure.cause;
  };
  return { hand, finish };
}

/** Keeps the first `maxBytes` of a stream, and decodes the whole of it as it passes. */
function createStart({ maxBytes = KEPT_BYTES }: OutputOptions) {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    // A byte order mark is text of the program's, not ours to drop.
    decoder: new TextDecoder('utf-8', { ignoreBOM: true }),
    keep: (chunk: Buffer) => {
      const start = chunk.subarray(0, maxBytes - bytes);
      if (start.length === 0) return;
      chunks.push(start);
      bytes += start.length;
    },
    kept: () => {
      // Decoding as a stream leaves out the half of a character that the limit may have cut.
      const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
      return { text: decoder.decode(Buffer.concat(chunks), { stream: bytes === maxBytes }), bytes };
    },
  };
}

const SIDE_CHARACTERS = 4_096;
const SIDE_MS = 100; // after the program's end, for a word that is still on its way.

/** Reads the side pipe. What comes back gives its start once the program has ended, whoever else has it open. */
export function readSide(stream: Readable | undefined): () => Promise<string> {
  if (stream === undefined) return async () => '';
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('latin1')).slice(0, SIDE_CHARACTERS);
  });
  stream.on('error', noop);
  const closed = new Promise<void>((resolve) => stream.once('close', resolve));
  return async () => {
    const timer = setTimeout(() => stream.destroy(), SIDE_MS);
    await closed;
    clearTimeout(timer);
    return text;
  };
}

/** Lets our process end although this part of another one is open. */
export function letGo(part: object | null | undefined): void {
  if (part && 'unref' in part && typeof part.unref === 'function') part.unref();
}

function noop(): void {}
