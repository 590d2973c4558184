import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { InterruptedError } from '../../src/errors.js';
import type { AgentEvent } from '../../src/events/types.js';
import type { State, ToolResult } from '../../src/kernel/types.js';
import { allows, type EffectPolicy, intersect } from '../../src/runtime/effects.js';
import { runLoop } from '../../src/runtime/loop.js';
import { DEFAULT_ATTEMPTS, type RoundExecutor, type RunOptions } from '../../src/runtime/options.js';
import { defineTool, type Tool, type ToolContext, type ToolOutput } from '../../src/tools/types.js';
import { type Benched, type BenchOptions, bench, calls, disorder, says, type Turn } from '../fixtures/bench.js';

/** A tool that does what a test says, and counts how often it was run. */
function probe(
  name: string,
  run: (text: string, context: ToolContext) => Promise<ToolOutput>,
  fields: Partial<Tool> = {},
): { readonly tool: Tool; readonly ran: string[] } {
  const ran: string[] = [];
  const tool = defineTool({
    name,
    doc: 'Probes.',
    permission: 'read',
    concurrency: 'parallel',
    schema: z.object({ text: z.string().optional() }),
    subjects: () => [],
    run: ({ text = '' }, context) => {
      ran.push(text);
      return run(text, context);
    },
    ...fields,
  });
  return { tool, ran };
}

const answers = (name: string, fields?: Partial<Tool>) =>
  probe(name, async () => ({ ok: true, output: `${name} ran` }), fields);

/** Runs for as many milliseconds as its text says. */
const sleeper = () =>
  probe('sleeper', async (text) => {
    await sleep(Number(text));
    return { ok: true, output: text };
  });

const ends = (events: readonly AgentEvent[]) => events.filter((event) => event.type === 'tool-end');
const ofType = (events: readonly AgentEvent[], ...types: readonly AgentEvent['type'][]) =>
  events.filter((event) => types.includes(event.type));

/** What the second request says about the calls of the first round. */
const recorded = ({ requests }: Benched) =>
  requests[1]?.messages.flatMap((message) => (message.role === 'tool' ? [[message.callId, message.content]] : []));

const policy = (fields: Partial<typeof DEFAULT_ATTEMPTS>) => ({ ...DEFAULT_ATTEMPTS, ...fields });

describe('tools', () => {
  it('beat steadily while they run, and only if they were asked to [row 14]', async () => {
    const run = (heartbeatMs: number) =>
      bench({
        tools: [sleeper().tool],
        turns: [calls(['a', 'sleeper', { text: '300' }]), says('Done.')],
        options: { attempts: policy({ heartbeatMs }), idleTimeoutMs: 250 },
      });
    const beating = await run(30);
    expect(beating.outcome.reason).toBe('answered');
    expect(ofType(beating.events, 'tool-heartbeat').length).toBeGreaterThan(0);
    const still = await run(0);
    expect(still.outcome.reason).toBe('answered');
    expect(ofType(still.events, 'tool-heartbeat')).toEqual([]);
  });

  it('beat within their round and with rising numbers, naming the calls under way [edge 6]', async () => {
    const { events } = await bench({
      tools: [sleeper().tool],
      turns: [calls(['a', 'sleeper', { text: '300' }], ['b', 'sleeper', { text: '60' }]), says('Done.')],
      options: { attempts: policy({ heartbeatMs: 20 }) },
    });
    const beats = events.filter((event) => event.type === 'tool-heartbeat');
    const [first, last] = [events.findIndex((event) => event.type === 'tool-start'), events.indexOf(ends(events)[1]!)];
    expect(beats.every((beat) => events.indexOf(beat) > first && events.indexOf(beat) < last)).toBe(true);
    expect(beats[0]?.callIds).toEqual(['a', 'b']);
    expect(beats.at(-1)?.callIds).toEqual(['a']);
    // That numbers rise by one from first to last, beats included, is part of the order.
    expect(disorder(events)).toEqual([]);
  });

  it('that are unknown, badly called or broken give the model a text that names them, and the run goes on [row 36]', async () => {
    const broken = probe('broken', () => Promise.reject(new Error('boom')));
    const failing = probe('failing', async () => ({ ok: true, output: '' }), {
      subjects: () => {
        throw new Error('no subject');
      },
    });
    const run = await bench({
      tools: [broken.tool, failing.tool],
      turns: [
        calls(['a', 'teleport', {}], ['b', 'broken', '{"text":'], ['c', 'broken', {}], ['d', 'failing', {}]),
        says('Done.'),
      ],
    });
    expect(run.outcome).toMatchObject({ reason: 'answered', answer: 'Done.' });
    expect(ends(run.events)).toMatchObject([
      { callId: 'a', ok: false, code: 'unknown-tool', attempts: 0 },
      { callId: 'b', ok: false, code: 'bad-arguments', attempts: 0 },
      { callId: 'd', ok: false, code: 'tool-error', attempts: 0 },
      { callId: 'c', ok: false, code: 'tool-error', attempts: 1 },
    ]);
    expect(recorded(run)).toEqual([
      ['a', expect.stringContaining('"teleport"')],
      ['b', expect.stringMatching(/broken are not valid JSON/)],
      ['c', 'broken failed: boom'],
      ['d', 'failing failed: no subject'],
    ]);
  });

  it('are tried again when that may help, and a tool that keeps timing out leaves the run alive [row 37]', async () => {
    const flaky = probe('flaky', async () =>
      flaky.ran.length === 1 ? { ok: false, output: 'Busy.', retryable: true } : { ok: true, output: 'Fine.' },
    );
    const final = probe('final', async () => ({ ok: false, code: 'no-match', output: 'No.' }));
    const stuck = probe('stuck', () => new Promise(() => undefined));
    const run = await bench({
      tools: [flaky.tool, final.tool, stuck.tool],
      turns: [calls(['a', 'flaky', {}]), calls(['b', 'final', {}]), calls(['c', 'stuck', {}]), says('Done.')],
      options: { attempts: policy({ timeoutMs: 60, backoffMs: 10 }) },
    });
    expect(ends(run.events)).toMatchObject([
      { callId: 'a', ok: true, attempts: 2 },
      { callId: 'b', ok: false, code: 'no-match', attempts: 1 },
      { callId: 'c', ok: false, code: 'timeout', attempts: 2, output: expect.stringMatching(/^stuck .* 60 ms/) },
    ]);
    expect([flaky.ran, final.ran, stuck.ran].map((ran) => ran.length)).toEqual([2, 1, 2]);
    expect(run.outcome).toMatchObject({ reason: 'answered', answer: 'Done.' });
  });

  it('have time for all their attempts and the waits between them [trap 2]', async () => {
    // Two limits of 50 ms and a wait of 300 ms: far more than a watchdog of one limit and a little would allow.
    const slow = probe('slow', () =>
      slow.ran.length === 1 ? new Promise(() => undefined) : Promise.resolve({ ok: true, output: 'Fine.' }),
    );
    const run = await bench({
      tools: [slow.tool],
      turns: [calls(['a', 'slow', {}]), says('Done.')],
      options: { attempts: policy({ timeoutMs: 50, backoffMs: 300 }) },
    });
    expect(ends(run.events)).toMatchObject([{ ok: true, attempts: 2, output: 'Fine.' }]);
    expect(recorded(run)).toEqual([['a', 'Fine.']]);
    expect(run.outcome.reason).toBe('answered');
  });

  it('are limited from the start of their run, so that a person may take time to answer', async () => {
    const asked = probe('asked', async () => ({ ok: true, output: 'Fine.' }), { permission: 'write' });
    const { events } = await bench({
      tools: [asked.tool],
      turns: [calls(['a', 'asked', {}]), says('Done.')],
      options: { attempts: policy({ timeoutMs: 60 }) },
      decide: () => ({ kind: 'ask', reason: 'Writes.' }),
      runTask: (task, ctx) => runLoop(task, { ...ctx, approve: () => sleep(150, { answer: 'once' } as const) }),
    });
    expect(ends(events)).toMatchObject([{ ok: true, attempts: 1 }]);
  });

  it('end their call, and not the run, when the question to the person breaks off', async () => {
    const asked = answers('asked', { permission: 'write' });
    const { events, outcome } = await bench({
      tools: [asked.tool],
      turns: [calls(['a', 'asked', {}]), says('Done.')],
      decide: () => ({ kind: 'ask', reason: 'Writes.' }),
      runTask: (task, ctx) => runLoop(task, { ...ctx, approve: () => Promise.reject(new Error('no terminal')) }),
    });
    expect(ends(events)).toMatchObject([{ ok: false, attempts: 0, output: expect.stringContaining('no terminal') }]);
    expect(asked.ran).toEqual([]);
    expect(outcome.reason).toBe('answered');
    expect(disorder(events)).toEqual([]);
  });

  it('side by side are shown as they finish and recorded in call order [row 38]', async () => {
    const run = await bench({
      tools: [sleeper().tool],
      turns: [calls(['slow', 'sleeper', { text: '150' }], ['fast', 'sleeper', { text: '1' }]), says('Done.')],
    });
    expect(ends(run.events).map((event) => event.callId)).toEqual(['fast', 'slow']);
    expect(recorded(run)).toEqual([
      ['slow', '150'],
      ['fast', '1'],
    ]);
  });
});

const denies = (name: string): RoundExecutor =>
  async function* (all, run) {
    for (const call of all) {
      if (call.name === name) yield { callId: call.id, ok: false, denied: true, output: 'Denied by the house.' };
      else yield await run(call);
    }
  };

const denyAll: RoundExecutor = async function* (all) {
  for (const { id } of all) yield { callId: id, ok: false, denied: true, output: 'Denied by the house.' };
};

/** One round of `alpha` and `beta` under an executor. */
async function under(roundExecutor: RoundExecutor, fields: Partial<BenchOptions> = {}) {
  const [alpha, beta] = [answers('alpha'), answers('beta')];
  const run = await bench({
    tools: [alpha.tool, beta.tool],
    turns: [calls(['a', 'alpha', {}], ['b', 'beta', {}]), says('Done.')],
    options: { roundExecutor },
    ...fields,
  });
  return { ...run, recorded: recorded(run), alphaRan: alpha.ran.length, betaRan: beta.ran.length };
}

describe('a round executor', () => {
  it('refuses a call without running it, and the others run [row 39]', async () => {
    const run = await under(denies('alpha'));
    expect([run.alphaRan, run.betaRan]).toEqual([0, 1]);
    expect(run.recorded).toEqual([
      ['a', 'Denied by the house.'],
      ['b', 'beta ran'],
    ]);
    expect(ends(run.events)).toMatchObject([
      { callId: 'a', ok: false, denied: true, code: 'denied', rule: 'round executor', attempts: 0 },
      { callId: 'b', ok: true, attempts: 1 },
    ]);
    expect(run.tree.ledger.denials()).toMatchObject([{ callId: 'a', tool: 'alpha', rule: 'round executor' }]);
    expect(run.outcome.reason).toBe('answered');
    expect(disorder(run.events)).toEqual([]);
  });

  it('that leaves a call out has it answered all the same [row 40]', async () => {
    const run = await under(async function* (all, runOne) {
      yield await runOne(all[1]!);
    });
    expect(run.recorded).toEqual([
      ['a', 'Not run: the round executor gave no result for this call.'],
      ['b', 'beta ran'],
    ]);
    expect(ends(run.events)).toMatchObject([
      { callId: 'b', ok: true },
      { callId: 'a', ok: false, code: 'no-result' },
    ]);
    expect(disorder(run.events)).toEqual([]);
  });

  it('decides order and concurrency, and results are recorded in call order', async () => {
    const seen = { now: 0, most: 0, order: [] as string[] };
    const one = probe(
      'one',
      async (text) => {
        seen.order.push(text);
        seen.now += 1;
        seen.most = Math.max(seen.most, seen.now);
        await sleep(5);
        seen.now -= 1;
        return { ok: true, output: text };
      },
      { concurrency: 'serial' },
    );
    const turns = [calls(...['1', '2', '3'].map((text) => [text, 'one', { text }] as const)), says('Done.')];
    const backwards = await bench({
      tools: [one.tool],
      turns,
      options: {
        roundExecutor: async function* (all, run) {
          for (const call of [...all].reverse()) yield await run(call);
        },
      },
    });
    expect(seen).toMatchObject({ most: 1, order: ['3', '2', '1'] });
    expect(recorded(backwards)?.map(([, text]) => text)).toEqual(['1', '2', '3']);
    await bench({
      tools: [one.tool],
      turns,
      options: {
        roundExecutor: async function* (all, run) {
          yield* await Promise.all(all.map(run));
        },
      },
    });
    expect(seen.most).toBe(3);
  });

  it('runs each call once, whatever it asks and yields', async () => {
    let late: (() => Promise<ToolResult>) | undefined;
    const stray: ToolResult[] = [];
    const run = await under(async function* (all, runOne) {
      const [a, b] = [all[0]!, all[1]!];
      yield { callId: 'nobody', ok: true, output: 'x' };
      stray.push(await runOne({ ...a, id: 'nobody' }));
      yield { callId: 'b', ok: true, output: 'first' };
      yield { callId: 'b', ok: true, output: 'second' };
      stray.push(await runOne(b));
      yield await runOne({ ...a, name: 'beta' });
      yield await runOne(a);
      yield { callId: 'a', ok: true, output: 'forged' };
      late = () => runOne({ ...a, id: 'c' });
    });
    expect(run.recorded).toEqual([
      ['a', 'alpha ran'],
      ['b', 'first'],
    ]);
    expect([run.alphaRan, run.betaRan]).toEqual([1, 0]);
    expect(stray).toMatchObject([
      { ok: false, code: 'no-call' },
      { ok: true, output: 'first' },
    ]);
    expect(await late?.()).toMatchObject({ ok: false, output: 'Not run: the round is over.' });
    expect(disorder(run.events)).toEqual([]);
  });

  it('waits for calls that it has begun and not asked after', async () => {
    const run = await under(async function* (all, runOne) {
      void runOne(all[0]!);
      yield await runOne(all[1]!);
    });
    expect(run.recorded).toEqual([
      ['a', 'alpha ran'],
      ['b', 'beta ran'],
    ]);
    expect(disorder(run.events)).toEqual([]);
  });

  it.each<[string, RoundExecutor, string]>([
    [
      'on its way',
      async function* (all, run) {
        yield await run(all[0]!);
        throw new Error('lost');
      },
      'alpha ran',
    ],
    [
      'at once',
      () => {
        throw new Error('lost');
      },
      'Not run: the round executor failed: lost',
    ],
    [
      'with a call under way',
      async function* (all, run) {
        void run(all[0]!);
        yield* [];
        throw new Error('lost');
      },
      'alpha ran',
    ],
  ])('that throws %s makes failed results of what is open, and the run goes on', async (_, executor, first) => {
    const run = await under(executor);
    expect(run.recorded).toEqual([
      ['a', first],
      ['b', 'Not run: the round executor failed: lost'],
    ]);
    expect(ends(run.events).find((event) => event.callId === 'b')).toMatchObject({ code: 'executor-failed' });
    expect(run.outcome).toMatchObject({ reason: 'answered', answer: 'Done.' });
    expect(disorder(run.events)).toEqual([]);
  });

  it.each<[string, RoundExecutor]>([
    [
      'listens',
      async function* (all, run, signal) {
        yield await run(all[0]!);
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      },
    ],
    [
      'is deaf',
      async function* (all, run) {
        yield await run(all[0]!);
        await new Promise(() => undefined);
      },
    ],
  ])('that %s has no call begun after an interrupt', async (_, executor) => {
    const controller = new AbortController();
    const run = await under(executor, {
      signal: controller.signal,
      onEvent: ({ type }) => {
        if (type === 'tool-end') setTimeout(() => controller.abort(new InterruptedError('SIGINT')));
      },
    });
    expect(run.outcome.reason).toBe('interrupted');
    expect(ends(run.events)).toMatchObject([
      { callId: 'a', ok: true },
      { callId: 'b', code: 'interrupted', output: 'Not run: interrupted.', attempts: 0 },
    ]);
    expect(run.betaRan).toBe(0);
    expect(disorder(run.events)).toEqual([]);
  });

  it('does not get round the policy and the person', async () => {
    const all: RoundExecutor = async function* (every, run) {
      yield* await Promise.all(every.map(run));
    };
    const run = await under(all, {
      decide: ({ tool }) =>
        tool === 'alpha' ? { kind: 'deny', reason: 'Not here.', rule: 'r' } : { kind: 'ask', reason: 'Why?' },
    });
    expect([run.alphaRan, run.betaRan]).toEqual([0, 0]);
    expect(ofType(run.events, 'approval-request', 'approval-response')).toMatchObject([
      { callId: 'b' },
      { answer: 'no' },
    ]);
    expect(ends(run.events)).toMatchObject([{ denied: true }, { denied: true }]);
  });

  it('that denies all lets no tool run: in any round, of any class, and in a run gone on with [trap 12]', async () => {
    const classes = (['read', 'write', 'execute', 'network', 'meta'] as const).map((permission) =>
      answers(`a_${permission}`, { permission, concurrency: permission === 'read' ? 'parallel' : 'serial' }),
    );
    const tools = classes.map(({ tool }) => tool);
    const round = (number: number): Turn =>
      calls(...tools.map(({ name }) => [`${name}${number}`, name, { text: String(number) }] as const));
    const states: State[] = [];
    const gate: RunOptions = { roundExecutor: denyAll };
    const paths: Partial<BenchOptions>[] = [
      { options: { ...gate, onState: (state, at) => void (at === 'after-llm' && states.push(state)) } },
      { options: { ...gate, transformRequest: (request) => ({ ...request, tools: [...request.tools] }) } },
    ];
    for (const path of paths) {
      const { events } = await bench({ tools, turns: [round(1), round(2), says('Done.')], ...path });
      expect(ends(events)).toHaveLength(10);
      expect(ends(events).every((event) => event.denied === true && event.attempts === 0)).toBe(true);
      expect(disorder(events)).toEqual([]);
    }
    const resumed = await bench({ tools, turns: [says('Done.')], options: { ...gate, resumeFrom: states[0]! } });
    expect(ends(resumed.events)).toHaveLength(5);
    expect(ends(resumed.events).every((event) => event.denied === true)).toBe(true);
    expect(classes.flatMap(({ ran }) => ran)).toEqual([]);
  });
});

describe('effects', () => {
  const list = (allow: readonly string[], deny: readonly string[] = []): EffectPolicy => ({
    mode: 'allow-list',
    allow,
    deny,
  });

  it('of a child are those that its parent allows as well, and what either denies is denied [row 41]', () => {
    expect(intersect(list(['A', 'B']), list(['B', 'C']))).toEqual(list(['B']));
    expect(intersect(list(['A', 'B'], ['B']), list(['B', 'C'])).allow).toEqual([]);
    expect(intersect(list(['A', 'B']), list(['B', 'C'], ['B'])).allow).toEqual([]);
    expect(allows(intersect({ mode: 'allow-all', allow: [], deny: ['B'] }, list(['B'])), 'B')).toBe(false);
  });

  /** Two tools over one state: one asks for an entry after some time, the other says what it sees. */
  async function overState(turns: readonly Turn[], policyOf?: EffectPolicy) {
    const state = new Map<string, unknown>();
    const handedOn: unknown[] = [];
    const sets = probe('sets', async (text) => {
      await sleep(Number(text));
      return {
        ok: true,
        output: text,
        effects: [
          { type: 'set-state', key: 'last', value: text },
          { type: 'set-state', key: text, value: true },
          { type: 'tell', text },
        ],
      };
    });
    const gets = probe('gets', async (_, context) => ({
      ok: true,
      output: JSON.stringify([...(context.state ?? [])]),
    }));
    const run = await bench({
      tools: [sets.tool, gets.tool],
      turns,
      ...(policyOf && {
        options: { effects: { policy: policyOf, onEffect: (effect) => void handedOn.push(effect.text) } },
      }),
      runTask: (task, ctx) => runLoop(task, { ...ctx, toolContext: { ...ctx.toolContext, state } }),
    });
    return { ...run, state, handedOn };
  }

  it('set in one round are seen by the tools of the next, unless the policy denies all [row 42]', async () => {
    const turns = [calls(['a', 'sets', { text: '1' }], ['b', 'gets', {}]), calls(['c', 'gets', {}]), says('Done.')];
    const outputs = (events: readonly AgentEvent[]) =>
      Object.fromEntries(ends(events).map((event) => [event.callId, event.output]));
    const allowed = await overState(turns);
    expect(outputs(allowed.events)).toMatchObject({ b: '[]', c: '[["last","1"],["1",true]]' });
    const denied = await overState(turns, { mode: 'deny-all', allow: ['set-state'], deny: [] });
    expect(outputs(denied.events)).toMatchObject({
      a: expect.stringMatching(/^1\n\[Not done.*: set-state, tell\.\]$/),
      b: '[]',
      c: '[]',
    });
    expect(ofType(denied.events, 'notice')).toMatchObject([{ code: 'effect-refused' }]);
    expect(denied.handedOn).toEqual([]);
  });

  it('and results of a slow and a fast call side by side keep the order of the calls [edge 7]', async () => {
    const run = await overState(
      [calls(['slow', 'sets', { text: '150' }], ['fast', 'sets', { text: '1' }]), says('Done.')],
      list(['set-state', 'tell']),
    );
    expect(ends(run.events).map((event) => event.callId)).toEqual(['fast', 'slow']);
    expect(recorded(run)).toEqual([
      ['slow', '150'],
      ['fast', '1'],
    ]);
    expect([...run.state]).toEqual([
      ['last', '1'],
      ['150', true],
      ['1', true],
    ]);
    expect(run.handedOn).toEqual(['150', '1']);
  });
});
