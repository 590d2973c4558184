/** How a run went wrong, by kind: as an outcome of the library, and as exit code and JSON of the built program. */
import { describe, expect, it } from 'vitest';
import { createAgent, FakeProvider, ProviderError, RejectedError, type RunHandle } from '../../src/index.js';
import { jsonOf } from '../e2e/reading.js';
import { type PlayOptions, play, serve, start, until as untilRun } from '../e2e/support.js';
import { calls as callsTools, says as saysText, type Turn } from '../fixtures/bench.js';
import { calls, fails, type RecordedRequest, says, type Turns } from '../fixtures/model-server.js';
import { type AgentBenchOptions, agentOver, hangs, probe, until } from './agent-bench.js';

describe('the program, told to print JSON', () => {
  const endless = (_: RecordedRequest, index: number) => calls('list_files', { path: `place-${index}` });
  const schema = '{"type":"object","required":["a"]}';

  it.each<[string, Turns, readonly string[], object, PlayOptions?]>([
    ['an answer', [says('Done.')], [], { code: 0, subtype: 'success', kind: undefined }],
    [
      'a tool that failed, which is for the model to see',
      [calls('read_file', { path: 'nowhere' }), says('Done.')],
      [],
      { code: 0, subtype: 'success', kind: undefined },
    ],
    ['a worker that there is not', [], ['--worker', 'nobody'], { code: 2, subtype: 'error_usage', kind: 'usage' }],
    [
      'settings that do not fit',
      [],
      [],
      { code: 3, subtype: 'error_config', kind: 'config' },
      { env: { CHATCLI_PROVIDER: 'nobody' } },
    ],
    ['a refusing provider', [fails(401, 'No.')], [], { code: 4, subtype: 'error_provider', kind: 'provider' }],
    ['three empty replies', () => says(''), [], { code: 4, subtype: 'error_provider', kind: 'provider' }],
    ['a turn limit', endless, ['--max-turns', '1'], { code: 5, subtype: 'error_max_turns', kind: 'turn-limit' }],
    ['a budget', endless, ['--max-requests', '2'], { code: 5, subtype: 'error_budget', kind: 'budget' }],
    ['a circle', () => calls('list_files', {}), [], { code: 5, subtype: 'error_stuck', kind: 'stuck' }],
    [
      'a deadline',
      [{ fault: { kind: 'hang' } }],
      ['--timeout', '500ms'],
      { code: 5, subtype: 'error_timeout', kind: 'timeout' },
    ],
    [
      'a denial',
      [calls('shell', { command: 'touch x' }), says('I could not.')],
      [],
      { code: 6, subtype: 'error_denied', kind: 'denied' },
    ],
    [
      'an answer that never fits',
      () => says('No.'),
      ['--json-schema', schema],
      { code: 1, subtype: 'error_schema', kind: 'output' },
    ],
  ])('gives %s its exit code and its kind [row 60]', async (_, turns, flags, expected, options = {}) => {
    const run = await play(turns, ['coder', 'x', '--output-format', 'json', ...flags], options);
    const { exit_code: code, subtype, is_error: isError, error } = jsonOf(run);
    expect({ code, subtype, kind: error?.kind }).toEqual(expected);
    expect({ code: run.exitCode, isError }).toEqual({ code, isError: code !== 0 });
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('gives %s its exit code and its kind [row 60]', async (signal, code) => {
    const server = await serve(() => ({ fault: { kind: 'hang' } }));
    const run = start(['coder', 'x', '--output-format', 'json'], { server });
    await untilRun('the model is asked', () => server.requests.length === 1);
    run.kill(signal);
    const done = await run.ended;
    expect(done.exitCode).toBe(code);
    expect(jsonOf(done)).toMatchObject({ exit_code: code, subtype: 'interrupted', error: { kind: 'interrupted' } });
  });
});

describe('an agent', () => {
  const act = (fields: object = {}) => probe('act', undefined, fields).tool;
  const acts = (id = 'a'): Turn => callsTools([id, 'act', {}]);

  it.each<[string, readonly Turn[], AgentBenchOptions, [string, string], ('cancel' | 'destroy')?]>([
    ['cancel', [hangs()], {}, ['interrupted', 'interrupted'], 'cancel'],
    ['deadline', [hangs()], { limits: { timeoutMs: 30 } }, ['timeout', 'timeout']],
    ['failure of the provider', [new ProviderError('auth', 'No.')], {}, ['failed', 'provider']],
    ['denied action', [acts(), saysText('No.')], { tools: [act({ permission: 'execute' })] }, ['denied', 'denied']],
    [
      'limit of turns',
      [acts(), saysText('Half.')],
      { tools: [act()], limits: { maxTurns: 1 } },
      ['turn-limit', 'turn-limit'],
    ],
    ['budget', [acts()], { tools: [act()], limits: { maxRequests: 1 } }, ['budget', 'budget']],
    ['circle', ['a', 'b', 'c', 'd', 'e'].map(acts), { tools: [act()] }, ['stuck', 'stuck']],
    [
      'answer that never fits',
      [saysText('No.'), saysText('No.')],
      { output: { type: 'object' }, limits: { maxOutputRetries: 1 } },
      ['failed', 'output'],
    ],
    ['end of its worker', [hangs()], {}, ['failed', 'worker'], 'destroy'],
    ['fault of ours', [new TypeError('boom')], {}, ['failed', 'internal']],
  ])('tells a %s by its reason and its kind [row 60]', async (_, turns, options, expected, ending) => {
    const { agent, requests } = agentOver(turns, options);
    const { result } = agent.ask('Go.');
    if (ending !== undefined) {
      await until('the model is asked', () => requests.length === 1);
      if (ending === 'cancel') agent.cancel();
      else agent.destroyWorker('killed');
    }
    const { reason, error } = await result;
    expect([reason, error?.kind]).toEqual(expected);
  });

  it('tells a rejection by its reason, and has no run of it [row 60]', async () => {
    const agent = createAgent({ provider: FakeProvider([{ text: 'Done.', delayMs: 20 }]) });
    const reasonOf = (act: () => RunHandle) => {
      try {
        act();
        return undefined;
      } catch (thrown) {
        return thrown instanceof RejectedError ? [thrown.reason, thrown.kind] : thrown;
      }
    };
    expect(reasonOf(() => agent.ask(' '))).toEqual(['no-task', 'usage']);
    expect(reasonOf(() => agent.ask('Go.', { allowedTools: ['x'] }))).toEqual(['unknown-tools', 'usage']);
    const { id, result } = agent.ask('Go.');
    expect(reasonOf(() => agent.ask('Go.'))).toEqual(['busy', 'usage']);
    await result;
    expect(agent.runs()).toEqual([id]);
  });
});
