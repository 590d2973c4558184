import { describe, expect, it } from 'vitest';
import { createEmitter } from '../../src/events/emitter.js';
import type { AgentEvent } from '../../src/events/types.js';

/** Replaces `secret`; its stream holds back a tail that may be the beginning of one. */
const redactor = {
  mask: (text: string) => text.replaceAll('secret', '***'),
  stream: () => {
    let held = '';
    return {
      push(text: string) {
        const all = (held + text).replaceAll('secret', '***');
        const tail = /s(e(c(r(e)?)?)?)?$/.exec(all)?.[0] ?? '';
        held = tail;
        return all.slice(0, all.length - tail.length);
      },
      flush() {
        const rest = held;
        held = '';
        return rest;
      },
    };
  },
};

const record = () => {
  const events: AgentEvent[] = [];
  return { events, sink: (event: AgentEvent) => void events.push(event) };
};

describe('the emitter', () => {
  it('stamps every event, and counts without gaps over all runs', () => {
    const { events, sink } = record();
    const emitter = createEmitter({ now: () => 7, sinks: [sink], redactor });
    const first = emitter.forRun({ runId: 'a', worker: 'agent' });
    const second = emitter.forRun({ runId: 'b', parentRunId: 'a', worker: 'coder' });
    first({ type: 'turn-start', turn: 1, purpose: 'turn' });
    second({ type: 'turn-start', turn: 1, purpose: 'turn' });
    first({ type: 'text-delta', text: 'hi' });
    expect(events).toEqual([
      { v: 1, seq: 1, at: 7, runId: 'a', worker: 'agent', type: 'turn-start', turn: 1, purpose: 'turn' },
      {
        v: 1,
        seq: 2,
        at: 7,
        runId: 'b',
        parentRunId: 'a',
        worker: 'coder',
        type: 'turn-start',
        turn: 1,
        purpose: 'turn',
      },
      { v: 1, seq: 3, at: 7, runId: 'a', worker: 'agent', type: 'text-delta', text: 'hi' },
    ]);
  });

  it('masks strings at any depth', () => {
    const { events, sink } = record();
    const emit = createEmitter({ now: () => 0, sinks: [sink], redactor }).forRun({ runId: 'a', worker: 'w' });
    emit({
      type: 'message',
      text: 'a secret',
      toolCalls: [{ id: 'x', name: 'shell', arguments: '{"command":"echo secret"}' }],
    });
    expect(JSON.stringify(events)).not.toContain('secret');
  });

  it('lets no secret through that is split over deltas, and loses no text', () => {
    const { events, sink } = record();
    const emit = createEmitter({ now: () => 0, sinks: [sink], redactor }).forRun({ runId: 'a', worker: 'w' });
    for (const text of ['my se', 'cret is', ' saf', 'e, it se']) emit({ type: 'text-delta', text });
    emit({
      type: 'turn-end',
      turn: 1,
      usage: { requests: 1, promptTokens: 0, completionTokens: 0, cachedTokens: 0, reasoningTokens: 0, totalTokens: 0 },
    });
    expect(events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('')).toBe(
      'my *** is safe, it se',
    );
    expect(events.at(-1)?.type).toBe('turn-end');
  });

  it('keeps the deltas of two runs apart', () => {
    const { events, sink } = record();
    const emitter = createEmitter({ now: () => 0, sinks: [sink], redactor });
    const [one, two] = [emitter.forRun({ runId: '1', worker: 'w' }), emitter.forRun({ runId: '2', worker: 'w' })];
    one({ type: 'text-delta', text: 'se' });
    two({ type: 'text-delta', text: 'cret' });
    one({ type: 'text-delta', text: 'nd' });
    const textOf = (runId: string) =>
      events.map((event) => (event.type === 'text-delta' && event.runId === runId ? event.text : '')).join('');
    expect([textOf('1'), textOf('2')]).toEqual(['send', 'cret']);
  });

  it('drops a reader that throws, tells the others, and goes on', () => {
    const { events, sink } = record();
    const broken = () => {
      throw new Error('reader');
    };
    const emit = createEmitter({ now: () => 0, sinks: [broken, sink], redactor }).forRun({ runId: 'a', worker: 'w' });
    emit({ type: 'turn-start', turn: 1, purpose: 'turn' });
    emit({ type: 'turn-start', turn: 2, purpose: 'turn' });
    expect(events.map((event) => event.type)).toEqual(['turn-start', 'notice', 'turn-start']);
    expect(events.map((event) => event.seq)).toEqual([1, 2, 3]);
  });
});
