import { describe, expect, it } from 'vitest';
import { createTraces } from '../../src/events/trace.js';
import type { AgentEvent, EventBody } from '../../src/events/types.js';

const stream = () => {
  const traces = createTraces();
  let seq = 0;
  const send = (runId: string, body: EventBody) => {
    seq += 1;
    const event: AgentEvent = { v: 1, seq, at: seq, runId, worker: 'coder', ...body };
    traces.sink(event);
    return event;
  };
  const begin = (runId: string) => send(runId, { type: 'worker-start', index: 0, total: 1, task: 't' });
  const delta = (runId: string) => send(runId, { type: 'text-delta', text: 'x' });
  return { traces, send, begin, delta };
};

describe('the traces', () => {
  it('keep each run apart, delta by delta', () => {
    const { traces, begin, delta } = stream();
    const first = [begin('a')];
    const second = [begin('b')];
    first.push(delta('a'), delta('a'));
    second.push(delta('b'));
    expect(traces.of('a')).toEqual({ events: first, truncated: false });
    expect(traces.of('b')).toEqual({ events: second, truncated: false });
    expect(traces.runs()).toEqual(['a', 'b']);
    expect(traces.of('c')).toBeUndefined();
  });

  it('keep a checkpoint without its token, which is as long as the run', () => {
    const { traces, send, begin } = stream();
    begin('a');
    const sent = send('a', { type: 'checkpoint', point: 'after-llm', token: 'cc1.long.long' });
    expect(traces.of('a')?.events[1]).toEqual({ ...sent, token: '' });
    expect(sent).toMatchObject({ token: 'cc1.long.long' });
  });

  it('keep the first 2,000 events of a run, and say that there were more', () => {
    const { traces, begin, delta } = stream();
    begin('a');
    for (let count = 1; count < 2_000; count += 1) delta('a');
    expect(traces.of('a')).toMatchObject({ truncated: false });
    delta('a');
    const trace = traces.of('a');
    expect(trace?.truncated).toBe(true);
    expect(trace?.events.map((event) => event.seq)).toEqual(Array.from({ length: 2_000 }, (_, index) => index + 1));
  });

  it('let the run go that started first, and do not bring it back', () => {
    const { traces, begin, delta } = stream();
    for (let run = 1; run <= 100; run += 1) begin(`r${run}`);
    delta('r1');
    begin('r101');
    delta('r1');
    expect(traces.runs()).toEqual(Array.from({ length: 100 }, (_, index) => `r${index + 2}`));
    expect(traces.of('r1')).toBeUndefined();
  });

  it('begin a run once, with whichever of its two starts comes first', () => {
    const { traces, begin, send } = stream();
    const start: EventBody = { type: 'run-start', task: 't', model: 'm', cwd: '/', maxTurns: 1, timeoutMs: 1 };
    begin('a');
    send('a', start);
    send('b', start);
    expect(traces.of('a')?.events.map((event) => event.type)).toEqual(['worker-start', 'run-start']);
    expect(traces.of('b')?.events).toHaveLength(1);
  });

  it('give copies', () => {
    const { traces, begin, delta } = stream();
    begin('a');
    const taken = (traces.of('a')?.events ?? []) as AgentEvent[];
    expect(taken.splice(0)).toHaveLength(1);
    delta('a');
    expect(traces.of('a')?.events).toHaveLength(2);
  });
});
