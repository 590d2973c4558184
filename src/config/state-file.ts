/** Changes a JSON file in the state folder: one writer at a time, old content or new, readable by the user only. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, messageOf } from '../errors.js';
import { type JsonValue, readJsonFile } from './json-file.js';

/** A map of the file. Fields that `change` does not know stay as they are. */
export type JsonMap = Record<string, unknown>;

// A writer that died holds the lock no longer than that; a living one needs milliseconds.
const LOCK = { stale: 10_000, realpath: false, retries: { retries: 60, factor: 1, minTimeout: 50, maxTimeout: 250 } };

/**
 * Reads the file, lets `change` alter its map, and puts the result in its place. `check` throws where the content is
 * none that can be altered.
 * @throws {ConfigError} where it is not valid JSON, or can't be locked or written.
 */
export async function changeJsonFile(
  file: string,
  check: (content: JsonValue) => void,
  change: (map: JsonMap) => void,
): Promise<void> {
  const release = await locked(file);
  try {
    const content = await readJsonFile(file);
    if (content !== undefined) check(content);
    const map = (content?.data ?? Object.create(null)) as JsonMap;
    change(map);
    const { default: writeFileAtomic } = await import('write-file-atomic');
    await writeFileAtomic(file, `${JSON.stringify(map, null, 2)}\n`, { mode: 0o600 }).catch((cause: unknown) => {
      throw new ConfigError(`Cannot write ${file}: ${messageOf(cause)}.`, { cause });
    });
  } finally {
    await release();
  }
}

async function locked(file: string): Promise<() => Promise<void>> {
  try {
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    // By their default exports: a bundle of CommonJS that is loaded late has no others.
    const { default: lockfile } = await import('proper-lockfile');
    return await lockfile.lock(file, LOCK);
  } catch (cause) {
    throw new ConfigError(`Cannot lock ${file}: ${messageOf(cause)}.`, {
      cause,
      hint: 'It has to be in a folder that you may write to, and no other chatcli may hold it for long.',
    });
  }
}
