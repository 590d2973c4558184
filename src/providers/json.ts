/** Looks into JSON values whose shape nobody promised. */

export type JsonRecord = Readonly<Record<string, unknown>>;

/** The value if it is an object, not an array. */
export function asRecord(value: unknown): JsonRecord | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonRecord) : undefined;
}

/** The objects of a list; none where it is no list. */
export function recordsIn(value: unknown): readonly JsonRecord[] {
  return Array.isArray(value) ? value.map(asRecord).filter((record) => record !== undefined) : [];
}

/** The value if it is a text, else an empty one. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The value if it is a count, else 0. */
export function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

/** More than any model takes in: a placeholder for "no limit". */
const MOST_TOKENS = 100_000_000;

/** The value if it is a number of tokens that a model may take in, also as a text, else 0. */
export function windowIn(value: unknown): number {
  const tokens = countOf(typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value);
  return tokens > MOST_TOKENS ? 0 : Math.floor(tokens);
}

/** The value of a JSON text, or undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The caller decides what a broken text means.
  }
}
