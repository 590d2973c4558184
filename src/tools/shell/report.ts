/** Words for what came of a command: for the model, for people, for the proof. Never a judgement, only what was seen. */
import type { Display } from '../../events/types.js';
import { exitCodeOf, type ProcessResult } from '../../process.js';
import type { ToolOutput } from '../types.js';
import type { Captured } from './capture.js';

const SHOWN_LINES = 8;
const SHOWN_CHARACTERS = 400; // of one line.

export type Run = {
  readonly command: string;
  /** Relative to the workspace. */
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly result: ProcessResult;
  readonly captured: Captured;
  /** Files that it changed, relative to the workspace, as far as somebody looked. */
  readonly touched?: readonly string[];
  /** What else is to be said, as sentences. */
  readonly notes?: readonly string[];
  /** What to say about the failure, from what is known of the shell. */
  readonly hint?: string | undefined;
};

export function reportOf(run: Run): ToolOutput {
  const { command, cwd, result, captured, touched = [] } = run;
  const { code, status, exitCode } = endingOf(run);
  const output = [outputOf(captured), ...notesOf(run), `(cwd: ${cwd})`, status].join('\n');
  return {
    ok: exitCode === 0,
    output,
    ...(code !== undefined && { code }),
    ...(touched.length > 0 && { touched }),
    command: { command, exitCode: result.timedOut || result.interrupted ? null : exitCode },
    // The exit code is a field of its own; readers show it beside the command.
    display: displayOf(captured, code === undefined || code === 'exit-code' ? undefined : status),
  };
}

type Ending = { readonly code: string | undefined; readonly status: string; readonly exitCode: number | null };

function endingOf({ result, timeoutMs }: Run): Ending {
  const { exitCode, signal, timedOut, interrupted } = result;
  if (interrupted) return { code: 'interrupted', status: 'interrupted (killed)', exitCode: null };
  if (timedOut) return { code: 'timeout', status: `timed out after ${timeoutMs / 1_000} s (killed)`, exitCode: null };
  if (signal !== null) {
    const number = exitCodeOf(signal);
    return { code: 'signal', status: `killed by signal ${signal} (exit code ${number})`, exitCode: number };
  }
  return { code: exitCode === 0 ? undefined : 'exit-code', status: `exit code ${exitCode}`, exitCode };
}

function outputOf({ head, tail, omittedBytes }: Captured): string {
  if (head === '') return '(no output)';
  if (omittedBytes === 0) return withoutLastBreak(head);
  return `${withoutLastBreak(head)}\n[… ${grouped(omittedBytes)} bytes left out …]\n${withoutLastBreak(tail)}`;
}

function notesOf({ result, hint, notes: more = [], captured: { bytes, omittedBytes, spool } }: Run): string[] {
  const notes: string[] = [];
  if (omittedBytes > 0) {
    const place =
      spool?.path === undefined
        ? `could not be kept: ${spool?.problem}`
        : `${spool.path}${spool.problem === undefined ? '' : ` (${grouped(spool.bytes)} bytes: ${spool.problem})`}`;
    notes.push(`[whole output, ${grouped(bytes)} bytes: ${place}]`);
  }
  if (result.left.length > 0) {
    const many = result.left.length > 1;
    notes.push(
      `[${many ? 'processes' : 'process'} ${result.left.join(', ')} went on in the background after the command and ${many ? 'were' : 'was'} stopped; start and use a server within one command]`,
    );
  }
  if (result.survivors.length > 0) notes.push(`[could not be stopped: process ${result.survivors.join(', ')}]`);
  if (hint !== undefined) notes.push(`[${hint}]`);
  if (result.timedOut) notes.push('[a longer limit can be given with timeout_ms, at most 600000]');
  return [...notes, ...more.map((note) => `[${note}]`)];
}

function displayOf({ head, tail, lineCount }: Captured, status: string | undefined): Display {
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
