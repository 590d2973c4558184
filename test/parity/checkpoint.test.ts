/** Going on with a run from its checkpoint tokens, as a library user does: by another agent, in another process. */
import { describe, expect, it } from 'vitest';
import { type AgentEvent, type ModelRequest, ProviderError, windowMemory } from '../../src/index.js';
import { calls, disorder, says, type Turn } from '../fixtures/bench.js';
import { type AgentBenchOptions, agentOver, faultsOf, hangs, ofType, probe, told, until } from './agent-bench.js';

const SECRET = 'thirty-two random bytes, or so';

/** The tokens of a run of one round with two calls, by their points. */
type Point = Exclude<Extract<AgentEvent, { type: 'checkpoint' }>['point'], 'after-input'>;

async function stored(): Promise<Readonly<Record<Point, string>>> {
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

  it('is told with the task that it has, whatever is given with the token', async () => {
    const tokens = await stored();
    const { agent, events } = agentOver([says('Done.')], options());
    await agent.run('Another one.', { checkpoint: tokens['after-tools'] });
    expect(ofType(events, 'worker-start').map(({ task }) => task)).toEqual(['Look.']);
    expect(ofType(events, 'run-start').map(({ task }) => task)).toEqual(['Look.']);
    expect(told(agent.messages())[0]).toBe('user: Look.');
  });

  it('counts what it had spent before, in its events, its outcome and its budget', async () => {
    const tokens = await stored();
    const { agent, events } = agentOver([says('Done.')], options());
    const outcome = await agent.run('', { checkpoint: tokens['after-tools'] });
    expect(outcome.usage).toMatchObject({ requests: 2, totalTokens: 10 });
    expect(ofType(events, 'usage').map(({ usage }) => usage)).toEqual([outcome.usage]);

    const poor = agentOver([says('never')], { ...options(), limits: { maxRequests: 1 } });
    expect(await poor.agent.run('', { checkpoint: tokens['after-tools'] })).toMatchObject({
      reason: 'budget',
      error: { message: expect.stringMatching(/1 model requests.*before it was gone on with/) },
    });
    expect(poor.requests).toEqual([]);
  });

  it('has what was steered into it, from the moment that it was taken', async () => {
    const { agent, events, requests } = agentOver([calls(['a', 'look', {}]), hangs()], {
      ...options(),
      onEvent: (event) => {
        if (event.type === 'tool-start') agent.steer('Look closer.');
      },
    });
    const { result } = agent.ask('Look.');
    await until('the second request', () => requests.length === 2);
    const token = agent.checkpoint();
    expect(ofType(events, 'checkpoint').map(({ point }) => point)).toEqual(['after-llm', 'after-tools', 'after-input']);
    agent.cancel();
    await result;
    const other = agentOver([says('Done.')], options());
    await other.agent.run('', { checkpoint: token });
    expect(told(other.requests[0]?.messages).slice(-2)).toEqual(['tool: look ran', 'user: Look closer.']);
  });

  it('may have limits without an end', async () => {
    const limits = { maxTurns: Number.POSITIVE_INFINITY, maxOutputRetries: Number.POSITIVE_INFINITY };
    const first = agentOver([calls(['a', 'look', {}]), new ProviderError('bad-request', 'No.')], {
      ...options(),
      limits,
    });
    await first.agent.run('Look.');
    const second = agentOver([says('Done.')], { ...options(), limits });
    expect(await second.agent.run('', { checkpoint: first.agent.checkpoint() })).toMatchObject({ answer: 'Done.' });
  });

  it.each([
    ['a token that is no text', options(), { checkpoint: 5 as unknown as string }, 'bad-format'],
    ['an agent without checkpoints', { tools: [] }, { checkpoint: 'cc1.a.b' }, undefined],
  ])('is refused for what it is: %s', async (_, given, ask, code) => {
    const { error } = await agentOver([], given).agent.run('Look.', ask);
    expect([error?.kind, error?.code]).toEqual(['usage', code]);
  });
});

describe('a run that was cut short', () => {
  type Cut = { readonly turn: Turn; readonly options?: AgentBenchOptions; readonly cut?: 'cancel' };
  const CUTS: readonly [reason: string, Cut, mark: RegExp][] = [
    ['interrupted', { turn: hangs(), cut: 'cancel' }, /cancelled/],
    ['timeout', { turn: hangs(), options: { limits: { timeoutMs: 100 } } }, /time limit/],
    ['failed', { turn: new ProviderError('bad-request', 'No.') }, /failed/],
    ['turn-limit', { turn: says('So far.'), options: { limits: { maxTurns: 1 } } }, /turn limit/],
  ];

  async function cutShort({ turn, options: own = {}, cut }: Cut, look = probe('look')) {
    // The turns behind the first two are for a run that goes on with it.
    const turns = [calls(['a', 'look', {}]), turn, says('Done.'), says('Done again.')];
    const made = agentOver(turns, { ...options(look.tool), ...own });
    const { result } = made.agent.ask('Look.');
    if (cut !== undefined) {
      await until('the second request', () => made.requests.length === 2);
      made.agent.cancel();
    }
    return { ...made, look, outcome: await result, last: made.agent.checkpoint() ?? '' };
  }

  it.each(CUTS)('goes on from its last checkpoint, and no tool runs again: %s', async (reason, cut, mark) => {
    const { outcome, last } = await cutShort(cut);
    expect(outcome.reason).toBe(reason);
    const look = probe('look');
    const { agent, requests, events } = agentOver([says('Done.')], { ...options(look.tool), ...cut.options });
    expect(await agent.run('', { checkpoint: last })).toMatchObject({ reason: 'answered', answer: 'Done.' });
    expect(look.ran).toEqual([]);
    expect(told(requests[0]?.messages).slice(1, 4)).toEqual(['user: Look.', 'assistant: look', 'tool: look ran']);
    expect(told(requests[0]?.messages).at(-1)).toMatch(mark);
    expect(faultsOf(requests[0]?.messages ?? [])).toEqual([]);
    expect(disorder(events)).toEqual([]);
  });

  it.each(CUTS)('stands once in the conversation that it goes on in: %s', async (_, cut) => {
    const { agent, last, look, events } = await cutShort(cut);
    const before = told(agent.messages()).slice(0, 3);
    expect(await agent.run('', { checkpoint: last })).toMatchObject({ reason: 'answered', answer: 'Done.' });
    const once = told(agent.messages());
    expect(once.slice(0, 3)).toEqual(before);
    expect(once.at(-1)).toBe('assistant: Done.');
    expect(once.filter((line) => line === 'user: Look.' || line === 'tool: look ran')).toHaveLength(2);
    // From an earlier token as well, and once more.
    const early = ofType(events, 'checkpoint').find(({ point }) => point === 'after-tools')?.token;
    expect(await agent.run('', { checkpoint: early })).toMatchObject({ answer: 'Done again.' });
    const again = told(agent.messages()).filter((line) => !line.startsWith('user: You have used all'));
    expect(again).toEqual([...before, 'assistant: Done again.']);
    expect(look.ran).toHaveLength(1);
  });
});

describe('what checkpoints cost', () => {
  it('is not kept in the traces: the event stays, without its token', async () => {
    const { agent, events } = agentOver([says('Done.')], options());
    const { id, result } = agent.ask('Look.');
    await result;
    const tokens = (list: readonly AgentEvent[] = []) => ofType(list, 'checkpoint').map(({ token }) => token);
    expect(tokens(events)).toEqual([agent.checkpoint()]);
    expect(tokens(agent.traces(id)?.events)).toEqual(['']);
  });

  it('does not grow with the conversation: a run starts from what its memory lets through', async () => {
    const sizes: number[] = [];
    const { agent, requests } = agentOver(() => says('x'.repeat(400)), {
      ...options(),
      memory: windowMemory({ maxTokens: 500 }),
      onEvent: (event) => void (event.type === 'checkpoint' && sizes.push(event.token.length)),
    });
    for (let run = 0; run < 30; run += 1) await agent.run(`Task ${run}.`);
    // But for a digit more or less in a task and a count.
    expect(Math.max(...sizes.slice(10))).toBeLessThan(Math.max(...sizes.slice(0, 10)) + 100);
    expect(agent.messages().length).toBeLessThanOrEqual(requests.at(-1)?.messages.length ?? 0);
  });
});
