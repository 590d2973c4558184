import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type AgentOptions,
  type AskOptions,
  createAgent,
  FakeProvider,
  parseEvent,
  type Tool,
  UsageError,
} from '../../src/index.js';
import { calls, says } from '../fixtures/bench.js';
import { agentOver, ofType, probe } from '../parity/agent-bench.js';

const made = (options: object) => () =>
  createAgent({ provider: FakeProvider([{ text: 'x' }]), ...options } as AgentOptions);
const DAYS_25 = 2 ** 31;
const NO_COUNTS = [0, -1, Number.NaN, 1.5, '3', null, {}];
const NO_TIMES = [-1, Number.NaN, '3', null];

describe('an option of createAgent that can not be used is refused at once, by name', () => {
  it.each<[string, readonly unknown[], (value: unknown) => object]>([
    ['provider', [undefined, null, 'openai', {}], (provider) => ({ provider })],
    ['limits.maxTurns', NO_COUNTS, (maxTurns) => ({ limits: { maxTurns } })],
    ['limits.timeoutMs', NO_TIMES, (timeoutMs) => ({ limits: { timeoutMs } })],
    ['limits.maxOutputRetries', [-1, 0.5, Number.NaN], (maxOutputRetries) => ({ limits: { maxOutputRetries } })],
    ['limits.maxRequests', [-1, Number.NaN], (maxRequests) => ({ limits: { maxRequests } })],
    ['limits.maxTokens', [-1, Number.NaN], (maxTokens) => ({ limits: { maxTokens } })],
    ['limits', [null, 5, []], (limits) => ({ limits })],
    ['maxTokens', NO_COUNTS, (maxTokens) => ({ maxTokens })],
    ['toolTimeoutMs', NO_TIMES, (toolTimeoutMs) => ({ toolTimeoutMs })],
    ['toolRetries', [-1, 1.5, Number.NaN], (toolRetries) => ({ toolRetries })],
    ['toolRetryBackoffMs', NO_TIMES, (toolRetryBackoffMs) => ({ toolRetryBackoffMs })],
    ['toolHeartbeatMs', NO_TIMES, (toolHeartbeatMs) => ({ toolHeartbeatMs })],
    ['idleTimeoutMs', NO_TIMES, (idleTimeoutMs) => ({ idleTimeoutMs })],
    ['approvalMode', ['yolo', 'readonly', null], (approvalMode) => ({ approvalMode })],
    ['approve', [true, 'once'], (approve) => ({ approve })],
    ['output', [true, null, 'object', [], () => 1], (output) => ({ output })],
    ['checkpoints.secret', [5, null, undefined], (secret) => ({ checkpoints: { secret } })],
    ['checkpoints.ttlMs', NO_TIMES, (ttlMs) => ({ checkpoints: { secret: 's', ttlMs } })],
    ['effectPolicy.mode', ['allow_all', undefined], (mode) => ({ effectPolicy: { mode, allow: [], deny: [] } })],
    ['effectPolicy.deny', [undefined, 'x'], (deny) => ({ effectPolicy: { mode: 'allow-all', allow: [], deny } })],
    ['price', [5, null], (price) => ({ price })],
    ...(['inputUsdPerMillion', 'outputUsdPerMillion'] as const).map(
      (name): [string, readonly unknown[], (value: unknown) => object] => [
        `price.${name}`,
        [undefined, -1, Number.NaN, Number.POSITIVE_INFINITY, '3'],
        (usd) => ({ price: { inputUsdPerMillion: 1, outputUsdPerMillion: 1, [name]: usd } }),
      ],
    ),
    ['memory', [{}, 5], (memory) => ({ memory })],
    ['skillFolders', ['sk', [5]], (skillFolders) => ({ skillFolders })],
    ['tools', [{}, 'x'], (tools) => ({ tools })],
    ['state', [{}], (state) => ({ state })],
    ['onEvent', [{}], (onEvent) => ({ onEvent })],
  ])('%s', (name, values, optionsOf) => {
    for (const value of values) {
      expect(made(optionsOf(value))).toThrow(UsageError);
      expect(made(optionsOf(value))).toThrow(`\`${name}\` has to be `);
    }
  });

  it('an empty object, or none', () => {
    expect(() => createAgent({} as AgentOptions)).toThrow('`provider` has to be a provider, such as openaiChat(…)');
    expect(() => createAgent(undefined as never)).toThrow(UsageError);
  });
});

it.each<[string, string, unknown]>([
  ['timeoutMs', 'Go.', { timeoutMs: -1 }],
  ['timeoutMs', 'Go.', { timeoutMs: Number.NaN }],
  ['maxTokens', 'Go.', { maxTokens: 0 }],
  ['allowedTools', 'Go.', { allowedTools: 'x' }],
  ['signal', 'Go.', { signal: {} }],
  ['effectPolicy', 'Go.', { effectPolicy: 'deny-all' }],
  ['effectPolicy.deny', 'Go.', { effectPolicy: { mode: 'deny-all', allow: [] } }],
  ['options', 'Go.', null],
  ['task', undefined as never, {}],
])('an option of a run that can not be used is refused at once, by name: %s', async (name, task, ask) => {
  const agent = made({})();
  expect(() => agent.ask(task, ask as AskOptions)).toThrow(UsageError);
  await expect(agent.run(task, ask as AskOptions)).rejects.toThrow(name);
  expect(await agent.run('Go.')).toMatchObject({ reason: 'answered' });
});

describe('no limit', () => {
  const slow = probe('t', async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return { ok: true, output: 'x' };
  });
  it.each<[string, Omit<AgentOptions, 'provider'>]>([
    ...[Number.POSITIVE_INFINITY, DAYS_25, 3e9].flatMap((ms): [string, Omit<AgentOptions, 'provider'>][] => [
      [`idleTimeoutMs ${ms}`, { idleTimeoutMs: ms }],
      [`toolTimeoutMs ${ms}`, { toolTimeoutMs: ms }],
      [`toolHeartbeatMs ${ms}`, { toolHeartbeatMs: ms }],
      [`limits.timeoutMs ${ms}`, { limits: { timeoutMs: ms } }],
    ]),
    ['limits.maxTurns Infinity', { limits: { maxTurns: Number.POSITIVE_INFINITY } }],
    ['limits.maxOutputRetries Infinity', { limits: { maxOutputRetries: Number.POSITIVE_INFINITY } }],
  ])('%s lets a run go on as long as it takes', async (_, options) => {
    const { agent, events } = agentOver(
      [
        async function* () {
          await new Promise((resolve) => setTimeout(resolve, 20));
          yield* calls(['c1', 't', {}]) as readonly never[];
        },
        says('Done.'),
      ],
      { ...options, tools: [slow.tool] },
    );
    expect(await agent.run('Go.')).toMatchObject({ reason: 'answered' });
    for (const event of events) parseEvent(event);
    expect(ofType(events, 'tool-heartbeat')).toEqual([]);
    expect(ofType(events, 'tool-end')).toMatchObject([{ ok: true }]);
  });

  it('goes through a checkpoint like any other', async () => {
    const options = { limits: { maxTurns: Number.POSITIVE_INFINITY }, checkpoints: { secret: 's' } };
    const { tool } = probe('t');
    const first = agentOver([calls(['c1', 't', {}]), says('Done.')], { ...options, tools: [tool] });
    await first.agent.run('Go.');
    const [, token] = ofType(first.events, 'checkpoint');
    const second = agentOver([says('Resumed.')], { ...options, tools: [tool] });
    expect(await second.agent.run('', { checkpoint: token?.token ?? '' })).toMatchObject({ answer: 'Resumed.' });
  });
});

describe('a tool that can not be used is refused before it is offered, saying what is wrong', () => {
  const t = (fields: object) => ({ ...probe('t').tool, ...fields }) as Tool;
  it.each<[string, unknown, string]>([
    ['an empty object', {}, '`name`'],
    ['a text', 'x', 'not string'],
    ['null', null, 'not null'],
    ['a name with a dot', t({ name: 'my.tool' }), '"my.tool"'],
    ['a name that is too long', t({ name: 'a'.repeat(65) }), '1 to 64'],
    ['an empty name', t({ name: '' }), '1 to 64'],
    ['no doc', t({ doc: undefined }), '"t" can\'t be used: `doc`'],
    ['no permission', t({ permission: undefined }), '`permission` has to be one of read, write'],
    ['an unknown permission', t({ permission: 'banana' }), '`permission`'],
    ['an unknown concurrency', t({ concurrency: 'bogus' }), '`concurrency`'],
    ['no subjects', t({ subjects: undefined }), '`subjects`'],
    ['no run', t({ run: undefined }), '`run`'],
    ['no schema', t({ schema: undefined }), '`schema` has to be a zod schema'],
    ['a JSON Schema', t({ schema: { type: 'object' } }), '`schema` has to be a zod schema'],
    ['a schema that can not be printed', t({ schema: z.object({ a: z.date() }) }), 'Date'],
    ['a schema of no object', t({ schema: z.string() }), 'not of type string'],
  ])('%s', (_, tool, words) => {
    const tools = [tool as Tool];
    const agent = made({})();
    for (const refused of [made({ tools }), () => agent.registerTool(tools[0]!), () => agent.ask('Go.', { tools })]) {
      expect(refused).toThrow(UsageError);
      expect(refused).toThrow(words);
    }
    expect(agent.listTools()).toEqual([]);
  });
});
