/** Typed answers of an agent: the value, the errors in place of it, and what the model is told. */
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { OutputParseError, OutputRetriesExhausted, RunEndedError } from '../../src/index.js';
import { says } from '../fixtures/bench.js';
import { type AgentBenchOptions, agentOver, gate, hangs, ofType, until } from '../parity/agent-bench.js';

const POINT = z.object({ x: z.number() });
const NAME = z.object({ name: z.string() });

const thrownBy = (promise: Promise<unknown>) =>
  promise.then(
    (value) => ({ value }),
    (thrown: unknown) => thrown,
  );

describe('runTyped', () => {
  it('gives the value, after asking again where an answer did not fit', async () => {
    const { agent, requests } = agentOver([says('I think x is 1.'), says('{"x":1}')]);
    const value: { x: number } = await agent.runTyped(POINT, 'Where?');
    expect(value).toEqual({ x: 1 });
    expect(requests).toHaveLength(2);
  });

  it('gives the value as its schema makes it', async () => {
    const { agent } = agentOver([says('{"x":"7"}')]);
    expect(await agent.runTyped(z.object({ x: z.string().transform(Number) }), 'Where?')).toEqual({ x: 7 });
  });

  it.each([
    ['3 by default', {}, 3],
    ['those of limits.maxOutputRetries', { limits: { maxOutputRetries: 1 } }, 1],
    ['none', { limits: { maxOutputRetries: 0 } }, 0],
  ])('gives up when its retries are used up: %s', async (_, options, retries) => {
    const { agent, requests } = agentOver(() => says('x'), options);
    const thrown = await thrownBy(agent.runTyped(POINT, 'Where?'));
    expect(thrown).toBeInstanceOf(OutputRetriesExhausted);
    expect(thrown).toMatchObject({ retries });
    expect(requests).toHaveLength(retries + 1);
  });

  it('says so when an answer fits and can not be made into the value', async () => {
    const schema = z.object({ x: z.number().transform(() => JSON.parse('{') as number) });
    const { agent, requests } = agentOver([says('{"x":1}')]);
    const thrown = await thrownBy(agent.runTyped(schema, 'Where?'));
    expect(thrown).toBeInstanceOf(OutputParseError);
    expect(thrown).toMatchObject({ answer: '{"x":1}' });
    expect(requests).toHaveLength(1);
  });

  it('says so when the run ended without an answer', async () => {
    const { agent, requests } = agentOver([hangs()]);
    const value = thrownBy(agent.runTyped(POINT, 'Where?'));
    await until('the model is asked', () => requests.length === 1);
    agent.cancel({ reason: 'lunch' });
    const thrown = await value;
    expect(thrown).toBeInstanceOf(RunEndedError);
    expect(thrown).toMatchObject({ outcome: { reason: 'interrupted', error: { message: 'lunch' } } });
  });

  it('sends the form with the request and in the system prompt, and for this run only', async () => {
    const { agent, requests } = agentOver([says('{"x":1}'), says('Free.')], { systemPrompt: 'You look.' });
    await agent.runTyped(POINT, 'Where?');
    await agent.run('And now?');
    expect(requests[0]?.responseSchema).toMatchObject({ type: 'object', required: ['x'] });
    expect(requests[0]?.messages[0]?.content).toMatch(/^You look\.\n\n.*one JSON value.*"x"/s);
    expect(requests[1]?.responseSchema).toBeUndefined();
    expect(requests[1]?.messages[0]?.content).toBe('You look.');
  });

  it('goes by its own schema, whatever the output of the agent', async () => {
    const { agent, requests } = agentOver([says('{"x":1}'), says('{"name":"a"}')], { output: NAME });
    expect(await agent.runTyped(POINT, 'Where?')).toEqual({ x: 1 });
    expect(requests[0]?.responseSchema).toMatchObject({ required: ['x'] });
    await agent.run('Who?');
    expect(requests[1]?.responseSchema).toMatchObject({ required: ['name'] });
  });
});

describe('the output of an agent', () => {
  it.each<[string, NonNullable<AgentBenchOptions['output']>]>([
    ['a zod schema', NAME],
    ['a JSON Schema', { type: 'object', required: ['name'], properties: { name: { type: 'string' } } }],
  ])('is the form of each answer, as %s', async (_, output) => {
    const { agent, requests, events } = agentOver([says('Anna.'), says('{"name":"Anna"}')], { output });
    expect(await agent.run('Who?')).toMatchObject({ reason: 'answered', answer: '{"name":"Anna"}', turns: 2 });
    expect(requests[0]?.responseSchema).toMatchObject({ required: ['name'] });
    expect(requests[0]?.messages[0]?.content).toContain('one JSON value');
    expect(ofType(events, 'output-check').map(({ status }) => status)).toEqual(['refused', 'passed']);
  });

  it('does not hold in a run that asks for a raw answer', async () => {
    const { agent, requests, events } = agentOver([says('Anna.'), says('{"name":"Anna"}')], { output: NAME });
    expect(await agent.run('Who?', { raw: true })).toMatchObject({ reason: 'answered', answer: 'Anna.' });
    expect(requests[0]?.responseSchema).toBeUndefined();
    expect(requests[0]?.messages.map(({ role }) => role)).toEqual(['user']);
    expect(ofType(events, 'output-check')).toEqual([]);
  });
});

describe('words for a run', () => {
  it('that come while its last answer is held against its form are refused, since no model call follows', async () => {
    const { opening, open } = gate();
    let isChecking = false;
    const slow = POINT.refine(async () => {
      isChecking = true;
      await opening;
      return true;
    });
    const { agent, requests, events } = agentOver([says('{"x":1}')]);
    const value = agent.runTyped(slow, 'Where?');
    await until('the answer is checked', () => isChecking);
    expect(agent.steer('In the attic.')).toEqual({ ok: false, reason: 'closed' });
    open();
    expect(await value).toEqual({ x: 1 });
    expect([requests.length, ofType(events, 'input').length]).toEqual([1, 0]);
  });
});
