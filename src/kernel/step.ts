/**
 * The ReAct loop as a pure machine: reason, act, observe (Yao et al., 2022, arXiv:2210.03629). It decides what comes
 * next and when to stop; asking the model and running tools is its driver's work. No promise, clock, id or import.
 */
import {
  fingerprintOfCall,
  fingerprintOfText,
  NOTHING_SEEN,
  REPEATS_UNTIL_END,
  REPEATS_UNTIL_NOTE,
  remember,
  rememberText,
  repeatsOf,
} from './stuck.js';
import { answerOpenCalls, InvalidStep, isPaired, openCalls, resultMessage } from './transcript.js';
import type {
  Action,
  End,
  Limits,
  Message,
  Observation,
  Reply,
  State,
  Step,
  Stop,
  ToolCall,
  ToolResult,
} from './types.js';
import { addUsage, NO_USAGE } from './usage.js';

/** An empty reply is asked for again until this many came in a row. */
const EMPTY_REPLIES_UNTIL_END = 3;
/** This many replies in a row that reach their length limit end the run: the model does not come to an end. */
const CUT_REPLIES_UNTIL_END = 4;
/** The same call refused this often ends the run: asking again will not help. */
const DENIALS_UNTIL_END = 3;

export { InvalidStep, reopen } from './transcript.js';
export { addUsage, NO_USAGE } from './usage.js';

/** Tries after the first, for an answer that has to have a certain form. */
const OUTPUT_RETRIES = 3;

const NOT_RUN = 'Not run: interrupted.';
const CUT_OFF =
  'Not run: the reply was cut off at its length limit, so this call may be incomplete. Send it again in smaller pieces.';
const GO_ON =
  'Your reply was cut off at its length limit. Go on exactly where it stopped, without repeating anything. ' +
  'Keep what is left short; write long content to a file, in several smaller steps.';
const EMPTY_NUDGE = 'Your last reply was empty. Go on with the task: call a tool, or give the final answer.';
const STUCK_NOTE =
  '\n\n[This is the third time that this call gave this same result. Try something else, or say what blocks you.]';

/** The first step of a run over `messages`, which end with the task. */
export function start(messages: readonly Message[], limits: Limits): Step {
  return reason({
    phase: 'reason',
    messages,
    openingCount: messages.length,
    limits,
    turns: 0,
    emptyReplies: 0,
    cutReplies: 0,
    cutAnswer: '',
    refusals: 0,
    usage: NO_USAGE,
    stuck: NOTHING_SEEN,
    denials: {},
  });
}

/**
 * The step after `seen`.
 * @throws {InvalidStep} when `seen` does not answer the state's last action.
 */
export function observe(state: State, seen: Observation): Step {
  if (state.phase === 'finished') throw new InvalidStep('The run has ended: nothing can be observed any more.');
  switch (seen?.kind) {
    case 'reply':
      return state.phase === 'summary' ? onSummary(state, seen) : onReply(state, seen);
    case 'results':
      return onResults(state, seen.results);
    case 'input':
      return onInput(state, seen.texts);
    case 'context':
      return onContext(state, seen);
    case 'stop':
      return onStop(state, seen);
    default:
      seen satisfies never;
      throw new InvalidStep('This is no observation: its kind is unknown.');
  }
}

/** Whether another model call would still be a turn of the run, and not its summary. */
export function hasTurnsLeft(state: State): boolean {
  return state.turns < state.limits.maxTurns;
}

function onReply(before: State, reply: Extract<Observation, { kind: 'reply' }>): Step {
  if (before.phase !== 'reason') throw new InvalidStep('A reply came while tool calls were open.');
  refuseBadIds(reply.toolCalls);
  const state = { ...before, usage: addUsage(before.usage, reply.usage) };
  if (reply.finishReason === 'content_filter') return onRefusal(state, reply);
  if (isEmpty(reply)) return onEmptyReply(state);

  const isCut = reply.finishReason === 'length';
  const cutReplies = isCut ? state.cutReplies + 1 : 0;
  // With a call in between, what was said before it is no piece of the answer any more.
  const cutAnswer = reply.toolCalls.length > 0 ? '' : state.cutAnswer;
  const recorded = record({ ...state, turns: state.turns + 1, emptyReplies: 0, cutReplies, cutAnswer }, reply);
  if (isCut) return onCutReply(recorded, reply);
  if (reply.toolCalls.length === 0) return onFinalText(recorded, reply);
  if (reply.text.trim() === '') return act(recorded, reply.toolCalls);

  const fingerprint = fingerprintOfText(reply.text);
  const stuck = rememberText(recorded.stuck, fingerprint);
  if (repeatsOf(stuck, fingerprint) < REPEATS_UNTIL_END) return act({ ...recorded, stuck }, reply.toolCalls);
  return finish({ ...closeCalls(recorded, NOT_RUN), stuck }, { reason: 'stuck', answer: reply.text });
}

/** None of its calls is whole for sure, and its text is a piece: the model goes on from there. */
function onCutReply(before: State, { text, toolCalls }: Reply): Step {
  const hasCalls = toolCalls.length > 0;
  const state = { ...closeCalls(before, CUT_OFF), cutAnswer: hasCalls ? '' : before.cutAnswer + text };
  if (state.cutReplies < CUT_REPLIES_UNTIL_END) return next(hasCalls ? state : withInput(state, [GO_ON]));
  const message = `The model reached the length limit of a reply ${state.cutReplies} times in a row.`;
  return finish(state, { reason: 'budget', answer: saidSoFar(state), error: { kind: 'budget', message } });
}

/** A text without calls is the answer, unless it was refused or something came in meanwhile. */
function onFinalText(before: State, reply: Extract<Observation, { kind: 'reply' }>): Step {
  const { refusal, followUps = [] } = reply;
  const text = before.cutAnswer + reply.text;
  const state = { ...before, cutAnswer: '' };
  if (followUps.length > 0) return next(withInput(state, followUps));
  if (refusal === undefined) return finish(state, { reason: 'answered', answer: text });
  const refusals = state.refusals + 1;
  const retries = state.limits.maxOutputRetries ?? OUTPUT_RETRIES;
  if (refusals <= retries) return reason(withInput({ ...state, refusals }, [refusal]));
  const message = `The answer was refused ${refusals} times; last: ${refusal}`;
  return finish({ ...state, refusals }, { reason: 'failed', answer: text, error: { kind: 'output', message } });
}

function onInput(state: State, texts: readonly string[]): Step {
  if (state.phase !== 'reason') throw new InvalidStep('Input came where no model call was next.');
  return reason(withInput(state, texts));
}

/** @throws {InvalidStep} unless the history that is offered can be sent, and ends before a model call. */
function onContext(state: State, seen: Extract<Observation, { kind: 'context' }>): Step {
  const { messages, openingCount } = seen;
  if (state.phase === 'act') throw new InvalidStep('A new history came while tool calls were open.');
  const isWhole = isPaired(messages) && openingCount > 0 && openingCount <= messages.length;
  if (!isWhole) throw new InvalidStep('The new history is no valid one.');
  const purpose = state.phase === 'summary' ? 'summary' : 'turn';
  const usage = addUsage(state.usage, seen.usage ?? NO_USAGE);
  // What was left out may be looked at again: that is no circle.
  const stuck = { ...state.stuck, counts: {} };
  return { state: { ...state, messages, openingCount, usage, stuck }, action: { kind: 'reason', messages, purpose } };
}

function withInput(state: State, texts: readonly string[]): State {
  return { ...state, messages: [...state.messages, ...texts.map((content): Message => ({ role: 'user', content }))] };
}

/** The tool-free reply at a turn limit. Calls in it are dropped: there are no turns left to run them in. */
function onSummary(before: State, reply: Reply): Step {
  const spent = { ...before, usage: addUsage(before.usage, reply.usage) };
  if (reply.finishReason === 'content_filter') return onRefusal(spent, reply);
  const state = record(spent, { ...reply, toolCalls: [] });
  return finish(state, { reason: 'turn-limit', answer: reply.text.trim() === '' ? saidSoFar(before) : reply.text });
}

function onRefusal(state: State, reply: Reply): Step {
  const message = "The provider's content filter ended the reply.";
  return finish(state, { reason: 'failed', answer: reply.text, error: { kind: 'provider', message } });
}

function onEmptyReply(before: State): Step {
  const state = { ...before, emptyReplies: before.emptyReplies + 1 };
  if (state.emptyReplies < EMPTY_REPLIES_UNTIL_END) {
    return reason({ ...state, messages: [...state.messages, { role: 'user', content: EMPTY_NUDGE }] });
  }
  const message = `The model gave ${EMPTY_REPLIES_UNTIL_END} empty replies in a row.`;
  return finish(state, { reason: 'failed', answer: lastText(state), error: { kind: 'provider', message } });
}

function onResults(before: State, results: readonly ToolResult[]): Step {
  if (before.phase !== 'act') throw new InvalidStep('Results came while no tool call was open.');
  const calls = openCalls(before.messages);
  if (!Array.isArray(results) || results.length !== calls.length) {
    throw new InvalidStep(`Each of the ${calls.length} open calls wants exactly one result.`);
  }
  const state = calls.reduce((at: State, call) => recordResult(at, call, resultOf(call, results)), before);
  if (Object.values(state.stuck.counts).some((count) => count >= REPEATS_UNTIL_END)) {
    return finish(state, { reason: 'stuck', answer: lastText(state) });
  }
  if (Object.values(state.denials).some((count) => count >= DENIALS_UNTIL_END)) {
    return finish(state, { reason: 'denied', answer: lastText(state) });
  }
  return next(state);
}

function resultOf(call: ToolCall, results: readonly ToolResult[]): ToolResult {
  const result = results.find(({ callId }) => callId === call.id);
  if (result === undefined) throw new InvalidStep(`The open call ${call.id} has no result.`);
  return result;
}

function recordResult(state: State, call: ToolCall, result: ToolResult): State {
  const fingerprint = fingerprintOfCall(call, result.output);
  const stuck = remember(state.stuck, fingerprint);
  const note = repeatsOf(stuck, fingerprint) === REPEATS_UNTIL_NOTE ? STUCK_NOTE : '';
  const key = `${call.name} ${call.arguments.trim()}`;
  return {
    ...state,
    messages: [...state.messages, resultMessage(call, result.output + note)],
    stuck,
    denials: result.denied === true ? { ...state.denials, [key]: (state.denials[key] ?? 0) + 1 } : state.denials,
  };
}

function onStop(state: State, stop: Stop): Step {
  return finish(closeCalls(state, NOT_RUN), {
    reason: stop.reason,
    // A reply that was dropped is not recorded; what had arrived of it is still the last that was said.
    answer: saidSoFar(state, stop.text),
    ...(stop.error === undefined ? {} : { error: stop.error }),
  });
}

/** Goes on with the next turn, or asks for a summary where none is left. */
function next(state: State): Step {
  if (hasTurnsLeft(state)) return reason({ ...state, phase: 'reason' });
  const content =
    `You have used all ${state.limits.maxTurns} turns of this run and can call no more tools. ` +
    'In a few lines: what is done, what is still open, and what the next step would be.';
  const messages: readonly Message[] = [...state.messages, { role: 'user', content }];
  return {
    state: { ...state, phase: 'summary', messages },
    action: { kind: 'reason', messages, purpose: 'summary' },
  };
}

function reason(state: State): Step {
  return { state, action: { kind: 'reason', messages: state.messages, purpose: 'turn' } };
}

function act(state: State, calls: readonly ToolCall[]): Step {
  return { state: { ...state, phase: 'act' }, action: { kind: 'act', calls } };
}

function finish(state: State, end: End): Step {
  const action: Action = { kind: 'finish', end };
  return { state: { ...state, phase: 'finished', endedBy: end.reason }, action };
}

function record(state: State, reply: Reply): State {
  if (isEmpty(reply)) return state;
  const message: Message = {
    role: 'assistant',
    content: reply.text,
    ...(reply.reasoning ? { reasoning: reply.reasoning } : {}),
    ...(reply.toolCalls.length > 0 ? { toolCalls: reply.toolCalls } : {}),
    ...(reply.replay ? { replay: reply.replay } : {}),
  };
  return { ...state, messages: [...state.messages, message] };
}

function isEmpty(reply: Reply): boolean {
  return reply.text.trim() === '' && reply.toolCalls.length === 0;
}

function closeCalls(state: State, output: string): State {
  return { ...state, messages: answerOpenCalls(state.messages, output) };
}

/** What there is of an answer, for an ending without one: its pieces, else the last words. */
function saidSoFar(state: State, dropped = ''): string {
  const text = state.cutAnswer + dropped;
  return text.trim() === '' ? lastText(state) : text;
}

/** The last words of the model in this run. */
function lastText(state: State): string {
  const spoken = state.messages
    .slice(state.openingCount)
    .findLast((message) => message.role === 'assistant' && message.content.trim() !== '');
  return spoken?.content ?? '';
}

function refuseBadIds(calls: readonly ToolCall[]): void {
  const ids = new Set(calls.map((call) => call.id));
  if (ids.size !== calls.length || ids.has('')) throw new InvalidStep('Tool call ids must be unique and not empty.');
  if (calls.some((call) => call.name === '')) throw new InvalidStep('A tool call has no name.');
}
