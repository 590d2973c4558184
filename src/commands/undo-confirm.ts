/** A yes-or-no question at a terminal; whatever is not yes is no. */
import { createInterface } from 'node:readline';
import { visible } from '../output/ask.js';
import type { Io } from './io.js';

export function confirm(question: string, { stdin: input, stderr: output, signal }: Io): Promise<boolean> {
  return new Promise((resolve) => {
    const reader = createInterface({ input, output, terminal: true });
    let answer = '';
    const close = () => reader.close();
    reader.once('line', (line) => {
      answer = line.trim().toLowerCase();
      reader.close();
    });
    reader.once('close', () => {
      signal.removeEventListener('abort', close);
      input.pause();
      resolve(answer === 'y' || answer === 'yes');
    });
    // In raw mode Ctrl-C is a key and not a signal; passed on, it stops us as everywhere else.
    reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    signal.addEventListener('abort', close, { once: true });
    reader.setPrompt(`${visible(question)} [y/N] `);
    reader.prompt();
    if (signal.aborted) reader.close();
  });
}
