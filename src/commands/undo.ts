/** `chatcli undo`: lists the turns that changed files, shows one, and takes one back. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { foldersFor } from '../config/folders.js';
import { UsageError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import { createBlobStore } from '../session/blob-store.js';
import { isLiving } from '../session/recovery.js';
import { type Conflict, type RestoreResult, restoreTurn } from '../session/restore.js';
import { storeFolders } from '../session/retention.js';
import { readTurns } from '../session/turn-log.js';
import { filesOf, type Turn, undoneBy } from '../session/undo-types.js';
import { createWorkspace } from '../tools/workspace.js';
import type { OutputFormat } from './flags.js';
import { hasTerminal, type Io, pathFrom } from './io.js';
import { createReport } from './report.js';
import type { SideRun } from './side-commands.js';
import { confirm } from './undo-confirm.js';
import { countLines } from './undo-lines.js';
import { openUndo, undoFolder } from './undo-port.js';
import { listJson, listText, pathIn, resultJson, resultText, turnJson, turnText } from './undo-text.js';

export type UndoFlags = {
  readonly outputFormat: OutputFormat;
  readonly cwd?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
};

/** Exit code 1 where something of the turn could not be taken back. */
export const runUndo: SideRun = async ({ operands, flags: given }, io) => {
  const flags = given as UndoFlags;
  try {
    return await undo(operands, flags, io);
  } catch (thrown) {
    return createReport({ io, flags, sessionId: '', startedAt: io.now() }).failure(thrown);
  }
};

async function undo(operands: readonly string[], flags: UndoFlags, io: Io): Promise<number> {
  const isJson = flags.outputFormat !== 'text';
  const [first, second, ...more] = operands;
  if (more.length > 0 || (second !== undefined && first !== 'show'))
    throw new UsageError('Too many words.', { hint: USE });
  const { root } = await createWorkspace({ root: pathFrom(io.cwd, flags.cwd) });
  const folders = foldersFor({ env: io.env, cwd: root });
  const store = storeFolders(undoFolder(folders.state, root));
  const read = () => readTurns(store.turns);
  const warn = (text: string) => void io.stderr.write(`${text}\n`);
  const open = (roots: readonly string[]) =>
    openUndo({ folders, roots, now: io.now, mask: (text) => text, warn, signal: io.signal });
  for (const { roots } of read().filter((turn) => turn.openCommands.length > 0 && !isLiving(turn)))
    await open(roots).recover();
  const turns = read();
  const print = (text: string) => void io.stdout.write(`${text}\n`);

  if (first === undefined || first === 'list') {
    print(isJson ? listJson(turns) : listText(turns));
    return EXIT.answered;
  }
  const turn = turnNamed(first === 'show' ? (second ?? 'last') : first, turns);
  if (first === 'show') {
    print(isJson ? turnJson(turn, turns) : turnText(turn, turns, root));
    return EXIT.answered;
  }
  if (isLiving(turn) && flags.force !== true && flags.dryRun !== true) {
    throw new UsageError(`Turn ${turn.number} is still being worked on, by process ${turn.pid}.`, {
      hint: 'Wait for its end, or stop it. If there is no such run any more: --force.',
    });
  }
  const result = await takeBack({ turn, turns, flags, io, open, blobs: store.blobs, cwd: root });
  const about = { turn, isDryRun: flags.dryRun === true, root };
  print(isJson ? resultJson(result, about) : resultText(result, about));
  return result.conflicts.length + result.skipped.length > 0 ? EXIT.taskFailed : EXIT.answered;
}

type TakeBack = {
  readonly turn: Turn;
  readonly turns: readonly Turn[];
  readonly flags: UndoFlags;
  readonly io: Io;
  readonly open: (roots: readonly string[]) => ReturnType<typeof openUndo>;
  readonly blobs: string;
  readonly cwd: string;
};

/** Is a turn itself, so that it can be undone as well. */
async function takeBack({ turn, turns, flags, io, open, blobs, cwd }: TakeBack): Promise<RestoreResult> {
  const recorder = open(turn.roots);
  recorder.beginTurn({
    task: `undo of turn ${turn.number}: ${turn.task}`,
    sessionId: randomUUID(),
    undoes: turn.number,
  });
  const [root = cwd, ...addDirs] = turn.roots;
  const gate = await createWorkspace({ root, addDirs: addDirs.filter(existsSync), keepBefore: recorder.keepBefore });
  const isDryRun = flags.dryRun === true;
  const overrules = async ({ path, reason }: Conflict) => {
    if (flags.force === true) return true;
    if (isDryRun || !hasTerminal(io)) return false;
    return confirm(`${pathIn(cwd, path)}: ${reason}. Restore it all the same?`, io);
  };
  try {
    return await restoreTurn({
      turn,
      laterTurns: turns.filter(({ number }) => number > turn.number),
      store: createBlobStore(blobs),
      gate,
      note: recorder.note,
      overrules,
      isDryRun,
      ...(isDryRun && { countLines: await countLines() }),
    });
  } finally {
    recorder.close();
  }
}

const USE = 'chatcli undo: the list; chatcli undo show N: one turn; chatcli undo N, or last: take it back.';

function turnNamed(word: string, turns: readonly Turn[]): Turn {
  if (word === 'last') {
    const last = turns.findLast(
      (turn) => turn.undoes === undefined && undoneBy(turn, turns) === undefined && hasFiles(turn),
    );
    if (last !== undefined) return last;
    throw new UsageError('There is no turn to undo here.', { hint: USE });
  }
  if (!/^\d+$/.test(word)) throw new UsageError(`"${word}" is no number of a turn.`, { hint: USE });
  const turn = turns.find(({ number }) => number === Number(word));
  if (turn !== undefined) return turn;
  throw new UsageError(`There is no turn ${word} here.`, {
    hint: 'chatcli undo lists them. Only the last 100 are kept.',
  });
}

function hasFiles(turn: Turn): boolean {
  return filesOf(turn).length > 0;
}
