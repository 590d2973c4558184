/**
 * Our messages and tools as the Responses API has them. Pure, and the same message always gives the same items, so
 * that an endpoint's cache keeps serving the beginning of a history. See convert.ts for Chat Completions.
 */
import type { Message } from '../kernel/types.js';
import { sendableArguments, wellFormed } from './convert.js';
import { type Phase, partsOf, type ReasoningItem, type ReplyPart } from './responses-replay.js';
import type { ToolSpec } from './types.js';

export type ResponsesItem =
  | ReasoningItem
  | {
      readonly type: 'message';
      readonly role: 'system' | 'user' | 'assistant';
      readonly content: string;
      readonly phase?: Phase;
    }
  | { readonly type: 'function_call'; readonly call_id: string; readonly name: string; readonly arguments: string }
  | { readonly type: 'function_call_output'; readonly call_id: string; readonly output: string };

export type ResponsesTool = {
  readonly type: 'function';
  readonly name: string;
  readonly description: string;
  readonly parameters: Record<string, unknown>;
  /** Strict takes only schemas of a narrow form. */
  readonly strict: false;
};

export type ResponsesConverter = {
  /** The system message at the beginning, which has a field of its own. */
  instructions(messages: readonly Message[]): string | undefined;
  /** All other messages. `withReplay`: what the provider wants back goes along. */
  input(messages: readonly Message[], withReplay: boolean): ResponsesItem[];
  tools(tools: readonly ToolSpec[]): ResponsesTool[];
};

/** A converter that keeps what it made of each message. `origin` says whose replays it may send: see `Replay`. */
export function createResponsesConverter(origin: string): ResponsesConverter {
  const withReplays = createItemStore(origin);
  const withoutReplays = createItemStore(undefined);
  const knownTools = new WeakMap<ToolSpec, ResponsesTool>();

  return {
    instructions: ([first]) => (first?.role === 'system' ? wellFormed(first.content) : undefined),
    input: (messages, withReplay) => {
      const itemsOf = withReplay ? withReplays : withoutReplays;
      return (messages[0]?.role === 'system' ? messages.slice(1) : messages).flatMap(itemsOf);
    },
    tools: (tools) =>
      tools.map((tool) => {
        const made = knownTools.get(tool) ?? convertTool(tool);
        knownTools.set(tool, made);
        return made;
      }),
  };
}

function createItemStore(origin: string | undefined): (message: Message) => readonly ResponsesItem[] {
  const known = new WeakMap<Message, readonly ResponsesItem[]>();
  return (message) => {
    const made = known.get(message) ?? convertMessage(message, origin);
    known.set(message, made);
    return made;
  };
}

function convertMessage(message: Message, origin: string | undefined): readonly ResponsesItem[] {
  switch (message.role) {
    case 'system':
    case 'user':
      return [{ type: 'message', role: message.role, content: wellFormed(message.content) }];
    case 'tool':
      return [{ type: 'function_call_output', call_id: message.callId, output: wellFormed(message.content) }];
    case 'assistant':
      return partsOf(message, origin).map(convertPart);
    default:
      return message satisfies never;
  }
}

function convertPart(part: ReplyPart): ResponsesItem {
  switch (part.type) {
    case 'reasoning':
      return part;
    case 'text': {
      const { text, phase } = part;
      return { type: 'message', role: 'assistant', content: wellFormed(text), ...(phase && { phase }) };
    }
    case 'call': {
      const { id, name, arguments: text } = part.call;
      return { type: 'function_call', call_id: id, name, arguments: sendableArguments(text) };
    }
    default:
      return part satisfies never;
  }
}

function convertTool({ name, description, parameters }: ToolSpec): ResponsesTool {
  return { type: 'function', name, description, parameters: { ...parameters }, strict: false };
}
