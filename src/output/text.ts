/** Progress as plain lines on stderr: one reader of the event stream. Nothing is ever drawn again. */
import type { AgentEvent, EventSink, PlanStep } from '../events/types.js';
import type { Texts } from '../texts/en.js';
import type { Colors } from './colors.js';
import { displayRows, type Row } from './display.js';
import { formatMs, shorten } from './format.js';

export type TextOptions = {
  readonly write: (text: string) => void;
  readonly colors: Colors;
  readonly texts: Texts;
  /** Columns of the terminal; lines are cut to it. */
  readonly width: number;
  /** Also shows reasoning and the whole output of tools. */
  readonly verbose: boolean;
  /** Somebody watches: what takes long is named while it runs. */
  readonly watched: boolean;
};

type ToolEnd = Extract<AgentEvent, { type: 'tool-end' }>;

/** Rows that progress shows below one call; the rest is counted. */
const DIFF_ROWS = 12;
const COMMAND_ROWS = 8;
const OTHER_ROWS = 3;
const NAME_COLUMN = 12;

/** What takes longer than this is named while it runs. */
const TOOL_PATIENCE_MS = 1000;
const MODEL_PATIENCE_MS = 4000;

const callKey = (event: { readonly runId: string; readonly callId: string }) => `${event.runId} ${event.callId}`;
const turnKey = (event: { readonly runId: string }) => `${event.runId} turn`;

export function createTextSink(options: TextOptions): EventSink {
  const { write, colors, texts, width, verbose, watched } = options;
  const depths = new Map<string, number>();
  const subjects = new Map<string, string>();
  const patience = createPatience();

  const indentOf = (event: AgentEvent) => '  '.repeat(depths.get(event.runId) ?? 0);
  const say = (event: AgentEvent, line: string) => write(`${indentOf(event)}${line}\n`);
  const sayAll = (event: AgentEvent, lines: readonly string[]) => {
    for (const line of lines) say(event, line);
  };
  const paragraph = (event: AgentEvent, text: string) =>
    sayAll(
      event,
      text
        .trim()
        .split('\n')
        .map((line) => colors.dim(line)),
    );

  return (event) => {
    switch (event.type) {
      case 'worker-start': {
        const depth = event.parentRunId === undefined ? 0 : (depths.get(event.parentRunId) ?? 0) + 1;
        depths.set(event.runId, depth);
        if (depth > 0)
          write(
            `${'  '.repeat(depth - 1)}${colors.cyan('▸')} ${colors.bold(event.worker)} ${colors.dim(shorten(event.task, width - 16))}\n`,
          );
        return;
      }
      case 'run-start':
        if (event.parentRunId === undefined)
          say(event, `${colors.cyan('●')} ${colors.bold(event.worker)} ${colors.dim(`${event.model} · ${event.cwd}`)}`);
        return;
      case 'turn-end':
        patience.end(turnKey(event));
        return;
      case 'message':
        patience.end(turnKey(event));
        if (verbose && event.reasoning) paragraph(event, event.reasoning);
        if (event.incomplete) {
          paragraph(event, event.text);
          say(event, colors.yellow(texts.incomplete));
        }
        // The words of a reply without calls are the answer, which is not progress.
        else if (event.toolCalls.length > 0 && event.text.trim() !== '') sayAll(event, event.text.trim().split('\n'));
        return;
      case 'turn-start':
        if (watched)
          patience.start(turnKey(event), MODEL_PATIENCE_MS, () => say(event, colors.dim(`… ${texts.waitingForModel}`)));
        return;
      case 'tool-start': {
        const { name, subject = '' } = event;
        subjects.set(callKey(event), subject);
        const line = `… ${name.padEnd(NAME_COLUMN)} ${shorten(subject, width - NAME_COLUMN - 6)}`;
        if (watched) patience.start(callKey(event), TOOL_PATIENCE_MS, () => say(event, colors.dim(line)));
        return;
      }
      case 'plan-update':
        sayAll(event, planLines(event.steps, options));
        return;
      case 'approval-request':
      case 'user-question':
        // From here on it is the person that is waited for.
        patience.end(callKey(event));
        return;
      case 'tool-end':
        patience.end(callKey(event));
        say(event, toolLine(event, subjects.get(callKey(event)) ?? '', options));
        subjects.delete(callKey(event));
        sayAll(event, verbose ? event.output.split('\n').map((line) => `    ${line}`) : displayLines(event, options));
        return;
      case 'retry':
        say(event, colors.yellow(texts.retry(event.attempt, event.maxAttempts, formatMs(event.waitMs), event.reason)));
        return;
      case 'context': {
        if (!('tokensBefore' in event)) return;
        const { operation, tokensBefore, tokensAfter } = event;
        say(event, colors.dim(`⟳ ${texts.shortened(operation, tokensBefore, tokensAfter)}`));
        return;
      }
      case 'fallback':
        say(event, colors.yellow(`${texts.warning}: ${texts.fallback(event.from, event.to, event.reason)}`));
        return;
      case 'notice':
        say(
          event,
          event.level === 'warning' ? colors.yellow(`${texts.warning}: ${event.text}`) : colors.dim(event.text),
        );
        return;
      case 'worker-end': {
        const depth = depths.get(event.runId) ?? 0;
        if (depth === 0) return;
        const facts = [texts.workerStatus[event.status], texts.turns(event.turns), formatMs(event.durationMs)].join(
          ' · ',
        );
        write(`${'  '.repeat(depth - 1)}${colors.cyan('◂')} ${colors.bold(event.worker)} ${colors.dim(facts)}\n`);
        if (event.error) say(event, colors.yellow(event.error.message));
        return;
      }
      default:
        return;
    }
  };
}

function toolLine(event: ToolEnd, subject: string, { colors, texts, width }: TextOptions): string {
  const mark = event.ok ? colors.green('✓') : colors.red('✗');
  const facts = [event.denied ? texts.denied : factOf(event, texts), formatMs(event.durationMs)].filter(
    (fact) => fact !== '',
  );
  const tail = facts.join(' · ');
  const room = Math.max(10, width - NAME_COLUMN - tail.length - 6);
  return `${mark} ${shorten(event.name, 24).padEnd(NAME_COLUMN)} ${subject === '' ? '' : `${shorten(subject, room)}  `}${colors.dim(tail)}`;
}

/** A plan's steps, those that are over in a fainter tone, so that the eye finds the one at work. */
function planLines(steps: readonly PlanStep[], { colors, width }: TextOptions): readonly string[] {
  const marks = { done: colors.green('✓'), active: colors.cyan('●'), failed: colors.red('✗'), pending: '○' };
  const paint = (text: string) => text;
  const paints = { done: colors.dim, active: colors.bold, failed: paint, pending: paint };
  return steps.map(({ text, status, owner }) => {
    const by = owner === undefined ? '' : `  ${owner}`;
    return `  ${marks[status]} ${paints[status](shorten(text, width - by.length - 6))}${colors.dim(by)}`;
  });
}

function factOf(event: ToolEnd, texts: Texts): string {
  if (event.command)
    return event.command.exitCode === null ? (event.code ?? '') : texts.exitCode(event.command.exitCode);
  if (!event.ok) return event.code ?? '';
  const { display } = event;
  if (display?.kind === 'diff') return `+${display.added} -${display.removed}`;
  if (display?.kind === 'diffs') {
    const total = (side: 'added' | 'removed') => display.files.reduce((sum, file) => sum + file[side], 0);
    return `+${total('added')} -${total('removed')}`;
  }
  return summaryOf(event) ?? texts.lines(event.output.split('\n').length);
}

/** A display of one whole line says in a few words what came of the call: it goes into the call's own row. */
function summaryOf({ display, command }: ToolEnd): string | undefined {
  const isSummary = display?.kind === 'lines' && display.lines.length === 1 && !display.omitted && !command;
  return isSummary ? display.lines[0] : undefined;
}

/** What is shown below a call: its diff, the end of a command's output, the reason of a refusal. */
function displayLines(event: ToolEnd, options: TextOptions): readonly string[] {
  const { colors, texts, width } = options;
  if (event.denied) return [colors.yellow(`    ${event.output.split('\n')[0] ?? ''}`)];
  if (event.ok && summaryOf(event) !== undefined) return [];
  const rows = rowsOf(event, options);
  const limit =
    event.display?.kind === 'diff' || event.display?.kind === 'diffs'
      ? DIFF_ROWS
      : event.command
        ? COMMAND_ROWS
        : OTHER_ROWS;
  // Of a command's output the end is shown, of all else the beginning.
  const shown = event.command ? rows.slice(-limit) : rows.slice(0, limit);
  const omitted = (event.display && 'omitted' in event.display ? event.display.omitted : 0) ?? 0;
  const hidden = rows.length - shown.length + omitted;
  const lines = shown.map((row) => `    ${row.paint(shorten(row.text, width - 6))}`);
  if (hidden === 0) return lines;
  const note = colors.dim(`    ${event.command ? texts.earlierLines(hidden) : texts.moreLines(hidden)}`);
  return event.command ? [note, ...lines] : [...lines, note];
}

function rowsOf({ display, ok, output }: ToolEnd, { colors }: TextOptions): readonly Row[] {
  if (display !== undefined) return displayRows(display, colors);
  const problem = ok ? [] : output.trim().split('\n').slice(0, OTHER_ROWS);
  return problem.map((text) => ({ text, paint: colors.dim }));
}

/** Timers that speak once, for what is not over by then. They keep no process alive. */
function createPatience() {
  const timers = new Map<string, NodeJS.Timeout>();
  const end = (key: string) => {
    clearTimeout(timers.get(key));
    timers.delete(key);
  };
  return {
    start(key: string, afterMs: number, speak: () => void) {
      end(key);
      timers.set(key, setTimeout(speak, afterMs).unref());
    },
    end,
  };
}
