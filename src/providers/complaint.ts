/** Finds an endpoint's own words about what went wrong, in the many forms that endpoints give them. */
import { asRecord, type JsonRecord, parseJson, textOf } from './json.js';

/** What an endpoint says. `code` and `type` are empty where it gives none. */
export type Complaint = {
  readonly message: string;
  readonly code: string;
  readonly type: string;
  /** An HTTP status told inside the body. */
  readonly status?: number;
  /** A wait told inside the body, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
};

const MESSAGE_LIMIT_CHARS = 2_000;
const EXCERPT_LIMIT_CHARS = 300;

/** The complaint in a parsed body or chunk; undefined where it is none. */
export function complaintIn(value: unknown): Complaint | undefined {
  const body = asRecord(Array.isArray(value) ? value[0] : value); // Gemini wraps its errors in a list.
  if (body === undefined) return undefined;
  const { error } = body;
  if (typeof error === 'string' && error !== '') return complaint(body, error);
  const record = asRecord(error);
  if (record) return complaint(record, messageOf(record) || excerpt(JSON.stringify(record)));
  if (body.choices !== undefined && body.object !== 'error') return undefined;
  const message = messageOf(body);
  return message === '' ? undefined : complaint(body, message);
}

/** The complaint in the text of a failed response; the cleaned text itself where it has no known form. */
export function complaintInText(text: string): Complaint {
  return complaintIn(parseJson(text)) ?? { message: excerpt(text), code: '', type: '' };
}

/** The beginning of a text, without markup and control characters, on one line. */
export function excerpt(text: string, limit = EXCERPT_LIMIT_CHARS): string {
  const words = text
    .slice(0, 20 * limit) // A page may be long, and its head full of markup.
    .replace(/<(script|style|head)\b[\s\S]*?<\/\1\s*>|<!--[\s\S]*?-->|<[^<>]*>/gi, ' ')
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim();
  return words.length > limit ? `${words.slice(0, limit)}…` : words;
}

function complaint(record: JsonRecord, message: string): Complaint {
  const number = Number(record.code ?? record.status);
  return {
    message: excerpt(message, MESSAGE_LIMIT_CHARS),
    code: typeof record.code === 'string' ? record.code : '',
    type: textOf(record.type) || textOf(record.status),
    ...(number >= 400 && number < 600 && { status: number }),
    retryAfterMs: retryDelayIn(record),
  };
}

function messageOf(record: JsonRecord): string {
  const message = textOf(record.message) || textOf(asRecord(record.message)?.message) || detailOf(record.detail);
  // OpenRouter says only "Provider returned error" and keeps the provider's words here.
  const raw = asRecord(record.metadata)?.raw;
  const upstream = typeof raw === 'string' && raw !== '' ? complaintInText(raw).message : '';
  return upstream === '' || message.includes(upstream) ? message : `${message}: ${upstream}`;
}

/** FastAPI's form: a text, or a list of `{loc, msg}`. */
function detailOf(detail: unknown): string {
  if (!Array.isArray(detail)) return textOf(detail);
  const parts = detail.map((part) => {
    const record = asRecord(part);
    const place = Array.isArray(record?.loc) ? record.loc.join('.') : '';
    return `${place} ${textOf(record?.msg)}`.trim();
  });
  return parts.join('; ');
}

/** Gemini's form: `details: [{retryDelay: "32s"}]`. */
function retryDelayIn(record: JsonRecord): number | undefined {
  if (!Array.isArray(record.details)) return undefined;
  for (const detail of record.details) {
    const seconds = Number.parseFloat(textOf(asRecord(detail)?.retryDelay));
    if (seconds >= 0) return Math.ceil(seconds * 1000);
  }
  return undefined;
}
