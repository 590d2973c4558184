/** A plain question on stderr for one-shot runs at a terminal. Questions of several workers queue up. */
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { ApprovalAnswer, ApprovalQuestion } from '../events/types.js';
import type { Texts } from '../texts/en.js';
import type { Colors } from './colors.js';
import { displayRows } from './display.js';

/** A stream of keys; a real terminal can be put in raw mode. */
type Terminal = Readable & { readonly setRawMode?: (on: boolean) => unknown };

export type AskOptions = {
  readonly input: Terminal;
  readonly output: Writable;
  readonly texts: Texts;
  /** Looked up at each question, since the configuration may turn colours off. */
  readonly colors: () => Colors;
};

export type Ask = (question: ApprovalQuestion, worker: string, signal: AbortSignal) => Promise<ApprovalAnswer>;

// Keys typed before the question was on the screen must not answer it.
const DRAIN_MS = 150;
const CTRL_C = 3;

/** A rule that is no longer than that is shown; of a longer one, the command above says it all. */
const MAX_RULE_CHARACTERS = 200;

/** Asks one question at a time. End of input, an unknown key and an abort all mean no; `n TEXT` tells the model TEXT. */
export function createAsk({ input, output, texts, colors }: AskOptions): Ask {
  let last: Promise<unknown> = Promise.resolve();
  return (question, worker, signal) => {
    const answer = last.then(() => (signal.aborted ? 'no' : askOnce(question, worker, signal)));
    last = answer.catch(() => undefined);
    return answer;
  };

  async function askOnce(question: ApprovalQuestion, worker: string, signal: AbortSignal): Promise<ApprovalAnswer> {
    await drain(input);
    if (signal.aborted) return 'no';
    const { approval } = texts;
    output.write('\n');
    // What would change comes first and the question last, so that a long diff does not push it off the screen.
    if (question.display !== undefined) {
      for (const { text, paint } of displayRows(question.display, colors()))
        output.write(`  ${paint(visible(text))}\n`);
      const omitted = ('omitted' in question.display && question.display.omitted) || 0;
      if (omitted > 0) output.write(`  ${texts.moreLines(omitted)}\n`);
    }
    const { rule, storedRule, matched } = question;
    const lines = [
      approval.asks(worker, question.tool),
      `  ${visible(question.shown)}`,
      ...(question.hasInvisible ? [`  ${approval.hasInvisible}`] : []),
      ...(question.cwd === undefined || question.cwd === '.' ? [] : [`  ${approval.startsIn(visible(question.cwd))}`]),
      `  ${visible(question.reason)}`,
      ...(matched ? [`  ${approval.matched(visible(matched.rule), visible(matched.source))}`] : []),
      ...(rule === undefined ? [] : [`  ${approval.addsForSession(ruleText(rule, question))}`]),
      ...(storedRule === undefined ? [] : [`  ${approval.addsForGood(ruleText(storedRule, question))}`]),
    ];
    output.write(`${lines.join('\n')}\n`);
    const line = await readLine(
      approval.keys({ session: rule !== undefined, always: storedRule !== undefined }),
      signal,
    );
    return answerOf(line, question);
  }

  function ruleText(rule: string, { tool, subject }: ApprovalQuestion): string {
    const isLong = rule.length > MAX_RULE_CHARACTERS || rule.includes('\n');
    return isLong && rule === `${tool}(${subject})` ? texts.approval.wholeCommand(tool) : visible(rule);
  }

  function readLine(prompt: string, signal: AbortSignal): Promise<string> {
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
}

/** What was typed: a key, or its word; behind a `n` there may be a word to the model. */
function answerOf(line: string, { rule, storedRule }: ApprovalQuestion): ApprovalAnswer {
  const text = line.trim();
  const key = text.toLowerCase();
  if (key === 'y' || key === 'yes') return 'once';
  if (rule !== undefined && (key === 's' || key === 'session')) return 'session';
  if (storedRule !== undefined && (key === 'a' || key === 'always')) return 'always';
  const message = /^no?[\s,:]+(\S.*)$/is.exec(text)?.[1];
  return message === undefined ? 'no' : { answer: 'no', message };
}

/** In raw mode also a line that was begun but not ended is taken away. */
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

/** Control and direction characters made visible: what is approved is what is read. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    if (character === '\n') return '⏎\n  ';
    if (character === '\t') return character;
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
