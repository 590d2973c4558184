/** Words that come in during a run: from a person, or from a program. */
import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../src/index.js';
import { calls, disorder, says } from '../fixtures/bench.js';
import { agentOver, behind, end, gate, hangs, ofType, text, told, until, waiting } from './agent-bench.js';

/** Without what every request begins with. */
const said = (messages: Parameters<typeof told>[0]) => told(messages).filter((line) => !line.startsWith('system'));

describe('words for a run', () => {
  it('that come while its worker is starting enter before the first model call', async () => {
    const { agent, requests, events } = agentOver([says('Done.')]);
    const { id, result } = agent.ask('Look.');
    expect(events).toEqual([]);
    expect(agent.steer('In the attic.', { expectedRunId: id })).toMatchObject({ ok: true });
    expect(await result).toMatchObject({ reason: 'answered' });
    expect(said(requests[0]?.messages)).toEqual(['user: Look.', 'user: In the attic.']);
    expect(ofType(events, 'input')).toMatchObject([{ status: 'taken', runId: id }]);
  });

  it('that come during a round enter before the next model call, trimmed and in order [row 23]', async () => {
    const { opening, open } = gate();
    const tool = waiting('look', opening);
    const { agent, events, requests } = agentOver([calls(['a', 'look', {}]), says('Done.')], { tools: [tool.tool] });
    const { id, result } = agent.ask('Look.');
    await until('the tool runs', () => tool.ran.length === 1);
    const first = agent.steer('  In the attic.\n', { expectedRunId: id });
    const second = agent.inject('It is noon.');
    expect([first, second]).toEqual([
      { ok: true, inputId: expect.any(String) },
      { ok: true, inputId: expect.any(String) },
    ]);
    open();
    expect(await result).toMatchObject({ reason: 'answered', turns: 2 });
    expect(said(requests[1]?.messages)).toEqual([
      'user: Look.',
      'assistant: look',
      'tool: look ran',
      'user: In the attic.',
      'user: It is noon.',
    ]);
    expect(ofType(events, 'input').map(({ kind, status, text }) => [kind, status, text])).toEqual([
      ['steer', 'taken', 'In the attic.'],
      ['inject', 'taken', 'It is noon.'],
    ]);
  });

  it('are refused with the reason when there is no such run, no text, no room or no next call [row 24]', async () => {
    const { opening, open } = gate();
    const late: unknown[] = [];
    const { agent, requests, events } = agentOver(
      [behind(opening, [text('One.'), end]), says('Two.'), says('Three.')],
      {
        onEvent: ({ type }) => type === 'run-end' && late.push(agent.steer('Too late.')),
      },
    );
    expect(agent.steer('Hello?')).toEqual({ ok: false, reason: 'idle' });
    const { result } = agent.ask('Go.');
    await until('the model is asked', () => requests.length === 1);
    expect(agent.steer('You there.', { expectedRunId: 'another' })).toEqual({ ok: false, reason: 'mismatch' });
    expect(agent.steer(' \n')).toEqual({ ok: false, reason: 'empty' });
    for (let number = 1; number <= 64; number += 1) expect(agent.steer(`${number}`)).toMatchObject({ ok: true });
    expect(agent.inject('65')).toEqual({ ok: false, reason: 'full' });
    open();
    await result;
    expect(late).toEqual([{ ok: false, reason: 'closed' }]);
    expect(ofType(events, 'input').map(({ status, text }) => [status, text])).toEqual(
      Array.from({ length: 64 }, (_, index) => ['taken', `${index + 1}`]),
    );
    expect(agent.steer('Hello?')).toEqual({ ok: false, reason: 'idle' });
  });

  it('that come while the last answer is made get an answer in the same run [row 25] [edge 1]', async () => {
    const { opening, open } = gate();
    const { agent, events, requests } = agentOver([
      async function* () {
        yield text('A');
        await opening;
        yield* [text('1'), { type: 'usage', usage: usageOf(3, 2) }, end] as const;
      },
      says('A2'),
    ]);
    const { id, result } = agent.ask('Q1');
    await until('it streams', () => ofType(events, 'text-delta').length > 0);
    agent.steer('Q2');
    open();
    expect(await result).toMatchObject({
      reason: 'answered',
      answer: 'A2',
      turns: 2,
      usage: { requests: 2, promptTokens: 6, completionTokens: 4, totalTokens: 10 },
    });
    expect(said(requests[1]?.messages)).toEqual(['user: Q1', 'assistant: A1', 'user: Q2']);
    expect(ofType(events, 'run-end').map(({ runId, answer }) => [runId, answer])).toEqual([[id, 'A2']]);
    expect(disorder(events)).toEqual([]);
  });

  it.each<[string, () => Error | 'cancel', string]>([
    ['fails', () => new ProviderError('auth', 'No.'), 'failed'],
    ['crashes', () => new TypeError('boom'), 'failed'],
    ['is cancelled', () => 'cancel', 'interrupted'],
  ])(
    'are given back as unsent when the run %s first, and are in no history [row 26] [edge 3]',
    async (_, how, reason) => {
      const { opening, open } = gate();
      const ending = how();
      const { agent, events, requests } = agentOver([
        async function* (_, signal) {
          yield* [];
          await opening;
          if (ending instanceof Error) throw ending;
          signal.throwIfAborted();
        },
        says('Back.'),
      ]);
      const { result } = agent.ask('Q1');
      await until('the model is asked', () => requests.length === 1);
      agent.steer('Q2');
      if (ending === 'cancel') agent.cancel();
      open();
      expect(await result).toMatchObject({ reason });
      expect(ofType(events, 'input').map(({ status, text }) => [status, text])).toEqual([['dropped', 'Q2']]);
      // A run tells its end last.
      expect(events.map(({ type }) => type).filter((type) => type === 'input' || type === 'run-end')).toEqual([
        'input',
        'run-end',
      ]);
      await agent.run('Q3');
      expect(said(requests[1]?.messages).filter((line) => /: Q/.test(line))).toEqual(['user: Q1', 'user: Q3']);
      expect(ofType(events, 'input')).toHaveLength(1);
    },
  );

  it('whose queue goes down with the worker are given back, and the run fails and is not answered [edge 2]', async () => {
    const { agent, events, requests } = agentOver([hangs(text('A'))]);
    const { result } = agent.ask('Q1');
    await until('it streams', () => requests.length === 1);
    agent.steer('Q2');
    agent.destroyWorker('out of memory');
    expect(await result).toMatchObject({ reason: 'failed', error: { kind: 'worker' } });
    expect(ofType(events, 'input').map(({ status, text }) => [status, text])).toEqual([['dropped', 'Q2']]);
    expect(ofType(events, 'run-end').map(({ reason }) => reason)).toEqual(['failed']);
    expect(JSON.stringify(agent.messages())).not.toContain('Q2');
  });
});

const usageOf = (promptTokens: number, completionTokens: number) => ({
  promptTokens,
  completionTokens,
  cachedTokens: 0,
  reasoningTokens: 0,
  totalTokens: promptTokens + completionTokens,
});
