/** What is changed on a living agent, or for one run of it: system prompt, tools, values, requests. */
import { describe, expect, it } from 'vitest';
import { calls, disorder, says } from '../fixtures/bench.js';
import { agentOver, gate, ofType, probe, rejectionOf, told, toolNames, until, waiting } from './agent-bench.js';

describe('the system prompt', () => {
  it('stands first in each request, once, is never stored, and is changed from the next run on [row 30]', async () => {
    const tool = probe('look');
    const { agent, requests } = agentOver([calls(['a', 'look', {}]), says('One.'), says('Two.')], {
      systemPrompt: 'You look.',
      tools: [tool.tool],
      onEvent: ({ type }) => type === 'tool-start' && agent.setSystemPrompt('You listen.'),
    });
    await agent.run('First.');
    await agent.run('Second.');
    expect(requests.map(({ messages }) => messages.filter(({ role }) => role === 'system').length)).toEqual([1, 1, 1]);
    const begins = (prompt: string) => requests.map(({ messages }) => messages[0]?.content.startsWith(prompt));
    expect(begins('You look.')).toEqual([true, true, false]);
    expect(begins('You listen.')).toEqual([false, false, true]);
    expect(agent.messages().some(({ role }) => role === 'system')).toBe(false);
  });
});

describe('the tools of an agent', () => {
  it('are added, replaced in place and taken away at any time, and a run has those that it began with [row 33]', async () => {
    const { opening, open } = gate();
    const [one, two, three] = [waiting('one', opening), probe('two'), probe('three')];
    const other = probe('one', async () => ({ ok: true, output: 'the other one' }));
    const { agent, requests } = agentOver(
      [calls(['a', 'one', {}]), calls(['b', 'three', {}]), says('Done.'), calls(['c', 'one', {}]), says('Done.')],
      { tools: [one.tool, two.tool] },
    );
    const first = agent.ask('First.');
    await until('the tool runs', () => one.ran.length === 1);
    agent.registerTool(three.tool);
    agent.registerTool(other.tool);
    expect([agent.unregisterTool('two'), agent.unregisterTool('nobody')]).toEqual([true, false]);
    expect(agent.listTools().map(({ name }) => name)).toEqual(['one', 'three']);
    open();
    await first.result;
    await agent.run('Second.');
    expect(requests.map(toolNames)).toEqual([
      ['one', 'two'],
      ['one', 'two'],
      ['one', 'two'],
      ['one', 'three'],
      ['one', 'three'],
    ]);
    expect(requests[2]?.messages.at(-1)?.content).toContain('no tool "three"');
    expect(three.ran).toEqual([]);
    expect(requests[4]?.messages.at(-1)?.content).toBe('the other one');
  });

  it('may be fewer or others in one run, and a name that none of them has is a rejection before any call [row 34]', async () => {
    const tools = ['alpha', 'beta', 'gamma'].map((name) => probe(name).tool);
    const { agent, requests } = agentOver(() => says('Done.'), { tools });
    const rejection = rejectionOf(() => agent.ask('Go.', { allowedTools: ['x', 'alpha', 'a'] }));
    expect(rejection).toMatchObject({ reason: 'unknown-tools', message: expect.stringMatching(/ a, x\b/) });
    expect(requests).toEqual([]);
    await agent.run('Go.', { allowedTools: ['gamma', 'alpha'] });
    await agent.run('Go.', { tools: [probe('delta').tool, probe('epsilon').tool], allowedTools: ['epsilon'] });
    await agent.run('Go.', { allowedTools: [] });
    await agent.run('Go.');
    expect(requests.map(toolNames)).toEqual([['alpha', 'gamma'], ['epsilon'], [], ['alpha', 'beta', 'gamma']]);
  });

  it('find the values that were set last, as a whole, with those of the run over them [row 35]', async () => {
    const seen: unknown[] = [];
    const tool = probe('look', async (_, { values }) => {
      seen.push(values);
      return { ok: true, output: 'seen' };
    });
    const { agent } = agentOver((_, index) => (index % 2 === 0 ? calls([`c${index}`, 'look', {}]) : says('Done.')), {
      tools: [tool.tool],
      toolContext: { t: 'a', r: 'us' },
    });
    await agent.run('First.', { toolContext: { t: 'own' } });
    await agent.run('Second.');
    agent.setToolContext({ t: 'b' });
    await agent.run('Third.');
    expect(seen).toEqual([{ t: 'own', r: 'us' }, { t: 'a', r: 'us' }, { t: 'b' }]);
  });

  it('are asked for by no request where the change of it fails, and the run says why [row 52]', async () => {
    const { agent, requests, events } = agentOver([says('never')], {
      tools: [probe('look').tool],
      transformRequest: () => Promise.reject(new TypeError('no rules today')),
    });
    expect(await agent.run('Go.')).toMatchObject({
      reason: 'failed',
      error: { kind: 'internal', message: 'no rules today' },
      usage: { requests: 0 },
    });
    expect(requests).toEqual([]);
    expect(disorder(events)).toEqual([]);
  });

  it('that a changed request does not offer are unknown to the round that follows it [row 52] [trap 6]', async () => {
    const [secret, open] = [probe('secret'), probe('open')];
    let changes = 0;
    const { agent, requests, events } = agentOver(
      [
        calls(['a', 'secret', {}]),
        calls(['b', 'secret', {}], ['c', 'open', {}]),
        calls(['d', 'secret', {}]),
        says('Done.'),
      ],
      {
        tools: [secret.tool, open.tool],
        transformRequest: (request, state) => {
          changes += 1;
          const note = { role: 'user' as const, content: `turn ${state.turns}` };
          const tools = [[], request.tools.filter(({ name }) => name === 'open'), request.tools][changes - 1];
          return { ...request, model: `m${changes}`, messages: [...request.messages, note], tools: tools ?? [] };
        },
      },
    );
    expect(await agent.run('Go.')).toMatchObject({ reason: 'answered' });
    expect(requests.map(toolNames)).toEqual([[], ['open'], ['secret', 'open'], []]);
    expect(requests.map(({ model }) => model)).toEqual(['m1', 'm2', 'm3', 'm4']);
    expect(requests.map(({ messages }) => messages.at(-1)?.content)).toEqual(['turn 0', 'turn 1', 'turn 2', 'turn 3']);
    expect(ofType(events, 'tool-end').map(({ callId, ok, code }) => [callId, ok, code])).toEqual([
      ['a', false, 'unknown-tool'],
      ['b', false, 'unknown-tool'],
      ['c', true, undefined],
      ['d', true, undefined],
    ]);
    expect([secret.ran.length, open.ran.length]).toEqual([1, 1]);
    // What was added to one request is not said in the conversation.
    expect(told(agent.messages()).filter((line) => line.includes('turn '))).toEqual([]);
  });
});
