/** `--checkpoint FILE`: stores a run after each step, and goes on from what is stored there. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf, UsageError } from '../errors.js';
import type { State } from '../kernel/types.js';
import { createCheckpoints, fingerprintOf } from '../runtime/checkpoint.js';
import type { RunTree } from '../runtime/context.js';
import type { Worker } from '../workers/types.js';

export type CheckpointFile = {
  /** Absolute. */
  readonly file: string;
  /** Where the key is kept that signs checkpoints: one a user, readable by nobody else. */
  readonly stateFolder: string;
  readonly schema: unknown;
};

/**
 * The tree whose root worker writes its state to the file, and starts from it where there is one. A file whose run had
 * ended is written anew.
 * @throws {CheckpointError} for a checkpoint that is not one, was changed, or is of another configuration.
 * @throws {UsageError} when the file can't be read.
 */
export async function withCheckpoints(tree: RunTree, worker: Worker, given: CheckpointFile): Promise<RunTree> {
  const checkpoints = createCheckpoints({ secret: await keyIn(given.stateFolder), now: tree.now });
  const fingerprint = fingerprintOf({
    model: tree.modelOf(worker),
    // The page alone: the rest of the prompt has the date in it, and stands in the stored state.
    systemPrompt: worker.prompt,
    limits: tree.limitsOf(worker),
    toolNames: worker.tools,
    output: given.schema,
  });
  const token = await readToken(given.file);
  const stored = token === undefined ? undefined : checkpoints.open(token, fingerprint);
  const resumeFrom = stored?.phase === 'finished' ? undefined : stored;
  const onState: RunTree['rootOptions']['onState'] = (state: State, point) =>
    replaceFile(given.file, `${checkpoints.seal({ state, fingerprint, point })}\n`);
  return { ...tree, rootOptions: { ...tree.rootOptions, onState, ...(resumeFrom && { resumeFrom }) } };
}

async function readToken(file: string): Promise<string | undefined> {
  try {
    const text = (await readFile(file, 'utf8')).trim();
    return text === '' ? undefined : text;
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw new UsageError(`The checkpoint ${file} can't be read: ${messageOf(cause)}`, { cause });
  }
}

/** The user's key, made at its first use. */
async function keyIn(stateFolder: string): Promise<string> {
  const file = join(stateFolder, 'checkpoint.key');
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    if (!isMissing(cause))
      throw new UsageError(`The key of checkpoints ${file} can't be read: ${messageOf(cause)}`, { cause });
  }
  await mkdir(stateFolder, { recursive: true, mode: 0o700 });
  // Of two runs that make it at once the first wins.
  await writeFile(file, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' }).catch(() => undefined);
  return readFile(file, 'utf8');
}

/** A crash leaves the old checkpoint or the new one, never half of one. */
async function replaceFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.tmp`;
  await writeFile(temporary, text, { mode: 0o600 });
  await rename(temporary, file);
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT';
}
