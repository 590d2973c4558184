/** The conversation of an agent: what changes it, when that counts, and whom it is told to. */
import { describe, expect, it } from 'vitest';
import type { AgentEvent, ContextOp, Message } from '../../src/index.js';
import { says } from '../fixtures/bench.js';
import { agentOver, behind, collect, end, gate, ofType, text, told, until } from '../parity/agent-bench.js';

const replaceBy = (opId: string, content: string): ContextOp => ({
  opId,
  type: 'replace',
  messages: [{ role: 'user', content }],
});

describe('an operation on the conversation', () => {
  it('that comes while idle is applied at once, and told', () => {
    const { agent, events } = agentOver([]);
    expect(agent.contextOp(replaceBy('a', 'Before.'))).toBe(true);
    expect(told(agent.messages())).toEqual(['user: Before.']);
    expect(events).toMatchObject([{ type: 'context', operation: 'replace', operationId: 'a', messages: 1 }]);
    expect(agent.contextOp(replaceBy('a', 'Again.'))).toBe(false);
    expect(told(agent.messages())).toEqual(['user: Before.']);
  });

  it('that comes during a run waits for its last event, and those that wait come in their order', async () => {
    const { opening, open } = gate();
    const { agent, events, requests } = agentOver([behind(opening, [text('One.'), end]), says('Two.')]);
    const { result } = agent.ask('First.');
    await until('the model is asked', () => requests.length === 1);
    expect(agent.contextOp(replaceBy('a', 'A.'))).toBe(true);
    expect(agent.contextOp(replaceBy('a', 'A.'))).toBe(false);
    expect(agent.contextOp(replaceBy('b', 'B.'))).toBe(true);
    expect(agent.messages()).toEqual([]);
    expect(ofType(events, 'context')).toEqual([]);
    open();
    await result;
    expect(events.slice(-3).map((event) => [event.type, 'operationId' in event ? event.operationId : ''])).toEqual([
      ['worker-end', ''],
      ['context', 'a'],
      ['context', 'b'],
    ]);
    await agent.run('Second.');
    expect(told(requests[1]?.messages)).toEqual(['user: B.', 'user: First.', 'assistant: One.', 'user: Second.']);
  });

  it('is told to the readers of the agent, and is no event of a run', async () => {
    const { agent, events } = agentOver([says('One.')], {
      onEvent: ({ type }) => type === 'text-delta' && agent.contextOp(replaceBy('a', 'A.')),
    });
    const handle = agent.ask('First.');
    const own: readonly AgentEvent[] = await collect(handle.events);
    await handle.result;
    expect(own.at(-1)?.type).toBe('worker-end');
    expect(own.map(({ runId }) => runId)).toEqual(own.map(() => handle.id));
    expect(ofType(events, 'context')).toMatchObject([{ operationId: 'a', runId: 'session' }]);
  });

  it('that waited for a run which could not start is applied all the same', async () => {
    const { agent, events } = agentOver([], { workspace: '/no/such/folder' });
    const { result } = agent.ask('First.');
    agent.contextOp(replaceBy('a', 'A.'));
    expect(await result).toMatchObject({ reason: 'failed' });
    expect(ofType(events, 'context')).toHaveLength(1);
    expect(told(agent.messages())[0]).toBe('user: A.');
  });
});

describe('the memory of an agent', () => {
  const LONG = 'x'.repeat(600_000);

  it('is by default a window of 128,000 tokens, out of which the oldest falls', async () => {
    const { agent, requests } = agentOver([says(LONG), says('Two.')]);
    await agent.run('First.');
    await agent.run('Second.');
    expect(requests[1]?.messages.some(({ content }) => content === LONG)).toBe(false);
    expect(requests[1]?.messages.at(-1)).toEqual({ role: 'user', content: 'Second.' });
  });

  it('is the one that was given', async () => {
    const memory = { context: (messages: readonly Message[]) => messages };
    const { agent, requests } = agentOver([says(LONG), says('Two.')], { memory });
    await agent.run('First.');
    await agent.run('Second.');
    // Not held against the text itself: a failure would print all of it.
    expect(requests[1]?.messages.map(({ content }) => content.length)).toEqual([6, 600_000, 7]);
  });
});
