/** Takes apart ripgrep's JSON lines as they stream in, with bounded memory: a match holds the whole of its line. */

const MAX_LINE_CHARACTERS = 4_000_000; // Of JSON; a longer one is told of without its text.
const HEAD_CHARACTERS = 10_000; // Holds the path, which has at most 4,096 bytes.
const LINE_NUMBER = /\},"line_number":(\d+),/; // Quotes in the text are escaped, so this can't be part of it.
const OVERLAP_CHARACTERS = 64; // More than LINE_NUMBER needs, for one that falls on the border of two pieces.

export type HugeLine = { readonly head: string; readonly lineNumber: number | undefined };

export type JsonLineReader = {
  readonly onLine: (line: string) => Promise<void>;
  readonly onHugeLine: (line: HugeLine) => Promise<void>;
};

/** `push` takes text in pieces of any size; its promise resolves when the lines in it were handled, in order. */
export function createJsonLines(reader: JsonLineReader): { push(text: string): Promise<void> } {
  let pending = '';
  let huge: { readonly head: string; lineNumber: number | undefined } | undefined;
  let queue = Promise.resolve();

  async function take(text: string): Promise<void> {
    let rest = text;
    for (let newline = rest.indexOf('\n'); newline !== -1; newline = rest.indexOf('\n')) {
      add(rest.slice(0, newline));
      rest = rest.slice(newline + 1);
      const [line, hugeLine] = [pending, huge];
      pending = '';
      huge = undefined;
      await (hugeLine === undefined ? reader.onLine(line) : reader.onHugeLine(hugeLine));
    }
    add(rest);
  }

  function add(text: string): void {
    pending += text;
    if (huge === undefined && pending.length <= MAX_LINE_CHARACTERS) return;
    huge ??= { head: pending.slice(0, HEAD_CHARACTERS), lineNumber: undefined };
    const found = LINE_NUMBER.exec(pending)?.[1];
    if (found !== undefined) huge.lineNumber ??= Number(found);
    pending = pending.slice(-OVERLAP_CHARACTERS);
  }

  return {
    push(text) {
      queue = queue.then(() => take(text));
      return queue;
    },
  };
}
