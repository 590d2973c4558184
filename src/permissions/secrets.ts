/** Keeps known secrets out of child processes and out of everything that is shown, stored or sent. */
import { posix, win32 } from 'node:path';
import { redactPatterns } from './redact.js';

const PASSED = new Set(
  [
    'PATH HOME USER LOGNAME SHELL LANG TZ TMPDIR',
    // What programs on Windows do not start without.
    'SYSTEMROOT COMSPEC PATHEXT TEMP TMP USERPROFILE APPDATA LOCALAPPDATA',
  ].flatMap((names) => names.split(' ')),
);
const PASSED_FAMILIES = /^(?:LC_[A-Z]+|XDG_[A-Z]+_HOME)$/;

/** No pager and no password prompt may wait for somebody, and colours would only be stripped again. */
const SET = {
  CHATCLI: '1',
  GIT_PAGER: 'cat',
  GIT_TERMINAL_PROMPT: '0',
  NO_COLOR: '1',
  NO_UPDATE_NOTIFIER: '1',
  PAGER: 'cat',
  TERM: 'dumb',
  npm_config_update_notifier: 'false',
} as const;

/** What a name says of a secret, and of what makes programs load code: a pattern is not meant to reach it. */
const NEEDS_EXACT_NAME =
  /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|^(?:BASH_|ENV$|GIT_|LD_|DYLD_|NODE_OPTIONS$|RIPGREP_CONFIG_PATH$|CHATCLI_)/;

/**
 * The whole environment of child processes, made of ours: a list of names that are passed on, those that the user
 * added to it (`include`, also with `*`), and what we set. A key is passed on only where its very name was added.
 * Relative entries of `PATH` are dropped: they would let a workspace replace `ls`.
 */
export function childEnvironment(
  parent: Readonly<Record<string, string | undefined>>,
  options: { readonly platform?: NodeJS.Platform; readonly include?: readonly string[] } = {},
): Record<string, string> {
  const { platform = process.platform, include = [] } = options;
  // Windows writes `Path` and `SystemRoot`, and does not tell cases apart.
  const asKnown = (name: string) => (platform === 'win32' ? name.toUpperCase() : name);
  const added = new Set(include.map(asKnown));
  const patterns = include.filter((name) => name.includes('*')).map((name) => patternOf(asKnown(name)));
  const isAdded = (name: string, value: string) =>
    added.has(name) ||
    (patterns.some((pattern) => pattern.test(name)) &&
      !NEEDS_EXACT_NAME.test(name.toUpperCase()) &&
      redactPatterns(value) === value);

  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(parent)) {
    const known = asKnown(name);
    if (value === undefined) continue;
    if (!(PASSED.has(known) || PASSED_FAMILIES.test(known) || isAdded(known, value))) continue;
    environment[name] = known === 'PATH' ? absoluteEntries(value, platform) : value;
  }
  return { ...environment, ...SET };
}

/** `*` stands for any characters. */
function patternOf(name: string): RegExp {
  return new RegExp(`^${name.replace(/[()]/g, '\\$&').replace(/\*+/g, '.*')}$`, 's');
}

function absoluteEntries(path: string, platform: NodeJS.Platform): string {
  const { delimiter, isAbsolute } = platform === 'win32' ? win32 : posix;
  return path
    .split(delimiter)
    .filter((entry) => isAbsolute(entry))
    .join(delimiter);
}

const MARKER = '[redacted]';
const MIN_SECRET_CHARACTERS = 8; // shorter values stand in ordinary text too often.

export type Masker = {
  /** The text with every known value, also in its base64, URL and JSON spelling, replaced by `[redacted]`. */
  mask(text: string): string;
  /** The same for a text that comes in pieces, wherever a value is cut. */
  stream(): MaskStream;
};

export type MaskStream = {
  /** What can be passed on so far: all but an end that may be the start of a value. */
  push(text: string): string;
  /** The rest. */
  flush(): string;
};

/** A stretch of text that is to be replaced. */
type Span = { readonly start: number; readonly end: number };

export function createMasker(values: readonly string[]): Masker {
  const patterns = [...new Set(values.filter((value) => value.length >= MIN_SECRET_CHARACTERS).flatMap(spellingsOf))];
  const shortest = Math.min(...patterns.map((pattern) => pattern.length));
  return {
    mask: (text) => (text.length < shortest ? text : replaceSpans(text, findSpans(text, patterns), text.length).output),
    stream: () => createMaskStream(patterns),
  };
}

/**
 * A value as it may be written. Base64 looks different by where in a group of three bytes the value starts; of each
 * form only what the value alone decides is kept.
 */
function spellingsOf(value: string): string[] {
  const bytes = Buffer.from(value);
  const encoded = [0, 1, 2].flatMap((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const end = Math.floor(((offset + bytes.length) * 8) / 6);
    const core = text.slice(Math.ceil((offset * 8) / 6), end);
    return [core, core.replaceAll('+', '-').replaceAll('/', '_')];
  });
  const escaped = JSON.stringify(value).slice(1, -1);
  const whole = [bytes.toString('base64'), bytes.toString('base64url')];
  const url = encodeURIComponent(bytes.toString());
  const lowerUrl = url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  return [value, escaped, escaped.replaceAll('/', '\\/'), url, lowerUrl, ...whole, ...encoded];
}

/** Where values stand, in order; those that overlap are one. */
function findSpans(text: string, patterns: readonly string[]): Span[] {
  const found: Span[] = [];
  for (const pattern of patterns) {
    if (pattern.length > text.length) continue;
    for (let at = text.indexOf(pattern); at >= 0; at = text.indexOf(pattern, at + 1)) {
      found.push({ start: at, end: at + pattern.length });
    }
  }
  return mergeSpans(found);
}

function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = merged.at(-1);
    if (last !== undefined && span.start < last.end) {
      merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, span.end) };
    } else merged.push(span);
  }
  return merged;
}

/** The text up to `until` with its spans replaced, and how much behind `until` the last of them already covers. */
function replaceSpans(text: string, spans: readonly Span[], until: number, covered = 0) {
  let output = '';
  let at = 0;
  for (const span of spans) {
    if (span.start >= until) break;
    output += text.slice(at, span.start);
    // What is covered at the start got its marker with the piece before.
    if (span.start > 0 || covered === 0) output += MARKER;
    at = span.end;
  }
  return { output: output + text.slice(at, Math.max(at, until)), covered: Math.max(0, at - until) };
}

function createMaskStream(patterns: readonly string[]): MaskStream {
  const longest = Math.max(0, ...patterns.map((pattern) => pattern.length));
  const byFirst = new Map<string, string[]>();
  for (const pattern of patterns) byFirst.set(pattern.charAt(0), [...(byFirst.get(pattern.charAt(0)) ?? []), pattern]);
  // The end that was held back, always shorter than the longest pattern, and how much of its start is replaced already.
  let carry = '';
  let covered = 0;

  /** Where the longest end of `text` begins that may be the start of a value. */
  const holdFrom = (text: string): number => {
    for (let at = Math.max(0, text.length - longest + 1); at < text.length; at++) {
      const length = text.length - at;
      const mayBe = byFirst.get(text.charAt(at));
      if (mayBe?.some((pattern) => pattern.length > length && text.startsWith(pattern.slice(0, length), at))) return at;
    }
    return text.length;
  };

  const take = (text: string, holdFrom: (text: string) => number): string => {
    const whole = carry + text;
    const until = holdFrom(whole);
    const spans = findSpans(whole, patterns);
    const done = replaceSpans(
      whole,
      covered > 0 ? mergeSpans([{ start: 0, end: covered }, ...spans]) : spans,
      until,
      covered,
    );
    carry = whole.slice(until);
    covered = done.covered;
    return done.output;
  };
  return { push: (text) => take(text, holdFrom), flush: () => take('', (text) => text.length) };
}
