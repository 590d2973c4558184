/**
 * Our messages and tools as Chat Completions has them, in the plainest form that all endpoints take. Pure, and the
 * same message always gives the same bytes, so that an endpoint's cache keeps serving the beginning of a history.
 */
import type { Message, ToolCall } from '../kernel/types.js';
import { asRecord, parseJson } from './json.js';
import type { ToolSpec } from './types.js';

export type ChatCall = {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
};

export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string }
  | {
      readonly role: 'assistant';
      /** Null only beside tool calls. */
      readonly content: string | null;
      readonly tool_calls?: ChatCall[];
      readonly reasoning_content?: string;
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

/**
 * A converter that keeps what it made of each message, so that a long history is not converted again each turn.
 * `sendReasoning`: assistant messages with tool calls carry `reasoning_content`, an empty one too; thinking models of
 * some providers refuse the next request without it, most others refuse it with.
 */
export function createConverter({ sendReasoning }: { readonly sendReasoning: boolean }): Converter {
  const known = new WeakMap<Message, ChatMessage>();
  const knownTools = new WeakMap<ToolSpec, ChatTool>();

  return {
    messages: (messages) =>
      messages.map((message) => {
        const made = known.get(message);
        if (made !== undefined) return made;
        const converted = convertMessage(message, sendReasoning);
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

function convertMessage(message: Message, sendReasoning: boolean): ChatMessage {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: wellFormed(message.content) };
    case 'user':
      return { role: 'user', content: wellFormed(message.content) };
    case 'tool':
      return { role: 'tool', tool_call_id: message.callId, content: wellFormed(message.content) };
    case 'assistant':
      return convertAssistant(message, sendReasoning);
    default:
      return message satisfies never;
  }
}

function convertAssistant(message: AssistantMessage, sendReasoning: boolean): ChatMessage {
  const content = wellFormed(message.content);
  const calls = message.toolCalls ?? [];
  if (calls.length === 0) return { role: 'assistant', content };
  const reasoning = sendReasoning ? { reasoning_content: wellFormed(message.reasoning ?? '') } : {};
  return {
    role: 'assistant',
    content: content === '' ? null : content,
    tool_calls: calls.map(convertCall),
    ...reasoning,
  };
}

function convertCall({ id, name, arguments: text }: ToolCall): ChatCall {
  return { id, type: 'function', function: { name, arguments: sendableArguments(text) } };
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
