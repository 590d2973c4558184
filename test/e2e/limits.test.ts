import { describe, expect, it } from 'vitest';
import { disorder } from '../fixtures/bench.js';
import { calls, type RecordedRequest, says, type Turn } from '../fixtures/model-server.js';
import { jsonOf, lastResult, resultsIn, streamOf, toolsIn } from './reading.js';
import { type PlayOptions, play } from './support.js';

const SUMMARY = 'Looked around; nothing is done yet.';

/** A model that never comes to an end while it has tools. */
const insatiable = (request: RecordedRequest, index: number): Turn =>
  toolsIn(request).length > 0 ? calls('list_files', { path: `place-${index}` }) : says(SUMMARY);

const toolCounts = (requests: readonly RecordedRequest[]) => requests.map((request) => toolsIn(request).length > 0);

const PARTIAL = `[partial: turn limit reached]\n${SUMMARY}\n`;

describe('CHATCLI_AGENT_WORKER_MAX_TURNS', () => {
  it.each([
    ['the lead', ['agent', 'x']],
    ['the coder command', ['coder', 'x']],
    ['a question', ['-p', 'x']],
    ...['agent', 'coder', 'file', 'planner', 'refiner', 'verifier', 'chat', '@coder', 'CoderAgent'].map(
      (worker) => [`--worker ${worker}`, ['agent', 'x', '--worker', worker]] as const,
    ),
    ['--agent planner', ['agent', 'x', '--agent', 'planner']],
  ] as const)('gives %s that many turns, and one tool-free request for a partial summary', async (_, args) => {
    const run = await play(insatiable, args, { env: { CHATCLI_AGENT_WORKER_MAX_TURNS: '3' } });

    expect(toolCounts(run.requests)).toEqual([true, true, true, false]);
    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode: 5, stdout: PARTIAL });
    expect(run.stderr).toContain('turn limit reached');
  });

  it.each([
    ['a worker of its own', { CHATCLI_AGENT_WORKER_MAX_TURNS: '5', CHATCLI_AGENT_CODER_MAX_TURNS: '2' }, [], 2],
    ['another worker', { CHATCLI_AGENT_WORKER_MAX_TURNS: '2', CHATCLI_AGENT_FILE_MAX_TURNS: '5' }, [], 2],
    ['the flag', { CHATCLI_AGENT_WORKER_MAX_TURNS: '5', CHATCLI_AGENT_CODER_MAX_TURNS: '4' }, ['--max-turns', '1'], 1],
  ])('and what is set for %s are told apart', async (_, env, flags, turns) => {
    const run = await play(insatiable, ['coder', 'x', '--output-format', 'json', ...flags], { env });

    expect(jsonOf(run)).toMatchObject({
      subtype: 'error_max_turns',
      is_error: true,
      exit_code: 5,
      num_turns: turns,
      result: SUMMARY,
    });
    expect(run.requests).toHaveLength(turns + 1);
  });

  it('bounds a delegated worker as well, and its lead hears of the partial work', async () => {
    const turns = (request: RecordedRequest, index: number): Turn => {
      if (!toolsIn(request).includes('delegate')) return insatiable(request, index);
      return index === 0 ? calls('delegate', { tasks: [{ worker: 'coder', task: 'dig' }] }) : says('It is too much.');
    };
    const run = await play(turns, ['agent', 'x', '--output-format', 'stream-json'], {
      env: { CHATCLI_AGENT_WORKER_MAX_TURNS: '3' },
    });
    const { events, result } = streamOf(run);

    expect(toolCounts(run.requests)).toEqual([true, true, true, true, false, true]);
    expect(lastResult(run)).toContain(SUMMARY);
    expect(lastResult(run)).toContain('The limit of');
    expect(
      events.flatMap((event) => (event.type === 'run-end' ? `${event.worker} ${event.reason} ${event.turns}` : [])),
    ).toEqual(['coder turn-limit 3', 'agent answered 2']);
    expect(disorder(events)).toEqual([]);
    expect(result).toMatchObject({ subtype: 'success', num_turns: 2, usage: { requests: 6 } });
  });

  it('keeps what stands in the transcript when the model calls tools in its summary too', async () => {
    const run = await play(
      [calls('list_files', { path: 'a' }), { ...calls('list_files', { path: 'b' }), text: SUMMARY }],
      ['coder', 'x', '--max-turns', '1'],
    );

    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({ exitCode: 5, stdout: PARTIAL });
    expect(run.requests).toHaveLength(2);
  });
});

/** What is asked of a run that a limit of one second ends. */
const SECONDS_AT_MOST = 4;

const SLEEP: Turn = calls('shell', { command: 'sleep 60' });
const MAY_SLEEP = ['--allowed-tools', 'shell(sleep 60)'];

describe('a time limit', () => {
  const general = { CHATCLI_AGENT_WORKER_TIMEOUT: '1s' };
  const patient = { CHATCLI_MAX_RETRIES: '9' };

  it.concurrent.each<[string, Turn, PlayOptions['env'], readonly string[]]>([
    ['CHATCLI_AGENT_WORKER_TIMEOUT ends a command', SLEEP, general, MAY_SLEEP],
    ['CHATCLI_AGENT_CODER_TIMEOUT ends a command', SLEEP, { CHATCLI_AGENT_CODER_TIMEOUT: '1' }, MAY_SLEEP],
    ['--timeout ends a command', SLEEP, {}, [...MAY_SLEEP, '--timeout', '1000ms']],
    ['CHATCLI_TIMEOUT ends a command', SLEEP, { CHATCLI_TIMEOUT: '1s' }, MAY_SLEEP],
    ['CHATCLI_AGENT_WORKER_TIMEOUT ends a request that is not answered', { fault: { kind: 'hang' } }, general, []],
    [
      'CHATCLI_AGENT_WORKER_TIMEOUT ends a reply that stops short',
      { text: 'Well', fault: { kind: 'hang', at: 'content' } },
      general,
      [],
    ],
    [
      'CHATCLI_AGENT_WORKER_TIMEOUT ends the wait before another try',
      { status: 503, headers: { 'retry-after': '30' } },
      { ...general, ...patient },
      [],
    ],
    ['--timeout ends a request that is not answered', { fault: { kind: 'hang' } }, {}, ['--timeout', '1']],
  ])('%s: exit 5 in good time, and nothing lives on', async (_, turn, env, flags) => {
    const run = await play([turn], ['coder', 'x', '--output-format', 'json', ...flags], { env: env ?? {} });

    expect(jsonOf(run)).toMatchObject({ subtype: 'error_timeout', is_error: true, exit_code: 5 });
    expect(run.exitCode).toBe(5);
    expect(run.ms).toBeGreaterThan(1_000);
    expect(run.ms).toBeLessThan(SECONDS_AT_MOST * 1_000);
    expect(run.requests).toHaveLength(1);
  });

  it.concurrent('ends a delegated worker, and is not used up by a lead that waits for it', async () => {
    const turns = (request: RecordedRequest, index: number): Turn => {
      if (!toolsIn(request).includes('delegate')) return SLEEP;
      return index === 0
        ? calls('delegate', { tasks: [{ worker: 'coder', task: 'rest' }] })
        : says('It took too long.');
    };
    const run = await play(turns, ['agent', 'x', '--output-format', 'stream-json', ...MAY_SLEEP], { env: general });
    const { events, result } = streamOf(run);

    expect(events.flatMap((event) => (event.type === 'worker-end' ? `${event.worker} ${event.status}` : []))).toEqual([
      'coder timed-out',
      'agent done',
    ]);
    expect(disorder(events)).toEqual([]);
    expect(result).toMatchObject({ subtype: 'success', exit_code: 0, result: 'It took too long.' });
    expect(lastResult(run)).toContain('timed-out');
    expect(run.ms).toBeLessThan(SECONDS_AT_MOST * 1_000);
  });

  it.concurrent('of the whole run ends a lead together with its worker', async () => {
    const turns = (request: RecordedRequest): Turn =>
      toolsIn(request).includes('delegate') ? calls('delegate', { tasks: [{ worker: 'coder', task: 'rest' }] }) : SLEEP;
    const run = await play(turns, ['agent', 'x', '--output-format', 'stream-json', '--timeout', '1s', ...MAY_SLEEP]);
    const { events, result } = streamOf(run);

    expect(disorder(events)).toEqual([]);
    expect(result).toMatchObject({ subtype: 'error_timeout', exit_code: 5 });
    expect(run.requests).toHaveLength(2);
    expect(run.ms).toBeLessThan(SECONDS_AT_MOST * 1_000);
  });

  it.concurrent('shows the words before it, marked as partial, and closes each call that was open', async () => {
    const turn = {
      text: 'I wait a little.',
      calls: [{ name: 'shell', arguments: { command: 'sleep 60' } }, { name: 'list_files' }],
    };
    const run = await play([turn], ['coder', 'x', ...MAY_SLEEP], { env: general });

    expect({ exitCode: run.exitCode, stdout: run.stdout }).toEqual({
      exitCode: 5,
      stdout: '[partial: time limit reached]\nI wait a little.\n',
    });
    expect(run.stderr).toContain('time limit of 1 s');
  });
});

describe('a budget of the whole tree', () => {
  const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
  const spending = (request: RecordedRequest, index: number): Turn => ({ ...insatiable(request, index), usage });
  const priced = { CHATCLI_PRICE_INPUT: '10', CHATCLI_PRICE_OUTPUT: '20' };

  it.each<[string, readonly string[], PlayOptions['env'], number]>([
    ['of requests', ['--max-requests', '2'], {}, 2],
    ['of tokens', ['--max-tokens-total', '2000'], {}, 2],
    ['of dollars', ['--max-budget-usd', '0.03'], priced, 3],
    ['of requests, set by a variable,', [], { CHATCLI_MAX_REQUESTS: '1' }, 1],
  ])('%s ends the run with exit 5 before the next request', async (_, flags, env, requests) => {
    const run = await play(spending, ['coder', 'x', '--output-format', 'json', ...flags], { env: env ?? {} });

    expect(jsonOf(run)).toMatchObject({ subtype: 'error_budget', exit_code: 5, is_error: true, usage: { requests } });
    expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode: 5, requests });
  });

  it('counts a delegated worker and a retry too', async () => {
    const turns = (request: RecordedRequest, index: number): Turn => {
      if (index === 1) return { status: 503, headers: { 'retry-after': '0' } };
      return toolsIn(request).includes('delegate')
        ? calls('delegate', { tasks: [{ worker: 'file', task: 'look' }] })
        : spending(request, index);
    };
    const run = await play(turns, ['agent', 'x', '--output-format', 'json', '--max-requests', '4']);

    expect(jsonOf(run)).toMatchObject({ subtype: 'error_budget', usage: { requests: 4 } });
    expect(run.requests).toHaveLength(4);
  });

  it('of dollars is refused where the price of the model is not known', async () => {
    const run = await play([says('hi')], ['coder', 'x', '--max-budget-usd', '1']);

    expect({ exitCode: run.exitCode, requests: run.requests.length }).toEqual({ exitCode: 3, requests: 0 });
    expect(run.stderr).toContain('CHATCLI_PRICE_INPUT');
  });

  it('gives the cost in JSON where the price is known', async () => {
    const run = await play([{ ...says('hi'), usage }], ['coder', 'x', '--output-format', 'json'], { env: priced });

    expect(jsonOf(run).total_cost_usd).toBeCloseTo(0.012, 6);
  });
});

describe('a run that goes in circles', () => {
  it('is warned after the same call with the same result, then ended with exit 5', async () => {
    const again = { ...calls('list_files', { path: 'nowhere' }), text: '' };
    const run = await play(() => again, ['coder', 'x', '--output-format', 'json']);

    expect(jsonOf(run)).toMatchObject({ subtype: 'error_stuck', exit_code: 5 });
    expect(run.exitCode).toBe(5);
    expect(run.requests).toHaveLength(5);
    expect(resultsIn(run.requests.at(-1)).map((result) => /third time/.test(result))).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });

  it('goes on where the same call brings something new', async () => {
    const turns = Array.from({ length: 7 }, () => calls('shell', { command: 'sh count' }));
    const run = await play([...turns, says('seven')], ['coder', 'x', '--allowed-tools', 'shell(sh count)'], {
      files: { count: 'echo x >> n\nwc -l < n\n' },
    });

    expect({ exitCode: run.exitCode, stdout: run.stdout, requests: run.requests.length }).toEqual({
      exitCode: 0,
      stdout: 'seven\n',
      requests: 8,
    });
  });
});
