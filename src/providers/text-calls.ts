/**
 * Tells the tool calls in a model's text from the text, as it streams. Text comes out at once; held back is only what
 * may be, or is, the block of a call. What stands in code, quotes, thoughts or what the model shows as a result is an
 * example and stays text, and so does what it repeats from elsewhere.
 */
import type { ToolCall } from '../kernel/types.js';
import { createCodeTracker, MARKS } from './text-code.js';
import { FENCE, FORMS, type Form, type Found, fencedCall, nameIn, type WrittenCall } from './text-forms.js';
import type { Progress, Reading } from './text-reading.js';

/** What a reply is made of. The `id` of a call is empty; where its arguments can't be read, they are the block itself. */
export type Piece =
  | { readonly type: 'text'; readonly text: string }
  /** `block` is what the calls were written as. */
  | { readonly type: 'calls'; readonly calls: readonly ToolCall[]; readonly block: string };

export type CallReader = {
  push(text: string): readonly Piece[];
  /** The rest, after the last `push`. */
  end(): readonly Piece[];
};

export type Offer = {
  readonly names: ReadonlySet<string>;
  /**
   * Whether the model was told to write its calls into the text: then a fence of JSON may be one, a block with an unknown
   * name is one, and what it makes up as the result of a call is left out, with all that follows.
   */
  readonly isTaught: boolean;
  /** Whether a whole block only repeats what the model was given to read. Absent: none does. */
  readonly isQuoted?: (block: string) => boolean;
};

type Block = { held: string; readonly reading: Reading<Found>; readonly progress: Progress };

/** How far a block may go before it is clear that it is a call. Prose that mentions one is held back no longer. */
const MENTION_LIMIT_CHARS = 2_000;

const THOUGHT_STARTS = ['<think>', '<thinking>'];
const THOUGHT_ENDS: readonly string[] = ['</think>', '</thinking>'];
/** Left over behind a block that was whole without them. */
const STRAY_ENDS = ['</tool_call>', '</agent_call>', '</function>'];
const RESULT = '<tool_result';
const RESULT_ENDS: readonly string[] = ['</tool_result>'];

const SPECIAL = new RegExp(`[${MARKS.replace('[', '\\[')}]`, 'g');

/** A reader for one reply. The work for a character does not grow with what came before. */
export function createCallReader({ names, isTaught, isQuoted = () => false }: Offer): CallReader {
  const tracker = createCodeTracker();
  const starts = [...Object.keys(FORMS), ...STRAY_ENDS, ...THOUGHT_STARTS, RESULT, ...(isTaught ? [FENCE] : [])];
  let pieces: Piece[] = [];
  /** The beginning of what may be a block, a thought or an end. */
  let start = '';
  let block: Block | undefined;
  /** What ends the thought or the result that this is in. */
  let ends: readonly string[] | undefined;
  let isOver = false;
  let hasCalls = false;
  /** Blanks behind a block: shown only if more text follows. */
  let gap: string | undefined;

  function say(text: string): void {
    let shown = text;
    if (gap !== undefined) {
      const isBlank = text.trim() === '';
      shown = isBlank ? '' : gap + text;
      gap = isBlank ? gap + text : undefined;
    }
    const last = pieces.at(-1);
    if (last?.type === 'text') pieces[pieces.length - 1] = { type: 'text', text: last.text + shown };
    else if (shown !== '') pieces.push({ type: 'text', text: shown });
  }

  function track(text: string): void {
    if (ends === undefined) for (const char of text) MARKS.includes(char) ? tracker.mark(char) : tracker.text(char);
  }

  /** Takes text that holds no block. */
  function pass(text: string): void {
    track(text);
    say(text);
  }

  function scan(text: string): void {
    let at = 0;
    while (at < text.length && !isOver) {
      if (start === '' && block === undefined) at = scanText(text, at);
      const char = text[at];
      if (char === undefined) return;
      if (block !== undefined) read(block, char);
      else extend(char);
      at += 1;
    }
  }

  /** Says the text from `from` to where something may start; gives back the place behind that. */
  function scanText(text: string, from: number): number {
    for (let at = from; ; at += 1) {
      SPECIAL.lastIndex = at;
      const next = SPECIAL.exec(text)?.index ?? text.length;
      const char = text[next];
      if (ends === undefined) tracker.text(text.slice(at, next));
      at = next;
      if (char === undefined || mayStart(char)) {
        say(text.slice(from, next));
        start = char ?? '';
        return next + 1;
      }
      if (ends === undefined) tracker.mark(char);
    }
  }

  function mayStart(char: string): boolean {
    if (ends !== undefined) return char === '<';
    if (char === '`') return isTaught && tracker.isLineStart() && tracker.isSaid('');
    return (char === '<' || char === '[') && tracker.isSaid(char);
  }

  function extend(char: string): void {
    const longer = start + char;
    const wanted = ends ?? starts;
    if (wanted.includes(longer)) {
      start = '';
      begin(longer);
    } else if (wanted.some((word) => word.startsWith(longer))) {
      start = longer;
    } else {
      const text = start;
      start = '';
      pass(text);
      scan(char);
    }
  }

  function begin(word: string): void {
    const form: Form | undefined = word === FENCE ? fencedCall : FORMS[word];
    if (form !== undefined) open(word, form);
    else if (word === RESULT && isTaught && hasCalls) isOver = true;
    else if (!(STRAY_ENDS.includes(word) && hasCalls)) {
      if (word === RESULT) ends = RESULT_ENDS;
      else ends = THOUGHT_STARTS.includes(word) && tracker.isLineStart() ? THOUGHT_ENDS : undefined;
      pass(word);
    }
  }

  function open(word: string, form: Form): void {
    const progress = { name: '', isCall: false, needsTool: false };
    const reading = form(progress);
    reading.next();
    block = { held: word, reading, progress };
  }

  function read(open: Block, char: string): void {
    open.held += char;
    const step = open.reading.next(char);
    if (step.done) close(open, step.value);
    else if (isHopeless(open)) close(open, undefined);
  }

  function isHopeless({ held, progress }: Block): boolean {
    if (progress.isCall) return progress.name !== '' && !mayCall(progress.name, progress);
    return held.length > MENTION_LIMIT_CHARS;
  }

  function mayCall(name: string, { needsTool }: Progress): boolean {
    return names.has(offeredName(name)) || (isTaught && !needsTool);
  }

  /** Some models write names in another case than they were given. */
  function offeredName(name: string): string {
    if (names.has(name)) return name;
    const [only, ...others] = [...names].filter((each) => each.toLowerCase() === name.toLowerCase());
    return only !== undefined && others.length === 0 ? only : name;
  }

  function areCalls(calls: readonly WrittenCall[], progress: Progress, text: string): boolean {
    return calls.some(({ name }) => mayCall(name, progress)) && !isQuoted(text);
  }

  function close({ held, progress }: Block, found: Found): void {
    block = undefined;
    if (found === undefined) {
      // No block: its first character is text, and the rest may hold one.
      pass(held.slice(0, 1));
      scan(held.slice(1));
      return;
    }
    const { calls, unread = '' } = found;
    const text = unread === '' ? held : held.slice(0, -unread.length);
    if (areCalls(calls, progress, text)) give(calls, text);
    else pass(text);
    scan(unread);
  }

  function give(calls: readonly WrittenCall[], text: string): void {
    hasCalls = true;
    gap = '';
    pieces.push({
      type: 'calls',
      calls: calls.map(({ name, arguments: args = text }) => ({ id: '', name: offeredName(name), arguments: args })),
      block: text,
    });
  }

  function taken(): readonly Piece[] {
    const ready = pieces;
    pieces = [];
    return ready;
  }

  function finish(): void {
    const open = block;
    if (open === undefined) {
      say(start);
      return;
    }
    // The end of the text ends its last line, and so what can end there.
    const { done, value: found } = open.reading.next('\n');
    const { held, progress } = open;
    const calls = done ? (found?.calls ?? []) : progress.isCall ? [{ name: progress.name || nameIn(held) }] : [];
    if (areCalls(calls, progress, held)) give(calls, held);
    else say(held);
  }

  return {
    push: (text) => {
      scan(text);
      return taken();
    },
    end: () => {
      if (!isOver) finish();
      return taken();
    },
  };
}
