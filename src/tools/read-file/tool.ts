/** Reads files line by line, with memory that does not grow with the file. */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import * as z from 'zod';
import { createLineSplitter } from '../line-splitter.js';
import { missingFile } from '../near-names.js';
import { wideEncoding } from '../text-file.js';
import { defineTool, type ToolContext, ToolFailure, type ToolOutput } from '../types.js';
import { wholeNumber } from '../whole-number.js';
import type { Location } from '../workspace.js';
import { createPage, MAX_LINE_BYTES, type Page } from './page.js';
import doc from './tool.md';

const DEFAULT_LINES = 2000;
/** Up to this size a file is read to its end, to tell how many lines there are and what its content was. */
const WHOLE_READ_BYTES = 10_000_000;
const CHUNK_BYTES = 256 * 1024;

const schema = z.object({
  path: z.string(),
  offset: wholeNumber(1).optional(),
  limit: wholeNumber(1).optional(),
});

export const readFileTool = defineTool({
  name: 'read_file',
  doc,
  permission: 'read',
  concurrency: 'parallel',
  schema,
  subjects: ({ path }) => [{ kind: 'path', path }],
  async run({ path, offset = 1, limit = DEFAULT_LINES }, context): Promise<ToolOutput> {
    const location = await context.workspace.locate(path);
    if (!location.exists) throw await missingFile(location);
    const handle = await context.workspace.open(location);
    try {
      return present(location, await readPage(handle, location, { offset, limit }, context));
    } finally {
      await handle.close();
    }
  },
});

type Range = { readonly offset: number; readonly limit: number };

type Seen = {
  readonly page: Page;
  readonly offset: number;
  readonly sizeBytes: number;
  readonly encoding: string;
  /** Lines in the file; undefined where its end was not looked for. */
  readonly total: number | undefined;
};

async function readPage(handle: FileHandle, location: Location, range: Range, context: ToolContext): Promise<Seen> {
  const { size } = await handle.stat();
  const wide = await wideEncodingOf(handle, location);
  const decoder = wide === undefined ? undefined : new TextDecoder(wide);
  const splitter = createLineSplitter({ firstLine: range.offset, maxLineBytes: MAX_LINE_BYTES });
  const page = createPage(range.limit);
  const hash = createHash('sha256');
  const isSmall = size <= WHOLE_READ_BYTES;
  let isWhole = true;
  for await (const chunk of handle.createReadStream({ start: 0, highWaterMark: CHUNK_BYTES, autoClose: false })) {
    context.signal.throwIfAborted();
    const bytes: Buffer = chunk;
    if (isSmall) hash.update(bytes);
    if (decoder === undefined && bytes.includes(0)) throw binary(location, size);
    const text = decoder === undefined ? bytes : Buffer.from(decoder.decode(bytes, { stream: true }));
    splitter.push(text).forEach(page.add);
    isWhole = isSmall || !page.isFull();
    if (!isWhole) break;
  }
  const last = isWhole ? splitter.finish() : undefined;
  if (last !== undefined) page.add(last);
  context.workspace.remember(location, isSmall ? hash.digest('hex') : undefined);
  const total = isWhole ? splitter.lineCount() : undefined;
  return { page, offset: range.offset, sizeBytes: size, encoding: wide ?? 'UTF-8', total };
}

async function wideEncodingOf(handle: FileHandle, { shown }: Location): Promise<'UTF-16LE' | 'UTF-16BE' | undefined> {
  const head = Buffer.alloc(4);
  const { bytesRead } = await handle.read(head, 0, head.length, 0);
  const wide = wideEncoding(head.subarray(0, bytesRead));
  if (wide === 'UTF-32LE' || wide === 'UTF-32BE') {
    throw new ToolFailure(
      'unsupported-encoding',
      `${shown} is ${wide} text. Convert it with a shell command, e.g. iconv.`,
    );
  }
  return wide;
}

function binary({ shown }: Location, sizeBytes: number): ToolFailure {
  return new ToolFailure('binary', `${shown} is a binary file of ${sizeBytes} bytes, so it was not read as text.`);
}

function present({ shown }: Location, { page, offset, sizeBytes, encoding, total }: Seen): ToolOutput {
  if (total === 0) return { ok: true, output: `${shown} is empty.`, display: { kind: 'lines', lines: ['empty'] } };
  if (page.lines.length === 0) {
    const lines = total === 1 ? '1 line' : `${total} lines`;
    throw new ToolFailure('past-end', `Line ${offset} is behind the end: ${shown} has ${lines}.`);
  }
  const last = offset + page.lines.length - 1;
  const range = `lines ${offset}-${last}`;
  const notes = [
    ...(total === undefined
      ? [`This is ${range} of a file of ${sizeBytes} bytes. Go on with offset ${last + 1}.`]
      : []),
    ...(total !== undefined && last < total ? [`This is ${range} of ${total}. Go on with offset ${last + 1}.`] : []),
    ...(total === last && offset > 1 ? [`This is ${range}, the end of the file.`] : []),
    ...(encoding === 'UTF-8' ? [] : [`The file is ${encoding}; edit_file can't change it.`]),
    ...page.notes(shown),
  ];
  return {
    ok: true,
    output: [...page.lines, ...notes.map((note) => `[${note}]`)].join('\n'),
    display: { kind: 'lines', lines: [total === undefined ? range : `${range} of ${total}`] },
  };
}
