/**
 * Puts a summary in the place of the older part of a history. What stays word for word: the system message, with the
 * instruction files in it; the task; what the person added; loaded skills; the last plan; the last rounds. Pure: asking
 * for the summary is the caller's.
 */
import type { Message } from '../kernel/types.js';
import { fillPrompt } from '../prompt.js';
import page from './compact.md';
import type { Observation } from './shrink.js';
import type { TokenCounter } from './tokens.js';

export type Compaction = {
  /** What the summary is of; never empty. */
  readonly older: readonly Message[];
  /** The new history. Without a summary it says that there is none. */
  readonly historyWith: (summary: string | undefined) => {
    readonly messages: readonly Message[];
    readonly openingCount: number;
  };
};

/** Part of the room that the last rounds may take. */
const RECENT_SHARE = 0.3;
/** Words of the person during a run, beside the task. */
const INPUT_TOKENS = 2_000;
const SUMMARY_WORDS = 500;

const HEADING = '[The conversation was longer than fits. A summary of what was said and done before these last steps:]';
const NO_SUMMARY = '[The conversation was longer than fits. Its older part was left out, without a summary.]';

export type CompactionOptions = {
  readonly openingCount: number;
  readonly room: number;
  readonly counter: TokenCounter;
  /** Whether a result of `load_skill` came from the skill tool itself; else it is a text like any other. */
  readonly isLoadedSkill?: ((result: Observation) => boolean) | undefined;
};

/**
 * What can be summed up of a history that may have `room` tokens; undefined where there is nothing but what stays.
 * `openingCount` as in `State`: the message before it is the task.
 */
export function planCompaction(
  messages: readonly Message[],
  { openingCount, room, counter, isLoadedSkill = () => true }: CompactionOptions,
): Compaction | undefined {
  const system = messages.filter(({ role }) => role === 'system');
  const task = messages[openingCount - 1];
  const tailStart = Math.max(openingCount, startOfTail(messages, room * RECENT_SHARE, counter));
  const middle = messages.slice(openingCount, tailStart);
  const conversation = messages.slice(0, openingCount - 1).filter(({ role }) => role !== 'system');
  const older = [...conversation, ...middle];
  // Each stays on its side of the task, so that the run's own are told from those of the conversation before it.
  const before = durable(conversation, isLoadedSkill);
  const loaded = durable(middle, isLoadedSkill);
  const said = lastInputs(middle, counter);
  // A summary of nothing but the last summary would only lose words.
  const summaries = older.filter(isSummary).length;
  if (task === undefined || older.length <= before.length + loaded.length + said.length + summaries) return undefined;

  return {
    older,
    historyWith(summary) {
      const content = summary === undefined ? NO_SUMMARY : `${HEADING}\n\n${summary}`;
      const opening: readonly Message[] = [...system, { role: 'user', content }, ...before, task];
      const rest = [...loaded, ...said, ...messages.slice(tailStart)];
      return { messages: [...opening, ...rest], openingCount: opening.length };
    },
  };
}

/** The messages of the request for a summary, with at most `maxChars` of the older part. */
export function summaryRequest(older: readonly Message[], maxChars: number): readonly Message[] {
  return [
    { role: 'system', content: fillPrompt(page, { words: String(SUMMARY_WORDS) }) },
    { role: 'user', content: transcriptOf(older, maxChars) },
  ];
}

function isSummary({ role, content }: Message): boolean {
  return role === 'user' && content.startsWith(HEADING);
}

/** As many of the last rounds as `tokens` have room for, and at least one. */
function startOfTail(messages: readonly Message[], tokens: number, counter: TokenCounter): number {
  let start: number | undefined;
  let sum = 0;
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    if (message === undefined) break;
    sum += counter.ofMessage(message);
    if (sum > tokens && start !== undefined) break;
    if (message.role === 'assistant' && message.toolCalls !== undefined) start = index;
  }
  return start ?? 0;
}

/** Loaded skills, each once, and the last plan: calls with their results. */
function durable(older: readonly Message[], isLoadedSkill: (result: Observation) => boolean): readonly Message[] {
  const pairs = new Map<string, readonly Message[]>();
  for (const [index, message] of older.entries()) {
    if (message.role !== 'assistant') continue;
    for (const call of message.toolCalls ?? []) {
      if (call.name !== 'load_skill' && call.name !== 'update_plan') continue;
      const result = older.slice(index).find((each) => each.role === 'tool' && each.callId === call.id);
      if (result?.role !== 'tool' || (call.name === 'load_skill' && !isLoadedSkill(result))) continue;
      const key = call.name === 'update_plan' ? call.name : `${call.name} ${call.arguments}`;
      pairs.delete(key);
      pairs.set(key, [{ role: 'assistant', content: '', toolCalls: [call] }, result]);
    }
  }
  return [...pairs.values()].flat();
}

/** What came in during the run, the latest first to stay. */
function lastInputs(middle: readonly Message[], counter: TokenCounter): readonly Message[] {
  const kept: Message[] = [];
  let tokens = 0;
  for (const message of middle.filter(({ role }) => role === 'user').reverse()) {
    tokens += counter.ofMessage(message);
    if (tokens > INPUT_TOKENS) break;
    kept.unshift(message);
  }
  return kept;
}

/** Sizes at which the parts of a transcript are cut, the roomiest first. */
const SIZES = [
  { text: 4_000, args: 1_000, result: 1_500 },
  { text: 1_500, args: 400, result: 500 },
  { text: 500, args: 150, result: 150 },
  { text: 150, args: 60, result: 60 },
];
const SUMMARY_CHARS = 6_000;

/**
 * The older part as text, cut as little as fits; where even that is too long, its oldest lines go. What a summary before
 * it says of all that went earlier is not cut again.
 */
function transcriptOf(older: readonly Message[], maxChars: number): string {
  const earlier = older.filter(isSummary).map(({ content }) => cut(content, SUMMARY_CHARS));
  const said = older.filter((message) => !isSummary(message));
  const left = Math.max(0, maxChars - earlier.join('\n').length);
  let text = '';
  for (const sizes of SIZES) {
    text = said.map((message) => lineOf(message, sizes)).join('\n');
    if (text.length <= left) return [...earlier, text].join('\n');
  }
  return [...earlier, '[… the oldest part is left out …]', text.slice(text.length - left)].join('\n');
}

function lineOf(message: Message, sizes: (typeof SIZES)[number]): string {
  if (message.role === 'tool') return `${message.name} gave: ${cut(message.content, sizes.result)}`;
  if (message.role !== 'assistant') return `${message.role}: ${cut(message.content, sizes.text)}`;
  const calls = (message.toolCalls ?? []).map((call) => `calls ${call.name} ${cut(call.arguments, sizes.args)}`);
  return [...(message.content === '' ? [] : [`assistant: ${cut(message.content, sizes.text)}`]), ...calls].join('\n');
}

function cut(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const half = Math.floor(chars / 2);
  return `${text.slice(0, half)} […] ${text.slice(-half)}`;
}
