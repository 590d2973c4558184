import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { AgentEvent } from '../../src/events/types.js';
import { createTelemetry, type TelemetryRecord } from '../../src/runtime/telemetry.js';
import { redactForTelemetry } from '../../src/runtime/telemetry-redact.js';
import { defineTool } from '../../src/tools/types.js';
import { bench, calls, says } from '../fixtures/bench.js';

const LONG = 'x'.repeat(9_999);

const login = defineTool({
  name: 'login',
  doc: 'd',
  permission: 'read',
  concurrency: 'parallel',
  schema: z.object({ api_key: z.string(), ok: z.boolean() }),
  subjects: () => [],
  run: async ({ ok }) => ({ ok, output: 'the output', ...(!ok && { code: 'timeout' }) }),
});

/** The records of one run, in which a tool fails, one works, and an answer is given. */
async function recorded() {
  const records: TelemetryRecord[] = [];
  const telemetry = createTelemetry((record) => void records.push(record));
  const turns = [
    calls(['a', 'login', { api_key: 'sk-very-secret', ok: false }]),
    calls(['b', 'login', { api_key: 'sk-very-secret', ok: true }]),
    says('the answer'),
  ];
  await bench({ turns, tools: [login], onEvent: telemetry.sink });
  expect(await telemetry.flush(5_000)).toBe(true);
  return { records, dropped: telemetry.dropped() };
}

describe('telemetry of a run', () => {
  it('tells starts and ends of the run, its model calls and its tools', async () => {
    const { records, dropped } = await recorded();
    expect(records.map(({ name }) => name)).toEqual([
      'request.start',
      'llm.start',
      'tool.start',
      'tool.timeout',
      'tool.error',
      'llm.complete',
      'llm.start',
      'tool.start',
      'tool.complete',
      'llm.complete',
      'llm.start',
      'llm.complete',
      'request.complete',
    ]);
    expect(dropped).toBe(0);
    expect(records.at(-1)).toEqual({
      name: 'request.complete',
      at: expect.any(Number),
      metadata: { run_id: 'r1', worker: 'coder', model: 'mock', turn: 3, status: 'answered' },
      measurements: { duration_ms: expect.any(Number), prompt_tokens: 9, completion_tokens: 6, total_tokens: 15 },
    });
    expect(records[2]?.metadata).toMatchObject({ call_id: 'a', tool: 'login' });
  });

  it('has no secret, no output and no answer in it', async () => {
    const text = JSON.stringify((await recorded()).records);
    for (const word of ['sk-very-secret', 'the output', 'the answer', 'do it']) expect(text).not.toContain(word);
    expect(text).toContain('"arguments":{"api_key":"[redacted]","ok":false}');
  });

  it('keeps to 13 metadata keys and 6 measurements', async () => {
    const { records } = await recorded();
    const keys = new Set(records.flatMap(({ metadata }) => Object.keys(metadata)));
    const measurements = new Set(records.flatMap((record) => Object.keys(record.measurements)));
    expect(keys.size).toBeLessThanOrEqual(13);
    expect(measurements.size).toBeLessThanOrEqual(6);
  });

  it.each([
    [
      'a retry',
      { type: 'retry', attempt: 2, maxAttempts: 4, waitMs: 500, reason: '429' },
      'llm.retry',
      { retry_count: 1, queue_ms: 500 },
    ],
    [
      'a refused answer',
      { type: 'output-check', status: 'refused', attempt: 1, feedback: 'f' },
      'output.repair',
      { retry_count: 0 },
    ],
    [
      'an answer that fits',
      { type: 'output-check', status: 'passed', attempt: 2 },
      'output.validated',
      { retry_count: 1 },
    ],
    [
      'a tool that was tried again',
      { type: 'tool-end', callId: 'a', name: 'x', ok: true, durationMs: 5, attempts: 3, output: 'o' },
      'tool.retry',
      { retry_count: 2 },
    ],
    [
      'a cancelled run',
      { type: 'run-end', reason: 'interrupted', usage: { promptTokens: 1 }, durationMs: 7 },
      'request.cancelled',
      { duration_ms: 7 },
    ],
    ['a run at a limit', { type: 'run-end', reason: 'budget', usage: {}, durationMs: 7 }, 'request.failed', {}],
    [
      'a dropped model call',
      { type: 'turn-end', turn: 1, usage: { promptTokens: 1 } },
      'llm.error',
      { duration_ms: 0 },
    ],
  ])('tells %s', async (_, body, name, measurements) => {
    const records: TelemetryRecord[] = [];
    const { sink, flush } = createTelemetry((record) => void records.push(record));
    sink(event({ type: 'run-start', model: 'm' }));
    sink(event(body));
    await flush(5_000);
    expect(records[1]).toMatchObject({ name, measurements });
  });

  it('tells the trial of a tool before its end, and only where there was more than one', async () => {
    const records: TelemetryRecord[] = [];
    const { sink, flush } = createTelemetry((record) => void records.push(record));
    sink(event({ type: 'run-start', model: 'm' }));
    const end = { type: 'tool-end', name: 'x', ok: false, code: 'busy', durationMs: 5, output: 'o' };
    sink(event({ ...end, callId: 'a', attempts: 2 }));
    sink(event({ ...end, callId: 'b', attempts: 1 }));
    await flush(5_000);
    expect(records.slice(1).map(({ name, metadata }) => [name, metadata.call_id, metadata.status])).toEqual([
      ['tool.retry', 'a', 'failed'],
      ['tool.error', 'a', 'failed'],
      ['tool.error', 'b', 'failed'],
    ]);
  });

  it.each([
    [
      'the error of a run',
      'error',
      { type: 'run-end', reason: 'failed', usage: {}, durationMs: 1, error: { kind: 'internal', message: LONG } },
    ],
    ['the reason of a retry', 'reason', { type: 'retry', attempt: 2, maxAttempts: 3, waitMs: 1, reason: LONG }],
    ['the reason of a refusal', 'reason', { type: 'output-check', status: 'refused', attempt: 1, feedback: LONG }],
  ] as const)('bounds %s', async (_, key, body) => {
    const records: TelemetryRecord[] = [];
    const { sink, flush } = createTelemetry((record) => void records.push(record));
    sink(event({ type: 'run-start', model: 'm' }));
    sink(event(body));
    await flush(5_000);
    expect(records[1]?.metadata[key]).toHaveLength(512);
  });

  it('leaves out arguments that are no JSON, since their keys can not be read', async () => {
    const records: TelemetryRecord[] = [];
    const { sink, flush } = createTelemetry((record) => void records.push(record));
    sink(event({ type: 'run-start', model: 'm' }));
    sink(event({ type: 'tool-start', callId: 'a', name: 'x', arguments: '{"password":"hunter2' }));
    await flush(5_000);
    expect(records[1]?.metadata.arguments).toBe('[not JSON]');
  });
});

const event = (body: object): AgentEvent => ({ v: 1, seq: 1, at: 0, runId: 'r', worker: 'w', ...body }) as AgentEvent;

describe('a publisher', () => {
  const many = (sink: (event: AgentEvent) => void, count: number) => {
    for (let index = 0; index < count; index += 1) sink(event({ type: 'run-start', model: `m${index}` }));
  };

  it('that is stuck costs records and no time', async () => {
    const { sink, dropped, flush } = createTelemetry(() => new Promise(() => undefined));
    many(sink, 250);
    expect(dropped()).toBe(150);
    expect(await flush(20)).toBe(false);
  });

  it('that throws costs the records it threw at', async () => {
    const seen: string[] = [];
    const { sink, dropped, flush } = createTelemetry(async ({ metadata: { model = '' } }) => {
      if (model === 'm1') throw new Error('no');
      seen.push(model);
    });
    many(sink, 3);
    expect(await flush(5_000)).toBe(true);
    expect([seen, dropped()]).toEqual([['m0', 'm2'], 1]);
  });

  it('gets one record at a time, and none within the call that made it', async () => {
    let active = 0;
    let most = 0;
    const { sink, flush } = createTelemetry(async () => {
      active += 1;
      most = Math.max(most, active);
      await new Promise((resolve) => setImmediate(resolve));
      active -= 1;
    });
    many(sink, 20);
    expect(most).toBe(0);
    await flush(5_000);
    expect(most).toBe(1);
  });
});

describe('what is redacted', () => {
  it('is what has the form of a key, also where the text is cut', () => {
    const token = 'ghp_0123456789abcdefghijABCDEFGHIJ012345';
    expect(redactForTelemetry({ command: `curl -H "Authorization: Bearer abc" ${token}` })).toEqual({
      command: 'curl -H "Authorization: [redacted:authorization]" [redacted:github-token]',
    });
    expect(String(redactForTelemetry(`${' '.repeat(500)}${token}`))).not.toContain('ghp_');
  });

  it.each([
    'api_key',
    'apiKey',
    'API-KEY',
    'password',
    'secret',
    'token',
    'bearer',
    'Authorization',
    'client_secret',
    'clientSecret',
    'signing_key',
    'access_token',
    'db_password',
    'secret_sauce',
    'my_secret_thing',
  ])('%s is', (key) => {
    expect(redactForTelemetry({ [key]: 'v' })).toEqual({ [key]: '[redacted]' });
  });

  it.each(['key', 'tokens', 'max_tokens', 'path', 'secretary'])('%s is not', (key) => {
    expect(redactForTelemetry({ [key]: 'v' })).toEqual({ [key]: 'v' });
  });

  it('is bounded in depth, items, fields and length', () => {
    const wide = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`f${index}`, 1]));
    expect(Object.keys(redactForTelemetry(wide) as object)).toHaveLength(32);
    expect(redactForTelemetry(Array(30).fill(1))).toEqual([...Array(9).fill(1), '[21 more]']);
    expect(redactForTelemetry({ a: { b: { c: { d: 1, e: { f: 1 } } } } })).toEqual({
      a: { b: { c: { d: 1, e: '[too deep]' } } },
    });
    expect(String(redactForTelemetry('x'.repeat(9_999)))).toHaveLength(512);
  });
});
