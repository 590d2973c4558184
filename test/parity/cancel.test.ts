/** What ends a run from outside, and what of it stays: a cancel, a deadline. */
import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../src/index.js';
import { calls, disorder, says } from '../fixtures/bench.js';
import {
  agentOver,
  behind,
  collect,
  end,
  faultsOf,
  gate,
  hangs,
  ofType,
  probe,
  text,
  told,
  until,
  waiting,
} from './agent-bench.js';

/** Without what every request begins with. */
const said = (messages: Parameters<typeof told>[0]) => told(messages).filter((line) => !line.startsWith('system'));

describe('a cancel', () => {
  it('while the model works drops the request, and nothing of the turn is recorded [row 15]', async () => {
    const { agent, signals, events } = agentOver([hangs(text('Well, '))]);
    const { result } = agent.ask('Go.');
    await until('it streams', () => ofType(events, 'text-delta').length === 1);
    const cancelledAt = performance.now();
    expect(agent.cancel()).toBe(true);
    expect(await result).toMatchObject({ reason: 'interrupted', answer: '', turns: 0 });
    expect(performance.now() - cancelledAt).toBeLessThan(1_000);
    expect(signals[0]?.aborted).toBe(true);
    expect(agent.messages().map(({ role }) => role)).toEqual(['user', 'user']);
    expect(said(agent.messages())).toEqual(['user: Go.', expect.stringMatching(/^user: \[.*cancelled/)]);
    expect(ofType(events, 'message')).toMatchObject([{ text: 'Well, ', incomplete: true }]);
  });

  it('between two pieces leaves the one that was shown, then says so, and nothing else [row 16] [edge 12]', async () => {
    const { agent } = agentOver([hangs(text('d0'))]);
    const chunks: unknown[] = [];
    for await (const chunk of agent.stream('Go.')) {
      chunks.push(chunk);
      if (chunks.length === 1) agent.cancel();
    }
    expect(chunks).toEqual([
      { type: 'text', text: 'd0' },
      { type: 'cancelled', reason: 'user_cancelled' },
    ]);
    expect(JSON.stringify(agent.messages())).not.toContain('d0');
  });

  it('during a round lets the tool end, records its result, and asks the model no more [row 17] [edge 12]', async () => {
    const { opening, open } = gate();
    const tool = waiting('work', opening);
    const { agent, requests, events } = agentOver([calls(['a', 'work', {}]), says('never')], { tools: [tool.tool] });
    const { result } = agent.ask('Work.');
    await until('the tool runs', () => tool.ran.length === 1);
    agent.cancel();
    open();
    expect(await result).toMatchObject({ reason: 'interrupted', turns: 1 });
    expect([tool.ran.length, requests.length]).toEqual([1, 1]);
    expect(said(agent.messages()).slice(0, 3)).toEqual(['user: Work.', 'assistant: work', 'tool: work ran']);
    expect(disorder(events)).toEqual([]);
  });

  it('that came before the start lets nothing be sent, by either way of asking, between one start and one end [row 18] [edge 13]', async () => {
    const { agent, requests, events } = agentOver([says('never')]);
    const signal = AbortSignal.abort();
    const outcome = await agent.run('Go.', { signal });
    expect(outcome).toMatchObject({ reason: 'interrupted', turns: 0, usage: { requests: 0 } });
    const byRun = events.map(({ type }) => type);
    expect(byRun).toEqual(['worker-start', 'run-start', 'run-end', 'worker-end']);
    const chunks = await collect(agent.stream('Go.', { signal }));
    expect(chunks).toEqual([{ type: 'cancelled', reason: expect.any(String) }]);
    expect(events.slice(byRun.length).map(({ type }) => type)).toEqual(byRun);
    expect(ofType(events, 'run-end').map(({ turns }) => turns)).toEqual([0, 0]);
    expect(requests).toEqual([]);
  });

  it('at the moment of asking, while the worker still starts, is not lost [trap 5]', async () => {
    const { agent, requests, events } = agentOver([says('Back.')]);
    const { result } = agent.ask('Go.');
    expect(agent.cancel({ reason: 'changed my mind' })).toBe(true);
    expect(await result).toMatchObject({ reason: 'interrupted', error: { message: 'changed my mind' } });
    expect(requests).toEqual([]);
    expect(disorder(events)).toEqual([]);
    expect(await agent.run('Go on.')).toMatchObject({ answer: 'Back.' });
  });

  it('of another run does nothing, and the reason of one is kept, or is that the user cancelled [row 19]', async () => {
    const { opening, open } = gate();
    const { agent, requests, events } = agentOver([behind(opening, [text('A.'), end]), hangs(), hangs()]);
    expect(agent.cancel()).toBe(false);
    const first = agent.ask('First.');
    await until('the model is asked', () => requests.length === 1);
    expect(agent.cancel({ runId: 'another' })).toBe(false);
    open();
    expect(await first.result).toMatchObject({ reason: 'answered', answer: 'A.' });

    const second = agent.ask('Second.');
    await until('the model is asked again', () => requests.length === 2);
    expect(agent.cancel({ runId: first.id })).toBe(false);
    expect(agent.cancel({ runId: second.id })).toBe(true);
    const third = await second.result.then(() => agent.ask('Third.'));
    await until('the model is asked once more', () => requests.length === 3);
    agent.cancel({ reason: 'lunch' });
    await third.result;
    expect(ofType(events, 'run-end').map(({ reason, error }) => [reason, error?.message])).toEqual([
      ['answered', undefined],
      ['interrupted', 'user_cancelled'],
      ['interrupted', 'lunch'],
    ]);
  });

  it('does not keep the next run from being answered, with all that was said and no call left open [row 21] [trap 10]', async () => {
    const { opening, open } = gate();
    const [slow, serial] = [waiting('slow', opening), probe('serial', undefined, { concurrency: 'serial' })];
    const { agent, requests } = agentOver([calls(['a', 'slow', {}], ['b', 'serial', {}]), says('Back.')], {
      tools: [slow.tool, serial.tool],
    });
    const { result } = agent.ask('Work.');
    await until('the tool runs', () => slow.ran.length === 1);
    agent.cancel();
    open();
    await result;
    expect(await agent.run('Again.')).toMatchObject({ reason: 'answered', answer: 'Back.' });
    expect(serial.ran).toEqual([]);
    expect(said(requests[1]?.messages)).toEqual([
      'user: Work.',
      'assistant: slow serial',
      'tool: slow ran',
      expect.stringMatching(/^tool: Not run/),
      expect.stringMatching(/^user: \[.*cancelled/),
      'user: Again.',
    ]);
    expect(faultsOf(requests[1]?.messages ?? [])).toEqual([]);
  });
});

describe('a deadline', () => {
  it('ends a run as a timeout, which is neither a cancel nor a silent provider [row 20] [edge 15]', async () => {
    const { agent, signals } = agentOver(() => hangs(), { idleTimeoutMs: 60 });
    const overdue = await agent.run('Go.', { timeoutMs: 20 });
    const silent = await agent.run('Go.');
    const refused = agentOver([new ProviderError('network', 'No answer within 10 s.')]).agent;
    const cancelled = agent.ask('Go.');
    agent.cancel();
    const endings = [overdue, silent, await refused.run('Go.'), await cancelled.result];
    expect(endings.map(({ reason, error }) => [reason, error?.kind])).toEqual([
      ['timeout', 'timeout'],
      ['failed', 'provider'],
      ['failed', 'provider'],
      ['interrupted', 'interrupted'],
    ]);
    expect(overdue.error?.message).toContain('0.02 s');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it('leaves no timer and no listener behind [row 20]', async () => {
    const controller = new AbortController();
    const listeners = { added: 0, removed: 0 };
    const { signal } = controller;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    Object.assign(signal, {
      addEventListener: (...args: Parameters<typeof add>) => {
        listeners.added += 1;
        add(...args);
      },
      removeEventListener: (...args: Parameters<typeof remove>) => {
        listeners.removed += 1;
        remove(...args);
      },
    });
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const { agent } = agentOver(() => says('Done.'));
    await agent.run('Warm up.');
    const before = timers();
    for (let count = 0; count < 5; count += 1) await agent.run('Go.', { timeoutMs: 100_000, signal });
    expect(timers()).toBeLessThanOrEqual(before);
    expect(listeners).toEqual({ added: 5, removed: 5 });
  });

  it('that ends a tool is told as its time, and a cancel as a cancel [row 20]', async () => {
    const stops = () =>
      probe('work', (_, { signal }) => {
        const stopped = { ok: false, code: 'interrupted', output: 'Stopped.' };
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(stopped)));
      });
    const overdue = agentOver([calls(['a', 'work', {}])], { tools: [stops().tool] });
    await overdue.agent.run('Work.', { timeoutMs: 30 });
    const tool = stops();
    const cancelled = agentOver([calls(['a', 'work', {}])], { tools: [tool.tool] });
    const { result } = cancelled.agent.ask('Work.');
    await until('the tool runs', () => tool.ran.length === 1);
    cancelled.agent.cancel();
    await result;
    const codes = [overdue, cancelled].map(({ events }) => ofType(events, 'tool-end').map(({ code }) => code));
    expect(codes).toEqual([['timeout'], ['interrupted']]);
  });

  it('during a round waits for the tool, records its result, and asks the model no more [row 20]', async () => {
    const { opening, open } = gate();
    const tool = probe('work', async (_, { signal }) => {
      signal.addEventListener('abort', () => open());
      await opening;
      return { ok: true, output: 'work ran' };
    });
    const { agent, requests } = agentOver([calls(['a', 'work', {}]), says('never')], { tools: [tool.tool] });
    expect(await agent.run('Work.', { timeoutMs: 50 })).toMatchObject({ reason: 'timeout', turns: 1 });
    expect(requests).toHaveLength(1);
    expect(said(agent.messages()).slice(0, 3)).toEqual(['user: Work.', 'assistant: work', 'tool: work ran']);
  });
});
