/** What runs wait for is often code of the library user, which may never answer: a cancel and a deadline end that too. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type Agent, type EffectPolicy, parseEvent, RunEndedError, type Tool } from '../../src/index.js';
import { bench, calls, disorder, says, worker } from '../fixtures/bench.js';
import { type AgentBenchOptions, agentOver, gate, ofType, probe, until } from '../parity/agent-bench.js';

const never = () => new Promise<never>(() => undefined);
const ALL: EffectPolicy = { mode: 'allow-all', allow: [], deny: [] };
const mails = async () => ({ ok: true, output: 'x', effects: [{ type: 'mail' }, { type: 'mail' }] });
const deaf = (fields: Partial<Tool>) => probe('t', never, fields).tool;

type Case = { readonly waitsFor: string; readonly tool?: Tool } & AgentBenchOptions;

const QUESTION: Case = { waitsFor: 'approve', tool: deaf({ permission: 'write' }), approve: never };
const CASES: readonly Case[] = [
  { waitsFor: 'preview', tool: deaf({ permission: 'write', preview: never }), approve: async () => 'once' },
  { waitsFor: 'the schema of a tool', tool: deaf({ schema: z.object({}).refine(never) }) },
  { waitsFor: 'transformRequest', transformRequest: never },
  { waitsFor: 'a refinement of the answer', output: z.object({}).refine(never) },
  { waitsFor: 'onEffect', tool: probe('t', mails).tool, effectPolicy: ALL, onEffect: never },
  { waitsFor: 'a meta tool', tool: deaf({ permission: 'meta' }) },
  { waitsFor: 'a tool without a time limit', tool: deaf({}), toolTimeoutMs: 0 },
];

const ENDS: readonly (readonly [how: string, end: (agent: Agent) => void, reason: string, kind: string])[] = [
  ['cancel', (agent) => void agent.cancel({ reason: 'enough' }), 'interrupted', 'interrupted'],
  ['destroyWorker', (agent) => agent.destroyWorker('gone'), 'failed', 'worker'],
];

/** A run that waits for ever if it is let; with a tool in its first turn where there is one. */
const over = ({ waitsFor: _, tool, ...options }: Case) =>
  agentOver((_request, index) => (tool !== undefined && index === 0 ? calls(['c1', 't', {}]) : says('{}')), {
    ...options,
    tools: tool === undefined ? [] : [tool],
  });

/** What a promise comes to while time passes. */
async function passing<Value>(promise: Promise<Value>): Promise<Value> {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  promise.then(settle, settle);
  while (!isSettled) {
    await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(50);
  }
  return promise;
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe.each([QUESTION, ...CASES])('a run that waits for $waitsFor', (one) => {
  it.each(ENDS)('ends by %s, whole, and leaves the agent free', async (_, end, reason, kind) => {
    const { agent, events } = over(one);
    const { result } = agent.ask('Go.');
    await until('it runs', () => events.some(({ type }) => type === 'turn-start'));
    for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    end(agent);
    expect(await passing(result)).toMatchObject({ reason, error: { kind } });
    expect(disorder(events)).toEqual([]);
    for (const event of events) parseEvent(event);
    expect(agent.steer('x')).toEqual({ ok: false, reason: 'idle' });
    const next = agent.ask('Again.');
    agent.cancel();
    await passing(next.result);
  });
});

it.each(CASES)('a run that waits for $waitsFor ends by its deadline', async (one) => {
  const { agent, events } = over({ ...one, limits: { timeoutMs: 500 } });
  expect(await passing(agent.run('Go.'))).toMatchObject({ reason: 'timeout', error: { kind: 'timeout' } });
  expect(disorder(events)).toEqual([]);
});

it('the deadline rests while a person is asked', async () => {
  const { opening, open } = gate();
  const approve = async () => {
    await opening;
    return 'once' as const;
  };
  const { tool } = probe('t', undefined, { permission: 'write' });
  const { agent, events } = over({ waitsFor: 'approve', tool, approve, limits: { timeoutMs: 500 } });
  const { result } = agent.ask('Go.');
  await until('it asks', () => events.some(({ type }) => type === 'approval-request'));
  await vi.advanceTimersByTimeAsync(10_000);
  open();
  expect(await passing(result)).toMatchObject({ reason: 'answered' });
});

it('a typed run that waits for a refinement of its answer ends by its deadline', async () => {
  const { agent } = over({ waitsFor: 'its schema' });
  const schema = z.object({}).refine(never);
  const thrown = await passing(agent.runTyped(schema, 'Go.', { timeoutMs: 500 }).catch((error: unknown) => error));
  expect(thrown).toBeInstanceOf(RunEndedError);
  expect(thrown).toMatchObject({ outcome: { reason: 'timeout' } });
});

it('an answer that comes behind the end of its run allows nothing later', async () => {
  const { opening, open } = gate();
  let asked = 0;
  const { tool, ran } = probe('t', undefined, { permission: 'write' });
  const { agent } = agentOver((_, index) => (index % 2 === 0 ? calls([`c${index}`, 't', {}]) : says('Done.')), {
    tools: [tool],
    approve: async () => {
      asked += 1;
      if (asked > 1) return 'no';
      await opening;
      return 'session';
    },
  });
  const { result } = agent.ask('Go.');
  await until('it asks', () => asked === 1);
  agent.cancel();
  await passing(result);
  open();
  await agent.run('Again.');
  await passing(agent.run('And again.'));
  expect([asked, ran]).toEqual([2, []]);
});

it('a listener of states that is deaf holds no run up that is to end', async () => {
  const controller = new AbortController();
  const onState = () => {
    controller.abort(new Error('stop'));
    return never();
  };
  const run = bench({ turns: [calls(['c1', 'nothing', {}])], signal: controller.signal, options: { onState } });
  const { outcome, events } = await passing(run);
  expect(outcome).toMatchObject({ reason: 'failed', error: { message: 'stop' } });
  expect(disorder(events)).toEqual([]);
});

it('a delegation is waited for until its workers have ended, however long they take', async () => {
  const controller = new AbortController();
  // The worker's tool is given its own time, which is longer than the one for whoever is deaf.
  const slow = probe(
    'slow',
    () => new Promise((resolve) => setTimeout(() => resolve({ ok: true, output: 'late' }), 9_000)),
  );
  const lead = probe(
    'lead',
    async (_, context) => {
      const results = await context.delegate?.([{ worker: 'coder', task: 'Go.' }]);
      return { ok: true, output: `worker: ${results?.[0]?.status}` };
    },
    { permission: 'meta' },
  );
  const run = bench({
    turns: ({ tools }) => (tools[0]?.name === 'lead' ? calls(['c1', 'lead', {}]) : calls(['c2', 'slow', {}])),
    tools: [lead.tool, slow.tool],
    workers: [worker({ name: 'lead', tools: ['lead'], entry: true }), worker({ tools: ['slow'] })],
    signal: controller.signal,
    onEvent: (event) => {
      if (event.type === 'tool-start' && event.name === 'slow') setImmediate(() => controller.abort(new Error('stop')));
    },
  });
  const { events } = await passing(run);
  expect(disorder(events)).toEqual([]);
  expect(ofType(events, 'tool-end')).toMatchObject([{ output: 'late' }, { output: 'worker: failed' }]);
});

it('a round of many calls adds no more listeners to a signal than Node finds right', async () => {
  const warnings: string[] = [];
  const warn = (warning: Error) => void warnings.push(warning.name);
  process.on('warning', warn);
  const many = Array.from({ length: 40 }, (_, index) => [`c${index}`, 't', { text: String(index) }] as const);
  const { agent } = agentOver([calls(...many), says('Done.')], { tools: [probe('t').tool] });
  expect(await passing(agent.run('Go.'))).toMatchObject({ reason: 'answered' });
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', warn);
  expect(warnings).toEqual([]);
});
