/** The kernel by itself, without a provider and without tools, as a library user drives it. */
import { describe, expect, it } from 'vitest';
import {
  InvalidStep,
  kernel,
  type Message,
  type Observation,
  type State,
  type Step,
  type ToolCall,
  type ToolResult,
} from '../../src/index.js';
import { faultsOf, told } from './agent-bench.js';

const TASK: readonly Message[] = [{ role: 'user', content: 'Go.' }];

const call = (id: string, name = 'act'): ToolCall => ({ id, name, arguments: '{}' });
const reply = (text: string, toolCalls: readonly ToolCall[] = []): Observation => ({
  kind: 'reply',
  text,
  toolCalls,
  finishReason: toolCalls.length > 0 ? 'tool_calls' : 'stop',
  usage: { ...kernel.NO_USAGE, requests: 1, promptTokens: 3, completionTokens: 2, totalTokens: 5 },
});
const result = (callId: string, output = `${callId} ran`, fields: Partial<ToolResult> = {}): ToolResult => ({
  callId,
  output,
  ok: true,
  ...fields,
});
const results = (...list: readonly ToolResult[]): Observation => ({ kind: 'results', results: list });

const begin = (maxTurns = 30): Step => kernel.start(TASK, { maxTurns });
const following = (step: Step, ...seen: readonly Observation[]): Step =>
  seen.reduce((at, observation) => kernel.observe(at.state, observation), step);

/** Shows an observation that does not fit, and that the state is as it was. */
function refuses(state: State, seen: Observation): void {
  const before = structuredClone(state);
  expect(() => kernel.observe(state, seen)).toThrow(InvalidStep);
  expect(state).toEqual(before);
}

describe('the kernel', () => {
  it('asks for the model, then for two actions, and records what came of them in call order [row 43]', () => {
    const first = begin();
    expect(first.action).toEqual({ kind: 'reason', messages: TASK, purpose: 'turn' });
    const second = following(first, reply('Both.', [call('a'), call('b')]));
    expect(second.action).toEqual({ kind: 'act', calls: [call('a'), call('b')] });
    const third = following(second, results(result('b'), result('a')));
    expect(third.action).toMatchObject({ kind: 'reason', purpose: 'turn' });
    expect(told(third.state.messages)).toEqual(['user: Go.', 'assistant: Both. act act', 'tool: a ran', 'tool: b ran']);
    const last = following(third, reply('Done.'));
    expect(last.action).toEqual({ kind: 'finish', end: { reason: 'answered', answer: 'Done.' } });
    expect(last.state).toMatchObject({ phase: 'finished', turns: 2, usage: { requests: 2, totalTokens: 10 } });
  });

  it('gives the same step for the same state, changes none, and takes one that was stored as text', () => {
    const step = following(begin(), reply('', [call('a')]));
    const before = structuredClone(step.state);
    const stored = JSON.parse(JSON.stringify(step.state)) as State;
    const once = kernel.observe(step.state, results(result('a')));
    expect(kernel.observe(stored, results(result('a')))).toEqual(once);
    expect(step.state).toEqual(before);
  });

  it.each<[string, Step, Observation]>([
    ['a batch with one result twice', open('a', 'b'), results(result('a'), result('a'))],
    ['a batch with a result too many', open('a', 'b'), results(result('a'), result('b'), result('b'))],
    ['a batch with a result too few', open('a', 'b'), results(result('a'))],
    ['an empty batch', open('a', 'b'), results()],
    ['a batch with an id that nobody has', open('a', 'b'), results(result('a'), result('c'))],
    ['a reply while actions are open', open('a', 'b'), reply('Done.')],
    ['input while actions are open', open('a', 'b'), { kind: 'input', texts: ['Hello?'] }],
  ])('refuses %s, stays as it was, and goes on once it is corrected [row 44]', (_, step, seen) => {
    refuses(step.state, seen);
    const corrected = following(step, results(result('b'), result('a')), reply('Done.'));
    expect(corrected.action).toEqual({ kind: 'finish', end: { reason: 'answered', answer: 'Done.' } });
    expect(faultsOf(corrected.state.messages)).toEqual([]);
  });

  it.each<[string, Step, Observation]>([
    ['results that it did not ask for', begin(), results(result('a'))],
    ['results a second time', following(open('a'), results(result('a'))), results(result('a'))],
    ['a reply with two calls of one id', begin(), reply('', [call('a'), call('a')])],
    ['a reply with a call without an id', begin(), reply('', [call('')])],
    ['a reply with a call without a name', begin(), reply('', [call('a', '')])],
  ])('refuses %s as well [row 44]', (_, step, seen) => {
    refuses(step.state, seen);
    expect(following(step, reply('Done.')).action).toMatchObject({ kind: 'finish', end: { answer: 'Done.' } });
  });

  it('refuses everything once the run has ended [row 44]', () => {
    const { state } = following(begin(), reply('Done.'));
    refuses(state, reply('More.'));
    refuses(state, results(result('a')));
    refuses(state, { kind: 'input', texts: ['More.'] });
    refuses(state, { kind: 'stop', reason: 'interrupted' });
    expect(() => kernel.reopen(state)).toThrow(InvalidStep);
  });

  it('records a mixed batch in call order, and a partial one and a repeated one only once they are whole [edge 15]', () => {
    const step = open('a', 'b', 'c');
    refuses(step.state, results(result('c'), result('a')));
    const mixed = [
      result('c', 'too late', { ok: false, code: 'timeout' }),
      result('a', 'fine'),
      result('b', 'no', { ok: false, code: 'denied', denied: true }),
    ];
    const next = following(step, results(...mixed));
    expect(told(next.state.messages).slice(-3)).toEqual(['tool: fine', 'tool: no', 'tool: too late']);
    refuses(next.state, results(...mixed));
    expect(following(next, reply('Done.')).action.kind).toBe('finish');
  });

  it.each(['interrupted', 'timeout', 'budget', 'failed'] as const)(
    'leaves no action without a result where a run ends %s [trap 10]',
    (reason) => {
      for (const step of [open('a', 'b'), following(open('a', 'b'), results(result('b'), result('a')))]) {
        const { state, action } = following(step, { kind: 'stop', reason });
        expect(action).toMatchObject({ kind: 'finish', end: { reason } });
        expect(faultsOf(state.messages)).toEqual([]);
      }
    },
  );

  it('leaves none without a result at a turn limit and in a reply that was cut off either [trap 10]', () => {
    const limited = following(begin(1), reply('', [call('a')]), results(result('a')), reply('Half.', [call('b')]));
    expect(limited.action).toEqual({ kind: 'finish', end: { reason: 'turn-limit', answer: 'Half.' } });
    expect(faultsOf(limited.state.messages)).toEqual([]);
    const cut = following(begin(), { ...reply('', [call('a')]), finishReason: 'length' } as Observation);
    expect(cut.action.kind).toBe('reason');
    expect(faultsOf(cut.state.messages)).toEqual([]);
  });

  it('has as many turns as its limit says, and one request more to sum up [trap 9]', () => {
    const round = (id: string) => [reply('', [call(id)]), results(result(id))];
    const limited = following(begin(2), ...round('a'), ...round('b'));
    expect(limited.action).toMatchObject({ kind: 'reason', purpose: 'summary' });
    expect(limited.state.turns).toBe(2);
    expect(following(limited, reply('Half.')).action).toEqual({
      kind: 'finish',
      end: { reason: 'turn-limit', answer: 'Half.' },
    });
  });

  it('goes on from a stored state: with the open actions, never with those that have a result', () => {
    const acting = JSON.parse(JSON.stringify(open('a', 'b').state)) as State;
    expect(kernel.reopen(acting).action).toEqual({ kind: 'act', calls: [call('a'), call('b')] });
    const reasoning = following({ state: acting } as Step, results(result('a'), result('b')));
    expect(kernel.reopen(JSON.parse(JSON.stringify(reasoning.state)) as State)).toEqual(reasoning);
  });
});

/** A run in which these calls are open. */
function open(...ids: readonly string[]): Step {
  return following(
    begin(),
    reply(
      '',
      ids.map((id) => call(id)),
    ),
  );
}
