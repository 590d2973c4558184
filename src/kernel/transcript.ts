/** Keeps a history valid: behind each tool call, before anything else, exactly one result. */
import { NOTHING_SEEN } from './stuck.js';
import type { Message, OutcomeReason, State, Step, ToolCall } from './types.js';

/** An observation that does not fit the state. The state it was offered to is as it was. */
export class InvalidStep extends Error {
  override readonly name = 'InvalidStep';
}

/** What the model is told of a run that had ended and goes on; an answer leaves nothing to go on with. */
const GOES_ON: Readonly<Record<OutcomeReason, string | undefined>> = {
  answered: undefined,
  'turn-limit': '[The run above reached its turn limit. It goes on now, with tools and new turns.]',
  timeout: '[The run above reached its time limit before it was finished. It goes on now.]',
  budget: '[The run above used up its budget before it was finished. It goes on now.]',
  stuck: '[The run above was ended because it went in circles. It goes on now: take another way.]',
  denied: '[The run above ended because an action that it needed was denied. It goes on now.]',
  interrupted: '[The run above was cancelled before it was finished. It goes on now.]',
  failed: '[The run above failed before it was finished. It goes on now.]',
};

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

/** The task that the run of a state began with; empty where a state made by hand has none. */
export function taskOf({ messages, openingCount }: State): string {
  const task = messages[openingCount - 1];
  return task?.role === 'user' ? task.content : '';
}

/**
 * The step at which a stored state stopped, so that a run can go on: open calls are run, recorded ones never again.
 * One that had ended before it was finished goes on as well, and the model is told how it had ended.
 * @throws {InvalidStep} when the run had ended with its answer, or this is no state.
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
      return goOn(state);
    default:
      phase satisfies never;
      throw new InvalidStep('This is no state of a run: its phase is unknown.');
  }
}

/** Whether there is anything left to do: false for a run that ended with its answer. */
export function canGoOn({ phase, endedBy = 'answered' }: State): boolean {
  return phase !== 'finished' || GOES_ON[endedBy] !== undefined;
}

/** What would end the run at once again begins anew; so do its turns where none are left. */
function goOn({ endedBy = 'answered', ...ended }: State): Step {
  const content = GOES_ON[endedBy];
  if (content === undefined) throw new InvalidStep('The run has ended with its answer: it cannot be gone on with.');
  const last = ended.messages.at(-1);
  const isTold = last?.role === 'user' && last.content === content;
  const state: State = {
    ...ended,
    phase: 'reason',
    messages: isTold ? ended.messages : [...ended.messages, { role: 'user', content }],
    turns: ended.turns < ended.limits.maxTurns ? ended.turns : 0,
    emptyReplies: 0,
    cutReplies: 0,
    cutAnswer: '',
    refusals: 0,
    stuck: NOTHING_SEEN,
    denials: {},
  };
  return { state, action: { kind: 'reason', messages: state.messages, purpose: 'turn' } };
}
