/** A plain question on stderr for one-shot runs at a terminal. Questions of several workers queue up. */
import type { ApprovalAnswer, ApprovalQuestion } from '../events/types.js';
import type { Texts } from '../texts/en.js';
import type { Colors } from './colors.js';
import { displayRows } from './display.js';
import type { TerminalLine } from './terminal-line.js';

export type AskOptions = {
  readonly line: TerminalLine;
  readonly texts: Texts;
  /** Looked up at each question, since the configuration may turn colours off. */
  readonly colors: () => Colors;
};

export type Ask = (question: ApprovalQuestion, worker: string, signal: AbortSignal) => Promise<ApprovalAnswer>;

/** A rule that is no longer than that is shown; of a longer one, the command above says it all. */
const MAX_RULE_CHARACTERS = 200;

/** Asks one question at a time. End of input, an unknown key and an abort all mean no; `n TEXT` tells the model TEXT. */
export function createAsk({ line, texts, colors }: AskOptions): Ask {
  const { output } = line;
  return (question, worker, signal) =>
    line.inTurn(async () => (signal.aborted ? 'no' : askOnce(question, worker, signal)));

  async function askOnce(question: ApprovalQuestion, worker: string, signal: AbortSignal): Promise<ApprovalAnswer> {
    await line.drain();
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
    const keys = approval.keys({ session: rule !== undefined, always: storedRule !== undefined });
    return answerOf(await line.read(keys, signal), question);
  }

  function ruleText(rule: string, { tool, subject }: ApprovalQuestion): string {
    const isLong = rule.length > MAX_RULE_CHARACTERS || rule.includes('\n');
    return isLong && rule === `${tool}(${subject})` ? texts.approval.wholeCommand(tool) : visible(rule);
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

/** What is not seen, as in `permissions/visible.ts`, and blanks that are not the one of the keyboard. */
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u2800]|(?! )\p{Zs}|(?![\ufe0e\ufe0f])\p{Default_Ignorable_Code_Point}|(?<!\p{Extended_Pictographic})[\ufe0e\ufe0f]/gu;

/** Unseen characters made visible: what is approved is what is read. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => {
    if (character === '\n') return '⏎\n  ';
    if (character === '\t') return character;
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
