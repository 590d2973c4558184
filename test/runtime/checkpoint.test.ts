import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/errors.js';
import { NO_USAGE, observe, reopen, start } from '../../src/kernel/step.js';
import type { Reply, State } from '../../src/kernel/types.js';
import { CheckpointError, createCheckpoints, fingerprintOf } from '../../src/runtime/checkpoint.js';

const reply = (fields: Partial<Reply> = {}): { kind: 'reply' } & Reply => ({
  kind: 'reply',
  text: '',
  toolCalls: [],
  finishReason: 'stop',
  usage: NO_USAGE,
  ...fields,
});
const read = (id: string) => ({ id, name: 'read_file', arguments: '{"path":"ä\\ud800"}' });

const begun = start(
  [
    { role: 'system', content: 'You work.' },
    { role: 'user', content: 'Übung 日本 \ud800' },
  ],
  { maxTurns: 3, maxOutputRetries: 2 },
);
const asked = observe(
  begun.state,
  reply({
    text: 'I look.',
    reasoning: 'hm',
    replay: { origin: 'p:chat', items: [{ type: 'reasoning.text', text: 'hm', signature: 's' }] },
    toolCalls: [{ ...read('a'), extra: { google: { thought_signature: 's' } } }, read('b')],
  }),
);
const acted = observe(asked.state, {
  kind: 'results',
  results: [
    { callId: 'b', ok: false, denied: true, output: 'B' },
    { callId: 'a', ok: true, output: 'A' },
  ],
});
const done = observe(acted.state, reply({ text: 'done' }));
const replay = { origin: 'p:api', items: [{ type: 'reasoning', parts: [{ sealed: 'x' }] }] };
const replayed = observe(begun.state, reply({ toolCalls: [read('a')], replay }));

const SECRET = 'a secret of the test';
const bench = ({ at = 1_000, ttlMs = 500, secret = SECRET }: { at?: number; ttlMs?: number; secret?: string } = {}) =>
  createCheckpoints({ secret, ttlMs, now: () => at });
const sealed = (state: State = asked.state) => bench().seal({ state, fingerprint: 'f', point: 'after-llm' });

/** The code of the refusal, or `opened`. */
const verdict = (token: string, fingerprint = 'f', checkpoints = bench()): string => {
  try {
    checkpoints.open(token, fingerprint);
    return 'opened';
  } catch (thrown) {
    return thrown instanceof CheckpointError ? thrown.code : String(thrown);
  }
};
/** A token with any payload, signed as ours are. */
const signed = (payload: unknown, head = 'cc1') => {
  const text = `${head}.${Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)).toString('base64url')}`;
  return `${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`;
};
const content = (state: unknown) => ({ sealedAt: 1, fingerprint: 'f', point: 'after-llm', state });

describe('a checkpoint', () => {
  it.each([
    ['before a model call', begun.state],
    ['with open calls', asked.state],
    ['behind a round', acted.state],
    ['at the end', done.state],
    ['with what the provider wants back', replayed.state],
  ])('gives back the state it was made of: %s', (_, state) => {
    expect(bench().open(sealed(state), 'f').state).toEqual(JSON.parse(JSON.stringify(state)));
  });

  it('is three parts of characters that need no quoting', () => {
    expect(sealed()).toMatch(/^cc1\.[\w-]+\.[\w-]{43}$/);
    expect(verdict(`\n${sealed()}\n`)).toBe('opened');
  });

  it('lets a run go on where it stopped: open calls are run, recorded ones are not', () => {
    const before = reopen(bench().open(sealed(asked.state), 'f').state);
    expect(before.action).toMatchObject({ kind: 'act', calls: [{ id: 'a' }, { id: 'b' }] });
    const behind = reopen(bench().open(sealed(acted.state), 'f').state);
    expect(behind.action).toMatchObject({ kind: 'reason', purpose: 'turn' });
  });

  it.each([
    ['no token at all', 'hello', 'bad-format'],
    ['an empty text', '', 'bad-format'],
    ['two parts', sealed().split('.').slice(0, 2).join('.'), 'bad-format'],
    ['four parts', `${sealed()}.x`, 'bad-format'],
    ['another prefix', sealed().replace('cc1', 'rt2'), 'bad-format'],
    ['padding', `${sealed()}=`, 'bad-format'],
    ['another version', sealed().replace('cc1', 'cc2'), 'bad-version'],
    ['a changed payload', sealed().replace(/\.(.)/, (_, first) => `.${first === 'A' ? 'B' : 'A'}`), 'bad-signature'],
    ['a cut signature', sealed().slice(0, -1), 'bad-signature'],
    ['a payload that is no JSON', signed('nonsense'), 'bad-state'],
    ['a payload of another shape', signed({ state: asked.state }), 'bad-state'],
    ['a state of another shape', signed(content({ ...asked.state, phase: 'dreaming' })), 'bad-state'],
    ['a field too many', signed(content({ ...asked.state, extra: 1 })), 'bad-state'],
    ['no messages', signed(content({ ...begun.state, messages: [], openingCount: 0 })), 'bad-state'],
    ['an opening that is not there', signed(content({ ...begun.state, openingCount: 3 })), 'bad-state'],
    ['open calls between turns', signed(content({ ...asked.state, phase: 'reason' })), 'bad-state'],
    [
      'something to send back that nobody made',
      signed(
        content({
          ...begun.state,
          messages: [...begun.state.messages, { role: 'assistant', content: 'x', replay: { items: [] } }],
        }),
      ),
      'bad-state',
    ],
    ['a round without calls', signed(content({ ...begun.state, phase: 'act' })), 'bad-state'],
    [
      'a result without a call',
      signed(
        content({
          ...begun.state,
          messages: [...begun.state.messages, { role: 'tool', callId: 'x', name: 'n', content: '' }],
        }),
      ),
      'bad-state',
    ],
    [
      'a call left open in the middle',
      signed(content({ ...begun.state, messages: [...asked.state.messages, { role: 'assistant', content: 'x' }] })),
      'bad-state',
    ],
  ])('is refused: %s', (_, token, code) => {
    expect(verdict(token)).toBe(code);
  });

  it('is refused under another secret', () => {
    expect(verdict(sealed(), 'f', bench({ secret: 'another' }))).toBe('bad-signature');
  });

  it('is refused under another configuration, with what to do', () => {
    expect(verdict(sealed(), 'g')).toBe('other-config');
    expect(() => bench().open(sealed(), 'g')).toThrow(expect.objectContaining({ hint: expect.stringMatching(/same/) }));
  });

  it('expires when its time is over, not before', () => {
    expect(verdict(sealed(), 'f', bench({ at: 1_499 }))).toBe('opened');
    expect(verdict(sealed(), 'f', bench({ at: 1_500 }))).toBe('expired');
  });

  it('lasts for ever without a time', () => {
    const checkpoints = (at: number) => createCheckpoints({ secret: new Uint8Array([1]), now: () => at });
    const token = checkpoints(0).seal({ state: begun.state, fingerprint: 'f', point: 'terminal' });
    expect(verdict(token, 'f', checkpoints(Number.MAX_SAFE_INTEGER))).toBe('opened');
  });

  it('opens in no form but its own, whichever character is changed', () => {
    const token = sealed();
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom('A', 'z', '0', '_', '.', ' '), (place, character) => {
        fc.pre(token[place] !== character);
        const changed = token.slice(0, place) + character + token.slice(place + 1);
        expect(['bad-format', 'bad-version', 'bad-signature']).toContain(verdict(changed));
      }),
    );
  });

  it('wants a secret', () => {
    expect(() => bench({ secret: '' })).toThrow(ConfigError);
  });
});

describe('the fingerprint of a configuration', () => {
  const parts = {
    model: 'm',
    systemPrompt: 'p',
    limits: { maxTurns: 3, timeoutMs: 9 },
    toolNames: ['a', 'b'],
    output: { type: 'object', required: ['x', 'y'] },
  };

  it('is a SHA-256 in hex that no order of fields or tools changes', () => {
    expect(fingerprintOf(parts)).toMatch(/^[0-9a-f]{64}$/);
    const turned = {
      output: { required: ['x', 'y'], type: 'object' },
      toolNames: ['b', 'a'],
      limits: { timeoutMs: 9, maxTurns: 3 },
      systemPrompt: 'p',
      model: 'm',
    };
    expect(fingerprintOf(turned)).toBe(fingerprintOf(parts));
  });

  it.each([
    ['model', { model: 'n' }],
    ['prompt', { systemPrompt: 'q' }],
    ['limits', { limits: { maxTurns: 4, timeoutMs: 9 } }],
    ['tools', { toolNames: ['a'] }],
    ['answer form', { output: { type: 'object', required: ['y', 'x'] } }],
    ['missing answer form', { output: undefined }],
  ])('changes with another %s', (_, change) => {
    expect(fingerprintOf({ ...parts, ...change })).not.toBe(fingerprintOf(parts));
  });
});
