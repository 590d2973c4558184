/** What the loop does with `ask_user` and `update_plan`: events, waiting, and who is offered them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { InterruptedError } from '../../src/errors.js';
import { createAgent } from '../../src/index.js';
import { askUserTool } from '../../src/tools/ask-user/tool.js';
import { updatePlanTool } from '../../src/tools/update-plan/tool.js';
import { bench, calls, disorder, says } from '../fixtures/bench.js';

const ask = calls(['c1', 'ask_user', { question: 'Which?', options: ['a', 'b'] }]);
const tools = [askUserTool, updatePlanTool];

const about = (events: readonly { readonly type: string }[]) =>
  events.filter(({ type }) => type.startsWith('user-') || type === 'plan-update' || type.startsWith('tool-'));

describe('a question of the model', () => {
  it('is an event with one answer, between start and end of its call', async () => {
    const asked: unknown[] = [];
    const { events, outcome } = await bench({
      tools,
      turns: [ask, says('done')],
      askUser: async (question, worker) => {
        asked.push([question, worker.name]);
        return 'b';
      },
    });
    expect(outcome.reason).toBe('answered');
    expect(asked).toEqual([[{ question: 'Which?', options: ['a', 'b'] }, 'coder']]);
    expect(disorder(events)).toEqual([]);
    expect(about(events)).toMatchObject([
      { type: 'tool-start', subject: 'Which?' },
      { type: 'user-question', callId: 'c1', question: 'Which?', options: ['a', 'b'] },
      { type: 'user-answer', answer: 'b' },
      { type: 'tool-end', ok: true, output: 'The user answered: b' },
    ]);
  });

  it.each<[string, () => Promise<string | undefined>]>([
    ['nothing', async () => undefined],
    ['blanks', async () => '  '],
    ['what is no text', async () => 7 as unknown as string],
  ])('that gets %s has an answer event without an answer', async (_, askUser) => {
    const { events } = await bench({ tools, turns: [ask, says('done')], askUser });
    expect(disorder(events)).toEqual([]);
    expect(events.find(({ type }) => type === 'user-answer')).not.toHaveProperty('answer');
    expect(events.find(({ type }) => type === 'tool-end')).toMatchObject({ ok: true, code: 'no-answer' });
  });

  it('that breaks off ends as well, and the run goes on', async () => {
    const askUser = () => Promise.reject(new Error('the terminal is gone'));
    const { events, outcome } = await bench({ tools, turns: [ask, says('done')], askUser });
    expect({ reason: outcome.reason, problems: disorder(events) }).toEqual({ reason: 'answered', problems: [] });
    expect(events.find(({ type }) => type === 'tool-end')).toMatchObject({ ok: false });
  });

  it('ends with a cancel, also where nobody ever answers', async () => {
    const controller = new AbortController();
    const { events, outcome } = await bench({
      tools,
      turns: [ask, says('done')],
      signal: controller.signal,
      askUser: () => {
        controller.abort(new InterruptedError());
        return new Promise(() => undefined);
      },
    });
    expect({ reason: outcome.reason, problems: disorder(events) }).toEqual({ reason: 'interrupted', problems: [] });
  });

  it("takes nothing of the worker's own time", async () => {
    const { outcome } = await bench({
      tools,
      timeoutMs: 400,
      turns: [ask, says('done')],
      askUser: async () => {
        await sleep(600);
        return 'a';
      },
    });
    expect(outcome.reason).toBe('answered');
  });

  it('is offered to no model where nobody can answer', async () => {
    const names = async (options: object) =>
      (await bench({ tools, turns: [says('done')], ...options })).requests[0]?.tools.map(({ name }) => name);
    expect(await names({})).toEqual(['update_plan']);
    expect(await names({ askUser: async () => 'a' })).toEqual(['ask_user', 'update_plan']);
    const { events } = await bench({ tools, turns: [ask, says('done')] });
    expect(events.find(({ type }) => type === 'tool-end')).toMatchObject({ code: 'unknown-tool' });
  });

  it('reaches the function that a library user gives', async () => {
    const requests: unknown[] = [];
    const turns = [ask, says('done')];
    const agent = createAgent({
      provider: {
        name: 'test',
        async *stream(request) {
          requests.push(request.messages.at(-1));
          const turn = turns[requests.length - 1];
          if (Array.isArray(turn)) yield* turn;
        },
      },
      tools,
      askUser: async ({ options = [] }) => options[0],
    });
    expect((await agent.run('x')).reason).toBe('answered');
    expect(requests[1]).toMatchObject({ role: 'tool', content: 'The user answered: a' });
  });
});

describe('a plan', () => {
  const plan = (status: string) => ({
    steps: [
      { text: 'Look', status },
      { text: 'Change', status: 'pending' },
    ],
  });

  it('is an event, whole, each time that it is given', async () => {
    const turns = [
      calls(['c1', 'update_plan', plan('active')]),
      calls(['c2', 'update_plan', plan('done')]),
      says('done'),
    ];
    const { events } = await bench({ tools, turns });
    expect(disorder(events)).toEqual([]);
    expect(events.filter(({ type }) => type === 'plan-update')).toMatchObject([plan('active'), plan('done')]);
    expect(
      about(events)
        .map(({ type }) => type)
        .slice(0, 3),
    ).toEqual(['tool-start', 'plan-update', 'tool-end']);
  });

  it('that can not be kept is none', async () => {
    const { events } = await bench({
      tools,
      turns: [calls(['c1', 'update_plan', { steps: [{ text: '', status: 'done' }] }]), says('done')],
    });
    expect(events.some(({ type }) => type === 'plan-update')).toBe(false);
  });

  it('stands behind the summary that takes the place of its call', async () => {
    const padding = 'word '.repeat(1_500);
    let replies = 0;
    const { requests, events } = await bench({
      tools,
      contextWindow: 6_000,
      turns: (request) => {
        if (request.tools.length === 0) return says('SUMMARY');
        const seen = replies++;
        if (seen === 0) return calls(['p', 'update_plan', plan('active')]);
        if (seen < 6)
          return [{ type: 'text', text: padding }, ...(calls([`c${seen}`, 'nothing', {}]) as readonly never[])];
        return says('done');
      },
    });
    const summarised = requests.find(({ messages }) => messages.some(({ content }) => content.includes('SUMMARY')));
    expect(events.some((event) => event.type === 'context' && event.operation === 'summary')).toBe(true);
    expect(JSON.stringify(summarised?.messages)).toContain('- active: Look');
  });
});
