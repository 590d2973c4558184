/** The forms a variable's text may have. Each is a zod type from trimmed text to a value, whose one message says what is allowed. */
import { delimiter, isAbsolute } from 'node:path';
import * as z from 'zod';
import { APPROVAL_MODES, type ApprovalMode, SANDBOX_SETTINGS, type SandboxSetting } from '../permissions/types.js';
import {
  OPENAI_APIS,
  type OpenaiApi,
  type ReasoningSetting,
  TOOL_PROTOCOLS,
  type ToolProtocol,
} from '../providers/presets.js';
import { DURATION_FORM, parseDuration } from './durations.js';

/** A zod type that reads text; its issue's message completes "allowed is …". */
export type TextType<Value> = z.ZodType<Value, string>;

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Milliseconds. */
export const duration = textType(DURATION_FORM, parseDuration);

export const boolean = textType('true, false, 1, 0, yes, no, on or off', readBoolean);

/** Any text on one line, such as a model's name or a path. */
export const line = textType('text without control characters', (text) =>
  /^[^\p{Cc}\p{Cf}]+$/u.test(text) ? text : undefined,
);

/** What can stand in an Authorization header. */
export const apiKey = textType('a key of printable ASCII characters without spaces', (text) =>
  /^[\x21-\x7e]+$/.test(text) ? text : undefined,
);

/** The URL without a slash at its end, so that a path can be joined; hence no query either. */
export const httpUrl = textType(
  'an http:// or https:// URL without a query, such as http://localhost:11434/v1',
  (text) => (URL.canParse(text) && /^https?:\/\/[^?#]+$/i.test(text) ? text.replace(/\/+$/, '') : undefined),
);

/** With `http://` in front where no scheme is given, as curl takes it. Which schemes can be used is the client's to say. */
export const proxyUrl = textType('the URL of a proxy, such as http://proxy.example.com:3128', (text) => {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  return URL.canParse(url) && new URL(url).host !== '' ? url : undefined;
});

export const headerValue = textType('printable ASCII characters', (text) =>
  /^[\x20-\x7e]+$/.test(text) ? text : undefined,
);

/** Headers by name. `Host` and what frames a message are for the client alone. */
export const headerLines = textType(
  'one "Name: value" a line, in printable ASCII, each name once; not Host, Connection, Content-Length or Transfer-Encoding',
  readHeaders,
);

/** A list with commas; each name once. */
export const names = textType('names with commas between them', (text) => {
  const list = text.split(',').map((name) => name.trim());
  const isUsable = list.every((name) => /^[^\p{Cc}\p{Cf}]+$/u.test(name)) && new Set(list).size === list.length;
  return isUsable ? list : undefined;
});

/** Above zero. */
export const usd = textType('an amount in US dollars above 0, such as 2.50', (text) => {
  const amount = readDecimal(text);
  return amount !== undefined && amount > 0 ? amount : undefined;
});

/** Zero or more: a model on one's own machine costs nothing. */
export const usdPerMillion = textType('US dollars per million tokens, 0 or more, such as 0.25', readDecimal);

export const approvalMode = oneOf<ApprovalMode>(APPROVAL_MODES, {
  plan: 'read-only',
  default: 'ask',
  acceptedits: 'auto-edit',
  yolo: 'full-auto',
});

export const sandboxSetting = oneOf<SandboxSetting>(SANDBOX_SETTINGS);

/** Absolute paths with the system's own mark between them. */
export const absolutePaths = textType(`absolute paths with ${delimiter} between them`, (text) => {
  const paths = text.split(delimiter).filter((path) => path !== '');
  return paths.every((path) => isAbsolute(path) && !/\p{Cc}/u.test(path)) ? paths : undefined;
});

export const toolProtocol = oneOf<ToolProtocol>(TOOL_PROTOCOLS);
export const openaiApi = oneOf<OpenaiApi>(OPENAI_APIS);

/** Also takes the names other programs use, since LOG_LEVEL may be set for one of them. */
export const logLevel = oneOf<LogLevel>(['debug', 'info', 'warn', 'error', 'silent'], {
  trace: 'debug',
  warning: 'warn',
  fatal: 'error',
  off: 'silent',
});

export const reasoningSetting = oneOf<ReasoningSetting>(['auto', 'always', 'never'], { on: 'always', off: 'never' });

/** Never refuses: other programs read NO_COLOR and FORCE_COLOR too, and by their rules any text may stand there. */
export const anyText = textType('any text', (text) => text);

/** A whole number within the bounds, both included. */
export function integer(least: number, most = Number.MAX_SAFE_INTEGER): TextType<number> {
  const form = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  return textType(`a whole number ${form}`, (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    return value >= least && value <= most ? value : undefined;
  });
}

/** One of the names in any case, or a synonym, whose keys are in lower case. */
export function oneOf<Name extends string>(
  names: readonly Name[],
  synonyms: Readonly<Record<string, Name>> = {},
): TextType<Name> {
  return textType(names.join(', '), (text) => {
    const wanted = text.toLowerCase();
    const synonym = Object.hasOwn(synonyms, wanted) ? synonyms[wanted] : undefined;
    return names.find((name) => name === wanted) ?? synonym;
  });
}

/** A type from a reader that answers undefined for text it refuses. */
function textType<Value>(allowed: string, read: (text: string) => Value | undefined): TextType<Value> {
  return z.string().transform((text, ctx) => {
    const value = read(text);
    if (value !== undefined) return value;
    ctx.addIssue({ code: 'custom', message: allowed });
    return z.NEVER;
  });
}

const OWN_HEADERS: readonly string[] = ['host', 'connection', 'content-length', 'transfer-encoding'];

function readHeaders(text: string): Readonly<Record<string, string>> | undefined {
  const headers = new Map<string, string>();
  for (const row of text.split(/\r?\n/).filter((line) => line.trim() !== '')) {
    const [, name, value] = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e]*?)\s*$/.exec(row) ?? [];
    const key = name?.toLowerCase();
    if (key === undefined || value === undefined || OWN_HEADERS.includes(key) || headers.has(key)) return undefined;
    headers.set(key, value);
  }
  return headers.size === 0 ? undefined : Object.fromEntries(headers);
}

function readBoolean(text: string): boolean | undefined {
  const word = text.toLowerCase();
  if (['true', '1', 'yes', 'on'].includes(word)) return true;
  return ['false', '0', 'no', 'off'].includes(word) ? false : undefined;
}

function readDecimal(text: string): number | undefined {
  const amount = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(amount) ? amount : undefined;
}
