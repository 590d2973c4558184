/** The forms in which models write tool calls into their text: ours, and those of known model families. */
import { asRecord, type JsonRecord, parseJson, textOf } from './json.js';
import { type Progress, type Reading, readBody, readJson, readName, readTag, skipBlanks } from './text-reading.js';
import { decodeAttribute, readLooseJson } from './text-repair.js';

/** A call as it was written. `name` is empty where none was found; `arguments` is absent where it can't be read. */
export type WrittenCall = { readonly name: string; readonly arguments?: string };

/** What a form came to: its calls, and a character that was taken but belongs to what follows; or no call at all. */
export type Found = { readonly calls: readonly WrittenCall[]; readonly unread?: string } | undefined;

export type Form = (progress: Progress) => Reading<Found>;

/** By the text that they begin with, which has been read when the form is asked. */
export const FORMS: Readonly<Record<string, Form>> = {
  '<tool_call': taggedCall,
  '<agent_call': agentCall,
  '<function=': functionCall,
  '[tool:': bracketCall,
  '[TOOL_CALLS]': listedCalls,
};

/** Read only where the model was told to write its calls into the text. */
export const FENCE = '```';

const ARGUMENT_KEYS: ReadonlySet<string> = new Set(['arguments', 'args', 'parameters']);
const CALL_KEYS: ReadonlySet<string> = new Set(['name', 'tool', 'id', 'type', ...ARGUMENT_KEYS]);
const FIRST_CALL_KEY = /^\s*\{\s*["'“‘]?(?:name|tool|arguments|args|parameters|id|type)["'”’]?\s*:/;

/** `<tool_call name="…" args='…'/>`, `<tool_call name="…">{…}</tool_call>`, and Hermes' and Qwen's without a name. */
function* taggedCall(progress: Progress): Reading<Found> {
  const tag = yield* readTag(progress);
  if (tag === undefined) return undefined;
  const name = tag.attributes.get('name');
  const args = tag.attributes.get('args') ?? tag.attributes.get('arguments');
  if (tag.isClosed || args !== undefined) {
    return name === undefined ? undefined : { calls: [callOf(name, args === undefined ? '' : decodeAttribute(args))] };
  }
  const body = yield* readBody('</tool_call>', progress);
  if (body === undefined || (name === undefined && !progress.isCall)) return undefined;
  const { text, unread } = body;
  return { calls: name === undefined ? namelessCalls(text) : [callOf(name, text)], unread };
}

/** `<agent_call agent="…" task="…"/>`: a task for another worker. */
function* agentCall(progress: Progress): Reading<Found> {
  const tag = yield* readTag(progress);
  const agent = tag?.attributes.get('agent');
  if (tag === undefined || agent === undefined) return undefined;
  progress.name = 'delegate';
  const given = tag.attributes.get('task');
  const body = given === undefined && !tag.isClosed ? yield* readBody('</agent_call>', progress) : undefined;
  const task = body?.text.trim() ?? decodeAttribute(given ?? '');
  const args = { tasks: [{ worker: decodeAttribute(agent), task }] };
  return {
    calls: [{ name: 'delegate', ...(task !== '' && { arguments: JSON.stringify(args) }) }],
    unread: body?.unread ?? '',
  };
}

/** `<function=name>{…}</function>`, or with `<parameter=key>value</parameter>` for each argument. */
function* functionCall(progress: Progress): Reading<Found> {
  const [name, next] = yield* readName(yield);
  if (name === '' || next !== '>') return undefined;
  progress.name = name;
  const body = yield* readBody('</function>', progress);
  return body && { calls: [callOf(name, body.text)], unread: body.unread };
}

/** `[tool: name {…}]` */
function* bracketCall(progress: Progress): Reading<Found> {
  const [name, behind] = yield* readName(yield* skipBlanks(yield));
  const first = yield* skipBlanks(behind);
  if (name === '' || first !== '{') return undefined;
  Object.assign(progress, { name, isCall: true });
  const text = yield* readJson(first);
  const last = yield* skipBlanks(yield);
  return last === ']' ? { calls: [callOf(name, text)] } : { calls: [{ name }], unread: last };
}

/** Mistral's: `[TOOL_CALLS][{"name":…}]`, `[TOOL_CALLS]name{…}`, `[TOOL_CALLS]name[ARGS]{…}`. */
function* listedCalls(progress: Progress): Reading<Found> {
  const first = yield* skipBlanks(yield);
  if (first === '[' || first === '{') {
    progress.isCall = true;
    return { calls: namelessCalls(yield* readJson(first)) };
  }
  const [name, behind] = yield* readName(first);
  let next = behind;
  while (/[\w\s[\]-]/.test(next)) next = yield;
  if (name === '' || next !== '{') return undefined;
  Object.assign(progress, { name, isCall: true });
  return { calls: [callOf(name, yield* readJson(next))] };
}

/** A whole code fence of JSON that is one call. */
export function* fencedCall(progress: Progress): Reading<Found> {
  progress.needsTool = true;
  let fence = FENCE.length;
  let next = yield;
  for (; next === '`'; next = yield) fence += 1;
  let info = '';
  for (; next !== '\n'; next = yield) info += next;
  if (!/^\s*(?:json|tool_call)\s*$/i.test(info)) return undefined;
  let text = '';
  let line = '';
  for (;;) {
    next = yield;
    if (next === '\n' && isFenceEnd(line, fence)) break;
    if (next === ':' && !progress.isCall) {
      if (!FIRST_CALL_KEY.test(`${text}${line}:`)) return undefined;
      progress.isCall = true;
    }
    line += next;
    if (next !== '\n') continue;
    text += line;
    line = '';
    if (!progress.isCall && !/^\s*(?:\{\s*)?$/.test(text)) return undefined;
  }
  const record = asRecord(readLooseJson(text));
  return { calls: record !== undefined && isCallAlone(record) ? [callIn(record)] : [], unread: '\n' };
}

/** Whether an object is a call and nothing else: other things have a name, too. */
function isCallAlone(record: JsonRecord): boolean {
  const keys = Object.keys(record);
  return keys.every((key) => CALL_KEYS.has(key)) && keys.some((key) => ARGUMENT_KEYS.has(key));
}

function isFenceEnd(line: string, fence: number): boolean {
  const mark = line.trim();
  return mark.length >= fence && /^`+$/.test(mark);
}

function callOf(name: string, text: string): WrittenCall {
  const args = argumentsIn(text);
  return args === undefined ? { name } : { name, arguments: args };
}

function argumentsIn(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return '{}';
  if (trimmed.startsWith('<parameter=')) return JSON.stringify(parametersIn(trimmed));
  // What is right already stays as it is, to the byte.
  if (asRecord(parseJson(trimmed))) return trimmed;
  const record = asRecord(readLooseJson(trimmed));
  return record && JSON.stringify(record);
}

/** The values are texts: what type they should have, the tool's schema knows. */
function parametersIn(text: string): JsonRecord {
  const pattern = /<parameter=([^>]+)>(?:\r?\n)?([\s\S]*?)(?:\r?\n)?<\/parameter>/g;
  return Object.fromEntries([...text.matchAll(pattern)].map(([, key = '', value]) => [key.trim(), value]));
}

/** Calls that carry their name inside: a JSON object or a list of them, or Qwen-coder's `<function=…>`. */
function namelessCalls(text: string): readonly WrittenCall[] {
  const tagged = /^\s*<function=([\w.-]+)>([\s\S]*)<\/function>\s*$/.exec(text);
  if (tagged) return [callOf(tagged[1] ?? '', tagged[2] ?? '')];
  const value = readLooseJson(text);
  const records = (Array.isArray(value) ? value : [value]).map(asRecord);
  return records.map((record) => (record === undefined ? { name: nameIn(text) } : callIn(record)));
}

function callIn(record: JsonRecord): WrittenCall {
  const inner = asRecord(record.function) ?? record;
  const name = textOf(inner.name) || textOf(inner.tool) || textOf(record.function);
  const args = inner.arguments ?? inner.args ?? inner.parameters ?? {};
  if (typeof args === 'string') return callOf(name, args);
  return asRecord(args) ? { name, arguments: JSON.stringify(args) } : { name };
}

/** The name of the call in a JSON text that can't be read. */
export function nameIn(text: string): string {
  return /["'“‘]?(?:name|tool)["'”’]?\s*:\s*["'“‘]([\w.-]+)/.exec(text)?.[1] ?? '';
}
