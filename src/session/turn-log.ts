/**
 * The turns of a project: one file of JSON lines each, made by one process and only appended to, so that several
 * processes never write the same file and a killed one leaves every whole line. Its name is the turn's number.
 */
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from './blob-store.js';
import { type Change, type CommandStart, type Turn, type TurnHeader, type TurnLine, turnLine } from './undo-types.js';

const NAME = /^(\d{6,})\.jsonl$/;

export type TurnWriter = {
  readonly number: number;
  /** One line, whole in the file when this returns. Throws what the system says. */
  append(line: TurnLine): void;
  close(): void;
};

/** Begins a turn, with a number that no other one has. Throws what the system says. */
export function beginTurnFile(folder: string, header: Omit<TurnHeader, 'type' | 'version'>): TurnWriter {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (let number = (turnNumbers(folder).at(-1) ?? 0) + 1; ; number++) {
    let file: number;
    try {
      file = openSync(turnPath(folder, number), 'ax', 0o600);
    } catch (thrown) {
      // Another process was first.
      if ((thrown as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw thrown;
    }
    const writer = writerFor(file, number);
    writer.append({ type: 'turn', version: 1, ...header });
    return writer;
  }
}

/** Goes on with the file of a turn whose process has died; a line that it had only begun is ended first. */
export function reopenTurnFile(folder: string, number: number): TurnWriter {
  const file = openSync(turnPath(folder, number), 'a+', 0o600);
  const { size } = fstatSync(file);
  const last = Buffer.alloc(1);
  if (size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a) writeSync(file, '\n');
  return writerFor(file, number);
}

function writerFor(file: number, number: number): TurnWriter {
  let isOpen = true;
  return {
    number,
    append: (line) => {
      // One call a line: what a full disk cuts off is a torn end, which a reader leaves out.
      const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
      if (writeSync(file, bytes) < bytes.length) {
        writeSync(file, '\n');
        throw new Error('the disk is full');
      }
    },
    close: () => {
      if (isOpen) closeSync(file);
      isOpen = false;
    },
  };
}

/** In rising order. */
export function turnNumbers(folder: string): number[] {
  return namesIn(folder)
    .flatMap((name) => NAME.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
}

export function turnPath(folder: string, number: number): string {
  return join(folder, `${String(number).padStart(6, '0')}.jsonl`);
}

/** All turns that can be read, oldest first. */
export function readTurns(folder: string): readonly Turn[] {
  return turnNumbers(folder).flatMap((number) => readTurn(folder, number) ?? []);
}

/** Undefined where there is no such turn, or nothing of it can be read. */
export function readTurn(folder: string, number: number): Turn | undefined {
  let text: string;
  try {
    text = readFileSync(turnPath(folder, number), 'utf8');
  } catch {
    return undefined;
  }
  let header: TurnHeader | undefined;
  const changes: Change[] = [];
  const gaps: string[] = [];
  const open = new Map<number, CommandStart>();
  let hasEnded = false;
  for (const line of text.split('\n').flatMap(lineOf)) {
    if (line.type === 'turn') header = line;
    else if (line.type === 'change') changes.push(line);
    else if (line.type === 'gap') gaps.push(line.text);
    else if (line.type === 'command-start') open.set(line.id, line);
    else if (line.type === 'command-end') open.delete(line.id);
    else hasEnded = true;
  }
  return header && { ...header, number, changes, gaps, openCommands: [...open.values()], hasEnded };
}

/** A line that a crash or a full disk cut off is none. */
function lineOf(text: string): TurnLine | [] {
  if (text === '') return [];
  try {
    const read = turnLine.safeParse(JSON.parse(text));
    return read.success ? read.data : [];
  } catch {
    return [];
  }
}
