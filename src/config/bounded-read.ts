/** Reads a small file without ever waiting or reading on for ever. */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

/**
 * A whole file as text, UTF-8 by default; undefined where it is longer than `maxBytes`.
 * What is not a regular file is left unread, and undefined as well, unless `anyKind` allows it.
 * @throws the system's error where the file cannot be opened or read.
 */
export async function boundedRead(
  path: string,
  options: { readonly maxBytes: number; readonly anyKind?: boolean; readonly encoding?: 'utf8' | 'latin1' },
): Promise<string | undefined> {
  // Opening a FIFO without O_NONBLOCK waits for a writer. Windows has no such flag, and no FIFO on a path.
  const flags = constants.O_RDONLY | (options.anyKind ? 0 : (constants.O_NONBLOCK ?? 0));
  const file = await open(path, flags);
  try {
    const mayRead = options.anyKind || (await file.stat()).isFile();
    return mayRead ? await readUpTo(file, options.maxBytes, options.encoding ?? 'utf8') : undefined;
  } finally {
    await file.close();
  }
}

async function readUpTo(file: FileHandle, maxBytes: number, encoding: BufferEncoding): Promise<string | undefined> {
  const buffer = Buffer.alloc(maxBytes + 1);
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await file.read(buffer, length, buffer.length - length, null);
    if (bytesRead === 0) return buffer.toString(encoding, 0, length);
    length += bytesRead;
  }
  return undefined;
}
