/**
 * Follows Markdown as it streams, to tell what is said from what is shown: code in fences, in a line or indented, and
 * quoted lines are examples. The rules are CommonMark's (https://spec.commonmark.org/0.31.2/), with fences indented at will.
 */

export type CodeTracker = {
  /** Takes text without any of the `MARKS`. */
  text(text: string): void;
  /** Takes one of the `MARKS`. */
  mark(mark: string): void;
  /** Whether the character that comes next is said and not shown. */
  isSaid(next: string): boolean;
  /** Whether nothing but blanks is on the line so far. */
  isLineStart(): boolean;
};

/** The characters on which anything can change. */
export const MARKS = '<[`~>\n';

const FENCE_LENGTH = 3;
const CODE_INDENT = 4;

type Run = { readonly mark: string; length: number; readonly atLineStart: boolean };

type Place =
  | { readonly kind: 'plain' }
  /** Between two runs of backticks of the same length. */
  | { readonly kind: 'code'; readonly length: number }
  /** `isOpening`: on its first line; `isClosing`: behind what may be its end. */
  | {
      readonly kind: 'fence';
      readonly mark: string;
      readonly length: number;
      readonly isOpening?: true;
      readonly isClosing?: true;
    };

const PLAIN: Place = { kind: 'plain' };

/** A tracker for one text, from its first character. The work for a character does not grow with what came before. */
export function createCodeTracker(): CodeTracker {
  let place: Place = PLAIN;
  let isBlankLine = true;
  let isQuote = false;
  /** Columns of blanks before the first other character of the line. */
  let indent = 0;
  /** Behind an empty line or other indented code: a line of a paragraph may be indented at will. */
  let mayBeIndented = true;
  /** Backticks or tildes that may go on. */
  let run: Run | undefined;

  function settle(): void {
    if (run === undefined) return;
    const { mark, length, atLineStart } = run;
    run = undefined;
    const isFence = atLineStart && length >= FENCE_LENGTH;
    if (place.kind === 'fence') settleInFence(place, mark, length, isFence);
    else if (place.kind === 'code') place = mark === '`' && length === place.length ? PLAIN : place;
    else if (isFence) place = { kind: 'fence', mark, length, isOpening: true };
    else if (mark === '`') place = { kind: 'code', length };
  }

  function settleInFence(fence: Extract<Place, { kind: 'fence' }>, mark: string, length: number, isFence: boolean) {
    // Backticks behind opening ones on the same line: that was code in a line.
    if (fence.isOpening && fence.mark === '`' && mark === '`')
      place = length === fence.length ? PLAIN : { kind: 'code', length: fence.length };
    else if (isFence && !fence.isOpening && mark === fence.mark && length >= fence.length)
      place = { ...fence, isClosing: true };
  }

  function isIndentedCode(): boolean {
    return mayBeIndented && indent >= CODE_INDENT;
  }

  function endLine(): void {
    mayBeIndented = isBlankLine || isIndentedCode();
    indent = 0;
    // Code in a line may go on in the next, but not over an empty one.
    if (place.kind === 'code' && isBlankLine) place = PLAIN;
    if (place.kind === 'fence') place = place.isClosing ? PLAIN : { ...place, isOpening: undefined };
    isBlankLine = true;
    isQuote = false;
  }

  function occupy(): void {
    isBlankLine = false;
    if (place.kind === 'fence' && place.isClosing) place = { ...place, isClosing: undefined };
  }

  return {
    text: (text) => {
      if (text === '') return;
      settle();
      if (isBlankLine) indent = indentAfter(indent, text);
      if (/[^ \t\r]/.test(text)) occupy();
    },
    mark: (mark) => {
      if (run?.mark === mark) {
        run.length += 1;
        return;
      }
      settle();
      if (mark === '\n') return endLine();
      if (mark === '>' && isBlankLine && place.kind === 'plain') isQuote = true;
      if (mark === '`' || mark === '~') run = { mark, length: 1, atLineStart: isBlankLine };
      occupy();
    },
    isSaid: (next) => {
      if (run?.mark !== next) settle();
      return place.kind === 'plain' && run === undefined && !isQuote && !isIndentedCode();
    },
    isLineStart: () => isBlankLine,
  };
}

/** The columns that blanks at the beginning of `text` reach, from the column `indent`. */
function indentAfter(indent: number, text: string): number {
  let columns = indent;
  for (const char of text) {
    if (char === '\t') columns += CODE_INDENT - (columns % CODE_INDENT);
    else if (char === ' ') columns += 1;
    else break;
  }
  return columns;
}
