/** Going on with a run from its checkpoint tokens, as a library user does: by another agent, in another process. */
import { describe, expect, it } from 'vitest';
import type { AgentEvent } from '../../src/index.js';
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

  it('after its end is refused or fails, and each event that started has ended', async () => {
    const tokens = await stored();
    const { agent, events, requests } = agentOver([says('never')], options());
    const ending = await Promise.resolve()
      .then(() => agent.run('Look.', { checkpoint: tokens.terminal }))
      .catch((thrown: Error) => ({ reason: thrown.name }));
    expect(ending.reason).not.toBe('answered');
    expect(requests).toEqual([]);
    expect(disorder(events)).toEqual([]);
  });
});
