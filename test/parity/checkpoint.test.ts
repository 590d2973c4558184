/** Going on with a run from its checkpoint tokens, as a library user does: by another agent, in another process. */
import { describe, expect, it } from 'vitest';
import type { AgentEvent, ModelRequest } from '../../src/index.js';
import { calls, disorder, says } from '../fixtures/bench.js';
import { agentOver, faultsOf, ofType, probe, told } from './agent-bench.js';

const SECRET = 'thirty-two random bytes, or so';

/** The tokens of a run of one round with two calls, by their points. */
async function stored(): Promise<Readonly<Record<Extract<AgentEvent, { type: 'checkpoint' }>['point'], string>>> {
  const { agent, events } = agentOver(
    [calls(['a', 'look', {}], ['b', 'look', { text: 'b' }]), says('Done.')],
    options(),
  );
  await agent.run('Look.');
  const tokens = Object.fromEntries(ofType(events, 'checkpoint').map(({ point, token }) => [point, token]));
  return {
    'after-llm': tokens['after-llm'] ?? '',
    'after-tools': tokens['after-tools'] ?? '',
    terminal: tokens.terminal ?? '',
  };
}

const options = (tool = probe('look').tool) => ({
  tools: [tool],
  systemPrompt: 'You look.',
  checkpoints: { secret: SECRET },
});

describe('a run that is gone on with', () => {
  it('by an agent that was made without checkpoints fails as a fault of its user, before any request', async () => {
    const tokens = await stored();
    const { checkpoints: _, ...without } = options();
    const { agent, requests } = agentOver([], without);
    const outcome = await agent.run('Look.', { checkpoint: tokens['after-llm'] });
    expect(outcome).toMatchObject({
      reason: 'failed',
      error: { kind: 'usage', message: expect.stringContaining('`checkpoints`') },
    });
    expect(requests).toEqual([]);
  });

  it('after a reply runs the calls that it was about to run, before the model is asked [trap 4]', async () => {
    const tokens = await stored();
    const look = probe('look');
    const { agent, events, requests } = agentOver([says('Done.')], options(look.tool));
    const outcome = await agent.run('Look.', { checkpoint: tokens['after-llm'] });
    expect(outcome).toMatchObject({ reason: 'answered', answer: 'Done.', turns: 2 });
    expect(look.ran).toEqual(['', 'b']);
    expect(requests).toHaveLength(1);
    expect(told(requests[0]?.messages).slice(1)).toEqual([
      'user: Look.',
      'assistant: look look',
      'tool: look ran',
      'tool: look ran',
    ]);
    expect(faultsOf(requests[0]?.messages ?? [])).toEqual([]);
    expect(disorder(events)).toEqual([]);
    // It is one task in the conversation, like any other.
    expect(told(agent.messages())).toEqual([
      'user: Look.',
      'assistant: look look',
      'tool: look ran',
      'tool: look ran',
      'assistant: Done.',
    ]);
  });

  it('after a reply runs only the tools that the request behind it offered [row 52] [trap 6]', async () => {
    const withoutTools = {
      ...options(),
      transformRequest: (request: ModelRequest) => ({ ...request, tools: [] }),
    };
    const { agent, events } = agentOver([calls(['a', 'look', {}]), says('Done.')], withoutTools);
    await agent.run('Look.');
    const token = ofType(events, 'checkpoint').find(({ point }) => point === 'after-llm')?.token ?? '';

    const look = probe('look');
    const resumed = agentOver([says('Done.')], { ...withoutTools, tools: [look.tool] });
    expect(await resumed.agent.run('Look.', { checkpoint: token })).toMatchObject({ reason: 'answered' });
    expect(look.ran).toEqual([]);
    expect(ofType(resumed.events, 'tool-end').map(({ code }) => code)).toEqual(['unknown-tool']);
  });

  it('after a reply is given the request and the state as they were before it, to say which tools it offered', async () => {
    const tokens = await stored();
    const seen: unknown[] = [];
    const { agent } = agentOver([says('Done.')], {
      ...options(),
      transformRequest: (request, state) => {
        seen.push([told(request.messages).slice(1), state.phase, state.turns]);
        return request;
      },
    });
    await agent.run('Look.', { checkpoint: tokens['after-llm'] });
    expect(seen).toEqual([
      [['user: Look.'], 'reason', 0],
      [['user: Look.', 'assistant: look look', 'tool: look ran', 'tool: look ran'], 'reason', 1],
    ]);
  });

  it('after a reply runs nothing where it can not be said which tools were offered', async () => {
    const tokens = await stored();
    const look = probe('look');
    const { agent, events, requests } = agentOver([says('never')], {
      ...options(look.tool),
      transformRequest: () => {
        throw new Error('no rules today');
      },
    });
    const outcome = await agent.run('Look.', { checkpoint: tokens['after-llm'] });
    expect(outcome).toMatchObject({ reason: 'failed', error: { message: 'no rules today' } });
    expect([look.ran.length, requests.length]).toEqual([0, 0]);
    expect(disorder(events)).toEqual([]);
  });

  it('after a round runs none of its calls again', async () => {
    const tokens = await stored();
    const look = probe('look');
    const { agent, events, requests } = agentOver([says('Done.')], options(look.tool));
    const outcome = await agent.run('Look.', { checkpoint: tokens['after-tools'] });
    expect(outcome).toMatchObject({ reason: 'answered', answer: 'Done.', turns: 2 });
    expect(look.ran).toEqual([]);
    expect(requests.map(({ messages }) => messages.length)).toEqual([5]);
    expect(disorder(events)).toEqual([]);
  });

  it('after its answer is refused, and each event that started has ended', async () => {
    const tokens = await stored();
    const { agent, events, requests } = agentOver([says('never')], options());
    const outcome = await agent.run('Look.', { checkpoint: tokens.terminal });
    expect(outcome).toMatchObject({ reason: 'failed', error: { kind: 'usage', code: 'bad-state' } });
    expect(requests).toEqual([]);
    expect(disorder(events)).toEqual([]);
  });
});
