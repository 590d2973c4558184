/** Words for what is seen of a command that runs in the background. */
import type { ToolOutput } from '../types.js';
import type { BackgroundCommands, Ended, Look } from './background.js';
import { displayOf, exitOf, outputOf, questionOf, wholeOutput } from './report.js';
import { asksSomething } from './watch-command.js';

const LISTED_CHARACTERS = 120; // of a command in the list.

export type StartReport = {
  readonly look: Look;
  /** Whether it came with a time limit, which does not bind it. */
  readonly isTimed: boolean;
  readonly touched: readonly string[];
  readonly notes: readonly string[];
};

export function reportStart({ look, isTimed, touched, notes }: StartReport): ToolOutput {
  const { id } = look;
  const next =
    look.ended === undefined
      ? [`it goes on: shell_output {"id": "${id}"} shows what comes next, shell_stop ends it`]
      : [];
  const limit = isTimed ? ['timeout_ms does not bind a command in the background'] : [];
  return report(look, {
    none: '(no output yet)',
    notes: [...next, ...limit, ...notes],
    place: `(cwd: ${look.cwd})`,
    touched,
  });
}

export function reportLook(look: Look): ToolOutput {
  return report(look, {
    none: '(nothing new)',
    notes: [],
    place: `(${look.id}: ${shorten(look.command)})`,
    touched: [],
  });
}

export function reportList(list: ReturnType<BackgroundCommands['list']>): ToolOutput {
  if (list.length === 0) return { ok: true, output: 'There are no background commands.' };
  const lines = list.map(
    ({ command, ...job }) => `${job.id} ${statusOf(job.ended) ?? running(job)}: ${shorten(command)}`,
  );
  return { ok: true, output: lines.join('\n'), display: { kind: 'lines', lines } };
}

/** For people, at the end of a run. */
export function endedWithUs(id: string, command: string): string {
  return `The background command ${id} still ran at the end and was stopped: ${shorten(command)}`;
}

type Words = {
  readonly none: string;
  readonly notes: readonly string[];
  readonly place: string;
  readonly touched: readonly string[];
};

function report(look: Look, { none, notes, place, touched }: Words): ToolOutput {
  const { id, command, news, openLine, whole, ended, isEndNew } = look;
  const open = openLine === '' ? [] : [openLine];
  const text = news.head === '' && open.length > 0 ? '' : outputOf(news, none);
  const all = [
    ...(news.omittedBytes > 0 ? [wholeOutput(whole)] : []),
    ...(asksSomething(openLine) ? [questionOf(openLine)] : []),
    ...notes,
  ].map((note) => `[${note}]`);
  const status = statusOf(ended);
  const ending = ended?.result && exitOf(ended.result);
  const isStopped = ended?.result?.interrupted === true;
  return {
    ok: ended === undefined || isStopped || ending?.exitCode === 0,
    output: [
      ...(text === '' ? [] : [text]),
      ...open,
      ...all,
      place,
      status === undefined ? `${id} is ${running(look)}` : `${id} ended: ${status}`,
    ].join('\n'),
    ...(!isStopped && ending?.code !== undefined && { code: ending.code }),
    ...(touched.length > 0 && { touched }),
    // For the proof: once, when its end is seen.
    ...(isEndNew && { command: { command, exitCode: isStopped ? null : (ending?.exitCode ?? null) } }),
    display: displayOf({ ...withLine(news, openLine), lineCount: lineCountOf(news, open) }, status),
  };
}

function statusOf(ended: Ended | undefined): string | undefined {
  if (ended === undefined) return undefined;
  if (ended.isFlood) return 'stopped: it printed without end';
  if (ended.result?.interrupted) return 'stopped';
  return ended.result === undefined ? `lost: ${ended.problem}` : exitOf(ended.result).status;
}

function running({ pid, ms }: Pick<Look, 'pid' | 'ms'>): string {
  // The time makes each look another result: to wait for something is not to go in circles.
  return `running (pid ${pid}, for ${(ms / 1_000).toFixed(1)} s)`;
}

function withLine({ head, tail }: Look['news'], openLine: string) {
  return tail === '' ? { head: head + openLine, tail } : { head, tail: tail + openLine };
}

function lineCountOf({ head, tail }: Look['news'], open: readonly string[]): number {
  return `${head}${tail}`.split('\n').length - 1 + open.length;
}

function shorten(command: string): string {
  const line = command.replace(/\s*\n\s*/g, '; ');
  return line.length <= LISTED_CHARACTERS ? line : `${line.slice(0, LISTED_CHARACTERS)}…`;
}
