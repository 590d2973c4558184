/** Words for what came of a command: for the model, for people, for the proof. Never a judgement, only what was seen. */
import type { Display } from '../../events/types.js';
import { exitCodeOf, type ProcessResult, signalOf } from '../../process.js';
import type { ToolOutput } from '../types.js';
import type { Captured } from './capture.js';
import { asksSomething, FLOOD_CHARACTERS, type StopReason } from './watch-command.js';

type Parts = Pick<Captured, 'head' | 'tail' | 'omittedBytes'>;

const SHOWN_LINES = 8;
const SHOWN_CHARACTERS = 400; // of one line.

export type Run = {
  readonly command: string;
  /** Relative to the workspace. */
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly result: ProcessResult;
  readonly captured: Captured;
  /** Why we stopped it, where neither time nor a person did. */
  readonly stopped?: StopReason | undefined;
  /** The last line that had no end when the command ended. */
  readonly openLine?: string;
  /** Files that it changed, relative to the workspace, as far as somebody looked. */
  readonly touched?: readonly string[];
  /** What else is to be said, as sentences. */
  readonly notes?: readonly string[];
  /** What to say about the failure, from what is known of the shell. */
  readonly hint?: string | undefined;
};

export function reportOf(run: Run): ToolOutput {
  const { command, cwd, captured, touched = [] } = run;
  const { code, status, exitCode } = endingOf(run);
  const output = [outputOf(captured), ...notesOf(run), `(cwd: ${cwd})`, status].join('\n');
  return {
    ok: exitCode === 0,
    output,
    ...(code !== undefined && { code }),
    ...(touched.length > 0 && { touched }),
    command: { command, exitCode: exitCode },
    // The exit code is a field of its own; readers show it beside the command.
    display: displayOf(captured, code === undefined || code === 'exit-code' ? undefined : status),
  };
}

type Ending = { readonly code: string | undefined; readonly status: string; readonly exitCode: number | null };

function endingOf({ result, timeoutMs, stopped, openLine = '' }: Run): Ending {
  if (stopped === 'flood') {
    const status = `stopped (killed): it had printed more than ${FLOOD_CHARACTERS / 1e6} MB`;
    return { code: 'output-limit', status, exitCode: null };
  }
  if (stopped === 'question') {
    return { code: 'waits-for-input', status: `stopped (killed): ${questionOf(openLine)}`, exitCode: null };
  }
  if (result.interrupted) return { code: 'interrupted', status: 'interrupted (killed)', exitCode: null };
  if (result.timedOut) {
    return { code: 'timeout', status: `timed out after ${timeoutMs / 1_000} s (killed)`, exitCode: null };
  }
  return exitOf(result);
}

/** How a program ended by itself, or by a signal. */
export function exitOf({ exitCode, signal, side }: ProcessResult): Ending {
  if (signal !== null) {
    const number = exitCodeOf(signal);
    return { code: 'signal', status: `killed by signal ${signal} (exit code ${number})`, exitCode: number };
  }
  const parts = partsOf(side);
  const status = `exit code ${withSignal(exitCode)}${parts === '' ? '' : ` (of the last command); pipeline: ${parts}`}`;
  return { code: exitCode === 0 ? undefined : 'exit-code', status, exitCode };
}

/** The exit codes of a pipeline, if one of them is no 0. */
function partsOf(side: string): string {
  const codes = side.trim().split(' ');
  const isPipeline = codes.length > 1 && codes.every((code) => /^\d+$/.test(code));
  return isPipeline && codes.some((code) => code !== '0') ? codes.map(Number).map(withSignal).join(', ') : '';
}

/** A shell tells by its own exit code that a signal ended a program. */
function withSignal(exitCode: number | null): string {
  const signal = exitCode === null ? undefined : signalOf(exitCode);
  return signal === undefined ? `${exitCode}` : `${exitCode} (as after signal ${signal})`;
}

/** What to tell about a line that waits for an answer. */
export function questionOf(line: string): string {
  const asked = shorten(line.trim());
  return `it seems to wait for an answer to "${asked}", and nobody can give one: pass it as a flag (-y, --yes, --no-input) or on stdin (echo y | …)`;
}

export function outputOf({ head, tail, omittedBytes }: Parts, none = '(no output)'): string {
  if (head === '') return none;
  if (omittedBytes === 0) return withoutLastBreak(head);
  return `${withoutLastBreak(head)}\n[… ${grouped(omittedBytes)} bytes left out …]\n${withoutLastBreak(tail)}`;
}

function notesOf({ result, hint, stopped, openLine = '', notes = [], captured }: Run): string[] {
  return [
    ...(captured.omittedBytes > 0 ? [wholeOutput(captured)] : []),
    ...leftNotes(result),
    ...(hint === undefined ? [] : [hint]),
    ...(result.timedOut && asksSomething(openLine) ? [questionOf(openLine)] : []),
    ...(result.timedOut ? ['a longer limit can be given with timeout_ms, at most 600000'] : []),
    ...(stopped === 'flood' ? ['print less, or into a file'] : []),
    ...notes,
  ].map((note) => `[${note}]`);
}

/** Where all of an output is that was cut. */
export function wholeOutput({ bytes, spool }: Pick<Captured, 'bytes' | 'spool'>): string {
  const place =
    spool?.path === undefined
      ? `could not be kept: ${spool?.problem}`
      : `${spool.path}${spool.problem === undefined ? '' : ` (${grouped(spool.bytes)} bytes: ${spool.problem})`}`;
  return `whole output, ${grouped(bytes)} bytes: ${place}`;
}

function leftNotes({ left, survivors }: ProcessResult): string[] {
  const [noun, verb] = left.length > 1 ? ['processes', 'were'] : ['process', 'was'];
  return [
    ...(left.length === 0
      ? []
      : [
          `${noun} ${left.join(', ')} went on in the background after the command and ${verb} stopped; to keep a server running, start it with "background": true`,
        ]),
    ...(survivors.length === 0 ? [] : [`could not be stopped: process ${survivors.join(', ')}`]),
  ];
}

export function displayOf(
  { head, tail, lineCount }: Pick<Captured, 'head' | 'tail' | 'lineCount'>,
  status: string | undefined,
): Display {
  const text = withoutLastBreak(tail === '' ? head : tail);
  const lines = text === '' ? [] : text.split('\n').slice(-SHOWN_LINES);
  const omitted = lineCount - lines.length;
  return {
    kind: 'lines',
    lines: [...lines.map(shorten), ...(status === undefined ? [] : [status])],
    ...(omitted > 0 && { omitted }),
  };
}

function shorten(line: string): string {
  return line.length <= SHOWN_CHARACTERS ? line : `${line.slice(0, SHOWN_CHARACTERS).replace(/[\ud800-\udbff]$/, '')}…`;
}

function withoutLastBreak(text: string): string {
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}

function grouped(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}
