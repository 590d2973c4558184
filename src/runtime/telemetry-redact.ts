/** Makes a JSON value fit for telemetry: what a key or a form says is secret is left out, and nothing of it is large. */
import { redactPatterns } from '../permissions/redact.js';

const DEPTH_AT_MOST = 4;
const ITEMS_AT_MOST = 10;
const FIELDS_AT_MOST = 32;
const STRING_LIMIT_CHARS = 512;
const LOOKED_AT_CHARS = 8 * 1024;

const REDACTED = '[redacted]';

const SECRET_KEYS: ReadonlySet<string> = new Set([
  'api_key',
  'apikey',
  'authorization',
  'bearer',
  'credentials',
  'passwd',
  'password',
  'secret',
  'token',
]);
const SECRET_KEY = /secret_|_(?:secret|key|token|password)$/;

/** A copy: 4 levels, 10 items a list, 32 fields a map and 512 characters a text at most. */
export function redactForTelemetry(value: unknown): unknown {
  return bound(value, 1);
}

function bound(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return shortened(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEPTH_AT_MOST) return '[too deep]';
  if (Array.isArray(value)) {
    const kept = value.length > ITEMS_AT_MOST ? ITEMS_AT_MOST - 1 : value.length;
    const items = value.slice(0, kept).map((item) => bound(item, depth + 1));
    return value.length > kept ? [...items, `[${value.length - kept} more]`] : items;
  }
  const fields = Object.entries(value).slice(0, FIELDS_AT_MOST);
  return Object.fromEntries(
    fields.map(([key, field]) => [shortened(key), isSecretKey(key) ? REDACTED : bound(field, depth + 1)]),
  );
}

/** By its name in any way of writing: `apiKey`, `API-KEY` and `api_key` are one. */
function isSecretKey(key: string): boolean {
  const name = key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[-.\s]/g, '_')
    .toLowerCase();
  return SECRET_KEYS.has(name) || SECRET_KEY.test(name);
}

/** Of a long text only so much is looked at that no key within the limit is cut. */
function shortened(text: string): string {
  const safe = redactPatterns(text.slice(0, LOOKED_AT_CHARS));
  return safe.length <= STRING_LIMIT_CHARS && text.length <= LOOKED_AT_CHARS
    ? safe
    : `${safe.slice(0, STRING_LIMIT_CHARS - 1)}…`;
}
