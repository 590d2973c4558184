/** Hits as text: a path, then its lines as `12:match` and `13-context`, as grep shows them. */
import type { ToolOutput } from '../types.js';
import { safeName } from '../walk.js';
import type { FileHits, Found, Search } from './search.js';

const MAX_OUTPUT_BYTES = 18_000; // About 5k tokens.
const SHOWN_TO_PEOPLE = 20;

export function presentHits({ files, isCut, notes }: Found, search: Search): ToolOutput {
  const count = files.reduce((sum, { lines }) => sum + lines.filter(({ isMatch }) => isMatch).length, 0);
  const remarks = notes.map((note) => `[${note}]`);
  if (count === 0) {
    const output = ['No matches.', ...remarks].join('\n');
    return { ok: true, output, display: { kind: 'lines', lines: ['no matches'] } };
  }
  const blocks = files.map((file) => block(file, search));
  const shown = withinBytes(blocks, MAX_OUTPUT_BYTES);
  const isShortened = shown.length < blocks.length || shown.at(-1) !== blocks.at(shown.length - 1);
  const summary = `${count}${isCut ? ' or more' : ''} matching ${count === 1 ? 'line' : 'lines'} in ${files.length} ${files.length === 1 ? 'file' : 'files'}`;
  const advice = 'narrow pattern, path or glob';
  const rest = [
    ...(isCut ? [`[Stopped at ${count} matching lines; ${advice}, or raise max_results.]`] : []),
    ...(isShortened ? [`[Only ${MAX_OUTPUT_BYTES / 1000} kB are shown; ${advice}.]`] : []),
  ];
  const lines = blocks.flatMap((text) => text.split('\n'));
  return {
    ok: true,
    output: [shown.join('\n\n'), '', `${summary}.`, ...rest, ...remarks].join('\n'),
    display: {
      kind: 'lines',
      lines: lines.slice(0, SHOWN_TO_PEOPLE),
      ...(lines.length > SHOWN_TO_PEOPLE && { omitted: lines.length - SHOWN_TO_PEOPLE }),
    },
  };
}

function block({ path, lines }: FileHits, search: Search): string {
  const shown: string[] = [safeName(search.show(path))];
  let last: number | undefined;
  for (const { number, text, isMatch } of lines) {
    if (search.contextLines > 0 && last !== undefined && number > last + 1) shown.push('--');
    shown.push(`${number}${isMatch ? ':' : '-'}${text}`);
    last = number;
  }
  return shown.join('\n');
}

/** The first blocks that fit, the last of them cut at a line. */
function withinBytes(blocks: readonly string[], maxBytes: number): readonly string[] {
  const kept: string[] = [];
  let room = maxBytes;
  for (const text of blocks) {
    const size = Buffer.byteLength(text) + 2;
    if (size <= room) {
      kept.push(text);
      room -= size;
      continue;
    }
    const lines: string[] = [];
    for (const line of text.split('\n')) {
      room -= Buffer.byteLength(line) + 1;
      if (room < 0) break;
      lines.push(line);
    }
    if (lines.length > 1) kept.push(lines.join('\n'));
    break;
  }
  return kept;
}
