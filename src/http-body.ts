/** The bytes of a response as they come, under its guard, and what becomes of those that nobody wants. */
import type { IncomingMessage } from 'node:http';
import type { Guard } from './http-guard.js';

export type ResponseBody = {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** As UTF-8, cut after about `maxBytes`. */
  text(maxBytes: number): Promise<string>;
  /** The rest is not wanted: it is read for a moment, so that the connection can serve again. */
  release(): void;
};

/** How far the reader of a body is. */
type Reading = { isStarted: boolean; isReleased: boolean };

const LINGER_MS = 50; // The end of a finished body is most often in the same packet as its last words.

/** `idleTimeoutMs` runs between two pieces, while somebody waits for the next. */
export function createBody(incoming: IncomingMessage, guard: Guard, idleTimeoutMs: number): ResponseBody {
  // Without a listener Node forgets the error of a body that nobody reads yet.
  incoming.on('error', () => {});
  const reading = { isStarted: false, isReleased: false };
  const bytes = readBytes(incoming, guard, idleTimeoutMs, reading);
  return {
    bytes,
    text: (maxBytes) => readText(bytes, maxBytes),
    release: () => {
      reading.isReleased = true;
      if (!reading.isStarted) void drain(incoming, guard);
    },
  };
}

async function* readBytes(
  incoming: IncomingMessage,
  guard: Guard,
  idleTimeoutMs: number,
  reading: Reading,
): AsyncGenerator<Uint8Array, void, undefined> {
  reading.isStarted = true;
  let isWhole = false;
  try {
    // Pieces that came in together come out as one. The iterator's own clean-up would close the connection.
    for await (const bytes of incoming.iterator({ destroyOnReturn: false })) {
      guard.disarm();
      yield bytes;
      guard.arm(idleTimeoutMs, 'idle-timeout');
    }
    isWhole = true;
  } catch (cause) {
    throw guard.explain(cause);
  } finally {
    if (reading.isReleased) await drain(incoming, guard);
    else {
      guard.release();
      if (!isWhole) incoming.destroy();
    }
  }
}

/** Reads on without looking, until the end or for `LINGER_MS`. */
function drain(incoming: IncomingMessage, guard: Guard): Promise<void> {
  guard.release();
  return new Promise((resolve) => {
    if (incoming.destroyed) return resolve();
    const timer = setTimeout(() => incoming.destroy(), LINGER_MS);
    incoming.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
    incoming.resume();
  });
}

async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true });
    size += bytes.length;
    if (size >= maxBytes) break;
  }
  return text + decoder.decode();
}
