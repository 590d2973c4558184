/** What the checkpoints of an agent are bound to, how long they can be used, and what they bring along. */
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { calls, says } from '../fixtures/bench.js';
import { type AgentBenchOptions, agentOver, ofType, probe, told } from '../parity/agent-bench.js';

const SECRET = 'thirty-two random bytes, or so';
const look = probe('look').tool;

const options = (changes: AgentBenchOptions = {}): AgentBenchOptions => ({
  tools: [look],
  model: 'a-model',
  systemPrompt: 'You look.',
  limits: { maxTurns: 9 },
  checkpoints: { secret: SECRET },
  ...changes,
});

/** The token of a run that is about to look, at the end of `tasks` that were answered before. */
async function tokenOf(given: AgentBenchOptions, ...tasks: readonly string[]): Promise<string> {
  const before = tasks.map((task) => says(`About ${task}`));
  const { agent, events } = agentOver([...before, calls(['a', 'look', {}]), says('Done.')], given);
  for (const task of tasks) await agent.run(task);
  await agent.run('Look.');
  return ofType(events, 'checkpoint').findLast(({ point }) => point === 'after-llm')?.token ?? '';
}

/** What came of going on with it. */
async function resumed(token: string, given: AgentBenchOptions) {
  const { agent, requests, events } = agentOver([says('Done.')], given);
  const outcome = await agent.run('Look.', { checkpoint: token });
  return { agent, requests, events, outcome, what: outcome.error?.code ?? outcome.reason };
}

describe('a checkpoint of an agent', () => {
  it('can be gone on with under the same configuration', async () => {
    expect((await resumed(await tokenOf(options()), options())).what).toBe('answered');
  });

  it.each<[string, AgentBenchOptions]>([
    ['model', { model: 'b-model' }],
    ['system prompt', { systemPrompt: 'You listen.' }],
    ['limits', { limits: { maxTurns: 10 } }],
    ['tools', { tools: [look, probe('listen').tool] }],
    ['form of the answer', { output: z.object({ x: z.number() }) }],
  ])('is of no use under another %s', async (_, changes) => {
    const { what, requests } = await resumed(await tokenOf(options()), options(changes));
    expect([what, requests.length]).toEqual(['other-config', 0]);
  });

  it.each([
    ['form of the answer', { output: { type: 'object' } }, { output: { type: 'array' } }],
    ['tools of the one run', {}, { allowedTools: [] }],
    ['time of the one run', {}, { timeoutMs: 4_000 }],
  ])('is of no use under another %s', async (_, first, second) => {
    const token = await tokenOf(options('output' in first ? first : {}));
    const { agent, requests } = agentOver([says('Done.')], options('output' in second ? second : {}));
    const ask = 'output' in second ? {} : second;
    expect((await agent.run('Look.', { checkpoint: token, ...ask })).error?.code).toBe('other-config');
    expect(requests).toEqual([]);
  });

  it('can be used for as long as checkpoints.ttlMs says', async () => {
    const at = (time: number) => options({ checkpoints: { secret: SECRET, ttlMs: 1_000 }, now: () => time });
    const token = await tokenOf(at(50_000));
    expect((await resumed(token, at(50_999))).what).toBe('answered');
    expect((await resumed(token, at(51_000))).what).toBe('expired');
  });

  it('can be used for ever where no time is given', async () => {
    const token = await tokenOf(options({ now: () => 0 }));
    expect((await resumed(token, options({ now: () => 8e15 }))).what).toBe('answered');
  });

  it('brings the conversation along to an agent that has none, and it is told', async () => {
    const token = await tokenOf(options(), 'First.', 'Second.');
    const { agent, requests, events, outcome } = await resumed(token, options());
    expect(outcome).toMatchObject({ reason: 'answered' });
    expect(ofType(events, 'context')).toMatchObject([{ operation: 'restore', messages: 4 }]);
    const said = [
      'user: First.',
      'assistant: About First.',
      'user: Second.',
      'assistant: About Second.',
      'user: Look.',
      'assistant: look',
      'tool: look ran',
    ];
    expect(told(requests[0]?.messages)).toEqual(['system: You look.', ...said]);
    expect(told(agent.messages())).toEqual([...said, 'assistant: Done.']);
  });

  it('leaves an agent that has a conversation with its own', async () => {
    const token = await tokenOf(options(), 'First.');
    const { agent } = agentOver([says('Hello.'), says('Done.')], options());
    await agent.run('Hi.');
    await agent.run('Look.', { checkpoint: token });
    expect(told(agent.messages())).toEqual([
      'user: Hi.',
      'assistant: Hello.',
      'user: Look.',
      'assistant: look',
      'tool: look ran',
      'assistant: Done.',
    ]);
  });

  it('is the last one that the agent keeps at hand', async () => {
    const { agent, events } = agentOver([says('Done.')], options());
    expect(agent.checkpoint()).toBeUndefined();
    await agent.run('Go.');
    expect(agent.checkpoint()).toBe(ofType(events, 'checkpoint').at(-1)?.token);
  });
});
