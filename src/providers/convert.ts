/**
 * Our messages and tools as Chat Completions has them, in the plainest form that all endpoints take. Pure, and the
 * same message always gives the same bytes, so that an endpoint's cache keeps serving the beginning of a history.
 */
import type { Message, Opaque, ToolCall } from '../kernel/types.js';
import { asRecord, parseJson } from './json.js';
import type { ReasoningForm } from './presets.js';
import type { ToolSpec } from './types.js';

export type ChatCall = {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
  readonly extra_content?: Opaque;
};

/** What an assistant message says: a text, or Mistral's thinking with the text behind it. */
export type ChatPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly thinking: readonly { readonly type: 'text'; readonly text: string }[] };

export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string }
  | {
      readonly role: 'assistant';
      /** Null only beside tool calls. */
      readonly content: string | null | readonly ChatPart[];
      readonly tool_calls?: ChatCall[];
      readonly reasoning_content?: string;
      readonly reasoning?: string;
      readonly reasoning_details?: readonly Opaque[];
    };

export type ChatTool = {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: Record<string, unknown>;
  };
};

export type Converter = {
  messages(messages: readonly Message[]): ChatMessage[];
  tools(tools: readonly ToolSpec[]): ChatTool[];
};

type AssistantMessage = Extract<Message, { role: 'assistant' }>;

/** Two surrogates that are not a pair: half a character, left by a cut. Many endpoints refuse the whole request for it. */
const LONE_SURROGATE = /\p{Surrogate}/gu;

export type ConverterOptions = {
  /** The endpoint and API that the messages go to, as in `Replay`. */
  readonly origin: string;
  /** How assistant messages carry their reasoning. */
  readonly reasoning: ReasoningForm;
  /** Whether tool calls carry what the endpoint gave along with them. */
  readonly sendsCallExtras: boolean;
};

/** A converter that keeps what it made of each message, so that a long history is not converted again each turn. */
export function createConverter(options: ConverterOptions): Converter {
  const known = new WeakMap<Message, ChatMessage>();
  const knownTools = new WeakMap<ToolSpec, ChatTool>();

  return {
    messages: (messages) =>
      messages.map((message) => {
        const made = known.get(message);
        if (made !== undefined) return made;
        const converted = convertMessage(message, options);
        known.set(message, converted);
        return converted;
      }),
    tools: (tools) =>
      tools.map((tool) => {
        const made = knownTools.get(tool) ?? convertTool(tool);
        knownTools.set(tool, made);
        return made;
      }),
  };
}

function convertMessage(message: Message, options: ConverterOptions): ChatMessage {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: wellFormed(message.content) };
    case 'user':
      return { role: 'user', content: wellFormed(message.content) };
    case 'tool':
      return { role: 'tool', tool_call_id: message.callId, content: wellFormed(message.content) };
    case 'assistant':
      return convertAssistant(message, options);
    default:
      return message satisfies never;
  }
}

function convertAssistant(message: AssistantMessage, options: ConverterOptions): ChatMessage {
  const text = wellFormed(message.content);
  const calls = message.toolCalls ?? [];
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(calls.length > 0 && { tool_calls: calls.map((call) => convertCall(call, options)) }),
    ...reasoningOf(message, options, text),
  };
}

function reasoningOf(
  { reasoning = '', replay }: AssistantMessage,
  { reasoning: form, origin }: ConverterOptions,
  text: string,
) {
  const words = wellFormed(reasoning);
  switch (form) {
    case 'none':
      return {};
    case 'reasoning_content':
      // An empty one too, and beside an answer too: DeepSeek refuses the request for each message without the field.
      return { reasoning_content: words };
    case 'reasoning':
      // What one endpoint sealed, another cannot open.
      if (replay?.origin === origin) return { reasoning_details: replay.items };
      return words === '' ? {} : { reasoning: words };
    case 'thinking-parts':
      return words === '' ? {} : { content: partsOf(words, text) };
    default:
      return form satisfies never;
  }
}

function partsOf(thinking: string, text: string): readonly ChatPart[] {
  const said: readonly ChatPart[] = text === '' ? [] : [{ type: 'text', text }];
  return [{ type: 'thinking', thinking: [{ type: 'text', text: thinking }] }, ...said];
}

function convertCall({ id, name, arguments: text, extra }: ToolCall, { sendsCallExtras }: ConverterOptions): ChatCall {
  return {
    id,
    type: 'function',
    function: { name, arguments: sendableArguments(text) },
    ...(extra && sendsCallExtras && { extra_content: extra }),
  };
}

function convertTool({ name, description, parameters }: ToolSpec): ChatTool {
  return { type: 'function', function: { name, description, parameters: { ...parameters } } };
}

/** The arguments of a call, or `{}` in place of what is no JSON object. */
export function sendableArguments(text: string): string {
  // What the model wrote wrong stays in our history; endpoints that parse it would refuse the request for ever after.
  return asRecord(parseJson(text)) === undefined ? '{}' : wellFormed(text);
}

/** The text without halves of characters. */
export function wellFormed(text: string): string {
  return text.replace(LONE_SURROGATE, '\u{FFFD}');
}
