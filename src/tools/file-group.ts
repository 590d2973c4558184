/** Changes several files as one: all of them are prepared before the first is touched, and a failure takes all back. */
import { type PreparedChange, type PrepareOptions, prepareRemoval, prepareWrite } from './file-write.js';
import { ToolFailure } from './types.js';
import type { FileChange, WriteOptions } from './workspace.js';

/** A change of one file alone need not say what it replaces. */
export type AnyChange = WriteOptions & Pick<FileChange, 'location' | 'bytes'>;

/**
 * Makes all changes or none. A crash in the middle leaves each file whole, old or new.
 * @throws {ToolFailure} as a single write; `not-restored` names each file that could not be put back.
 */
export async function changeTogether(
  changes: readonly AnyChange[],
  { swept }: Pick<PrepareOptions, 'swept'>,
): Promise<void> {
  const prepared: PreparedChange[] = [];
  try {
    for (const change of changes) prepared.push(await prepare(change, swept));
    for (const change of prepared) await change.commit();
  } catch (thrown) {
    const left = await rollBack(prepared);
    throw left.length === 0 ? thrown : notRestored(thrown, left);
  } finally {
    for (const change of prepared) await change.close();
  }
}

function prepare({ location, bytes, ...options }: AnyChange, swept: Set<string>): Promise<PreparedChange> {
  return bytes === null ? prepareRemoval(location, options) : prepareWrite(location, bytes, { ...options, swept });
}

/** The last first; one that fails does not keep the others from being taken back. Gives what could not be. */
async function rollBack(prepared: readonly PreparedChange[]): Promise<readonly string[]> {
  const left: string[] = [];
  for (const change of [...prepared].reverse()) {
    try {
      await change.rollback();
    } catch (thrown) {
      left.push(thrown instanceof Error ? thrown.message : String(thrown));
    }
  }
  return left;
}

function notRestored(cause: unknown, left: readonly string[]): ToolFailure {
  const why = cause instanceof Error ? cause.message : String(cause);
  const message = `${why}\nATTENTION: the change was to be taken back, and not all of it could be:\n${left.join('\n')}\nLook at each of these files before going on, and tell the person.`;
  return new ToolFailure('not-restored', message, { cause });
}
