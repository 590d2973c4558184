import { describe, expect, it } from 'vitest';
import { eventJsonSchema, eventSchema, InvalidEvent, parseEvent } from '../../src/events/schema.js';
import type { EventBody } from '../../src/events/types.js';
import { NO_USAGE } from '../../src/kernel/step.js';

const stamp = { v: 1, seq: 1, at: 1_700_000_000_000, runId: 'r', worker: 'coder' };
const toolCalls = [{ id: 'c', name: 'shell', arguments: '{' }];
const error = { kind: 'provider', message: 'm', hint: 'h' };
const proof = { filesChanged: ['a'], commandsSinceLastEdit: [{ command: 'ls', exitCode: null }] };

/** Of each member of a union by itself. */
type WithoutType<Body> = Body extends unknown ? Omit<Body, 'type'> : never;

/** Each kind with all its fields. */
const FULL: { readonly [Kind in EventBody['type']]: WithoutType<Extract<EventBody, { type: Kind }>> } = {
  'run-start': { task: 't', model: 'm', cwd: '/', maxTurns: 3, timeoutMs: 0 },
  'turn-start': { turn: 1, purpose: 'summary' },
  'text-delta': { text: '' },
  'reasoning-delta': { text: 'r' },
  message: { text: '', reasoning: 'r', toolCalls, incomplete: true },
  'tool-start': { callId: 'c', name: 'n', arguments: '{}', subject: 's' },
  'tool-update': { callId: 'c', text: 't' },
  'tool-end': {
    callId: 'c',
    name: 'n',
    ok: false,
    code: 'denied',
    denied: true,
    rule: 'r',
    durationMs: 1.5,
    attempts: 0,
    output: 'o',
    touched: ['a'],
    command: { command: 'ls', exitCode: 1 },
    display: { kind: 'diff', path: 'a', added: 1, removed: 0, lines: [{ sign: '+', line: 1, text: 't' }], omitted: 1 },
  },
  fallback: { from: 'a', to: 'b', reason: 'r' },
  'approval-request': {
    approvalId: 'a',
    callId: 'c',
    tool: 't',
    subject: 's',
    shown: 's',
    hasInvisible: true,
    cwd: '.',
    reason: 'r',
    matched: { rule: 'r', source: 'f:1' },
    rule: 'r',
    storedRule: 'r',
    display: { kind: 'table', head: ['h'], rows: [['r']] },
  },
  'approval-response': { approvalId: 'a', answer: 'no', message: 'm', by: 'timeout' },
  'user-question': { questionId: 'q', callId: 'c', question: 'q?', options: ['a'] },
  'user-answer': { questionId: 'q', answer: 'a' },
  'plan-update': { steps: [{ text: 't', status: 'active', owner: 'coder' }] },
  'turn-end': { turn: 1, finishReason: 'length', usage: NO_USAGE },
  retry: { attempt: 1, maxAttempts: 3, waitMs: 0.5, reason: 'r' },
  usage: {
    usage: NO_USAGE,
    costUsd: null,
    context: {
      tokens: 9,
      isEstimate: true,
      window: { tokens: 99, source: 'table' },
      parts: { system: 1, tools: 2, user: 1, assistant: 2, results: 3 },
    },
  },
  'worker-start': { index: 0, total: 1, task: 't' },
  'worker-end': { index: 0, total: 1, status: 'timed-out', durationMs: 1, turns: 0, error },
  input: { inputId: 'i', kind: 'steer', status: 'dropped', text: 't' },
  context: { operation: 'switch', operationId: 'o', lane: 'l', reason: 'manual', messages: 0 },
  'tool-heartbeat': { callIds: ['c'] },
  'output-check': { status: 'refused', attempt: 1, feedback: 'f' },
  checkpoint: { point: 'terminal', token: 'cc1.a.b' },
  notice: { level: 'info', code: 'c', text: 't' },
  'run-end': { reason: 'answered', answer: 'a', turns: 1, usage: NO_USAGE, proof, durationMs: 1, error },
};
/** The other form of a kind that has two. */
const SHRUNK = {
  ...stamp,
  type: 'context',
  operation: 'shrink',
  reason: 'window',
  messages: 3,
  tokensBefore: 9,
  tokensAfter: 5,
  windowTokens: 10,
};
const full = [
  ...Object.entries(FULL).map(([type, body]) => [type, { ...stamp, type, ...body }] as const),
  ['context that was made shorter', SHRUNK] as const,
];

const problemOf = (value: unknown): string => {
  try {
    parseEvent(value);
    return 'parsed';
  } catch (thrown) {
    return thrown instanceof InvalidEvent ? thrown.message : String(thrown);
  }
};

describe('the schema of events', () => {
  it.each(full)('takes a whole %s as it is', (_, event) => {
    expect(parseEvent(event)).toEqual(event);
    expect(parseEvent({ ...event, parentRunId: 'p' })).toEqual({ ...event, parentRunId: 'p' });
  });

  it.each(full)('takes no %s with a field too many or without its stamp', (_, event) => {
    expect(problemOf({ ...event, extra: 1 })).toMatch(/extra/);
    for (const field of ['v', 'seq', 'at', 'runId', 'worker']) {
      expect(problemOf({ ...event, [field]: undefined })).toMatch(new RegExp(`→ at ${field}`));
    }
  });

  it.each([
    ['an unknown kind', { ...stamp, type: 'tool-paused' }, /type/],
    ['no kind', stamp, /type/],
    ['another version', { ...stamp, v: 2, type: 'text-delta', text: '' }, /at v/],
    ['a seq that does not count from 1', { ...stamp, seq: 0, type: 'text-delta', text: '' }, /at seq/],
    ['a field of another type', { ...stamp, type: 'text-delta', text: 1 }, /at text/],
    ['no object', 'text-delta', /object/],
    ['nothing', undefined, /object/],
  ])('refuses %s', (_, value, problem) => {
    expect(problemOf(value)).toMatch(problem);
  });

  it('is to be had as a JSON Schema with closed variants for each kind', () => {
    type Variant = { readonly properties: object; readonly additionalProperties: boolean };
    const schema = eventJsonSchema() as { oneOf: readonly (Variant | { readonly oneOf: readonly Variant[] })[] };
    expect(schema.oneOf).toHaveLength(eventSchema.options.length);
    const variants = schema.oneOf.flatMap((variant) => ('oneOf' in variant ? variant.oneOf : [variant]));
    expect(variants.every((variant) => variant.additionalProperties === false)).toBe(true);
    expect(variants.map((variant) => variant.properties)).toContainEqual(
      expect.objectContaining({ type: { type: 'string', const: 'tool-heartbeat' }, callIds: expect.anything() }),
    );
  });
});
