/** One conversation and its runs: the handle, one run at a time, the worker under it, options of one run. */
import { describe, expect, it } from 'vitest';
import { createAgent, FakeProvider } from '../../src/index.js';
import { calls, disorder, says } from '../fixtures/bench.js';
import {
  agentOver,
  behind,
  collect,
  end,
  faultsOf,
  gate,
  isDeaf,
  ofType,
  probe,
  rejectionOf,
  text,
  told,
  until,
} from './agent-bench.js';

describe('a run', () => {
  it('is handed out at once with its id, and of a hundred and one the oldest is forgotten [row 1]', async () => {
    const provider = FakeProvider(Array.from({ length: 101 }, (_, index) => ({ text: `Answer ${index}.` })));
    const agent = createAgent({ provider });
    const ids: string[] = [];
    for (let index = 0; index < 101; index += 1) {
      const handle = agent.ask(`Question ${index}.`);
      expect(provider.requests).toHaveLength(index);
      expect(await handle.result).toMatchObject({ reason: 'answered', answer: `Answer ${index}.` });
      ids.push(handle.id);
    }
    expect(agent.runs()).toEqual(ids.slice(1));
    expect(agent.traces(ids[0]!)).toBeUndefined();
    expect(agent.traces(ids[1]!)?.events.at(-1)).toMatchObject({ type: 'worker-end', runId: ids[1] });
  });

  it('under way has a second one rejected as busy, and is not touched by it [row 2]', async () => {
    const { opening, open } = gate();
    const { agent, requests } = agentOver([behind(opening, [text('One.'), end]), says('Two.')]);
    const first = agent.ask('First.');
    await until('the model is asked', () => requests.length === 1);
    expect(rejectionOf(() => agent.ask('Second.'))).toMatchObject({ name: 'RejectedError', reason: 'busy' });
    await expect(agent.run('Second.')).rejects.toMatchObject({ reason: 'busy' });
    open();
    expect(await first.result).toMatchObject({ reason: 'answered', answer: 'One.' });
    expect(await agent.run('Third.')).toMatchObject({ answer: 'Two.' });
    expect(told(agent.messages())).toEqual(['user: First.', 'assistant: One.', 'user: Third.', 'assistant: Two.']);
  });

  it('has a worker started for it if there is none yet, and the next one uses the same [row 3]', async () => {
    const { agent } = agentOver([says('One.'), says('Two.')]);
    const starts = [agent.workerStarts()];
    for (const task of ['First.', 'Second.']) {
      await agent.run(task);
      starts.push(agent.workerStarts());
    }
    expect(starts).toEqual([0, 1, 1]);
  });

  it('whose worker is destroyed while a tool runs fails once, and the next one starts anew and is answered [row 4]', async () => {
    const tool = probe('dig', (_, { signal }) => {
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    });
    const { agent, events, requests } = agentOver([calls(['a', 'dig', {}]), says('Back.')], { tools: [tool.tool] });
    const { result } = agent.ask('Dig.');
    await until('the tool runs', () => tool.ran.length === 1);
    agent.destroyWorker('killed');
    const outcome = await result;
    expect(outcome).toMatchObject({ reason: 'failed', error: { kind: 'worker' } });
    expect(outcome.error?.message).toContain('killed');
    expect(ofType(events, 'run-end').map(({ reason }) => reason)).toEqual(['failed']);
    expect(await agent.run('Again.')).toMatchObject({ reason: 'answered', answer: 'Back.' });
    expect(agent.workerStarts()).toBe(2);
    expect(requests.flatMap(({ messages }) => faultsOf(messages))).toEqual([]);
    expect(disorder(events)).toEqual([]);
  });

  it('goes on when what is left of a destroyed one ends late [row 5]', async () => {
    const [late, second] = [gate(), gate()];
    const { agent, events, requests } = agentOver([
      behind(late.opening, [text('Too late.'), end]),
      behind(second.opening, [text('In time.'), end]),
    ]);
    const first = agent.ask('First.');
    await until('the model is asked', () => requests.length === 1);
    agent.destroyWorker('killed');
    expect(await first.result).toMatchObject({ reason: 'failed', error: { kind: 'worker' } });
    const next = agent.ask('Second.');
    await until('the model is asked again', () => requests.length === 2);
    late.open();
    await first.result;
    second.open();
    expect(await next.result).toMatchObject({ reason: 'answered', answer: 'In time.' });
    expect(JSON.stringify(events)).not.toContain('Too late.');
    expect(disorder(events)).toEqual([]);
  });

  it('puts its id on each of its events, and its signal and values into the hands of its tools [row 6]', async () => {
    const seen: unknown[] = [];
    const tool = probe('look', async (_, { signal, values }) => {
      seen.push(signal.aborted, values);
      return { ok: true, output: 'seen' };
    });
    const { agent, events } = agentOver([calls(['a', 'look', {}]), says('Done.')], { tools: [tool.tool] });
    const handle = agent.ask('Look.', { toolContext: { ticket: 7 } });
    const own = await collect(handle.events);
    expect(own.length).toBeGreaterThan(5);
    expect(own).toEqual(events);
    expect(new Set(own.map(({ runId }) => runId))).toEqual(new Set([handle.id]));
    expect(seen).toEqual([false, { ticket: 7 }]);
  });

  it('has options of its own on top of those of the agent, and leaves nothing of them behind [row 7]', async () => {
    const { agent, requests } = agentOver(() => says('Done.'), { maxTokens: 50, modelOptions: { top_p: 1 } });
    await agent.run('First.', { modelOptions: { temperature: 0.2 } });
    await agent.run('Second.');
    await agent.run('Third.', { maxTokens: 9, modelOptions: { top_p: 0.5 } });
    expect(requests.map(({ maxTokens, options }) => ({ maxTokens, options }))).toEqual([
      { maxTokens: 50, options: { top_p: 1, temperature: 0.2 } },
      { maxTokens: 50, options: { top_p: 1 } },
      { maxTokens: 9, options: { top_p: 0.5 } },
    ]);
  });

  it('of a script that has no reply left fails and says so [row 59]', async () => {
    const provider = FakeProvider([{ text: 'One.' }]);
    const agent = createAgent({ provider });
    expect(await agent.run('First.')).toMatchObject({ reason: 'answered', answer: 'One.' });
    const second = await agent.run('Second.');
    expect(second).toMatchObject({ reason: 'failed', error: { kind: 'provider' } });
    expect(second.error?.message).toContain('script exhausted');
    expect(provider.requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(['First.', 'Second.']);
  });

  it('may have one reply for one call, and fails neither then nor for want of a closing one [trap 13]', async () => {
    const { agent } = agentOver([says('At once.')], { limits: { maxTurns: 1 } });
    expect(await agent.run('Quick.')).toMatchObject({ reason: 'answered', answer: 'At once.', turns: 1 });
  });

  it('ends in good time after a cancel even if the model does not listen to it [trap 13]', async () => {
    const { agent, requests } = agentOver([isDeaf, says('Back.')]);
    const { result } = agent.ask('Wait.');
    await until('the model is asked', () => requests.length === 1);
    const cancelledAt = performance.now();
    agent.cancel();
    expect(await result).toMatchObject({ reason: 'interrupted' });
    expect(performance.now() - cancelledAt).toBeLessThan(1_000);
    expect(await agent.run('Again.')).toMatchObject({ answer: 'Back.' });
  });

  it('that crashes keeps what it had: its rounds, its usage, and the rise of its numbers [trap 3]', async () => {
    const tool = probe('look');
    const { agent, events } = agentOver([calls(['a', 'look', {}]), says('never')], {
      tools: [tool.tool],
      memory: {
        context: (messages) => {
          if (messages.at(-1)?.role === 'tool') throw new Error('out of memory');
          return messages;
        },
      },
    });
    const outcome = await agent.run('Look.');
    expect(outcome).toMatchObject({
      reason: 'failed',
      error: { kind: 'internal', message: 'out of memory' },
      turns: 1,
      usage: { promptTokens: 3, completionTokens: 2 },
    });
    expect(ofType(events, 'run-end')).toMatchObject([{ turns: 1, usage: outcome.usage }]);
    expect(disorder(events)).toEqual([]);
    expect(told(agent.messages()).slice(0, 3)).toEqual(['user: Look.', 'assistant: look', 'tool: look ran']);
    expect(faultsOf(agent.messages())).toEqual([]);
  });

  it('that can not even begin has a failed outcome, and the agent is free again', async () => {
    const { agent } = agentOver([says('never')], { workspace: '/no/such/folder' });
    for (let count = 0; count < 2; count += 1) {
      expect(await agent.run('Go.')).toMatchObject({ reason: 'failed', error: { kind: 'usage' } });
    }
  });
});
