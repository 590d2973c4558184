/** Keeps a history valid: behind each tool call, before anything else, exactly one result. */
import type { Message, State, Step, ToolCall } from './types.js';

/** An observation that does not fit the state. The state it was offered to is as it was. */
export class InvalidStep extends Error {
  override readonly name = 'InvalidStep';
}

/** The calls at the end of a history that have no result yet. */
export function openCalls(messages: readonly Message[]): readonly ToolCall[] {
  const last = messages.findLastIndex((message) => message.role === 'assistant');
  const assistant = messages[last];
  if (assistant?.role !== 'assistant') return [];
  const behind = messages.slice(last + 1);
  const isAnswered = ({ id }: ToolCall) => behind.some((message) => message.role === 'tool' && message.callId === id);
  return (assistant.toolCalls ?? []).filter((call) => !isAnswered(call));
}

/** Answers each open call with `output`, so that the history can be sent again. */
export function answerOpenCalls(messages: readonly Message[], output: string): readonly Message[] {
  return [...messages, ...openCalls(messages).map((call) => resultMessage(call, output))];
}

export function resultMessage(call: ToolCall, output: string): Message {
  return { role: 'tool', callId: call.id, name: call.name, content: output };
}

/**
 * Makes a history from outside valid: results without a call and second results are left out, results are moved
 * behind their call, and calls without one get `output`. A valid history comes back as it was.
 */
export function repair(messages: readonly Message[], output: string): readonly Message[] {
  const results = new Map<string, Message[]>();
  for (const message of messages) {
    if (message.role === 'tool') results.set(message.callId, [...(results.get(message.callId) ?? []), message]);
  }
  const repaired: Message[] = [];
  for (const message of messages) {
    if (message.role === 'tool') continue;
    repaired.push(message);
    if (message.role !== 'assistant') continue;
    for (const call of message.toolCalls ?? []) {
      // Ids may come again in a later turn, so each call takes the earliest result that is left.
      repaired.push(results.get(call.id)?.shift() ?? resultMessage(call, output));
    }
  }
  return repaired;
}

/** Whether each call has its one result behind it and each result its call. */
export function isPaired(messages: readonly Message[]): boolean {
  const repaired = repair(messages, '');
  return repaired.length === messages.length && repaired.every((message, index) => message === messages[index]);
}

/**
 * The step at which a stored state stopped, so that a run can go on: open calls are run, recorded ones never again.
 * @throws {InvalidStep} when the run had ended, or this is no state.
 */
export function reopen(state: State): Step {
  const phase = state?.phase;
  switch (phase) {
    case 'act':
      return { state, action: { kind: 'act', calls: openCalls(state.messages) } };
    case 'reason':
      return { state, action: { kind: 'reason', messages: state.messages, purpose: 'turn' } };
    case 'summary':
      return { state, action: { kind: 'reason', messages: state.messages, purpose: 'summary' } };
    case 'finished':
      throw new InvalidStep('The run has ended: it cannot be gone on with.');
    default:
      phase satisfies never;
      throw new InvalidStep('This is no state of a run: its phase is unknown.');
  }
}
