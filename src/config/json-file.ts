/** Reads a JSON file of ours so that whatever is wrong in it can be told with file and line. Knows no setting. */
import type { Node, ParseError } from 'jsonc-parser';
import { ConfigError, messageOf } from '../errors.js';
import { boundedRead } from './bounded-read.js';

/** A value of the file, with the place where it stands. */
export type JsonValue = {
  readonly type: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';
  /** Plain data. Its maps have no prototype, so that `toString` and `__proto__` are keys like any others. */
  readonly data: unknown;
  /** `FILE:LINE`, from 1. */
  readonly at: string;
  /** Of an object; each key once. */
  readonly fields: readonly JsonField[];
  /** Of an array. */
  readonly items: readonly JsonValue[];
};

export type JsonField = { readonly key: string; readonly at: string; readonly value: JsonValue };

const MAX_BYTES = 1024 * 1024; // Thousands of rules; anything longer is another kind of file.

/**
 * The file's value; undefined where there is no such file.
 * @throws {ConfigError} with `FILE:LINE` where it is not valid JSON or has a key twice, and where it can't be read.
 */
export async function readJsonFile(file: string): Promise<JsonValue | undefined> {
  let text: string | undefined;
  try {
    text = await boundedRead(file, { maxBytes: MAX_BYTES });
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw new ConfigError(`Cannot read ${file}: ${messageOf(cause)}.`, { cause });
  }
  if (text === undefined) throw new ConfigError(`Cannot read ${file}: it is not a file of at most 1 MB.`);
  return parseJson(text.replace(/^\uFEFF/, ''), file);
}

/** @throws {ConfigError} as `readJsonFile`; `file` is only named. */
export async function parseJson(text: string, file: string): Promise<JsonValue> {
  // Most runs have no such file.
  const { getNodeValue, parseTree, printParseErrorCode } = await import('jsonc-parser');
  const at = placesIn(text, file);

  function toValue(node: Node): JsonValue {
    const { type, children = [] } = node;
    const fields = type === 'object' ? children.map(toField) : [];
    refuseTwice(fields);
    return {
      type: type as JsonValue['type'],
      get data() {
        return getNodeValue(node);
      },
      at: at(node.offset),
      fields,
      items: type === 'array' ? children.map(toValue) : [],
    };
  }
  function toField({ offset, children: [key, value] = [] }: Node): JsonField {
    if (key === undefined || value === undefined) throw new Error('a property without key or value passed the parser');
    return { key: String(key.value), at: at(offset), value: toValue(value) };
  }

  try {
    const errors: ParseError[] = [];
    const tree = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
    const [error] = errors;
    if (error !== undefined)
      throw new ConfigError(`${at(error.offset)}: not valid JSON (${printParseErrorCode(error.error)}).`);
    if (tree === undefined) throw new ConfigError(`${at(0)}: not valid JSON (it is empty).`);
    return toValue(tree);
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    throw new ConfigError(`${at(0)}: its lists and maps are nested too deeply.`, { cause: thrown });
  }
}

function refuseTwice(fields: readonly JsonField[]): void {
  const seen = new Set<string>();
  for (const { key, at } of fields) {
    if (seen.has(key)) throw new ConfigError(`${at}: the key "${key}" stands there twice.`);
    seen.add(key);
  }
}

/** Names the line of an offset. */
function placesIn(text: string, file: string): (offset: number) => string {
  const starts = [0, ...[...text.matchAll(/\r\n?|\n/g)].map(({ index, 0: end }) => index + end.length)];
  return (offset) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return `${file}:${low + 1}`;
  };
}

function isMissing(thrown: unknown): boolean {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
