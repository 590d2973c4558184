import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { InterruptedError, ProviderError } from '../../src/errors.js';
import type { AgentEvent } from '../../src/events/types.js';
import { defineTool } from '../../src/tools/types.js';
import { bench, calls, disorder, says, type Turn, worker } from '../fixtures/bench.js';
import { gate, until } from '../parity/agent-bench.js';

/** A tool that answers with its `text`, after `ms`. It notes when it runs. */
const echo = (
  options: {
    concurrency?: 'parallel' | 'path' | 'serial';
    running?: { now: number; most: number; order: string[] };
  } = {},
) =>
  defineTool({
    name: 'echo',
    doc: 'Echoes.',
    permission: 'read',
    concurrency: options.concurrency ?? 'parallel',
    schema: z.object({ text: z.string(), ms: z.number().optional(), path: z.string().optional() }),
    subjects: ({ path }) => (path === undefined ? [] : [{ kind: 'path', path }]),
    async run({ text, ms = 0 }) {
      const { running } = options;
      if (running) {
        running.order.push(text);
        running.now += 1;
        running.most = Math.max(running.most, running.now);
      }
      await sleep(ms);
      if (running) running.now -= 1;
      return { ok: true, output: text };
    },
  });

/** A tool that never ends by itself. */
const hang = defineTool({
  name: 'hang',
  doc: 'Hangs.',
  permission: 'execute',
  concurrency: 'serial',
  schema: z.object({}),
  subjects: () => [{ kind: 'command', command: 'hang', cwd: '.' }],
  run: (_, { signal }) =>
    new Promise((resolve) =>
      signal.addEventListener('abort', () => resolve({ ok: false, code: 'interrupted', output: 'stopped' }), {
        once: true,
      }),
    ),
});

const silent: Turn = (_request, signal) =>
  (async function* () {
    yield { type: 'text', text: 'I was about to' } as const;
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  })();

/** Never listens to its signal. */
const deaf: Turn = () =>
  (async function* () {
    yield { type: 'text', text: 'Deaf.' } as const;
    await new Promise(() => undefined);
  })();

/** Interrupts the run at the first event of a type. */
const abortsAt = (type: AgentEvent['type']) => {
  const controller = new AbortController();
  const onEvent = (event: AgentEvent) => {
    if (event.type === type) setTimeout(() => controller.abort(new InterruptedError('SIGINT')));
  };
  return { signal: controller.signal, onEvent };
};

describe('a run', () => {
  it('tells its whole story in order', async () => {
    const { events, outcome } = await bench({
      tools: [echo()],
      turns: [calls(['a', 'echo', { text: 'hi' }]), says('Done.')],
    });
    expect(events.map((event) => event.type)).toEqual([
      'worker-start',
      'run-start',
      'turn-start',
      'message',
      'usage',
      'tool-start',
      'tool-end',
      'turn-end',
      'turn-start',
      'text-delta',
      'message',
      'usage',
      'turn-end',
      'run-end',
      'worker-end',
    ]);
    expect(disorder(events)).toEqual([]);
    expect(outcome).toMatchObject({
      reason: 'answered',
      answer: 'Done.',
      turns: 2,
      usage: { requests: 2, totalTokens: 10 },
    });
  });

  it('sends requests that only grow at their end, with the same tools', async () => {
    const { requests } = await bench({
      tools: [echo()],
      turns: [calls(['a', 'echo', { text: '1' }]), calls(['b', 'echo', { text: '2' }]), says('Done.')],
    });
    for (const [index, request] of requests.slice(1).entries()) {
      const before = requests[index];
      expect(request.tools).toBe(before?.tools);
      expect(JSON.stringify(request.messages.slice(0, before?.messages.length))).toBe(JSON.stringify(before?.messages));
    }
  });

  it('asks for a summary without tools at the turn limit, and does not call it an answer', async () => {
    const { outcome, requests, events } = await bench({
      tools: [echo()],
      maxTurns: 3,
      turns: (request) =>
        request.tools.length > 0 ? calls(['', 'echo', { text: String(request.messages.length) }]) : says('Half done.'),
    });
    expect(requests.map((request) => request.tools.length)).toEqual([1, 1, 1, 0]);
    expect(outcome).toMatchObject({ reason: 'turn-limit', answer: 'Half done.', turns: 3 });
    expect(events.at(-1)).toMatchObject({ type: 'worker-end', status: 'failed', turns: 3 });
  });

  it('gives calls without an id, or with a used one, ids of their own', async () => {
    const { requests } = await bench({
      tools: [echo()],
      turns: [
        calls(['', 'echo', { text: '1' }], ['', 'echo', { text: '2' }]),
        calls(['x', 'echo', { text: '3' }]),
        calls(['x', 'echo', { text: '4' }]),
        says('Done.'),
      ],
    });
    const ids = requests
      .at(-1)
      ?.messages.flatMap((message) =>
        message.role === 'assistant' ? (message.toolCalls ?? []).map((call) => call.id) : [],
      );
    expect(ids).toHaveLength(4);
    expect(new Set(ids).size).toBe(4);
    expect(ids).not.toContain('');
  });

  it('cleans tool names that no provider would take back', async () => {
    const { requests } = await bench({
      tools: [echo()],
      turns: [calls(['a', 'functions.echo<|x|>', {}]), says('Done.')],
    });
    const names = requests
      .at(-1)
      ?.messages.flatMap((message) =>
        message.role === 'assistant' ? (message.toolCalls ?? []).map((call) => call.name) : [],
      );
    expect(names).toEqual(['functions_echo__x__']);
  });

  it('stops before a request when a budget is used up', async () => {
    const { outcome, requests } = await bench({
      tools: [echo()],
      budget: { maxRequests: 2 },
      turns: (request) => calls(['', 'echo', { text: String(request.messages.length) }]),
    });
    expect(requests).toHaveLength(2);
    expect(outcome).toMatchObject({
      reason: 'budget',
      error: { message: expect.stringContaining('2 model requests') },
    });
  });

  it.each([
    ['tokens', { maxTokens: 8 }],
    ['cost', { maxCostUsd: 0.002 }],
  ])('counts %s against the budget', async (_, budget) => {
    const { requests } = await bench({
      tools: [echo()],
      budget,
      turns: (request) => calls(['', 'echo', { text: String(request.messages.length) }]),
    });
    expect(requests).toHaveLength(2);
  });

  it('fails with the provider error, and says so once', async () => {
    const failure = new ProviderError('auth', 'The key is wrong.', { hint: 'Check OPENAI_API_KEY.', status: 401 });
    const { outcome, events, requests } = await bench({ turns: [failure] });
    expect(requests).toHaveLength(1);
    expect(outcome).toMatchObject({
      reason: 'failed',
      error: { kind: 'provider', message: 'The key is wrong.', hint: 'Check OPENAI_API_KEY.' },
    });
    expect(disorder(events)).toEqual([]);
  });

  it('survives a crash of ours as a failure of this run', async () => {
    const { outcome, events } = await bench({ turns: [new TypeError('ours')] });
    expect(outcome).toMatchObject({ reason: 'failed', error: { kind: 'internal', message: 'ours' } });
    expect(disorder(events)).toEqual([]);
  });

  it('drops what a retried stream had shown', async () => {
    const { outcome } = await bench({
      turns: [
        [
          { type: 'text', text: 'half' },
          { type: 'call', call: { id: 'a', name: 'echo', arguments: '{}' } },
          { type: 'retry', attempt: 1, maxAttempts: 3, waitMs: 1, reason: 'reset' },
          { type: 'text', text: 'whole' },
          { type: 'end', finishReason: 'stop' },
        ],
      ],
    });
    expect(outcome).toMatchObject({ answer: 'whole' });
  });

  it('does not try again where the budget has no request left', async () => {
    let resumed = false;
    const { outcome, events } = await bench({
      budget: { maxRequests: 1 },
      turns: [
        () =>
          (async function* () {
            yield { type: 'text', text: 'Hal' } as const;
            yield { type: 'retry', attempt: 2, maxAttempts: 3, waitMs: 1, reason: 'reset' } as const;
            resumed = true;
          })(),
      ],
    });
    expect(outcome).toMatchObject({
      reason: 'budget',
      error: { kind: 'budget', message: expect.stringMatching(/1 model requests is used up.* failed: reset/) },
    });
    expect(resumed).toBe(false);
    expect(events.filter(({ type }) => type === 'message')).toMatchObject([{ text: 'Hal', incomplete: true }]);
    expect(disorder(events)).toEqual([]);
  });

  it('sends what the provider wants back with its message, shows it to nobody, and drops it with a retried reply', async () => {
    const replayOf = (sealed: string) => ({ origin: 'p:api', items: [{ sealed }] });
    const { requests, events } = await bench({
      tools: [echo()],
      turns: [
        [
          { type: 'replay', replay: replayOf('void') },
          { type: 'retry', attempt: 1, maxAttempts: 3, waitMs: 1, reason: 'reset' },
          { type: 'call', call: { id: 'a', name: 'echo', arguments: '{"text":"x"}' } },
          { type: 'replay', replay: replayOf('first') },
          { type: 'end', finishReason: 'tool_calls' },
        ],
        calls(['b', 'echo', { text: 'y' }]),
        says('done'),
      ],
    });
    const replays = requests.map(({ messages }) =>
      messages.flatMap((message) => (message.role === 'assistant' ? [message.replay] : [])),
    );
    expect(replays).toEqual([[], [replayOf('first')], [replayOf('first'), undefined]]);
    expect(JSON.stringify(events)).not.toContain('sealed');
  });

  it('counts a retried request as two', async () => {
    const { tree } = await bench({
      turns: [
        [
          { type: 'retry', attempt: 1, maxAttempts: 3, waitMs: 1, reason: 'r' },
          { type: 'text', text: 'x' },
          { type: 'end', finishReason: 'stop' },
        ],
      ],
    });
    expect(tree.budget.totals().usage.requests).toBe(2);
  });
});

describe('stopping', () => {
  it('sends nothing when it was interrupted before its start', async () => {
    const { outcome, requests, events } = await bench({
      turns: [says('no')],
      signal: AbortSignal.abort(new InterruptedError()),
    });
    expect(requests).toHaveLength(0);
    expect(outcome.reason).toBe('interrupted');
    expect(disorder(events)).toEqual([]);
  });

  it.each<[string, Turn]>([
    ['listens', silent],
    ['does not listen', deaf],
  ])('drops the reply of a provider that %s, and marks what was shown', async (_, turn) => {
    const { outcome, events } = await bench({ turns: [turn], ...abortsAt('text-delta') });
    expect(outcome).toMatchObject({ reason: 'interrupted', answer: '' });
    expect(events.filter((event) => event.type === 'message')).toMatchObject([{ incomplete: true }]);
    expect(disorder(events)).toEqual([]);
  });

  it('gives each call of a round its result, and asks no more', async () => {
    const { outcome, events, requests } = await bench({
      tools: [hang, echo({ concurrency: 'serial' })],
      turns: [calls(['a', 'hang', {}], ['b', 'echo', { text: 'never' }])],
      ...abortsAt('tool-start'),
    });
    expect(requests).toHaveLength(1);
    expect(outcome.reason).toBe('interrupted');
    expect(events.filter((event) => event.type === 'tool-end')).toMatchObject([
      { callId: 'a', code: 'interrupted' },
      { callId: 'b', code: 'interrupted', output: expect.stringContaining('Not run') },
    ]);
    expect(disorder(events)).toEqual([]);
  });

  it.each<[string, Turn, readonly ReturnType<typeof defineTool>[]]>([
    ['the model', deaf, []],
    ['a tool', calls(['a', 'hang', {}]), [hang]],
  ])('ends by its time limit while %s works, as a limit and not as a cancel', async (_, turn, tools) => {
    const { outcome, events } = await bench({ turns: [turn], tools, timeoutMs: 40 });
    expect(outcome).toMatchObject({ reason: 'timeout', error: { kind: 'timeout' } });
    expect(events.at(-1)).toMatchObject({ type: 'worker-end', status: 'timed-out' });
    expect(disorder(events)).toEqual([]);
  });
});

describe('a round', () => {
  const running = () => ({ now: 0, most: 0, order: [] as string[] });
  const five = ['1', '2', '3', '4', '5'];

  it('runs at most four reads side by side, and records in call order', async () => {
    const seen = running();
    const { requests } = await bench({
      tools: [echo({ running: seen })],
      turns: [
        calls(...five.map((text, index) => [text, 'echo', { text, ms: 60 - index * 10 }] as const)),
        says('Done.'),
      ],
    });
    expect(seen.most).toBe(4);
    expect(requests[1]?.messages.slice(3).map((message) => message.content)).toEqual(five);
  });

  it('runs serial calls one after another', async () => {
    const seen = running();
    await bench({
      tools: [echo({ running: seen, concurrency: 'serial' })],
      turns: [calls(...five.map((text) => [text, 'echo', { text, ms: 5 }] as const)), says('Done.')],
    });
    expect(seen).toMatchObject({ most: 1, order: five });
  });

  it('runs writes to different paths side by side, and those to one path in order', async () => {
    const begun: string[] = [];
    const gates = new Map(['1', '2', '3'].map((text) => [text, gate()]));
    const write = defineTool({
      name: 'write',
      doc: 'Writes.',
      permission: 'read',
      concurrency: 'path',
      schema: z.object({ text: z.string(), path: z.string() }),
      subjects: ({ path }) => [{ kind: 'path', path }],
      async run({ text }) {
        begun.push(text);
        await gates.get(text)?.opening;
        return { ok: true, output: text };
      },
    });
    const running = bench({
      tools: [write],
      turns: [
        calls(
          ['1', 'write', { text: '1', path: 'a' }],
          ['2', 'write', { text: '2', path: 'b' }],
          ['3', 'write', { text: '3', path: './a' }],
        ),
        says('Done.'),
      ],
    });
    // Neither of the first two ends before both are at work.
    await until('both are at work', () => begun.length === 2);
    gates.get('2')?.open();
    gates.get('1')?.open();
    await until('the third is at work', () => begun.length === 3);
    gates.get('3')?.open();
    const { requests } = await running;
    expect(begun).toEqual(['1', '2', '3']);
    expect(requests[1]?.messages.slice(3).map((message) => message.content)).toEqual(['1', '2', '3']);
  });

  it.each<[string, readonly [string, string, object | string], object]>([
    ['an unknown tool', ['a', 'teleport', {}], { code: 'unknown-tool', output: expect.stringContaining('echo') }],
    [
      'arguments that are not JSON',
      ['a', 'echo', '{"text":'],
      { code: 'bad-arguments', output: expect.stringMatching(/not valid JSON/) },
    ],
    [
      'arguments that do not fit',
      ['a', 'echo', { words: 1 }],
      { code: 'bad-arguments', output: expect.stringContaining('text') },
    ],
  ])('answers %s with what to do, and goes on', async (_, call, end) => {
    const { outcome, events } = await bench({
      tools: [echo()],
      turns: [calls(call, ['b', 'echo', { text: 'other' }]), says('Done.')],
    });
    expect(events.filter((event) => event.type === 'tool-end')).toMatchObject([
      { ok: false, ...end },
      { ok: true, output: 'other' },
    ]);
    expect(outcome.reason).toBe('answered');
  });

  it('takes a tool that throws as an observation', async () => {
    const broken = defineTool({
      ...echo(),
      name: 'broken',
      schema: z.object({}),
      subjects: () => [],
      run: () => Promise.reject(new Error('boom')),
    });
    const { outcome, events } = await bench({ tools: [broken], turns: [calls(['a', 'broken', {}]), says('Done.')] });
    expect(events.find((event) => event.type === 'tool-end')).toMatchObject({
      ok: false,
      code: 'tool-error',
      output: expect.stringContaining('boom'),
    });
    expect(outcome.reason).toBe('answered');
  });

  it('never bans a tool that failed', async () => {
    let runs = 0;
    const flaky = defineTool({
      ...echo(),
      name: 'flaky',
      schema: z.object({}),
      subjects: () => [],
      run: async () => {
        runs += 1;
        return { ok: runs > 4, output: `run ${runs}` };
      },
    });
    const { outcome } = await bench({
      tools: [flaky],
      turns: [...Array.from({ length: 5 }, () => calls(['', 'flaky', {}])), says('Done.')],
    });
    expect(runs).toBe(5);
    expect(outcome.reason).toBe('answered');
  });
});

describe('permissions', () => {
  const denies = () => ({ kind: 'deny', reason: 'Not here.', rule: 'mode read-only' }) as const;

  it('tells the model why a call was denied, and does not run it', async () => {
    const seen = { now: 0, most: 0, order: [] as string[] };
    const { events, outcome } = await bench({
      tools: [{ ...echo({ running: seen }), permission: 'write' }],
      turns: [calls(['a', 'echo', { text: 'x' }]), says('Sorry.')],
      decide: denies,
    });
    expect(seen.order).toEqual([]);
    expect(events.find((event) => event.type === 'tool-end')).toMatchObject({
      ok: false,
      denied: true,
      rule: 'mode read-only',
      output: expect.stringContaining('Not here.'),
    });
    expect(outcome).toMatchObject({ reason: 'denied', answer: 'Sorry.' });
  });

  it('counts an answer as one when the same class of action was allowed later', async () => {
    let asked = 0;
    const { outcome, tree } = await bench({
      tools: [{ ...echo(), permission: 'write' }],
      turns: [calls(['a', 'echo', { text: 'x' }]), calls(['b', 'echo', { text: 'y' }]), says('Done.')],
      decide: () => {
        asked += 1;
        return asked === 1 ? denies() : { kind: 'allow' };
      },
    });
    expect(outcome.reason).toBe('answered');
    expect(tree.ledger.denials()).toHaveLength(1);
  });

  it('ends after three denials of the same call', async () => {
    const { outcome, requests } = await bench({
      tools: [{ ...echo(), permission: 'write' }],
      turns: () => calls(['', 'echo', { text: 'x' }]),
      decide: denies,
    });
    expect(requests).toHaveLength(3);
    expect(outcome.reason).toBe('denied');
  });

  it('asks, and frames the question with its events', async () => {
    const { events } = await bench({
      tools: [{ ...echo(), permission: 'write' }],
      turns: [calls(['a', 'echo', { text: 'x' }]), says('Done.')],
      decide: () => ({ kind: 'ask', reason: 'Writes.' }),
    });
    expect(events.filter((event) => event.type.startsWith('approval'))).toMatchObject([
      { callId: 'a', reason: 'Writes.' },
      { answer: 'no' },
    ]);
  });
});

describe('proof', () => {
  it('holds the commands after the last edit, and the files changed', async () => {
    const edits = defineTool({
      ...echo(),
      name: 'edits',
      schema: z.object({ path: z.string() }),
      subjects: () => [],
      run: async ({ path }) => ({ ok: true, output: '', touched: [path] }),
    });
    const runs = defineTool({
      ...echo(),
      name: 'runs',
      schema: z.object({ command: z.string(), exitCode: z.number() }),
      subjects: () => [],
      run: async (command) => ({ ok: true, output: '', command }),
    });
    const { outcome } = await bench({
      tools: [edits, runs],
      turns: [
        calls(['a', 'runs', { command: 'npm test', exitCode: 1 }]),
        calls(['b', 'edits', { path: 'a.ts' }]),
        calls(['c', 'runs', { command: 'npm test', exitCode: 0 }]),
        says('All tests pass.'),
      ],
    });
    expect(outcome.proof).toEqual({
      filesChanged: ['a.ts'],
      commandsSinceLastEdit: [{ command: 'npm test', exitCode: 0 }],
    });
  });
});

describe('secrets', () => {
  it('leave no event whole, not even one that is split over deltas', async () => {
    const secret = 'sk-very-secret';
    const { createMasker } = await import('../../src/permissions/secrets.js');
    const { events } = await bench({
      redactor: createMasker([secret]),
      turns: [
        [...secret]
          .map((text) => ({ type: 'text', text }) as const)
          .concat([{ type: 'text', text: ' end' }] as never[])
          .concat([{ type: 'end', finishReason: 'stop' }] as never[]),
      ],
    });
    const shown = events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
    expect(shown).toMatch(/^\[redacted[^\]]*\] end$/);
    expect(JSON.stringify(events)).not.toContain(secret);
  });
});

describe('workers', () => {
  const delegates = defineTool({
    name: 'delegate',
    doc: 'Delegates.',
    permission: 'meta',
    concurrency: 'serial',
    schema: z.object({ tasks: z.array(z.object({ worker: z.string(), task: z.string() })) }),
    subjects: () => [],
    run: async ({ tasks }, { delegate }) => ({ ok: true, output: JSON.stringify(await delegate?.(tasks)) }),
  });
  const lead = worker({ name: 'agent', tools: ['delegate'], entry: true, prompt: 'You lead.' });
  const coder = worker({ name: 'coder', tools: ['echo', 'delegate'] });
  const isLead = (prompt: string | undefined) => prompt === 'You lead.';

  it('run one after another in their own history, and report in task order', async () => {
    const { events, outcome, requests } = await bench({
      workers: [lead, coder],
      tools: [delegates, echo()],
      turns: (request) => {
        if (!isLead(request.messages[0]?.content)) return says(`did ${request.messages[1]?.content}`);
        return request.messages.length > 2
          ? says('Both done.')
          : calls([
              'd',
              'delegate',
              {
                tasks: [
                  { worker: 'coder', task: 'A' },
                  { worker: '@Coder', task: 'B' },
                  { worker: 'nobody', task: 'C' },
                ],
              },
            ]);
      },
    });
    const report = events.find((event) => event.type === 'tool-end' && event.name === 'delegate');
    expect(JSON.parse(report?.type === 'tool-end' ? report.output : '')).toMatchObject([
      { status: 'done', text: 'did A' },
      { status: 'done', text: 'did B' },
      { status: 'failed', problem: expect.stringContaining('coder') },
    ]);
    const started = events.filter((event) => event.type === 'worker-start');
    expect(started).toMatchObject([
      { worker: 'agent' },
      { worker: 'coder', parentRunId: started[0]?.runId, index: 0, total: 3 },
      { worker: 'coder', index: 1 },
    ]);
    expect(
      requests.filter((request) => !isLead(request.messages[0]?.content)).map((request) => request.messages.length),
    ).toEqual([2, 2]);
    expect(outcome.answer).toBe('Both done.');
    expect(disorder(events)).toEqual([]);
  });

  it('are held by what binds the whole tree, and have nothing else of what is special about the root', async () => {
    let tries = 0;
    const wishes = defineTool({
      ...echo(),
      name: 'wishes',
      schema: z.object({}),
      subjects: () => [],
      run: async () => {
        tries += 1;
        if (tries < 3) return { ok: false, code: 'busy', output: 'Busy.', retryable: true };
        return { ok: true, output: 'Done.', effects: [{ type: 'A' }, { type: 'B' }] };
      },
    });
    const seen: unknown[] = [];
    const { requests, events } = await bench({
      workers: [lead, worker({ name: 'coder', tools: ['wishes'] })],
      tools: [delegates, wishes],
      options: {
        effects: {
          policy: { mode: 'allow-list', allow: ['A'], deny: [] },
          onEffect: (effect) => void seen.push(effect),
        },
        attempts: { timeoutMs: 1_000, retries: 2, backoffMs: 0, heartbeatMs: 0 },
        roundExecutor: async function* (all, run) {
          for (const call of all) {
            seen.push(call.name);
            yield await run(call);
          }
        },
        stream: false,
        headers: { 'x-tenant': 't' },
        idleTimeoutMs: 30_000,
        maxTokens: 9,
        modelOptions: { temperature: 1 },
        history: [{ role: 'user', content: 'Before.' }],
        checkAnswer: (answer) => (answer === 'Led.' ? { ok: true } : { ok: false, feedback: 'Lead.' }),
      },
      turns: (request) => {
        if (isLead(request.messages[0]?.content)) {
          return request.messages.length > 3
            ? says('Led.')
            : calls(['d', 'delegate', { tasks: [{ worker: 'coder', task: 'A' }] }]);
        }
        return request.messages.length > 2 ? says('Coded.') : calls(['w', 'wishes', {}]);
      },
    });
    expect(seen).toEqual(['delegate', 'wishes', { type: 'A' }]);
    expect(events.find((event) => event.type === 'tool-end' && event.name === 'wishes')).toMatchObject({ attempts: 3 });
    const refused = events.filter((event) => event.type === 'notice' && event.code === 'effect-refused');
    expect(refused).toMatchObject([{ worker: 'coder', text: expect.stringContaining('B') }]);
    const ofRequest = ({ stream, headers, maxTokens, options, messages }: (typeof requests)[number]) => ({
      stream,
      headers,
      maxTokens,
      options,
      hasHistory: messages[1]?.content === 'Before.',
    });
    const shared = { stream: false, headers: { 'x-tenant': 't' } };
    const ofLead = { ...shared, maxTokens: 9, options: { temperature: 1 }, hasHistory: true };
    const ofCoder = { ...shared, maxTokens: undefined, options: undefined, hasHistory: false };
    expect(requests.map(ofRequest)).toEqual([ofLead, ofCoder, ofCoder, ofLead]);
  });

  it('are not waited for when their model is silent for too long', async () => {
    const { events } = await bench({
      workers: [lead, coder],
      tools: [delegates, echo()],
      options: { idleTimeoutMs: 20 },
      turns: (request) => {
        if (!isLead(request.messages[0]?.content)) return deaf;
        return request.messages.length > 2
          ? says('Done.')
          : calls(['d', 'delegate', { tasks: [{ worker: 'coder', task: 'A' }] }]);
      },
    });
    expect(events.filter((event) => event.type === 'worker-end')).toMatchObject([
      { worker: 'coder', status: 'failed', error: { message: expect.stringContaining('silent') } },
      { worker: 'agent', status: 'done' },
    ]);
  });

  it('never delegate further', async () => {
    const { requests } = await bench({
      workers: [lead, coder],
      tools: [delegates, echo()],
      turns: (request) =>
        isLead(request.messages[0]?.content) && request.messages.length === 2
          ? calls(['d', 'delegate', { tasks: [{ worker: 'coder', task: 'A' }] }])
          : says('ok'),
    });
    expect(requests.map((request) => request.tools.map((tool) => tool.name))).toEqual([
      ['delegate'],
      ['echo'],
      ['delegate'],
    ]);
  });

  it('do not spend the time of the lead that waits for them', async () => {
    const slow: Turn = () =>
      (async function* () {
        await sleep(250);
        yield { type: 'text', text: 'slow' } as const;
        yield { type: 'end', finishReason: 'stop' } as const;
      })();
    const { outcome } = await bench({
      workers: [lead, coder],
      tools: [delegates, echo()],
      timeoutMs: 400,
      turns: (request) => {
        if (!isLead(request.messages[0]?.content)) return slow;
        return request.messages.length > 2
          ? says('Done.')
          : calls([
              'd',
              'delegate',
              {
                tasks: [
                  { worker: 'coder', task: 'A' },
                  { worker: 'coder', task: 'B' },
                ],
              },
            ]);
      },
    });
    expect(outcome.reason).toBe('answered');
  });

  it('bring back what they had when a limit ended them', async () => {
    const { events } = await bench({
      workers: [lead, coder],
      tools: [delegates, echo()],
      maxTurns: 2,
      turns: (request) => {
        if (isLead(request.messages[0]?.content))
          return request.messages.length > 2
            ? says('Done.')
            : calls(['d', 'delegate', { tasks: [{ worker: 'coder', task: 'A' }] }]);
        return request.tools.length > 0
          ? calls(['', 'echo', { text: String(request.messages.length) }])
          : says('Half.');
      },
    });
    const report = events.find((event) => event.type === 'tool-end' && event.name === 'delegate');
    expect(report).toMatchObject({ output: expect.stringMatching(/Half\..*limit of 2 turns/) });
  });

  it('are cancelled with the lead', async () => {
    const { events, outcome } = await bench({
      workers: [lead, coder],
      tools: [delegates, echo()],
      turns: (request) =>
        isLead(request.messages[0]?.content)
          ? calls(['d', 'delegate', { tasks: [{ worker: 'coder', task: 'A' }] }])
          : deaf,
      ...abortsAt('text-delta'),
    });
    expect(outcome.reason).toBe('interrupted');
    expect(events.filter((event) => event.type === 'worker-end')).toMatchObject([
      { status: 'cancelled', worker: 'coder' },
      { status: 'cancelled', worker: 'agent' },
    ]);
    expect(disorder(events)).toEqual([]);
  });
});
