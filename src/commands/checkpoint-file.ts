/** The file of `--checkpoint`, and the key that signs what is in it. All that can be wrong with them is found at once. */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, lstat, mkdir, open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { boundedRead } from '../config/bounded-read.js';
import { ConfigError, UsageError } from '../errors.js';
import { isSystemError, systemReason } from '../tools/system-error.js';
import { pathFrom } from './io.js';

/** Far more than any run comes to. */
const FILE_LIMIT_BYTES = 64 * 1024 * 1024;
const HINT = 'Give --checkpoint a file, or a new name, in a folder that you may write to.';

export type CheckpointFile = {
  /** The token in it; undefined where there is none yet. */
  readonly token: string | undefined;
  /**
   * Puts another one in its place.
   * @throws {ConfigError} when that can't be done.
   */
  readonly save: (token: string) => Promise<void>;
};

/**
 * Opens the file that the flag names, from `cwd` if that is relative. A missing folder is made; behind a link the file
 * that it leads to is meant.
 * @throws {UsageError} when it can't be read and written, or is no regular file.
 */
export async function openCheckpointFile(given: string, cwd: string | undefined): Promise<CheckpointFile> {
  if (given.trim() === '') throw new UsageError('--checkpoint is empty.', { hint: HINT });
  try {
    const { path, exists } = await locate(pathFrom(cwd, given));
    const text = exists ? await boundedRead(path, { maxBytes: FILE_LIMIT_BYTES }) : '';
    if (text === undefined) throw new Refusal('it is longer than 64 MiB');
    await tryFolder(path);
    return { token: text.trim() === '' ? undefined : text.trim(), save: (token) => save(path, `${token}\n`, given) };
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    const reason = cause instanceof Refusal ? cause.message : systemReason(cause);
    throw new UsageError(`The checkpoint ${given} can't be used: ${reason}.`, { cause, hint: HINT });
  }
}

class Refusal extends Error {}

/** Looks before anything is opened: a pipe would be waited for, a device read without end. */
async function locate(path: string): Promise<{ readonly path: string; readonly exists: boolean }> {
  const entry = await statOrUndefined(path, lstat);
  if (entry === undefined) {
    await makeFolders(dirname(path));
    return { path, exists: false };
  }
  const target = await statOrUndefined(path, stat);
  if (target === undefined) throw new Refusal('it is a link that leads nowhere');
  if (target.isDirectory()) throw new Refusal('it is a folder');
  if (!target.isFile()) throw new Refusal('it is not a regular file');
  // A rename would get round a write protection that was put there on purpose.
  await access(path, constants.R_OK | constants.W_OK);
  return { path: await realpath(path), exists: true };
}

async function statOrUndefined<Stats>(path: string, look: (path: string) => Promise<Stats>) {
  try {
    return await look(path);
  } catch (thrown) {
    if (isSystemError(thrown, 'ENOENT')) return undefined;
    throw thrown;
  }
}

/** One by one: where the system refuses a folder by saying that its parent is not there, Node's own way never ends. */
async function makeFolders(folder: string, mode?: number): Promise<void> {
  if ((await statOrUndefined(folder, stat)) !== undefined) return;
  if (folder !== dirname(folder)) await makeFolders(dirname(folder), mode);
  try {
    await mkdir(folder, { mode });
  } catch (thrown) {
    // Another process was first, unless it is a link that leads nowhere.
    if (!isSystemError(thrown, 'EEXIST') || (await statOrUndefined(folder, stat)) === undefined) throw thrown;
  }
}

/** Whether a file can be put there is known only once one was. */
async function tryFolder(path: string): Promise<void> {
  const temporary = temporaryFor(path);
  await (await open(temporary, 'wx', 0o600)).close();
  await rm(temporary);
}

/** A crash leaves the old checkpoint or the new one, never half of one. */
async function save(path: string, text: string, given: string): Promise<void> {
  const temporary = temporaryFor(path);
  try {
    await writeFile(temporary, text, { mode: 0o600, flag: 'wx', flush: true });
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true });
    const hint = 'What was stored there before is as it was.';
    throw new ConfigError(`The checkpoint ${given} can't be written: ${systemReason(cause)}.`, { cause, hint });
  }
}

/** Nobody can foresee it, and put a link in its place. */
function temporaryFor(path: string): string {
  return `${path}.${randomBytes(6).toString('hex')}.tmp`;
}

/**
 * The user's key, made at its first use: readable by nobody else.
 * @throws {ConfigError} when it can't be read or made.
 */
export async function checkpointKey(stateFolder: string): Promise<string> {
  const file = join(stateFolder, 'checkpoint.key');
  const hint = 'It is made where it is missing, in a folder that you may write to.';
  try {
    const key = await readKey(file);
    if (key !== undefined) return key;
    await makeFolders(stateFolder, 0o700);
    // Of two runs that make it at once the first wins.
    await writeFile(file, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' }).catch(() => undefined);
    const made = await readKey(file);
    if (made) return made;
  } catch (cause) {
    throw new ConfigError(`The key of checkpoints ${file} can't be used: ${systemReason(cause)}.`, { cause, hint });
  }
  throw new ConfigError(`The key of checkpoints ${file} is empty.`, { hint: 'Remove it: a new one is made.' });
}

async function readKey(file: string): Promise<string | undefined> {
  return statOrUndefined(file, (path) => readFile(path, 'utf8'));
}
