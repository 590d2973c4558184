/**
 * Takes control sequences and invisible characters out of text that others wrote, so that it can go to a terminal, a
 * session file and a model. Keeps its state from piece to piece: a sequence that is cut in two is still one.
 */

export type TextFilter = {
  push(text: string): string;
  /** The rest, at the end of the text; the filter then begins anew. */
  flush(): string;
};

/** A whole text at once. */
export function clean(text: string): string {
  const cleaner = createCleaner();
  return cleaner.push(text) + cleaner.flush();
}

/** Where in a control sequence the text stands. `string` is the payload of DCS, SOS, PM or APC, `osc` that of OSC. */
type Place = 'text' | 'escape' | 'intermediate' | 'csi' | 'osc' | 'string' | 'string-escape';

// A payload longer than this has lost its end, and what follows is text again. Titles and links have some hundred.
const MAX_PAYLOAD_CHARACTERS = 65_536;

// What does not pass as it is: C0 but for \n and \t, DEL, C1, marks of direction, zero-width characters, tags
// (U+E0000 to U+E007F, here by their two halves), and halves of a pair alone.
const SPECIAL =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]|\udb40[\udc00-\udc7f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** What begins where a special character stands, if not plain text. */
const OPENERS: ReadonlyMap<string, Place> = new Map([
  ['\x1b', 'escape'],
  ['\x9b', 'csi'],
  ['\x9d', 'osc'],
  ['\x90', 'string'],
  ['\x98', 'string'],
  ['\x9e', 'string'],
  ['\x9f', 'string'],
]);

/**
 * A cleaner for one stream. `\r\n` becomes `\n`, and so does a lone `\r`, unless `keepReturns`: then each `\r` stays,
 * for `createLineFolder`.
 */
export function createCleaner({ keepReturns = false } = {}): TextFilter {
  let place: Place = 'text';
  let payload = 0;
  /** A `\r` or the first half of a pair at the end of a piece, until it is known what follows. */
  let held = '';

  const push = (piece: string): string => {
    const text = held + piece;
    held = '';
    let output = '';
    let at = 0;
    while (at < text.length) {
      if (place !== 'text') {
        const step = advance(place, text.charAt(at));
        payload = step.place === place ? payload + 1 : 0;
        place = payload > MAX_PAYLOAD_CHARACTERS ? 'text' : step.place;
        at += step.taken ? 1 : 0;
        continue;
      }
      SPECIAL.lastIndex = at;
      const found = SPECIAL.exec(text);
      if (found === null) return output + text.slice(at);
      output += text.slice(at, found.index);
      at = found.index + found[0].length;
      const isLast = at === text.length;
      if (found[0] === '\r' && (keepReturns || !isLast)) output += keepReturns ? '\r' : text[at] === '\n' ? '' : '\n';
      else if (isLast && (found[0] === '\r' || /[\ud800-\udbff]$/.test(found[0]))) held = found[0];
      else place = OPENERS.get(found[0]) ?? 'text';
    }
    return output;
  };

  const flush = (): string => {
    const rest = held === '\r' ? '\n' : '';
    place = 'text';
    held = '';
    return rest;
  };
  return { push, flush };
}

/** One character inside a sequence: where it leads, and whether it belongs to the sequence (else it is text again). */
function advance(place: Exclude<Place, 'text'>, character: string): { readonly place: Place; readonly taken: boolean } {
  const isCancel = character === '\x18' || character === '\x1a';
  switch (place) {
    case 'escape':
      if (character === '[') return { place: 'csi', taken: true };
      if (character === ']') return { place: 'osc', taken: true };
      if (/[PX^_]/.test(character)) return { place: 'string', taken: true };
      return advance('intermediate', character);
    case 'intermediate':
      if (character === '\x1b') return { place: 'escape', taken: true };
      if (/[ -/]/.test(character)) return { place: 'intermediate', taken: true };
      return { place: 'text', taken: isCancel || /[0-~]/.test(character) };
    case 'csi':
      if (character === '\x1b') return { place: 'escape', taken: true };
      if (/[ -?]/.test(character)) return { place: 'csi', taken: true };
      return { place: 'text', taken: isCancel || /[@-~]/.test(character) };
    case 'osc':
    case 'string':
      if (character === '\x1b') return { place: 'string-escape', taken: true };
      // A payload of OSC is one line: what goes on behind it has lost its end, and must not hide what follows.
      if (place === 'osc' && character === '\n') return { place: 'text', taken: false };
      if (isCancel || character === '\x9c' || (place === 'osc' && character === '\x07'))
        return { place: 'text', taken: true };
      return { place, taken: true };
    case 'string-escape':
      return character === '\\' ? { place: 'text', taken: true } : { place: 'escape', taken: false };
    default:
      return place satisfies never;
  }
}

// A line longer than this is passed on in parts. What is kept of it is longer than any secret, so that one that is not
// whole yet is not passed on in two halves.
const MAX_LINE_CHARACTERS = 8_192;
const KEPT_CHARACTERS = 4_096;

export type LineFolder = TextFilter & {
  /** The line that has no end yet, as it stands, to be looked at only; without a last word that may be half a secret. */
  rest(): string;
};

const HALF_SECRET = /[\w+/=.~-]{8,}$/; // the characters and the length from which on a value counts as one.

/**
 * Leaves of a line that was overwritten by `\r`, as progress bars do, what stood there last. Gives whole lines, each
 * passed through `mask`, and the last one at `flush`.
 */
export function createLineFolder(mask: (text: string) => string = (text) => text): LineFolder {
  let line = '';
  const push = (text: string): string => {
    const whole = line + text;
    const end = whole.lastIndexOf('\n') + 1;
    line = lastOverwrite(whole.slice(end));
    const lines = whole.slice(0, end);
    const output = mask(lines.includes('\r') ? lines.split('\n').map(foldLine).join('\n') : lines);
    if (line.length <= MAX_LINE_CHARACTERS) return output;
    const masked = mask(foldLine(line));
    line = masked.slice(-KEPT_CHARACTERS);
    return output + masked.slice(0, -KEPT_CHARACTERS);
  };
  const flush = (): string => {
    const rest = mask(foldLine(line));
    line = '';
    return rest;
  };
  return { push, flush, rest: () => mask(foldLine(line)).replace(HALF_SECRET, '…') };
}

/** What stood last in a line. A `\r` at its end stays: nothing has overwritten the line yet. */
function lastOverwrite(line: string): string {
  const text = line.replace(/\r+$/, '');
  const last = text.slice(text.lastIndexOf('\r') + 1);
  return text.length === line.length ? last : `${last}\r`;
}

function foldLine(line: string): string {
  return lastOverwrite(line).replace(/\r$/, '');
}
