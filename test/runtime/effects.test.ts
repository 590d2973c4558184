import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  allows,
  applyEffects,
  DEFAULT_EFFECTS,
  describeRefused,
  type EffectPolicy,
  intersect,
} from '../../src/runtime/effects.js';
import { runLoop } from '../../src/runtime/loop.js';
import type { EffectOptions } from '../../src/runtime/options.js';
import { defineTool, type Effect } from '../../src/tools/types.js';
import { bench, calls, disorder, says } from '../fixtures/bench.js';

const list = (allow: readonly string[], deny: readonly string[] = []): EffectPolicy => ({
  mode: 'allow-list',
  allow,
  deny,
});
const all = (deny: readonly string[] = []): EffectPolicy => ({ mode: 'allow-all', allow: [], deny });
const none: EffectPolicy = { mode: 'deny-all', allow: ['A'], deny: [] };

describe('a policy', () => {
  it.each<[string, EffectPolicy, readonly string[]]>([
    ['of a list allows what it names', list(['A', 'B']), ['A', 'B']],
    ['of a list that is empty allows nothing', list([]), []],
    ['that allows all allows all', all(), ['A', 'B', 'C']],
    ['that denies all denies what it names as well', none, []],
    ['denies what it denies, also when it names it', list(['A', 'B'], ['B']), ['A']],
    ['denies what it denies, also when it allows all', all(['C']), ['A', 'B']],
  ])('%s', (_, policy, allowed) => {
    expect(['A', 'B', 'C'].filter((type) => allows(policy, type))).toEqual(allowed);
  });

  it('of a child allows what both allow, whatever the two are', () => {
    const policies = [list([]), list(['A', 'B']), list(['B', 'C'], ['A']), all(), all(['B']), none];
    for (const parent of policies) {
      for (const child of policies) {
        const both = ['A', 'B', 'C'].filter((type) => allows(parent, type) && allows(child, type));
        const narrowed = intersect(parent, child);
        expect(['A', 'B', 'C'].filter((type) => allows(narrowed, type))).toEqual(both);
        expect(['A', 'B', 'C'].filter((type) => allows(intersect(narrowed, all()), type))).toEqual(both);
      }
    }
  });
});

describe('effects', () => {
  it('set the state in their order, and the others are handed on', () => {
    const state = new Map<string, unknown>([['kept', 1]]);
    const effects: Effect[] = [
      { type: 'set-state', key: 'a', value: 1 },
      { type: 'emit', text: 'x' },
      { type: 'set-state', key: 'a', value: 2 },
      { type: 'spawn' },
    ];
    const { handedOn, refused } = applyEffects(effects, list(['set-state', 'emit']), state);
    expect([...state]).toEqual([
      ['kept', 1],
      ['a', 2],
    ]);
    expect(handedOn).toEqual([{ type: 'emit', text: 'x' }]);
    expect(refused).toEqual([{ type: 'spawn' }]);
  });

  it('without a usable key are refused', () => {
    const state = new Map<string, unknown>();
    expect(applyEffects([{ type: 'set-state', key: 7 }], DEFAULT_EFFECTS, state).refused).toHaveLength(1);
    expect(state.size).toBe(0);
  });

  it('that are refused stand in one line, each type once', () => {
    expect(describeRefused([{ type: 'spawn' }, { type: 'stop' }, { type: 'spawn' }])).toBe(
      '[Not done, since the effect policy does not allow it: spawn, stop.]',
    );
  });
});

/** Asks for the effects it is called with. */
const wishes = defineTool({
  name: 'wishes',
  doc: 'Wishes.',
  permission: 'meta',
  concurrency: 'parallel',
  schema: z.object({ effects: z.array(z.looseObject({ type: z.string() })) }),
  subjects: () => [],
  run: async ({ effects }) => ({ ok: true, output: 'Wished.', effects }),
});

async function wished(
  effects: readonly Effect[],
  options?: EffectOptions,
  state: Map<string, unknown> | null = new Map(),
) {
  const benched = await bench({
    tools: [wishes],
    turns: [calls(['w', 'wishes', { effects }]), says('Done.')],
    ...(options && { options: { effects: options } }),
    runTask: (task, ctx) =>
      runLoop(task, { ...ctx, toolContext: { ...ctx.toolContext, ...(state !== null && { state }) } }),
  });
  return {
    ...benched,
    state,
    result: benched.requests[1]?.messages.at(-1)?.content,
    notices: benched.events.filter((event) => event.type === 'notice'),
  };
}

describe('a round', () => {
  it('tells the model, the readers and the result alike of what is not allowed', async () => {
    const { result, notices, events, outcome } = await wished([
      { type: 'spawn' },
      { type: 'set-state', key: 'k', value: 1 },
    ]);
    const line = '[Not done, since the effect policy does not allow it: spawn.]';
    expect(result).toBe(`Wished.\n${line}`);
    expect(notices).toMatchObject([{ level: 'warning', code: 'effect-refused', text: `wishes: ${line}` }]);
    expect(events.find((event) => event.type === 'tool-end')).toMatchObject({ ok: true, output: result });
    expect(outcome.reason).toBe('answered');
    expect(disorder(events)).toEqual([]);
  });

  it('hands on what is allowed with the call that asked for it, and waits for it', async () => {
    const seen: unknown[] = [];
    const { result } = await wished(
      [
        { type: 'emit', text: 'a' },
        { type: 'emit', text: 'b' },
      ],
      {
        policy: all(),
        onEffect: async (effect, callId) => {
          await Promise.resolve();
          seen.push([effect.text, callId]);
        },
      },
    );
    expect(seen).toEqual([
      ['a', 'w'],
      ['b', 'w'],
    ]);
    expect(result).toBe('Wished.');
  });

  it('goes on when a receiver of effects fails', async () => {
    const { outcome, notices } = await wished([{ type: 'emit' }], {
      policy: all(),
      onEffect: () => Promise.reject(new Error('no line')),
    });
    expect(outcome.reason).toBe('answered');
    expect(notices).toMatchObject([{ code: 'effect-failed', text: 'The effect emit of wishes failed: no line' }]);
  });

  it('says so where there is no state to set', async () => {
    const { result } = await wished([{ type: 'set-state', key: 'k', value: 1 }], undefined, null);
    expect(result).toContain('set-state');
  });
});
