/** What `chatcli undo` prints: the list, one turn, and what came of taking one back; as text and as JSON. */
import { isAbsolute, relative, sep } from 'node:path';
import type { LineCount, RestoreAction, RestoreResult } from '../session/restore.js';
import { filesOf, type Turn, type TurnFile, undoneBy, WHY_UNKEPT } from '../session/undo-types.js';
import { clean } from '../tools/clean.js';
import { safeName } from '../tools/walk.js';

type ChangeKind = 'changed' | 'created' | 'deleted';

export function listText(turns: readonly Turn[]): string {
  const shown = turns.filter((turn) => filesOf(turn).length > 0 || turn.gaps.length > 0);
  if (shown.length === 0) return 'Nothing to undo: no turn has changed files here.';
  const rows = shown.toReversed().map((turn) => {
    const counts = countsOf(turn);
    const files = [`~${counts.changed}`, `+${counts.created}`, `-${counts.deleted}`];
    return [String(turn.number), timeOf(turn.at), ...files, taskOf(turn) + markOf(turn, turns) + gapMark(turn)];
  });
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padStart(widths[0] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  '),
  );
  return `${lines.join('\n')}\n\n~ changed, + created, - deleted files. One of them: chatcli undo show N; take it back: chatcli undo N.`;
}

export function listJson(turns: readonly Turn[]): string {
  return JSON.stringify({ type: 'undo_list', turns: turns.toReversed().map((turn) => summaryOf(turn, turns)) });
}

export function turnText(turn: Turn, turns: readonly Turn[], root: string): string {
  const files = filesOf(turn).filter(isFile);
  const rows = files.map((file) => {
    const why = file.before.kind === 'unkept' ? ` (no copy: it ${WHY_UNKEPT[file.before.reason]})` : '';
    const unsure = unsureOf(file);
    return `${SIGNS[kindOf(file)]} ${pathIn(root, file.path)}${why}${unsure}`;
  });
  const head = `Turn ${turn.number} of ${timeOf(turn.at)}: ${taskOf(turn)}${markOf(turn, turns)}`;
  const shown = new Set(files.map(({ path }) => path));
  const ofFiles = turn.changes.filter(({ path }) => shown.has(path));
  const commands = [...new Set(ofFiles.flatMap(({ command }) => command ?? []))].map((text) => `  ${clean(text)}`);
  return [
    head,
    ...rows,
    ...(commands.length > 0 ? ['', 'Commands that changed files:', ...commands] : []),
    ...(turn.gaps.length > 0 ? ['', ...turn.gaps.map(safeName)] : []),
  ].join('\n');
}

export function turnJson(turn: Turn, turns: readonly Turn[]): string {
  const files = filesOf(turn)
    .filter(isFile)
    .map((file) => ({
      path: file.path,
      change: kindOf(file),
      how: file.how,
      restorable: file.before.kind !== 'unkept',
      ...(file.before.kind === 'unkept' && { reason: file.before.reason }),
      ...((file.isUnsure || file.isMeanwhile) && { unsure: true }),
    }));
  return JSON.stringify({ type: 'undo_turn', ...summaryOf(turn, turns), changes: files, gaps: turn.gaps });
}

export type ResultAbout = { readonly turn: Turn; readonly isDryRun: boolean; readonly root: string };

export function resultText({ restored, conflicts, skipped, unchanged }: RestoreResult, about: ResultAbout): string {
  const { turn, isDryRun, root } = about;
  const would = isDryRun ? 'would be ' : '';
  const left = [...conflicts, ...skipped];
  return [
    ...restored.map(({ path, action, lines }) => `${pathIn(root, path)}: ${would}${DONE[action]}${linesOf(lines)}`),
    ...left.map(({ path, reason }) => `${pathIn(root, path)}: left as it is: ${safeName(reason)}.`),
    `Turn ${turn.number}: ${[
      `${restored.length} ${would}restored`,
      ...(unchanged.length > 0 ? [`${unchanged.length} as before already`] : []),
      ...(left.length > 0 ? [`${left.length} left`] : []),
    ].join(', ')}.`,
    ...(conflicts.length > 0 ? ['To restore over what was changed since: --force.'] : []),
  ].join('\n');
}

export function resultJson(result: RestoreResult, { turn, isDryRun }: ResultAbout): string {
  const { restored, unchanged, conflicts, skipped } = result;
  const isWhole = conflicts.length + skipped.length === 0;
  return JSON.stringify({
    type: 'undo_result',
    turn: turn.number,
    dry_run: isDryRun,
    restored: restored.map(({ path, action, lines }) => ({ path, action, ...(lines && { ...lines }) })),
    unchanged,
    conflicts,
    skipped,
    exit_code: isWhole ? 0 : 1,
  });
}

/** From where the command was called, with forward slashes; nothing in it disturbs a terminal. */
export function pathIn(root: string, path: string): string {
  const way = relative(root, path);
  const isBelow = way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
  return safeName(isBelow ? way.split(sep).join('/') : path);
}

function unsureOf({ isUnsure, isMeanwhile }: TurnFile): string {
  if (isUnsure) return ' (the run was killed: others may have changed it since)';
  return isMeanwhile ? ' (while a command went on in the background: perhaps by others)' : '';
}

const SIGNS: Readonly<Record<ChangeKind, string>> = { changed: '~', created: '+', deleted: '-' };

const DONE: Readonly<Record<RestoreAction, string>> = {
  write: 'restored',
  create: 'restored (it was gone)',
  remove: 'removed (the turn had created it)',
  mode: 'given its mode back',
  'create-folder': 'made again (a folder)',
  'remove-folder': 'removed (a folder of the turn)',
};

function summaryOf(turn: Turn, turns: readonly Turn[]) {
  const by = undoneBy(turn, turns);
  return {
    number: turn.number,
    at: new Date(turn.at).toISOString(),
    task: turn.task,
    session_id: turn.sessionId,
    files: countsOf(turn),
    ...(turn.undoes !== undefined && { undoes: turn.undoes }),
    ...(by && { undone_by: by.number }),
  };
}

function countsOf(turn: Turn): Record<ChangeKind, number> {
  const counts = { changed: 0, created: 0, deleted: 0 };
  for (const file of filesOf(turn).filter(isFile)) counts[kindOf(file)] += 1;
  return counts;
}

function kindOf({ before, afters }: TurnFile): ChangeKind {
  if (before.kind === 'absent' || before.kind === 'folder') return 'created';
  const after = afters.at(-1)?.kind;
  return after === 'absent' || after === 'folder' ? 'deleted' : 'changed';
}

function isFile({ before, afters }: TurnFile): boolean {
  return [before, afters.at(-1)].some((state) => state?.kind === 'file' || state?.kind === 'unkept');
}

function taskOf({ task }: Turn): string {
  return clean(task) || '(no task)';
}

/** A row of zeros would say that nothing was changed, which is not known. */
function gapMark(turn: Turn): string {
  return filesOf(turn).some(isFile) || turn.gaps.length === 0 ? '' : ' (not all is known: see show)';
}

function markOf(turn: Turn, turns: readonly Turn[]): string {
  const by = undoneBy(turn, turns);
  return by === undefined ? '' : ` (undone by ${by.number})`;
}

/** Local time, to the minute. */
function timeOf(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

function linesOf(lines: LineCount | undefined): string {
  return lines === undefined ? '' : `, +${lines.added} -${lines.removed} lines`;
}
