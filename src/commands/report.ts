/** What a one-shot run says, on which stream and in which format, and the exit code that goes with it. */
import { ChatcliError, InterruptedError, messageOf } from '../errors.js';
import { maskStrings } from '../events/emitter.js';
import type { ContextFill, EventSink } from '../events/types.js';
import { type Ending, endingOf, endingOfError, endingOfSignal } from '../exit-codes.js';
import { NO_USAGE } from '../kernel/step.js';
import type { Outcome, OutcomeReason } from '../kernel/types.js';
import { closingLines } from '../output/closing.js';
import { type Colors, createColors } from '../output/colors.js';
import { formatMs, shorten } from '../output/format.js';
import { createJsonLinesSink, type ResultInput, resultJson } from '../output/json.js';
import { createTextSink } from '../output/text.js';
import { redactPatterns } from '../permissions/redact.js';
import type { Budget } from '../runtime/budget.js';
import type { Ledger } from '../runtime/ledger.js';
import { en } from '../texts/en.js';
import { clean } from '../tools/clean.js';
import type { RunFlags } from './flags.js';
import type { Io } from './io.js';

export type ReportedRun = {
  readonly worker: string;
  readonly model: string;
  readonly budget: Budget;
  readonly ledger: Ledger;
};

export type Report = {
  /** The event reader of this format, and its progress on stderr. */
  readonly sinks: readonly EventSink[];
  /** Once known, so that a later failure is reported with it. */
  readonly setRun: (run: ReportedRun) => void;
  /** What the configuration says: colours forced on or off, and what takes keys out of all that is shown. */
  readonly configure: (settings: {
    readonly color: boolean | undefined;
    readonly mask: (text: string) => string;
  }) => void;
  readonly colors: () => Colors;
  readonly hint: (key: 'moreStdin') => void;
  /** Prints the result and gives the exit code. `structured` is the answer's value, where a schema was asked for. */
  readonly outcome: (outcome: Outcome, structured?: { readonly value: unknown }) => number;
  /** Prints an error that kept the run from starting or finishing, and gives the exit code. */
  readonly failure: (thrown: unknown) => number;
};

export type ReportOptions = {
  readonly io: Io;
  readonly flags: RunFlags;
  readonly sessionId: string;
  readonly startedAt: number;
};

const DEFAULT_COLUMNS = 100;
/** Characters of one line of an error; a model's command in it may be of any length. */
const ERROR_WIDTH = 1000;

/** Endings whose text is worth having, marked as partial: a summary or the last words. After a failure there is none. */
const WORTH_PRINTING: ReadonlySet<OutcomeReason> = new Set(['turn-limit', 'timeout', 'budget', 'stuck', 'denied']);

export function createReport({ io, flags, sessionId, startedAt }: ReportOptions): Report {
  const texts = en;
  const warnings: string[] = [];
  const fallbacks: { from: string; to: string; reason: string }[] = [];
  let run: ReportedRun | undefined;
  let colors = createColors(false);
  let mask = clean;
  const say = (text: string) => io.stderr.write(text);
  const print = (text: string) => io.stdout.write(text);

  function setColor(color: boolean | undefined): void {
    const wanted = flags.plain === true ? false : (color ?? (io.stderr.isTTY === true && io.env.TERM !== 'dumb'));
    colors = createColors(wanted);
  }
  setColor(io.env.NO_COLOR ? false : undefined);

  // Made at the first event: by then the configuration has said whether there are colours.
  let text: EventSink | undefined;
  const progress: EventSink = (event) => {
    text ??= createTextSink({
      write: say,
      colors,
      texts,
      width: io.stderr.columns ?? DEFAULT_COLUMNS,
      verbose: flags.verbose === true,
      watched: io.stderr.isTTY === true,
    });
    text(event);
  };
  /** Of the worker that answers: those that it handed tasks to have histories of their own. */
  let fill: ContextFill | undefined;
  let steps = 0;
  const collect: EventSink = (event) => {
    if (event.type === 'notice' && event.level === 'warning') warnings.push(event.text);
    if (event.type === 'fallback') {
      const { from, to, reason } = event;
      fallbacks.push({ from, to, reason });
      warnings.push(texts.fallback(from, to, reason));
    }
    if (event.type === 'context') steps += 1;
    if (event.type === 'usage' && event.context && event.parentRunId === undefined) fill = event.context;
  };

  type ResultFields = Pick<Outcome, 'answer' | 'turns' | 'proof' | 'error'> & Pick<ResultInput, 'structured'>;

  function printResult(ending: Ending, fields: ResultFields): void {
    const totals = run?.budget.totals() ?? { usage: NO_USAGE, costUsd: 0 };
    const input: ResultInput = {
      subtype: ending.subtype,
      exitCode: ending.exitCode,
      result: fields.answer,
      ...(fields.structured && { structured: fields.structured }),
      sessionId,
      worker: run?.worker ?? '',
      turns: fields.turns,
      durationMs: io.now() - startedAt,
      usage: totals.usage,
      costUsd: totals.costUsd,
      model: fallbacks.reduce((model, { from, to }) => (model === from ? to : model), run?.model ?? ''),
      fallbacks,
      denials: run?.ledger.denials() ?? [],
      proof: fields.proof,
      warnings,
      ...(fill && { context: { ...fill, steps } }),
      ...(fields.error && { error: maskStrings(fields.error, redactPatterns) }),
    };
    print(`${resultJson(maskStrings(input, mask))}\n`);
  }

  function sayError(error: { readonly message: string; readonly hint?: string | undefined }): void {
    const line = (text: string) => shorten(redactPatterns(mask(text)), ERROR_WIDTH);
    if (error.message !== '') say(`${colors.red(`${texts.error}:`)} ${line(error.message)}\n`);
    for (const hint of error.hint?.split('\n') ?? []) say(`${line(hint)}\n`);
  }

  function outcome(ended: Outcome, structured?: { readonly value: unknown }): number {
    // Masked before it is written as JSON, where a key may be escaped.
    const json = structured && JSON.stringify(maskStrings(structured.value, mask));
    const result = json === undefined ? ended : { ...ended, answer: json };
    const ending =
      result.reason === 'interrupted' ? endingOfAbort(io.signal) : endingOf(result.reason, result.error?.kind);
    const answered = ending.exitCode === 0;
    const { usage, costUsd } = run?.budget.totals() ?? { usage: NO_USAGE, costUsd: null };
    const spent = [
      texts.tokens(usage.totalTokens),
      ...(costUsd ? [`$${costUsd.toFixed(4)}`] : []),
      formatMs(io.now() - startedAt),
    ].join(' · ');
    const text = answered ? result.answer : partialText(result);
    // On one screen the answer stands apart from the progress around it.
    const gap = text !== '' && flags.outputFormat === 'text' && io.stdout.isTTY === true && io.stderr.isTTY === true;
    if (gap) say('\n');
    if (flags.outputFormat !== 'text') printResult(ending, { ...result, ...(structured && { structured }) });
    else if (text !== '') print(`${mask(text)}\n`);
    if (gap) say('\n');
    for (const line of closingLines(maskStrings(result, mask), spent, { colors, texts })) say(`${line}\n`);
    if (!answered && result.reason !== 'interrupted' && result.error) sayError(result.error);
    return ending.exitCode;
  }

  function partialText({ reason, answer }: Outcome): string {
    if (!WORTH_PRINTING.has(reason) || answer.trim() === '') return '';
    return `${texts.partial(texts.reason[reason])}\n${answer}`;
  }

  function failure(thrown: unknown): number {
    const ending = endingOfError(thrown);
    const hint = thrown instanceof ChatcliError ? thrown.hint : undefined;
    const kind = thrown instanceof ChatcliError ? thrown.kind : 'internal';
    const message = messageOf(thrown);
    sayError({ message, hint });
    if (flags.outputFormat !== 'text') {
      const error = { kind, message, ...(hint !== undefined && { hint }) };
      printResult(ending, { answer: '', turns: 0, proof: { filesChanged: [], commandsSinceLastEdit: [] }, error });
    }
    return ending.exitCode;
  }

  return {
    sinks: [collect, ...(flags.outputFormat === 'stream-json' ? [createJsonLinesSink(print)] : []), progress],
    setRun: (reported) => {
      run = reported;
    },
    configure: ({ color, mask: redact }) => {
      setColor(color);
      mask = redact;
    },
    colors: () => colors,
    hint: (key) => say(`${texts[key]}\n`),
    outcome,
    failure,
  };
}

function endingOfAbort(signal: AbortSignal): Ending {
  const reason: unknown = signal.reason;
  return reason instanceof InterruptedError ? endingOfSignal(reason.signal) : endingOfSignal(undefined);
}
