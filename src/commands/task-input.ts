/** Puts the task together from the command line's words and from standard input. */
import { fstatSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { InterruptedError, UsageError } from '../errors.js';

/** An open pipe that says nothing for this long is not ours to wait for (cron, CI, other programs). */
const IDLE_PIPE_MS = 200;
/** After this long it is said that we are waiting. */
const PATIENCE_MS = 2000;
const LIMIT_BYTES = 10 * 1024 * 1024;

export type TaskInput = {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly signal: AbortSignal;
  /** Told once when reading takes long. */
  readonly onWait: () => void;
};

/**
 * The task: the words, with a pipe on stdin behind them as a fenced block; or stdin alone where there are no words.
 * The word `-` waits for stdin.
 * @throws {UsageError} when there is neither, or stdin holds more than 10 MiB.
 */
export async function readTask(words: readonly string[], input: TaskInput): Promise<string> {
  const named = words.includes('-');
  const text = words
    .filter((word) => word !== '-')
    .join(' ')
    .trim();
  const piped = await readPipe(input, { named, alone: text === '' });
  if (text === '' && piped.trim() === '') {
    const hint = 'Give it as an argument, chatcli agent "fix the failing test", or pipe it in.';
    throw new UsageError('There is no task.', { hint });
  }
  if (text === '') return piped.trim();
  return piped.trim() === '' ? text : `${text}\n\n${fenced(piped)}`;
}

/** A fence longer than any run of backticks inside keeps the block whole. */
function fenced(piped: string): string {
  const longest = Math.max(2, ...[...piped.matchAll(/`+/g)].map((match) => match[0].length));
  const fence = '`'.repeat(longest + 1);
  return `Standard input:\n${fence}\n${piped.replace(/\n$/, '')}\n${fence}`;
}

async function readPipe(
  { stdin, signal, onWait }: TaskInput,
  { named, alone }: { readonly named: boolean; readonly alone: boolean },
): Promise<string> {
  if (stdin.isTTY === true && !named) return '';
  if (stdin.isTTY === true) onWait();
  const waits = named || alone || isFile();
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    let idle = waits ? undefined : setTimeout(() => settle(), IDLE_PIPE_MS);
    const patience = setTimeout(onWait, PATIENCE_MS);
    const settle = (error?: unknown) => {
      clearTimeout(idle);
      clearTimeout(patience);
      stdin.off('data', onData).off('end', onEnd).off('error', settle);
      signal.removeEventListener('abort', onAbort);
      // A pipe that nobody closes must not keep the process alive.
      stdin.pause();
      if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref();
      if (error === undefined) resolve(parts.join('') + decoder.decode());
      else reject(error);
    };
    const onEnd = () => settle();
    const onAbort = () => settle(signal.reason ?? new InterruptedError());
    const onData = (chunk: Buffer) => {
      clearTimeout(idle);
      idle = undefined;
      bytes += chunk.length;
      if (bytes > LIMIT_BYTES)
        return settle(
          new UsageError('Standard input holds more than 10 MiB.', { hint: 'Name a file in the task instead.' }),
        );
      parts.push(decoder.decode(chunk, { stream: true }));
    };
    stdin.on('data', onData).once('end', onEnd).once('error', settle);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** A file on stdin ends by itself, however long the first read takes. */
function isFile(): boolean {
  try {
    return fstatSync(0).isFile();
  } catch {
    // A closed stdin: reading it ends at once.
    return false;
  }
}
