/** What holds whatever a model does and whenever a person breaks in. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InterruptedError, type Message, type ModelDelta, ProviderError, type State } from '../../src/index.js';
import { bench, disorder, type Turn } from '../fixtures/bench.js';
import { agentOver, faultsOf, ofType, probe } from './agent-bench.js';

type CallKind = 'read' | 'write' | 'slow' | 'breaks' | 'unknown' | 'bad-json' | 'bad-fields' | 'same';
type Behaviour =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'calls';
      readonly text: string;
      readonly calls: readonly CallKind[];
      readonly cut: boolean;
      readonly twins: boolean;
    }
  | { readonly kind: 'empty' | 'error' | 'crash' | 'filtered' | 'endless' | 'breaks-off' };

const callKind = fc.constantFrom<CallKind>(
  'read',
  'write',
  'slow',
  'breaks',
  'unknown',
  'bad-json',
  'bad-fields',
  'same',
);
const shortText = fc.constantFrom('', ' ', 'Let me see.', 'Ä€', 'Looking.');
const callsOf = (twins: fc.Arbitrary<boolean>) =>
  fc.record({
    kind: fc.constant('calls' as const),
    text: shortText,
    calls: fc.array(callKind, { minLength: 1, maxLength: 4 }),
    cut: fc.boolean(),
    twins,
  });
const mishap = fc
  .constantFrom('empty', 'error', 'crash', 'filtered', 'endless', 'breaks-off')
  .map((kind) => ({ kind }));
const behaviour = fc.oneof(
  { weight: 6, arbitrary: callsOf(fc.boolean()) },
  { weight: 1, arbitrary: shortText.map((text) => ({ kind: 'text', text })) },
  { weight: 2, arbitrary: mishap },
) as fc.Arbitrary<Behaviour>;

/** A call's arguments are new each time, so that each run of a tool can be told from all others; but for `same`. */
function deltasOf(kind: CallKind, id: string, key: string): ModelDelta {
  const name = { read: 'read', write: 'write', slow: 'slow', breaks: 'breaks', same: 'same' }[kind as string] ?? 'read';
  const args = { 'bad-json': '{"text":', 'bad-fields': '{"text":{}}', same: '{}' }[kind as string];
  return {
    type: 'call',
    call: { id, name: kind === 'unknown' ? 'nobody' : name, arguments: args ?? JSON.stringify({ text: key }) },
  };
}

/** What the model streams at its `index`th request. */
function turnOf(given: Behaviour | undefined, index: number): Turn {
  const end: ModelDelta = { type: 'end', finishReason: 'stop' };
  switch (given?.kind) {
    case undefined:
      return [{ type: 'text', text: `Answer ${index}.` }, end];
    case 'text':
      return [{ type: 'text', text: given.text }, end];
    case 'calls':
      return [
        { type: 'text', text: given.text },
        { type: 'activity' },
        ...given.calls.map((kind, place) =>
          deltasOf(kind, given.twins ? 'twin' : `c${index}-${place}`, `${index}-${place}`),
        ),
        { type: 'end', finishReason: given.cut ? 'length' : 'tool_calls' },
      ];
    case 'empty':
      return [end];
    case 'error':
      return new ProviderError('overloaded', 'Busy.');
    case 'crash':
      return new TypeError('boom');
    case 'filtered':
      return [
        { type: 'text', text: 'I' },
        { type: 'end', finishReason: 'content_filter' },
      ];
    case 'endless':
      return [{ type: 'text', text: 'And then' }];
    case 'breaks-off':
      return async function* () {
        yield { type: 'text', text: 'And then' };
        throw new ProviderError('network', 'Reset.');
      };
    default:
      return given satisfies never;
  }
}

/** The tools, and the key of each time that one ran. */
function tools() {
  const ran: string[] = [];
  const make = (name: string, concurrency: 'parallel' | 'serial', work: () => Promise<void>) =>
    probe(
      name,
      async (key) => {
        ran.push(key);
        await work();
        return { ok: true, output: `${name} ${key}` };
      },
      { concurrency },
    ).tool;
  const pause = () => new Promise<void>((resolve) => setImmediate(resolve));
  const all = [
    make('read', 'parallel', async () => undefined),
    make('write', 'serial', async () => undefined),
    make('slow', 'parallel', pause),
    make('breaks', 'parallel', () => Promise.reject(new Error('broken'))),
    make('same', 'parallel', async () => undefined),
  ];
  return { ran, all };
}

const RUNS = { numRuns: 150 };

describe('whatever a model does', () => {
  it('and whenever it is cancelled, the history stays valid, each start has one end, and the agent is free', async () => {
    const plan = fc.record({
      behaviours: fc.array(behaviour, { maxLength: 7 }),
      cancelAt: fc.option(fc.nat(40), { nil: -1 }),
      steerAt: fc.option(fc.nat(40), { nil: -1 }),
      how: fc.constantFrom('cancel', 'signal', 'destroy'),
      maxTurns: fc.integer({ min: 1, max: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ behaviours, cancelAt, steerAt, how, maxTurns }) => {
        const histories: (readonly Message[])[] = [];
        const controller = new AbortController();
        const { all } = tools();
        let served = 0;
        let count = 0;
        const stop = {
          cancel: () => agent.cancel(),
          signal: () => controller.abort(),
          destroy: () => agent.destroyWorker('x'),
        };
        const { agent, events, requests } = agentOver(() => turnOf(behaviours[served], served++), {
          tools: all,
          limits: { maxTurns },
          toolRetries: 0,
          onEvent: () => {
            if (count === cancelAt) stop[how as keyof typeof stop]();
            if (count === steerAt) agent.steer('Look there.');
            count += 1;
            histories.push(agent.messages());
          },
        });
        const outcome = await agent.ask('Go.', { signal: controller.signal }).result;
        served = behaviours.length;
        const next = await agent.run('Again.');
        const seen = [...histories, ...requests.map(({ messages }) => messages), agent.messages()];
        expect(seen.flatMap(faultsOf)).toEqual([]);
        expect(disorder(events)).toEqual([]);
        expect(ofType(events, 'run-end').map(({ reason }) => reason)).toEqual([outcome.reason, next.reason]);
        if (cancelAt < 0 || cancelAt >= count) expect(outcome.reason).not.toBe('interrupted');
      }),
      RUNS,
    );
  });

  it('and whenever it is cancelled, each state that it reaches is valid but for the calls it is about to run', async () => {
    const plan = fc.record({
      behaviours: fc.array(behaviour, { maxLength: 7 }),
      cancelAt: fc.nat(40),
      maxTurns: fc.integer({ min: 1, max: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ behaviours, cancelAt, maxTurns }) => {
        const controller = new AbortController();
        const states: { readonly state: State; readonly point: string }[] = [];
        let served = 0;
        let count = 0;
        const { events, outcome } = await bench({
          tools: tools().all,
          maxTurns,
          turns: () => turnOf(behaviours[served], served++),
          signal: controller.signal,
          options: {
            attempts: { timeoutMs: 0, retries: 0, backoffMs: 0, heartbeatMs: 0 },
            onState: (state, point) => void states.push({ state, point }),
          },
          onEvent: () => {
            if (count === cancelAt) controller.abort(new InterruptedError());
            count += 1;
          },
        });
        for (const { state } of states) {
          const about = state.phase === 'act' ? [expect.stringMatching(/^calls without a result/)] : [];
          expect(faultsOf(state.messages)).toEqual(about);
        }
        expect(states.filter(({ point }) => point === 'terminal')).toHaveLength(1);
        expect(states.at(-1)).toMatchObject({ point: 'terminal', state: { phase: 'finished', turns: outcome.turns } });
        expect(disorder(events)).toEqual([]);
      }),
      RUNS,
    );
  });

  it('and whenever it is cancelled, its last token before the end runs no tool again that ever ran', async () => {
    const plan = fc.record({
      behaviours: fc.array(behaviour, { minLength: 1, maxLength: 6 }),
      cancelAt: fc.nat(40),
      how: fc.constantFrom('cancel', 'destroy'),
      maxTurns: fc.integer({ min: 1, max: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ behaviours, cancelAt, how, maxTurns }) => {
        const [first, second] = [tools(), tools()];
        let served = 0;
        let count = 0;
        let last: { readonly token: string; readonly served: number } | undefined;
        const turns = () => turnOf(behaviours[served], served++);
        const options = { limits: { maxTurns }, toolRetries: 0, checkpoints: { secret: 'of these tests' } };
        const run = agentOver(turns, {
          ...options,
          tools: first.all,
          onEvent: (event) => {
            if (event.type === 'checkpoint' && event.point !== 'terminal') last = { token: event.token, served };
            if (count === cancelAt) how === 'cancel' ? run.agent.cancel() : run.agent.destroyWorker('x');
            count += 1;
          },
        });
        const outcome = await run.agent.run('Go.');
        // Where a round itself ends the run there is no token behind it but that of the end.
        if (last === undefined || outcome.reason === 'stuck' || outcome.reason === 'denied') return;

        served = last.served;
        const resumed = agentOver(turns, { ...options, tools: second.all });
        const ended = await resumed.agent.run('Go.', { checkpoint: last.token });
        expect(ended.error?.kind).not.toBe('usage');
        const keys = [...first.ran, ...second.ran].filter((key) => key !== '');
        expect(new Set(keys).size).toBe(keys.length);
        const histories = [...resumed.requests.map(({ messages }) => messages), resumed.agent.messages()];
        expect(histories.flatMap(faultsOf)).toEqual([]);
        expect(disorder(resumed.events)).toEqual([]);
      }),
      RUNS,
    );
  });

  it('and wherever a run was stored, it can be gone on with, and no tool runs twice', async () => {
    const plan = fc.record({
      behaviours: fc.array(behaviour, { minLength: 1, maxLength: 6 }),
      maxTurns: fc.integer({ min: 1, max: 6 }),
    });
    type Stored = { readonly state: State; readonly ran: readonly string[]; readonly requests: number };
    await fc.assert(
      fc.asyncProperty(plan, async ({ behaviours, maxTurns }) => {
        const first = tools();
        const stored: Stored[] = [];
        let served = 0;
        const turns = () => turnOf(behaviours[served], served++);
        const run = await bench({
          tools: first.all,
          maxTurns,
          turns,
          options: {
            onState: (state) => {
              stored.push({ state: JSON.parse(JSON.stringify(state)), ran: [...first.ran], requests: served });
            },
          },
        });
        expect(disorder(run.events)).toEqual([]);
        for (const { state, ran, requests } of stored) {
          if (state.phase === 'act')
            expect(faultsOf(state.messages)).toEqual([expect.stringContaining('without a result')]);
          else expect(faultsOf(state.messages)).toEqual([]);
          if (state.endedBy === 'answered') continue;
          const second = tools();
          served = requests;
          const resumed = await bench({ tools: second.all, maxTurns, turns, options: { resumeFrom: state } });
          const keys = [...ran, ...second.ran].filter((key) => key !== '');
          expect(new Set(keys).size).toBe(keys.length);
          expect(resumed.requests.flatMap(({ messages }) => faultsOf(messages))).toEqual([]);
          expect(disorder(resumed.events)).toEqual([]);
          // One that had ended has new turns; else it comes to the same end, over the same tools.
          if (state.phase === 'finished') continue;
          expect([...ran, ...second.ran].sort()).toEqual([...first.ran].sort());
          expect(resumed.outcome).toMatchObject({ reason: run.outcome.reason, answer: run.outcome.answer });
        }
      }),
      RUNS,
    );
  });
});
