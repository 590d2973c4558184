/** Sees that a command can't come to an end as it should: it waits for an answer, or prints without end. */
import { cpuTicksOf } from '../../process.js';

export type StopReason = 'question' | 'flood';

/** More than any log that somebody reads; `yes` prints it in seconds. */
export const FLOOD_CHARACTERS = 1_000_000_000;

const LOOK_MS = 2_000;
const SILENT_MS = 8_000; // A question that stands for so long, while nothing is computed, is one that waits.

export type CommandWatch = {
  /** Told all output. */
  seen(text: string): void;
  end(): void;
};

export type WatchOptions = {
  /** The process group, once it is known. */
  readonly group: () => number | undefined;
  /** The line that has no end yet. */
  readonly openLine: () => string;
  readonly stop: (reason: StopReason) => void;
};

export function watchCommand({ group, openLine, stop }: WatchOptions): CommandWatch {
  let characters = 0;
  let silentSince = performance.now();
  let ticks: number | undefined;
  // Looks only while a question stands there.
  const timer = setInterval(() => {
    const id = group();
    if (id === undefined || performance.now() - silentSince < LOOK_MS || !asksSomething(openLine())) return;
    const before = ticks;
    ticks = cpuTicksOf(id);
    if (before !== ticks) silentSince = Math.max(silentSince, performance.now() - LOOK_MS);
    else if (performance.now() - silentSince >= SILENT_MS) stop('question');
  }, LOOK_MS);
  timer.unref();
  return {
    seen: (text) => {
      characters += text.length;
      silentSince = performance.now();
      if (characters > FLOOD_CHARACTERS) stop('flood');
    },
    end: () => clearInterval(timer),
  };
}

const QUESTIONS: readonly RegExp[] = [
  /[[(]y(?:es)?\/n(?:o)?(?:\/[^\])]{1,20})?[\])]/,
  /pass(?:word|phrase|code)\b.{0,80}:/,
  /\b(?:user ?name|login|token|otp|email)\b.{0,40}:/,
  /\bpress (?:any|enter|return)\b.{0,40}/,
  /^\? .{1,80}[›:]/,
  /\?/,
];
// Behind it may stand a choice and a sign to type at.
const QUESTION = new RegExp(
  `(?:${QUESTIONS.map(({ source }) => source).join('|')})(?:\\s*[[(][^\\])]{0,40}[\\])])?[\\s:>›]*$`,
  'i',
);

/** Whether a line without an end looks like a question that somebody is to answer. */
export function asksSomething(line: string): boolean {
  return QUESTION.test(line.slice(-300));
}
