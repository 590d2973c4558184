/** Gathers the hits that ripgrep reports. */
import * as z from 'zod';
import { showBytes } from '../text-file.js';
import type { JsonLineReader } from './json-lines.js';
import { clipLine, type FileHits, type Found, type FoundLine, type Search } from './search.js';

/** Text, or bytes in base64 where they are not UTF-8. */
const anyText = z.union([z.object({ text: z.string() }), z.object({ bytes: z.string() })]);
const lineData = z.object({
  lines: anyText,
  line_number: z.number(),
  submatches: z.array(z.object({ start: z.number() })),
});
const ripgrepEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('begin'), data: z.object({ path: anyText }) }),
  z.object({ type: z.literal('match'), data: lineData }),
  z.object({ type: z.literal('context'), data: lineData }),
  z.object({ type: z.literal('end'), data: z.object({ binary_offset: z.number().nullable() }) }),
  z.object({ type: z.literal('summary') }),
]);
type AnyText = z.output<typeof anyText>;

/** `stop` is called once there are enough hits. */
export function createCollector(
  search: Search,
  stop: () => void,
): JsonLineReader & { finish(notes: readonly string[]): Found } {
  const files: FileHits[] = [];
  let current: { readonly path: string; readonly lines: FoundLine[] } | undefined;
  let matches = 0;
  let isCut = false;

  async function begin(path: AnyText): Promise<void> {
    // A name that is not UTF-8 can't be given to any other tool either.
    current = 'text' in path && (await search.wants(path.text)) ? { path: path.text, lines: [] } : undefined;
  }

  function add(line: FoundLine): void {
    if (current === undefined || isCut) return;
    if (line.isMatch && matches === search.maxResults) {
      isCut = true;
      endFile();
      stop();
      return;
    }
    if (line.isMatch) matches++;
    current.lines.push(line);
  }

  /** Lines in front of a match that is not shown any more are left out. */
  function endFile(): void {
    if (current === undefined) return;
    const last = current.lines.findLast(({ isMatch }) => isMatch)?.number;
    const lines = current.lines.filter(({ number }) => last !== undefined && number <= last + search.contextLines);
    if (lines.length > 0) files.push({ path: current.path, lines });
    current = undefined;
  }

  function dropFile(): void {
    matches -= current?.lines.filter(({ isMatch }) => isMatch).length ?? 0;
    current = undefined;
  }

  return {
    async onLine(line) {
      // Between files, and in one that is not wanted, only the next file counts.
      if (isCut || (current === undefined && !line.startsWith('{"type":"begin"'))) return;
      const seen = ripgrepEvent.parse(JSON.parse(line));
      switch (seen.type) {
        case 'begin':
          return begin(seen.data.path);
        case 'match':
        case 'context':
          return add(foundLine(seen.data, seen.type === 'match'));
        case 'end':
          return seen.data.binary_offset === null ? endFile() : dropFile();
        case 'summary':
          return;
        default:
          return seen satisfies never;
      }
    },
    async onHugeLine({ head, lineNumber }) {
      add({ number: lineNumber ?? 0, text: '(a line of several MB)', isMatch: head.startsWith('{"type":"match"') });
    },
    finish(notes) {
      endFile();
      return { files, isCut, notes };
    },
  };
}

function foundLine({ lines, line_number, submatches }: z.output<typeof lineData>, isMatch: boolean): FoundLine {
  const text = ('text' in lines ? lines.text : showBytes(Buffer.from(lines.bytes, 'base64'))).replace(/\r?\n$/, '');
  // Ripgrep counts bytes. In a short line nobody needs to know.
  const column =
    text.length < 300
      ? 0
      : Buffer.from(text)
          .subarray(0, submatches[0]?.start ?? 0)
          .toString().length;
  return { number: line_number, text: clipLine(text, column), isMatch };
}
