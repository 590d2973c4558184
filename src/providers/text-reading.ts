/**
 * The parts that calls written as text are made of: tags, JSON, bodies with an end tag. Each is read by a coroutine that
 * gets one character at a time, so that it does not matter how a stream is cut.
 */

/** Takes one character with each `yield`; the end of the text is told by a line break. */
export type Reading<Result> = Generator<undefined, Result, string>;

/** What is known of a block before its end. */
export type Progress = {
  name: string;
  /** Whether it has gone so far that it is meant as a call, and not only mentioned. */
  isCall: boolean;
  /** Whether the name of an offered tool is what makes it a call. */
  needsTool: boolean;
};

type Tag = { readonly attributes: ReadonlyMap<string, string>; readonly isClosed: boolean };

/** The rest of a tag behind its name; undefined where it is none. */
export function* readTag(progress: Progress): Reading<Tag | undefined> {
  const attributes = new Map<string, string>();
  let next = yield;
  if (!/[\s/>]/.test(next)) return undefined;
  for (;;) {
    next = yield* skipBlanks(next);
    if (next === '>') return { attributes, isClosed: false };
    if (next === '/') {
      next = yield;
      return next === '>' ? { attributes, isClosed: true } : undefined;
    }
    const [key, behind] = yield* readName(next);
    if (key === '' || (yield* skipBlanks(behind)) !== '=') return undefined;
    const [value, following] = yield* readValue(progress);
    attributes.set(key, value);
    if (key === 'name') progress.name = value;
    if (key === 'agent') progress.isCall = true;
    next = following;
  }
}

const CLOSING_QUOTES: Readonly<Record<string, string>> = { '"': '"', "'": "'", '“': '”“"', '‘': "’‘'" };

/** The value of an attribute, and the character behind it. JSON may have the very quotes in it that stand around it. */
function* readValue(progress: Progress): Reading<readonly [string, string]> {
  let next = yield* skipBlanks(yield);
  const quotes = CLOSING_QUOTES[next];
  if (quotes !== undefined) next = yield;
  let value = '';
  if (next === '{') {
    progress.isCall = true;
    value = yield* readJson(next);
    next = yield;
  }
  if (quotes === undefined) {
    for (; !/[\s/>]/.test(next); next = yield) value += next;
    return [value, next];
  }
  for (;;) {
    while (!quotes.includes(next)) {
      value += next;
      next = yield;
    }
    const quote = next;
    next = yield;
    if (/[\s/>]/.test(next)) return [value, next];
    value += quote;
  }
}

type Body = { readonly text: string; readonly unread: string };

/**
 * What stands before `closer`, which does not count inside a JSON string or a `<parameter=…>`. Undefined where another
 * block begins before it.
 */
export function* readBody(closer: string, progress: Progress): Reading<Body | undefined> {
  let text = '';
  let next = yield;
  for (; /\s/.test(next); next = yield) text += next;
  const isJson = /[{[`]/.test(next);
  progress.isCall ||= isJson;
  const json = createJsonScan();
  const closes = createMatcher(closer);
  const opensAnother = createMatcher('<tool_call');
  const opensFunction = createMatcher('<function=');
  const opensValue = createMatcher('<parameter=');
  const closesValue = createMatcher('</parameter>');
  let isInValue = false;
  for (;;) {
    text += next;
    if (isJson) json.take(next);
    else if (opensAnother(next) && !isInValue) return undefined;
    else if (opensFunction(next)) progress.isCall ||= text.trimStart() === '<function=';
    else if (opensValue(next)) {
      progress.isCall ||= text.trimStart() === '<parameter=';
      isInValue = progress.isCall;
    } else if (closesValue(next)) isInValue = false;
    const isCloser = closes(next) && !isInValue;
    if (isCloser && !json.isInString()) return { text: text.slice(0, -closer.length), unread: '' };
    next = yield;
    // Inside a string of valid JSON no line ends: the quotes are broken, and this is the end of the block.
    if (isCloser && next === '\n') return { text: text.slice(0, -closer.length), unread: next };
  }
}

/** A JSON object or list, from the bracket that it begins with to the one that closes it. */
export function* readJson(first: string): Reading<string> {
  const json = createJsonScan();
  let text = first;
  for (json.take(first); !json.isClosed(); ) {
    const next = yield;
    text += next;
    json.take(next);
  }
  return text;
}

export function* readName(first: string): Reading<readonly [string, string]> {
  let name = '';
  let next = first;
  for (; /[\w.-]/.test(next); next = yield) name += next;
  return [name, next];
}

export function* skipBlanks(first: string): Reading<string> {
  let next = first;
  while (/\s/.test(next)) next = yield;
  return next;
}

/** Follows brackets and double-quoted strings. A backslash covers the next character outside of strings, too: `{\"a\":1}`. */
function createJsonScan() {
  let depth = 0;
  let isInString = false;
  let isCovered = false;
  return {
    take: (next: string): void => {
      if (isCovered) isCovered = false;
      else if (next === '\\') isCovered = true;
      else if (next === '"') isInString = !isInString;
      else if (isInString) return;
      else if (next === '{' || next === '[') depth += 1;
      else if (next === '}' || next === ']') depth -= 1;
    },
    isInString: () => isInString,
    isClosed: () => depth === 0,
  };
}

/** True for the last character of each `word`, whose first one must not come again in it. */
function createMatcher(word: string): (next: string) => boolean {
  let length = 0;
  return (next) => {
    length = next === word[length] ? length + 1 : Number(next === word[0]);
    if (length < word.length) return false;
    length = 0;
    return true;
  };
}
