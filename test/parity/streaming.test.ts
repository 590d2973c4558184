/** A run as it is read while it goes on: the same as when it is waited for, one end, silence, and readers that leave. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  createAgent,
  FakeProvider,
  fullMemory,
  type ModelDelta,
  type Script,
  type StreamChunk,
} from '../../src/index.js';
import { calls, disorder, says, type Turn } from '../fixtures/bench.js';
import {
  type AgentBenchOptions,
  agentOver,
  behind,
  collect,
  end,
  faultsOf,
  gate,
  hangs,
  isDeaf,
  ofType,
  probe,
  text,
  told,
  until,
} from './agent-bench.js';

afterEach(() => vi.restoreAllMocks());

const ENDS: readonly StreamChunk['type'][] = ['done', 'cancelled', 'error'];
const isEnd = ({ type }: StreamChunk) => ENDS.includes(type);

describe('a run that is streamed', () => {
  const look = { name: 'look', arguments: { text: 'here' } };
  const usage = { promptTokens: 3, completionTokens: 2 };

  it.each<[string, Script, string]>([
    ['answers', [{ text: 'Well then.', reasoning: 'Hm.', usage }], 'answered'],
    [
      'uses tools',
      [
        { text: 'Let me look.', toolCalls: [look, look], usage },
        { text: 'Done.', usage },
      ],
      'answered',
    ],
    [
      'calls what is not there',
      [{ toolCalls: [{ name: 'nope' }, { ...look, arguments: '{' }] }, { text: 'Oh.' }],
      'answered',
    ],
    ['meets an error', [{ toolCalls: [look] }, { text: 'We', error: { kind: 'auth', message: 'No.' } }], 'failed'],
    ['says nothing', [{}, {}, {}], 'failed'],
    ['runs out of turns', [{ toolCalls: [look] }, { toolCalls: [look] }, { text: 'Half.' }], 'turn-limit'],
    ['runs out of script', [{ toolCalls: [look] }], 'failed'],
    ['is filtered', [{ text: 'I', finishReason: 'content_filter' }], 'failed'],
  ])('and one that is waited for are the same where it %s [row 8]', async (_, script, reason) => {
    const make = () => {
      const provider = FakeProvider(script);
      return { provider, agent: createAgent({ provider, tools: [probe('look').tool], limits: { maxTurns: 2 } }) };
    };
    const [waited, streamed] = [make(), make()];
    const outcome = await waited.agent.run('Go.');
    const chunks = await collect(streamed.agent.stream('Go.'));
    const last = chunks.at(-1);
    expect(outcome.reason).toBe(reason);
    expect(last).toMatchObject({ type: reason === 'failed' ? 'error' : 'done', outcome });
    expect(streamed.agent.messages()).toEqual(waited.agent.messages());
    expect(streamed.provider.requests).toEqual(waited.provider.requests);
  });

  it.each<[string, ModelDelta, StreamChunk]>([
    [
      'once more',
      { type: 'retry', attempt: 2, maxAttempts: 3, waitMs: 1, reason: 'reset' },
      { type: 'retry', attempt: 2, waitMs: 1, reason: 'reset' },
    ],
    [
      'of another model',
      { type: 'fallback', from: 'a', to: 'b', reason: 'reset' },
      { type: 'fallback', from: 'a', to: 'b', reason: 'reset' },
    ],
  ])(
    'says that what broke off is asked for %s, so that nobody puts the two together [row 58]',
    async (_, broken, told) => {
      const { agent } = agentOver([[text('I was ab'), broken, text('I am here.'), end]]);
      let shown = '';
      for await (const chunk of agent.stream('Go.')) {
        if (chunk.type === 'text') shown += chunk.text;
        if (chunk.type === 'retry' || chunk.type === 'fallback') {
          expect([chunk, shown]).toEqual([told, 'I was ab']);
          shown = '';
        }
      }
      expect(shown).toBe('I am here.');
    },
  );

  it('shows text, reasoning, whole calls and results as they come, in this order', async () => {
    const agent = createAgent({
      provider: FakeProvider([
        { reasoning: 'Hm.', text: 'Looking.', toolCalls: [{ ...look, id: 'a' }] },
        { text: 'Done.' },
      ]),
      tools: [probe('look').tool],
    });
    expect(await collect(agent.stream('Go.'))).toEqual([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Looking.' },
      { type: 'tool-call', call: { id: 'a', name: 'look', arguments: '{"text":"here"}' } },
      { type: 'tool-result', callId: 'a', ok: true, output: 'look ran' },
      { type: 'text', text: 'Done.' },
      { type: 'done', outcome: expect.objectContaining({ reason: 'answered', answer: 'Done.' }) },
    ]);
  });
});

describe('the end of a run', () => {
  const crashes: AgentBenchOptions = {
    memory: {
      context: () => {
        throw new Error('boom');
      },
    },
  };

  it.each<[string, Turn, AgentBenchOptions, string, 'cancel' | 'destroy' | undefined]>([
    ['success', says('Done.'), {}, 'done', undefined],
    ['a failure', new Error('broken'), {}, 'error', undefined],
    ['a cancel', hangs(text('We')), {}, 'cancelled', 'cancel'],
    ['a cancel that the model does not hear', isDeaf, {}, 'cancelled', 'cancel'],
    ['a crash', says('never'), crashes, 'error', undefined],
    ['silence', hangs(text('We')), { idleTimeoutMs: 50 }, 'error', undefined],
    ['the end of its worker', hangs(text('We')), {}, 'error', 'destroy'],
    ['the end of its time', hangs(text('We')), { limits: { timeoutMs: 50 } }, 'done', undefined],
    ['a folder that is not there', says('never'), { workspace: '/no/such/folder' }, 'error', undefined],
  ])('comes once and last after %s [row 9]', async (_, turn, options, last, ending) => {
    const { agent, events, requests } = agentOver([turn, says('Back.')], options);
    const chunks = collect(agent.stream('Go.'));
    if (ending !== undefined) {
      await until('the model is asked', () => requests.length === 1);
      if (ending === 'cancel') agent.cancel();
      else agent.destroyWorker('killed');
    }
    expect((await chunks).filter(isEnd)).toEqual([expect.objectContaining({ type: last })]);
    expect((await chunks).at(-1)?.type).toBe(last);
    // One that never began has nothing to end.
    expect(ofType(events, 'run-end')).toHaveLength(ofType(events, 'run-start').length);
    expect(events.at(-1)?.type ?? 'worker-end').toBe('worker-end');
    expect(disorder(events)).toEqual([]);
    // Nothing comes behind it.
    const count = events.length;
    await sleep(20);
    expect(events).toHaveLength(count);
  });

  it('is not undone by the checkpoint that follows it [edge 10]', async () => {
    const { agent, events, requests } = agentOver([says('One.'), says('Two.')], {
      checkpoints: { secret: 'a secret' },
    });
    const handle = agent.ask('First.');
    const own = await collect(handle.events);
    expect(await handle.result).toMatchObject({ reason: 'answered', answer: 'One.' });
    const terminal = ofType(own, 'checkpoint').filter(({ point }) => point === 'terminal');
    expect(terminal).toHaveLength(1);
    expect(terminal[0]?.token).toBe(agent.checkpoint());
    expect(ofType(own, 'run-end')).toHaveLength(1);
    expect(agent.steer('Hello?')).toEqual({ ok: false, reason: 'idle' });
    expect(agent.cancel()).toBe(false);
    expect(requests).toHaveLength(1);
    expect(await agent.run('Second.')).toMatchObject({ answer: 'Two.' });
    expect(disorder(events)).toEqual([]);
  });

  it('comes right behind a result that could not be taken in, which is kept [edge 14]', async () => {
    const everything = fullMemory();
    const { agent, events } = agentOver([calls(['a', 'look', {}]), says('never')], {
      tools: [probe('look').tool],
      memory: {
        context: (messages) => {
          if (messages.at(-1)?.role === 'tool') throw new Error('disk full');
          return everything.context(messages);
        },
      },
    });
    const chunks = await collect(agent.stream('Look.'));
    expect(chunks.map(({ type }) => type)).toEqual(['tool-call', 'tool-result', 'error']);
    expect(chunks.at(-1)).toMatchObject({ error: { message: 'disk full' } });
    expect(told(agent.messages()).slice(0, 3)).toEqual(['user: Look.', 'assistant: look', 'tool: look ran']);
    expect(faultsOf(agent.messages())).toEqual([]);
    expect(disorder(events)).toEqual([]);
  });
});

describe('silence of the model', () => {
  it('ends a run after the limit, which is the tool timeout and a minute where it is 0 [row 12]', async () => {
    const armed = vi.spyOn(globalThis, 'setTimeout');
    const defaults = agentOver([says('Done.')], {
      toolTimeoutMs: 120_000,
      idleTimeoutMs: 0,
      limits: { timeoutMs: 1 << 30 },
    });
    await defaults.agent.run('Go.');
    expect(armed.mock.calls.map(([, ms]) => ms)).toContain(180_000);

    const { agent, events } = agentOver([hangs()], { idleTimeoutMs: 80 });
    const startedAt = performance.now();
    const outcome = await agent.run('Go.');
    const elapsedMs = performance.now() - startedAt;
    expect(outcome).toMatchObject({ reason: 'failed', error: { kind: 'provider' } });
    expect(outcome.error?.message).toContain('silent for 0.08 s');
    expect(elapsedMs).toBeGreaterThanOrEqual(75);
    expect(elapsedMs).toBeLessThan(1_000);
    expect(ofType(events, 'run-end')).toHaveLength(1);
  });

  it('is broken by pieces of a call that show nothing yet [row 13] [edge 5]', async () => {
    const tool = probe('look');
    const { agent } = agentOver(
      [
        async function* () {
          for (let piece = 0; piece < 20; piece += 1) {
            await sleep(30);
            yield { type: 'activity' };
          }
          yield { type: 'call', call: { id: 'a', name: 'look', arguments: '{"text":"long"}' } };
          yield { type: 'end', finishReason: 'tool_calls' };
        },
        says('Done.'),
      ],
      { tools: [tool.tool], idleTimeoutMs: 300 },
    );
    expect(await agent.run('Go.')).toMatchObject({ reason: 'answered', answer: 'Done.' });
    expect(tool.ran).toEqual(['long']);
  });

  it('in the middle of a reply drops the request [edge 5]', async () => {
    const { agent, signals, events } = agentOver([hangs(text('We'), { type: 'activity' })], { idleTimeoutMs: 60 });
    expect(await agent.run('Go.')).toMatchObject({ reason: 'failed' });
    expect(signals[0]?.aborted).toBe(true);
    expect(ofType(events, 'message')).toMatchObject([{ text: 'We', incomplete: true }]);
  });

  it('is not that of a tool: a long one runs on [row 12]', async () => {
    const slow = probe('slow', async () => {
      await sleep(200);
      return { ok: true, output: 'at last' };
    });
    const { agent } = agentOver([calls(['a', 'slow', {}]), says('Done.')], { tools: [slow.tool], idleTimeoutMs: 60 });
    expect(await agent.run('Go.')).toMatchObject({ reason: 'answered' });
  });

  it.each([
    ['listens', hangs(text('We'))],
    ['is deaf', isDeaf],
  ])('leaves nobody busy: a model that %s is let go, and the next run is answered [trap 1]', async (_, turn) => {
    const { agent, events } = agentOver([turn, says('Back.')], { idleTimeoutMs: 60 });
    const chunks = await collect(agent.stream('Go.'));
    expect(chunks.at(-1)?.type).toBe('error');
    expect(agent.cancel()).toBe(false);
    expect(await agent.run('Again.')).toMatchObject({ reason: 'answered', answer: 'Back.' });
    expect(ofType(events, 'run-end').map(({ reason }) => reason)).toEqual(['failed', 'answered']);
  });
});

describe('a reader that leaves', () => {
  it.each<[string, (agent: ReturnType<typeof agentOver>['agent']) => Promise<void>]>([
    [
      'the chunks',
      async (agent) => {
        for await (const _ of agent.stream('Go.')) break;
      },
    ],
    [
      'the events',
      async (agent) => {
        for await (const { type } of agent.ask('Go.').events) if (type === 'text-delta') break;
      },
    ],
    [
      'by an error of its own',
      async (agent) => {
        const read = async () => {
          for await (const _ of agent.stream('Go.')) throw new Error('screen is gone');
        };
        await expect(read()).rejects.toThrow('screen is gone');
      },
    ],
  ])('%s early has the run and its request cancelled [edge 11] [trap 11]', async (_, leave) => {
    const { agent, signals, events } = agentOver([hangs(text('We')), says('Back.')]);
    await leave(agent);
    await until('the run ends', () => ofType(events, 'run-end').length === 1);
    expect(signals[0]?.aborted).toBe(true);
    expect(ofType(events, 'run-end')).toMatchObject([{ reason: 'interrupted', error: { message: 'reader_left' } }]);
    await until('it is idle', () => !agent.cancel());
    expect(await agent.run('Again.')).toMatchObject({ reason: 'answered', answer: 'Back.' });
    expect(disorder(events)).toEqual([]);
  });

  it('during a tool does not leave it half-way: its result is recorded, and the run says how it ended [trap 10] [trap 11]', async () => {
    const { opening, open } = gate();
    const tool = probe('work', async (_, { update }) => {
      update('At work.');
      await opening;
      return { ok: true, output: 'work ran' };
    });
    const { agent, events, requests } = agentOver([calls(['a', 'work', {}]), says('Back.')], { tools: [tool.tool] });
    const leave = async () => {
      for await (const { type } of agent.ask('Work.').events) if (type === 'tool-update') break;
    };
    const leaving = leave();
    await until('the tool is at work', () => ofType(events, 'tool-update').length === 1);
    expect(ofType(events, 'run-end')).toEqual([]);
    open();
    await leaving;
    expect(ofType(events, 'run-end')).toMatchObject([{ reason: 'interrupted' }]);
    expect(ofType(events, 'tool-end')).toMatchObject([{ ok: true, output: 'work ran' }]);
    expect(requests).toHaveLength(1);
    expect(told(agent.messages()).slice(0, 2)).toEqual(['user: Work.', 'assistant: work']);
    expect(ofType(events, 'tool-end')).toHaveLength(ofType(events, 'tool-start').length);
    expect(agent.messages().filter(({ role }) => role === 'tool')).toHaveLength(1);
    await agent.run('Again.');
    expect(requests.flatMap(({ messages }) => faultsOf(messages))).toEqual([]);
    expect(disorder(events)).toEqual([]);
  });

  it('gets all that waited for it, also where it comes after the end', async () => {
    const { agent, events } = agentOver([behind(Promise.resolve(), [text('Done.'), end])]);
    const handle = agent.ask('Go.');
    await handle.result;
    expect(await collect(handle.events)).toEqual(events);
  });
});
