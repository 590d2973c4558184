/**
 * Requests for a model that knows no tool calling: tools stand in the system message, calls and results are text. The same
 * messages always give the same bytes, and more of them only add to the end, so that an endpoint's cache keeps serving.
 */
import type { Message, ToolCall } from '../kernel/types.js';
import { fillPrompt } from '../prompt.js';
import { asRecord, parseJson } from './json.js';
import page from './text-protocol.md';
import { blockOf, describeTool, rightForm } from './text-schemas.js';
import type { ModelRequest, ToolSpec } from './types.js';

type SystemMessage = Extract<Message, { role: 'system' }>;
type AssistantMessage = Extract<Message, { role: 'assistant' }>;
type ToolMessage = Extract<Message, { role: 'tool' }>;

/** The results of one reply's calls, and the message that they became. */
type Round = {
  readonly results: readonly ToolMessage[];
  readonly tools: readonly ToolSpec[];
  readonly written: Message;
};

/** Writes requests as text. What became of a message is kept, so that a long history is not written again each turn. */
export function createTextWriter(): (request: ModelRequest) => ModelRequest {
  const pages = new WeakMap<readonly ToolSpec[], string>();
  const systems = new WeakMap<SystemMessage, Message>();
  const assistants = new WeakMap<AssistantMessage, Message>();
  const rounds = new WeakMap<ToolMessage, Round>();

  function pageOf(tools: readonly ToolSpec[]): string {
    const text = pages.get(tools) ?? fillPrompt(page.trim(), { tools: tools.map(describeTool).join('\n\n') });
    pages.set(tools, text);
    return text;
  }

  function systemOf(message: SystemMessage, tools: readonly ToolSpec[]): Message {
    const content = `${message.content}\n\n${pageOf(tools)}`;
    const known = systems.get(message);
    const written: Message = known?.content === content ? known : { role: 'system', content };
    systems.set(message, written);
    return written;
  }

  function assistantOf(message: AssistantMessage): Message {
    const written = assistants.get(message) ?? writeAssistant(message);
    assistants.set(message, written);
    return written;
  }

  function roundOf(results: readonly ToolMessage[], calls: readonly ToolCall[], tools: readonly ToolSpec[]): Message[] {
    const [first] = results;
    if (first === undefined) return [];
    const known = rounds.get(first);
    const isKnown = known?.tools === tools && results.every((result, index) => result === known.results[index]);
    if (known !== undefined && isKnown && known.results.length === results.length) return [known.written];
    const parts = results.map((result) => {
      const call = calls.find(({ id }) => id === result.callId);
      return writeResult(result, call !== undefined && isMalformed(call, tools) ? adviceFor(call, tools) : '');
    });
    const written: Message = { role: 'user', content: parts.join('\n') };
    rounds.set(first, { results, tools, written });
    return [written];
  }

  function write(messages: readonly Message[], tools: readonly ToolSpec[]): readonly Message[] {
    const hasSystem = messages[0]?.role === 'system';
    const written: Message[] = hasSystem || tools.length === 0 ? [] : [{ role: 'system', content: pageOf(tools) }];
    let calls: readonly ToolCall[] = [];
    let results: ToolMessage[] = [];
    for (const message of messages) {
      if (message.role === 'tool') {
        results.push(message);
        continue;
      }
      written.push(...roundOf(results, calls, tools));
      results = [];
      if (message.role === 'assistant') {
        calls = message.toolCalls ?? [];
        written.push(calls.length === 0 ? message : assistantOf(message));
      } else if (message.role === 'system' && tools.length > 0 && written.length === 0) {
        written.push(systemOf(message, tools));
      } else {
        written.push(message);
      }
    }
    return [...written, ...roundOf(results, calls, tools)];
  }

  return (request) => {
    const { responseSchema, ...rest } = request;
    const { messages, tools } = request;
    // An endpoint that holds a reply to a schema would let no call through.
    const schema = tools.length === 0 && responseSchema ? { responseSchema } : {};
    return { ...rest, ...schema, messages: write(messages, tools), tools: [] };
  };
}

/** Whether a call can't be run as it stands: its tool is not offered, or its arguments are no JSON object. */
export function isMalformed({ name, arguments: text }: ToolCall, tools: readonly ToolSpec[]): boolean {
  return !tools.some((tool) => tool.name === name) || !isObject(text);
}

function isObject(text: string): boolean {
  return text.trim() === '' || asRecord(parseJson(text)) !== undefined;
}

function writeAssistant({ content, toolCalls = [] }: AssistantMessage): Message {
  const said = content.trimEnd();
  return { role: 'assistant', content: [...(said === '' ? [] : [said]), ...toolCalls.map(writeCall)].join('\n\n') };
}

function writeCall({ name, arguments: text }: ToolCall): string {
  // What could not be read is kept as the block that it was.
  if (!isObject(text)) return /^[<[`]/.test(text) ? text : blockOf(name, text);
  // In JSON a slash may be escaped, so that no argument has the end of its block in it.
  return blockOf(name, text.trim() === '' ? '{}' : text.replaceAll('</tool_call', '<\\/tool_call'));
}

/** What a tool gave back could hold the end of its own wrapper, and something that looks like another result. */
function writeResult({ name, content }: ToolMessage, advice: string): string {
  const escaped = content.replace(/<(?=\/?tool_result)/gi, '<\\');
  return `<tool_result name="${name}">\n${escaped}\n</tool_result>${advice}`;
}

function adviceFor(call: ToolCall, tools: readonly ToolSpec[]): string {
  const tool = tools.find(({ name }) => name === call.name);
  if (tools.length === 0) return '';
  return `\nThe right form: ${tool === undefined ? blockOf('TOOL', '{"argument": "value"}') : rightForm(tool)}`;
}
