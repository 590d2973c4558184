/**
 * Writes whole files. The content is written exactly as given, except for two things that a file keeps: its UTF-8 byte
 * order mark, and line ends that are all CRLF.
 */
import * as z from 'zod';
import type { Display } from '../../events/types.js';
import { changedSpan, diffDisplay, wholeDiff } from '../diff-display.js';
import { omissionLine } from '../omission.js';
import { decodeText, encodeText, hasLoneSurrogate, type TextFile, wideEncoding } from '../text-file.js';
import { defineTool, type ToolContext, ToolFailure, type ToolOutput } from '../types.js';
import { refuseUnseen } from '../unseen-change.js';
import type { Location, WriteOptions } from '../workspace.js';
import doc from './tool.md';

const MAX_COMPARED_BYTES = 10_000_000; // A larger old file is replaced without being looked at.
const MAX_COMPARED_LINES = 4000; // A change that spans more is told in numbers.

const schema = z.object({ path: z.string(), content: z.string() });

export const writeFileTool = defineTool({
  name: 'write_file',
  doc,
  permission: 'write',
  concurrency: 'path',
  schema,
  subjects: ({ path }) => [{ kind: 'path', path }],
  async preview({ path, content }, context) {
    const location = await context.workspace.locate(path);
    return (await planWrite(location, content, context)).preview();
  },
  async run({ path, content }, context) {
    const location = await context.workspace.locate(path);
    return context.workspace.lock(location.path, async () => {
      const { write, result } = await planWrite(location, content, context);
      if (write !== undefined) await context.workspace.write(location, write.bytes, write.options);
      return result;
    });
  },
});

type Plan = {
  /** Absent when the file has this content already. */
  readonly write?: { readonly bytes: Uint8Array; readonly options: WriteOptions };
  readonly result: ToolOutput;
  /** All of the change, for whoever has to agree to it. */
  readonly preview: () => Display | undefined;
};

/** Works out what would be written over what the file holds now; nothing is written. */
async function planWrite(location: Location, content: string, { workspace }: ToolContext): Promise<Plan> {
  const { shown } = location;
  refuseHalfCharacter(content);
  const known = workspace.knownHash(location);
  const before = location.exists ? await readBefore(location, workspace) : null;
  const old = before === null ? EMPTY : describeOld(before, shown);
  refuseOmission(content, old.text ?? '', shown, before !== null);

  const keepsCrlf = lineEndOf(old.text ?? '') === 'CRLF' && lineEndOf(content) === 'LF';
  const text = keepsCrlf ? content.replaceAll('\n', '\r\n') : content;
  const bom = old.bom && !text.startsWith('\ufeff');
  const bytes = encodeText({ encoding: 'utf-8', bom, text });
  if (before?.isWhole === true && bytes.equals(before.head)) {
    const output = `${shown} already has this content; nothing was written.`;
    return { result: { ok: true, output }, preview: () => undefined };
  }
  if (before?.isWhole === true) refuseUnseen(workspace, location, { known, bytes: before.head });
  const lines = countLines(text);
  const size = text === '' ? 'now empty' : `${counted(lines, 'line')}, ${counted(bytes.length, 'byte')}`;
  const notes = before === null ? [] : notesOn(old, text, keepsCrlf);
  const result: ToolOutput = {
    ok: true,
    output: [`${before === null ? 'Created' : 'Replaced'} ${shown} (${size}).`, ...notes].join(' '),
    display: displayOf(shown, old, text),
    touched: [shown],
  };
  return { write: { bytes, options: replaced(before) }, result, preview: () => previewOf(shown, old, text) };
}

/** A huge file was not read as a whole, so it can't be told whether it changed meanwhile. */
function replaced(before: Before | null): WriteOptions {
  if (before === null) return { replaces: null };
  return before.isWhole ? { replaces: before.head } : {};
}

function refuseHalfCharacter(content: string): void {
  if (!hasLoneSurrogate(content)) return;
  const message = 'content has half of a surrogate pair in it, which no file can hold.';
  throw new ToolFailure('unsupported-encoding', message);
}

type Before = { readonly head: Buffer; readonly isWhole: boolean };

/** What is there; of a huge file only the start. */
async function readBefore(location: Location, workspace: ToolContext['workspace']): Promise<Before> {
  try {
    return { head: await workspace.read(location, MAX_COMPARED_BYTES), isWhole: true };
  } catch (thrown) {
    if (!(thrown instanceof ToolFailure) || thrown.code !== 'too-large') throw thrown;
  }
  const handle = await workspace.open(location);
  try {
    const head = Buffer.alloc(4);
    const { bytesRead } = await handle.read(head, 0, head.length, 0);
    return { head: head.subarray(0, bytesRead), isWhole: false };
  } finally {
    await handle.close();
  }
}

/** `text` is undefined where the old content can't be shown as text. */
type Old = Pick<TextFile, 'bom'> & { readonly text: string | undefined; readonly encoding: string };
const EMPTY: Old = { bom: false, text: '', encoding: 'UTF-8' };

function describeOld({ head, isWhole }: Before, shown: string): Old {
  const wide = wideEncoding(head);
  if (wide !== undefined) return { bom: false, text: undefined, encoding: wide };
  try {
    const { bom, text, encoding } = decodeText(head, shown);
    return {
      bom,
      text: isWhole ? text : undefined,
      encoding: encoding === 'utf-8' || !isWhole ? 'UTF-8' : 'not UTF-8',
    };
  } catch (thrown) {
    if (thrown instanceof ToolFailure) return { bom: false, text: undefined, encoding: 'binary' };
    throw thrown;
  }
}

function refuseOmission(content: string, old: string, shown: string, exists: boolean): void {
  const line = exists ? omissionLine(content, old) : undefined;
  if (line === undefined) return;
  throw new ToolFailure(
    'placeholder',
    `content has the line ${JSON.stringify(line)}, which stands for text left out. Writing it would delete that text from ${shown}: give all of it, or use edit_file.`,
  );
}

/** What changed besides the words, which a diff by lines does not show. */
function notesOn(old: Old, content: string, keepsCrlf: boolean): readonly string[] {
  const notes: string[] = [];
  if (old.encoding !== 'UTF-8') notes.push(`It was ${old.encoding}; it is UTF-8 now.`);
  if (keepsCrlf) return [...notes, 'Its line ends stay CRLF.'];
  const [were, are] = [lineEndOf(old.text ?? ''), lineEndOf(content)];
  if (were !== undefined && are !== undefined && were !== are)
    notes.push(`Its line ends were ${were}; they are ${are} now.`);
  return notes;
}

function lineEndOf(text: string): string | undefined {
  const all = text.split('\n').length - 1;
  const crlf = text.split('\r\n').length - 1;
  if (all === 0) return undefined;
  return crlf === 0 ? 'LF' : crlf === all ? 'CRLF' : 'mixed';
}

function displayOf(shown: string, old: Old, content: string): Display {
  if (old.text !== undefined) {
    const span = changedSpan(old.text, content);
    const changedLines =
      countLines(old.text.slice(span.oldStart, span.oldEnd)) + countLines(content.slice(span.start, span.end));
    if (old.text === '' || changedLines <= MAX_COMPARED_LINES)
      return diffDisplay({ path: shown, before: old.text, after: content, spans: [span] });
  }
  return { kind: 'lines', lines: [inNumbers(shown, old, content)] };
}

function previewOf(shown: string, old: Old, content: string): Display {
  if (old.text === undefined)
    return { kind: 'lines', lines: [inNumbers(shown, old, content), ...content.replace(/\r?\n$/, '').split(/\r?\n/)] };
  return wholeDiff({ path: shown, before: old.text, after: content, spans: [changedSpan(old.text, content)] });
}

function inNumbers(shown: string, old: Old, content: string): string {
  const before = old.text === undefined ? old.encoding : counted(countLines(old.text), 'line');
  return `${shown}: ${before} before, ${counted(countLines(content), 'line')} now`;
}

function countLines(text: string): number {
  return text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
