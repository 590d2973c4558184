/** A question of the model as plain lines on stderr, answered by a number or in words. */
import type { UserQuestion } from '../events/types.js';
import type { Texts } from '../texts/en.js';
import { visible } from './ask.js';
import type { TerminalLine } from './terminal-line.js';

export type AskUser = (question: UserQuestion, worker: string, signal: AbortSignal) => Promise<string | undefined>;

export type AskUserOptions = {
  readonly line: TerminalLine;
  readonly texts: Texts;
  /** How long a question waits. With nobody at the terminal, no answer is the answer. */
  readonly timeoutMs: number;
};

/** Puts one question at a time. An empty line, the end of the input, an abort and the end of the time are no answer. */
export function createAskUser({ line, texts, timeoutMs }: AskUserOptions): AskUser {
  return (question, worker, signal) =>
    line.inTurn(async () => {
      if (signal.aborted) return undefined;
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), timeoutMs);
      try {
        return await put(question, worker, AbortSignal.any([signal, late.signal]));
      } finally {
        clearTimeout(timer);
      }
    });

  async function put({ question, options = [] }: UserQuestion, worker: string, signal: AbortSignal) {
    await line.drain();
    const { userQuestion } = texts;
    const choices = options.map((option, index) => `  [${index + 1}] ${visible(option)}`);
    const rows = [userQuestion.asks(worker), ...question.split('\n').map((row) => `  ${visible(row)}`), ...choices];
    line.output.write(`\n${rows.join('\n')}\n`);
    const typed = await line.read(choices.length > 0 ? userQuestion.keys : userQuestion.key, signal);
    if (signal.aborted) return undefined;
    const answer = typed.trim();
    const chosen = /^\d+$/.test(answer) ? options[Number(answer) - 1] : undefined;
    return chosen ?? (answer === '' ? undefined : answer);
  }
}
