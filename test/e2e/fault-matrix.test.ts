/**
 * Every fault at every moment: the real loop, tools and HTTP client against a server that refuses a malformed history.
 * A run always comes to an end, with the code that fits, and none of what broke off is ever sent back. A sample of the
 * cells runs through the built binary.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { endingOf as endingOfOutcome } from '../../src/exit-codes.js';
import { repair } from '../../src/kernel/transcript.js';
import type { Message } from '../../src/kernel/types.js';
import { openaiChat } from '../../src/providers/openai-chat.js';
import { withRetry } from '../../src/providers/retry.js';
import { wait } from '../../src/providers/wait.js';
import type { AnswerCheck } from '../../src/runtime/options.js';
import { createTools } from '../../src/tools/index.js';
import { bench, disorder, worker } from '../fixtures/bench.js';
import { FAULTS, type Fault, HALF_SAID } from '../fixtures/faults.js';
import { type RecordedRequest, startModelServer } from '../fixtures/model-server.js';
import { ANSWER, endingOf, MOMENTS, type Moment, strike } from '../fixtures/moments.js';
import { strictProblem } from '../fixtures/strict-requests.js';
import { jsonOf } from './reading.js';
import { play } from './support.js';

type Often = 'once' | 'from then on';

const ATTEMPTS = 3;
/** Where a fault shows only by a limit; elsewhere a busy machine must not run into one. */
const SHORT_MS = 400;
const LONG_MS = 20_000;

const root = mkdtempSync(join(tmpdir(), 'chatcli-matrix-'));
afterAll(() => rmSync(root, { recursive: true }));

const TOOLS = [...createTools().values()];
const LEAD = worker({ name: 'agent', tools: ['list_files', 'delegate'], prompt: 'You lead.', entry: true });
const FILE = worker({ name: 'file', tools: ['list_files'], prompt: 'You read.', readOnly: true });

const typed = (answer: string): AnswerCheck =>
  answer === ANSWER ? { ok: true } : { ok: false, feedback: `Answer with ${ANSWER}.` };

async function run(fault: Fault, moment: Moment, often: Often) {
  const { turns, hits } = strike(fault, moment, often);
  const server = await startModelServer(turns, { strict: true });
  const limitMs = fault.isSilent ? SHORT_MS : LONG_MS;
  const client = openaiChat({
    name: 'mock',
    baseUrl: server.url,
    firstByteTimeoutMs: limitMs,
    idleTimeoutMs: limitMs,
  });
  let messages: readonly Message[] = [];
  try {
    const { outcome, events } = await bench({
      provider: withRetry(client, { maxAttempts: ATTEMPTS, sleep: (_ms, signal) => wait(1, signal) }),
      root,
      tools: TOOLS,
      workers: [LEAD, FILE],
      maxTurns: moment.maxTurns ?? 10,
      timeoutMs: fault.nature === 'endless' ? SHORT_MS : LONG_MS,
      options: {
        ...(moment.isTyped && { checkAnswer: typed }),
        onState: (state) => {
          messages = state.messages;
        },
      },
    });
    return { outcome, events, messages, hits: hits(), requests: server.requests };
  } finally {
    client.close();
    await server.close();
  }
}

/** What a picky endpoint refuses in the requests, and where words are sent back that broke off. */
const troubleIn = (requests: readonly RecordedRequest[]) =>
  requests.flatMap(({ body }, index) => {
    const isHalf = JSON.stringify(body).includes(HALF_SAID);
    const problem = strictProblem(body) ?? (isHalf ? 'it holds what broke off' : undefined);
    return problem === undefined ? [] : [`request ${index}: ${problem}`];
  });

const CELLS = MOMENTS.flatMap((moment) =>
  FAULTS.flatMap((fault) => (['once', 'from then on'] as const).map((often) => ({ fault, moment, often }))),
);

describe.concurrent.each(MOMENTS)('at $name', (moment) => {
  it.each(CELLS.filter((cell) => cell.moment === moment))(
    '$fault.name ($fault.nature), $often, ends the run as it should',
    async ({ fault, often }) => {
      const { outcome, events, messages, hits, requests } = await run(fault, moment, often);

      expect(endingOfOutcome(outcome.reason, outcome.error?.kind)).toEqual(endingOf(fault, moment, often));
      expect(troubleIn(requests)).toEqual([]);
      expect(repair(messages, 'not answered')).toEqual(messages);
      expect(disorder(events)).toEqual([]);
      if (fault.nature === 'final') expect(hits).toBe(1);
      // A request on a kept connection that is reset is sent once more at once, besides the attempts.
      if (fault.nature === 'passing' && often !== 'once') expect(hits).toBeGreaterThanOrEqual(ATTEMPTS);
      expect(hits).toBeLessThanOrEqual(2 * ATTEMPTS + 5);
    },
  );
});

const SCHEMA = JSON.stringify({ type: 'object', properties: { done: { type: 'boolean' } }, required: ['done'] });

/** Every fault once, the moments in turn, and how often in turn as well. */
const DIAGONAL = FAULTS.flatMap((fault, index) => {
  const moment = MOMENTS[index % MOMENTS.length];
  const often: Often = Math.floor(index / MOMENTS.length) % 2 === 0 ? 'from then on' : 'once';
  return moment === undefined ? [] : [{ fault, moment, often }];
});

describe.concurrent('the built program', () => {
  it.each(DIAGONAL)('comes to its end after $fault.name at $moment.name, $often', async ({ fault, moment, often }) => {
    const { turns } = strike(fault, moment, often);
    const flags = [...(moment.isTyped ? ['--json-schema', SCHEMA] : []), '--max-turns', String(moment.maxTurns ?? 10)];
    const done = await play(turns, ['agent', 'x', '--output-format', 'json', ...flags], {
      env: {
        CHATCLI_MAX_RETRIES: '1',
        ...(fault.isSilent && { CHATCLI_FIRST_BYTE_TIMEOUT: '2s', CHATCLI_IDLE_TIMEOUT: '500ms' }),
        ...(fault.nature === 'endless' && { CHATCLI_AGENT_WORKER_TIMEOUT: '2s' }),
      },
    });

    const { exitCode, subtype } = endingOf(fault, moment, often);
    expect({ code: done.exitCode, ...jsonOf(done) }).toMatchObject({
      code: exitCode,
      exit_code: exitCode,
      subtype,
      is_error: exitCode !== 0,
    });
    expect(troubleIn(done.requests)).toEqual([]);
  });
});
