/** The bytes of a response: unpacked, and never more than a limit, whatever they were packed from. */
import { pipeline, Readable } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { HttpError, type HttpResponse } from '../../http.js';
import { ToolFailure } from '../types.js';

export type Body = { readonly bytes: Buffer; readonly isCut: boolean };

/** What we say that we take. */
export const ACCEPTED_ENCODINGS = 'gzip, br';

const MAX_LAYERS = 3;

/**
 * Reads at most `maxBytes`, both as they come and unpacked.
 * @throws {ToolFailure} `bad-encoding`; what the body throws otherwise.
 */
export async function readBody(response: HttpResponse, maxBytes: number): Promise<Body> {
  const wire = { isCut: false };
  const source = Readable.from(atMost(response.body, maxBytes, wire), { objectMode: false });
  const unpacked = unpack(source, response.headers.get('content-encoding') ?? '');
  const pieces: Buffer[] = [];
  let size = 0;
  let isCut = false;
  try {
    for await (const piece of unpacked as AsyncIterable<Buffer>) {
      const room = maxBytes - size;
      isCut = piece.length > room;
      pieces.push(isCut ? piece.subarray(0, room) : piece);
      size += Math.min(piece.length, room);
      if (isCut) break; // The loop's end drops the connection too.
    }
  } catch (cause) {
    if (cause instanceof HttpError || cause instanceof ToolFailure || !isZlibError(cause)) throw cause;
    throw new ToolFailure('bad-encoding', `The content could not be unpacked (${cause.code}).`, { cause });
  }
  return { bytes: Buffer.concat(pieces), isCut: isCut || wire.isCut };
}

async function* atMost(body: AsyncIterable<Uint8Array>, maxBytes: number, wire: { isCut: boolean }) {
  let room = maxBytes;
  for await (const piece of body) {
    wire.isCut = piece.length > room;
    yield piece.subarray(0, room);
    room -= piece.length;
    if (wire.isCut) return;
  }
}

function unpack(source: Readable, header: string): Readable {
  const codings = header
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');
  if (codings.length > MAX_LAYERS)
    throw new ToolFailure('bad-encoding', `The content is packed ${codings.length} times over.`);
  // Errors reach the last of them, where the loop reads.
  const ignore = () => undefined;
  return codings.reduceRight<Readable>((packed, name) => pipeline(packed, decoderOf(name), ignore), source);
}

function decoderOf(name: string) {
  // What ends in the middle, or was cut by our limit, is given as far as it goes.
  const finishFlush = constants.Z_SYNC_FLUSH;
  if (name === 'gzip' || name === 'x-gzip') return createGunzip({ finishFlush });
  if (name === 'deflate') return createInflate({ finishFlush });
  if (name === 'br') return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
  throw new ToolFailure(
    'bad-encoding',
    `The content is packed by "${name.slice(0, 40)}", which can't be unpacked here.`,
  );
}

function isZlibError(thrown: unknown): thrown is Error & { readonly code: string } {
  return thrown instanceof Error && 'code' in thrown && /^(?:Z_|ERR__ERROR_|ERR_BROTLI|ERR_)/.test(String(thrown.code));
}
