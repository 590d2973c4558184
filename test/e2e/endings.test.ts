import { describe, expect, it } from 'vitest';
import { disorder } from '../fixtures/bench.js';
import { calls, type RecordedRequest, says, type Turn } from '../fixtures/model-server.js';
import { makePlace, processesOf } from './place.js';
import { jsonOf, streamOf, toolsIn } from './reading.js';
import { type PlayOptions, play, type Running, serve, start, until } from './support.js';

const SECOND = 1_000;

const SLEEP = calls('shell', { command: 'sleep 60' });
const STUBBORN_COMMAND = "trap '' TERM INT HUP; sleep 61 & while :; do sleep 0.2; done";
const STUBBORN = calls('shell', { command: STUBBORN_COMMAND });

const isRunning = (run: Running, command: string) => () =>
  processesOf(run.place).some((one) => one.command === command);

/** A moment of a run: what the model does, and how to tell that the run has come to it. */
type Moment = {
  readonly turns: (request: RecordedRequest, index: number) => Turn;
  readonly args: readonly string[];
  readonly reached: (run: Running, requests: readonly RecordedRequest[]) => boolean;
  readonly stdin?: 'held';
  readonly requests: number;
};

const MOMENTS: Readonly<Record<string, Moment>> = {
  'stdin is waited for': {
    turns: () => says('never'),
    args: ['coder', 'x', '-'],
    stdin: 'held',
    reached: (run) => run.stderr().includes('Reading standard input'),
    requests: 0,
  },
  'the model has not answered yet': {
    turns: () => ({ fault: { kind: 'hang' } }),
    args: ['coder', 'x'],
    reached: (_, requests) => requests.length === 1,
    requests: 1,
  },
  'the model streams': {
    turns: () => ({ text: Array.from({ length: 400 }, (_, index) => `word ${index} `), eventDelayMs: 50 }),
    args: ['coder', 'x'],
    reached: (run, requests) => requests.length === 1 && (run.stdout() === '' || run.stdout().includes('word 3')),
    requests: 1,
  },
  'it waits before another try': {
    // Spread by a quarter at most; from 60 s on it would be shown in minutes.
    turns: () => ({ status: 503, headers: { 'retry-after': '40' } }),
    args: ['coder', 'x'],
    reached: (run) => /Trying again in [45]\d\.\ds/.test(run.stderr()),
    requests: 1,
  },
  'a tool runs': {
    turns: () => SLEEP,
    args: ['coder', 'x', '--dangerously-skip-permissions'],
    reached: (run) => isRunning(run, 'sleep 60')(),
    requests: 1,
  },
  "a delegated worker's tool runs": {
    turns: (request) =>
      toolsIn(request).includes('delegate') ? calls('delegate', { tasks: [{ worker: 'coder', task: 'rest' }] }) : SLEEP,
    args: ['agent', 'x', '--dangerously-skip-permissions'],
    reached: (run) => isRunning(run, 'sleep 60')(),
    requests: 2,
  },
};

const CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

async function interrupt(name: string, signal: NodeJS.Signals, format: string) {
  const moment = MOMENTS[name] as Moment;
  const server = await serve(moment.turns);
  const run = start([...moment.args, '--output-format', format], {
    server,
    ...(moment.stdin && { stdin: moment.stdin }),
  });
  await until(name, () => moment.reached(run, server.requests));
  const sentAt = performance.now();
  run.kill(signal);
  const done = await run.ended;
  return {
    ...done,
    endedAfterMs: performance.now() - sentAt,
    requests: server.requests.length,
    expected: moment.requests,
  };
}

describe.concurrent('a signal', () => {
  const stages = Object.keys(MOMENTS);

  it.each(stages.map((stage) => [stage]))(
    'while %s ends the run in good order, with the result in JSON',
    async (stage) => {
      const run = await interrupt(stage, 'SIGINT', 'json');

      expect(jsonOf(run)).toMatchObject({ type: 'result', subtype: 'interrupted', is_error: true, exit_code: 130 });
      expect({ exitCode: run.exitCode, signal: run.signal, requests: run.requests }).toEqual({
        exitCode: 130,
        signal: null,
        requests: run.expected,
      });
      expect(run.endedAfterMs).toBeLessThan(3 * SECOND);
    },
  );

  it.each(stages.map((stage) => [stage]))(
    'while %s ends each event that started, and the stream with the result',
    async (stage) => {
      const run = await interrupt(stage, 'SIGINT', 'stream-json');
      const { events, result } = streamOf(run);

      expect(disorder(events)).toEqual([]);
      expect(result).toMatchObject({ type: 'result', subtype: 'interrupted', exit_code: 130 });
      const ends = events.flatMap((event) =>
        event.type === 'run-end' ? event.reason : event.type === 'worker-end' ? event.status : [],
      );
      expect(ends).toEqual(ends.map((_, index) => (index % 2 === 0 ? 'interrupted' : 'cancelled')));
    },
  );

  it.each(
    Object.entries(CODES).flatMap(([signal, code]) =>
      ['stdin is waited for', 'the model has not answered yet', 'a tool runs'].map(
        (stage) => [signal, code, stage] as const,
      ),
    ),
  )('%s gives exit code %i while %s, and nothing on stdout [A47]', async (signal, code, stage) => {
    const run = await interrupt(stage, signal as NodeJS.Signals, 'text');

    expect({ exitCode: run.exitCode, signal: run.signal, stdout: run.stdout }).toEqual({
      exitCode: code,
      signal: null,
      stdout: '',
    });
    expect(run.endedAfterMs).toBeLessThan(3 * SECOND);
  });

  it('marks the words that were under way as incomplete, and they are no answer', async () => {
    const run = await interrupt('the model streams', 'SIGINT', 'stream-json');
    const { events, result } = streamOf(run);

    expect(events.filter(({ type }) => type === 'message')).toEqual([
      expect.objectContaining({ incomplete: true, text: expect.stringContaining('word 3') }),
    ]);
    expect(result.result).toBe('');
  });

  it('kills a command that does not listen to TERM, with all that it started [A47]', async () => {
    const server = await serve([STUBBORN]);
    const run = start(['coder', 'x', '--dangerously-skip-permissions'], { server });
    await until('the command runs', isRunning(run, 'sleep 61'));
    const sentAt = performance.now();
    run.kill('SIGINT');

    expect(await run.ended).toMatchObject({ exitCode: 130 });
    expect(performance.now() - sentAt).toBeLessThan(5 * SECOND);
  });

  it('that comes a second time does not wait for anything', async () => {
    const server = await serve([STUBBORN]);
    const run = start(['coder', 'x', '--dangerously-skip-permissions'], { server });
    await until('the command runs', isRunning(run, 'sleep 61'));
    run.kill('SIGINT');
    setTimeout(() => run.kill('SIGINT'), 300);
    const sentAt = performance.now();

    expect(await run.ended).toMatchObject({ exitCode: 130, signal: null });
    // The first one alone takes the two seconds between TERM and KILL.
    expect(performance.now() - sentAt).toBeLessThan(1.8 * SECOND);
  });
});

/** What the line of sh leaves on stderr of how chatcli ended. */
const codeIn = (stderr: string) => Number(/^code=(\d+)$/m.exec(stderr)?.[1]);

const withCode = (command: string, then: string) => `{ ${command}; echo "code=$?" >&2; } ${then}`;

describe.concurrent('a reader that goes away', () => {
  /** Never comes to an end, so that only a run that notices its reader's end gets there in time. */
  const endless = (_: RecordedRequest, index: number): Turn => ({
    ...calls('list_files', { path: `place-${index}` }),
    delayMs: 100,
  });
  const forever: PlayOptions = { env: { CHATCLI_AGENT_WORKER_MAX_TURNS: '1000' } };

  it.each([
    ['after the first byte of a long answer', 'agent', '| head -c 1'],
    ['after the first byte of the JSON', 'agent --output-format json', '| head -c 1'],
    ['after the first event', 'agent --output-format stream-json', '| head -n 1'],
    ['before the first byte', 'agent', '| true'],
  ])('%s ends the run quietly [A47]', async (_, command, then) => {
    const run = await play(
      [{ text: Array.from({ length: 1_000 }, () => 'z'.repeat(1_000)) }],
      withCode(`chatcli ${command} x`, then),
    );

    expect(run.ms).toBeLessThan(5 * SECOND);
    expect(run.stderr).not.toMatch(/EPIPE|error:/);
    expect(codeIn(run.stderr)).not.toBe(1);
  });

  it('in the middle of a stream of events stops the work', async () => {
    const run = await play(endless, withCode('chatcli coder --output-format stream-json x', '| head -n 3'), forever);

    expect(run.ms).toBeLessThan(5 * SECOND);
    expect(run.stderr).not.toMatch(/EPIPE|error:/);
    expect(codeIn(run.stderr)).not.toBe(0);
  });

  it('of stderr alone does not keep the answer from coming', async () => {
    const run = await play(
      [calls('list_files'), says('still here')],
      '{ chatcli coder x 2>&1 >answer; } | true; cat answer',
    );

    expect(run.stdout).toBe('still here\n');
  });

  it('with a command under way takes the command along', async () => {
    const place = makePlace();
    const run = await play(
      [SLEEP],
      withCode('chatcli coder --dangerously-skip-permissions --output-format stream-json x', '| head -n 1'),
      {
        place,
        env: { CHATCLI_AGENT_WORKER_TIMEOUT: '5s' },
      },
    );

    expect(processesOf(place)).toEqual([]);
    expect(run.stderr).not.toMatch(/EPIPE/);
  });
});

describe('an answer that cannot be written', () => {
  it('is not taken for a success', async () => {
    const run = await play([says('lost')], 'chatcli agent x > /dev/full');

    expect(run.exitCode).not.toBe(0);
  });
});
