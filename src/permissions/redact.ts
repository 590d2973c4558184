/**
 * Takes what looks like a key out of texts that are stored: logs, telemetry, errors. What is known to be secret is
 * secrets.ts's; this knows forms only. Time grows with the length of the text alone.
 */
import type { MaskStream } from './secrets.js';

type Kind =
  | 'api-key'
  | 'github-token'
  | 'aws-key'
  | 'google-key'
  | 'slack-token'
  | 'token'
  | 'jwt'
  | 'password'
  | 'authorization'
  | 'private-key';

/** A stretch that is to be replaced; `from` is where what tells it begins. */
type Span = { readonly from: number; readonly start: number; readonly end: number; readonly kind: Kind };

/** The text with `[redacted:kind]` in place of each part that has the form of a key, password or token. */
export function redactPatterns(text: string): string {
  return replaced(text, spansIn(text), 0, text.length);
}

// A token begins where no other word goes on; in JSON that is also behind an escape, such as \n.
const BEGINS = /(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4}))/;

/** Each form says by its beginning what it is. None can be read in two ways, so that no text makes it try many. */
const TOKENS: readonly (readonly [Kind, RegExp])[] = [
  // Words joined by hyphens, such as sk-fading-circle, have no digit.
  ['api-key', /sk-(?=[A-Za-z_-]{0,200}\d)[A-Za-z0-9_-]{16,}/],
  ['api-key', /(?:gsk_|xai-|hf_|[sr]k_live_)[A-Za-z0-9]{20,}/],
  ['github-token', /(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})/],
  ['aws-key', /(?:AKIA|ASIA)[A-Z0-9]{16,}/],
  ['google-key', /AIza[A-Za-z0-9_-]{30,}/],
  ['slack-token', /(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}/],
  ['token', /(?:pypi-[A-Za-z0-9_-]{40,}|ya29\.[A-Za-z0-9_-]{20,}|glpat-[A-Za-z0-9_-]{20,}|npm_[A-Za-z0-9]{30,})/],
  ['jwt', /eyJ[A-Za-z0-9_-]{8,2048}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/],
];
const TOKEN = new RegExp(`${BEGINS.source}(?:${TOKENS.map(([, form]) => `(${form.source})`).join('|')})`, 'g');

/** The first group stays, the second goes. */
const BEHIND: readonly (readonly [Kind, RegExp])[] = [
  ['password', /(:\/\/[^\s/@:"'<>\\]{0,256}:)([^\s/?#"'<>\\]{1,512})@/g],
  [
    'authorization',
    /(authorization(?:\\?["'])?[ \t]{0,8}[:=][ \t]{0,8}\[?(?:\\?["'])?)((?![ \t]|\[?redacted:)[^\r\n"'\\]+)/gi,
  ],
];

const KEY_BEGINS = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
const KEY_ENDS = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/;
/** What a key consists of, also as a text in code or JSON. The longest in use are half as long. */
const KEY_BODY = /[A-Za-z0-9+/=\s\\:,.()"'-]{0,32768}/y;

/** In order, none overlapping another. */
function spansIn(text: string): readonly Span[] {
  const tokens = [...text.matchAll(TOKEN)].map((match): Span => {
    const form = match.slice(1).findIndex((group) => group !== undefined);
    const { index } = match;
    return { from: index, start: index, end: index + match[0].length, kind: TOKENS[form]?.[0] ?? 'token' };
  });
  const behind = BEHIND.flatMap(([kind, pattern]) =>
    [...text.matchAll(pattern)].map(({ index, 1: before = '', 2: value = '' }): Span => {
      const start = index + before.length;
      return { from: index, start, end: start + value.length, kind };
    }),
  );
  const spans = [...behind, ...keysIn(text), ...tokens].sort(
    (one, other) => one.start - other.start || other.end - one.end,
  );
  const merged: Span[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (last === undefined || span.start >= last.end) merged.push(span);
    else {
      const longer = span.end > last.end ? span : last;
      merged[merged.length - 1] = { ...longer, start: last.start, from: Math.min(last.from, span.from) };
    }
  }
  return merged;
}

/** Private keys, up to their last line, or as far as they are there. */
function keysIn(text: string): readonly Span[] {
  const spans: Span[] = [];
  for (const { index, 0: begin } of text.matchAll(KEY_BEGINS)) {
    if (index < (spans.at(-1)?.end ?? 0)) continue;
    KEY_BODY.lastIndex = index + begin.length;
    const [body = ''] = KEY_BODY.exec(text) ?? [];
    const end = KEY_ENDS.exec(body);
    const length = end === null ? body.length : end.index + end[0].length;
    spans.push({ from: index, start: index, end: index + begin.length + length, kind: 'private-key' });
  }
  return spans;
}

function replaced(text: string, spans: readonly Span[], from: number, until: number): string {
  let output = '';
  let at = from;
  for (const { start, end, kind } of spans) {
    if (start < from || start >= until) continue;
    output += `${text.slice(at, start)}[redacted:${kind}]`;
    at = end;
  }
  return output + text.slice(at, Math.max(at, until));
}

/** Longer than what any form needs before it is known whether it is one. */
const HELD_CHARACTERS = 4096;
/** A token that goes on for so long is replaced before its end is there. */
const OPEN_AT_MOST = 64 * 1024;
/** What stands before a beginning and decides whether it is one. */
const CONTEXT_CHARACTERS = 6;

/** What an endless token goes on with. */
const GOES_ON: Readonly<Partial<Record<Kind, RegExp>>> = { authorization: /^[^\r\n"'\\]*/ };
const TOKEN_GOES_ON = /^[A-Za-z0-9_.-]*/;

/** The same for a text that comes in pieces, wherever it is cut: an end of some kB is held back. */
export function redactStream(): MaskStream {
  let context = '';
  let held = '';
  let tried = 0;
  let swallowing: RegExp | undefined;

  function swallow(): void {
    if (swallowing === undefined) return;
    const [gone = ''] = swallowing.exec(held) ?? [];
    if (gone.length < held.length) swallowing = undefined;
    held = held.slice(gone.length);
  }

  function release(isEnd: boolean): string {
    const text = context + held;
    const spans = spansIn(text);
    let until = isEnd ? text.length : Math.max(context.length, text.length - HELD_CHARACTERS);
    // What goes on behind the border, or may, is held as a whole.
    const across = () => (isEnd ? undefined : spans.find(({ from, end }) => from < until && end >= until));
    let open: Span | undefined;
    for (let span = across(); span !== undefined && until > context.length; span = across()) {
      open = span;
      until = Math.max(context.length, span.from);
    }
    let output = replaced(text, spans, context.length, until);
    held = text.slice(until);
    context = text.slice(Math.max(0, until - CONTEXT_CHARACTERS), until);
    if (open?.end === text.length && held.length > OPEN_AT_MOST) {
      output += `[redacted:${open.kind}]`;
      swallowing = GOES_ON[open.kind] ?? TOKEN_GOES_ON;
      context = held.slice(-CONTEXT_CHARACTERS);
      held = '';
    }
    tried = held.length;
    return output;
  }

  return {
    push: (piece) => {
      held += piece;
      swallow();
      // Not at every letter: the held end is looked at again each time.
      return held.length - tried < HELD_CHARACTERS ? '' : release(false);
    },
    flush: () => {
      const output = release(true);
      [context, held, tried, swallowing] = ['', '', 0, undefined];
      return output;
    },
  };
}
