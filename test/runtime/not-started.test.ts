import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseEvent, type TelemetryRecord } from '../../src/index.js';
import { type AgentBenchOptions, agentOver, collect, end, ofType, text } from '../parity/agent-bench.js';

const gone = join(mkdtempSync(join(tmpdir(), 'chatcli-gone-')), 'no-such-folder');

describe('a run that cannot start', () => {
  it.each<[string, AgentBenchOptions, string | undefined]>([
    ['since its workspace is not there', { workspace: gone }, undefined],
    ['since its answer schema is none', { output: { type: 'objekt' } }, undefined],
    ['since its checkpoint is none', { checkpoints: { secret: 's' } }, 'no checkpoint'],
  ])('%s has one start and one end like any other, for every reader', async (_, options, checkpoint) => {
    const records: TelemetryRecord[] = [];
    const { agent, events } = agentOver([[text('A'), end]], {
      ...options,
      observability: (record) => void records.push(record),
    });
    const handle = agent.ask('Q', checkpoint === undefined ? {} : { checkpoint });
    expect(agent.steer('and this')).toMatchObject({ ok: true });
    const seen = await collect(handle.events);
    const outcome = await handle.result;

    expect(outcome).toMatchObject({ reason: 'failed', turns: 0, error: { message: expect.any(String) } });
    expect(seen.map(({ type }) => type)).toEqual(['worker-start', 'run-start', 'input', 'run-end', 'worker-end']);
    expect(seen.map(({ runId }) => runId)).toEqual(seen.map(() => handle.id));
    expect(seen.map(parseEvent)).toEqual(seen);
    expect(ofType(events, 'run-end')).toMatchObject([{ reason: 'failed', error: outcome.error }]);
    expect(ofType(events, 'input')).toMatchObject([{ status: 'dropped', text: 'and this' }]);
    expect(agent.traces(handle.id)?.events).toEqual(seen);
    expect(agent.messages()).toEqual([]);
    await expect.poll(() => records.map(({ name }) => name)).toEqual(['request.start', 'request.failed']);
  });

  it('ends its stream with the error', async () => {
    const { agent } = agentOver([], { workspace: gone });
    expect((await collect(agent.stream('Q'))).map(({ type }) => type)).toEqual(['error']);
  });
});
