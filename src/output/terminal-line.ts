/** The one line of input at a terminal: whoever asks takes turns, and what was typed before a question is no answer. */
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** A stream of keys; a real terminal can be put in raw mode. */
type Terminal = Readable & { readonly setRawMode?: (on: boolean) => unknown };

export type TerminalLine = {
  readonly output: Writable;
  /** Runs `work` when all that came before has ended. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** Takes away what was typed so far, also a line that was begun but not ended. */
  readonly drain: () => Promise<void>;
  /** The next line; empty at the end of the input and when `signal` aborts. */
  readonly read: (prompt: string, signal: AbortSignal) => Promise<string>;
};

// Keys typed before the question was on the screen must not answer it.
const DRAIN_MS = 150;
const CTRL_C = 3;

export function createTerminalLine(input: Terminal, output: Writable): TerminalLine {
  let last: Promise<unknown> = Promise.resolve();
  return {
    output,
    inTurn: (work) => {
      const result = last.then(work);
      last = result.catch(() => undefined);
      return result;
    },
    drain: () => drain(input),
    read: (prompt, signal) => readLine({ input, output, prompt, signal }),
  };
}

type Reading = {
  readonly input: Terminal;
  readonly output: Writable;
  readonly prompt: string;
  readonly signal: AbortSignal;
};

function readLine({ input, output, prompt, signal }: Reading): Promise<string> {
  return new Promise((resolve) => {
    const reader = createInterface({ input, output, terminal: true });
    let isOpen = true;
    const settle = (line: string) => {
      if (!isOpen) return;
      isOpen = false;
      signal.removeEventListener('abort', endOpen);
      reader.close();
      input.pause();
      resolve(line);
    };
    const endOpen = () => {
      // The next line of the progress must not stand behind the question.
      if (isOpen) output.write('\n');
      settle('');
    };
    if (signal.aborted) return endOpen();
    signal.addEventListener('abort', endOpen, { once: true });
    reader.once('line', settle);
    reader.once('close', endOpen);
    // The abort that comes of it settles the question; settling here would let the run go on until then.
    reader.on('SIGINT', interrupt);
    // Readline pauses when the program comes back from the background (Ctrl-Z, fg).
    reader.on('SIGCONT', () => reader.prompt(true));
    reader.setPrompt(prompt);
    reader.prompt();
  });
}

async function drain(input: Terminal): Promise<void> {
  const swallow = (keys: Buffer) => {
    if (keys.includes(CTRL_C)) interrupt();
  };
  input.setRawMode?.(true);
  input.on('data', swallow);
  try {
    await new Promise((resolve) => setTimeout(resolve, DRAIN_MS));
  } finally {
    input.off('data', swallow);
    input.pause();
    input.setRawMode?.(false);
  }
}

/** In raw mode Ctrl-C is a key and not a signal; passed on, it stops the run as everywhere else. */
function interrupt(): void {
  process.kill(process.pid, 'SIGINT');
}
