/** Which effects of tools come about. Running the tools is `round.ts`'s; what an effect means is its receiver's. */
import type { Effect } from '../tools/types.js';

/** Effects are told apart by their `type`. `deny` wins over `allow` and over each mode but `deny-all`. */
export type EffectPolicy = {
  /** `allow-list`: only what `allow` names; `allow-all`: all that `deny` does not name; `deny-all`: none. */
  readonly mode: 'allow-list' | 'allow-all' | 'deny-all';
  /** Counts in mode `allow-list` only. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
};

/** `{type: 'set-state', key, value}` sets an entry of the shared state; it is the one effect we carry out ourselves. */
export const SET_STATE = 'set-state';

/** Without a policy tools may change the state they share, and nothing else. */
export const DEFAULT_EFFECTS: EffectPolicy = { mode: 'allow-list', allow: [SET_STATE], deny: [] };

/** What both policies allow: a child may only narrow its parent. */
export function intersect(parent: EffectPolicy, child: EffectPolicy): EffectPolicy {
  const deny = [...new Set([...parent.deny, ...child.deny])];
  const mode = narrowerMode(parent.mode, child.mode);
  if (mode !== 'allow-list') return { mode, allow: [], deny };
  const named = parent.mode === 'allow-list' ? parent.allow : child.allow;
  return { mode, allow: [...new Set(named)].filter((type) => allows(parent, type) && allows(child, type)), deny };
}

function narrowerMode(left: EffectPolicy['mode'], right: EffectPolicy['mode']): EffectPolicy['mode'] {
  if (left === 'deny-all' || right === 'deny-all') return 'deny-all';
  return left === 'allow-list' || right === 'allow-list' ? 'allow-list' : 'allow-all';
}

/** Whether effects of this type may come about. */
export function allows({ mode, allow, deny }: EffectPolicy, type: string): boolean {
  if (mode === 'deny-all' || deny.includes(type)) return false;
  return mode === 'allow-all' || allow.includes(type);
}

export type SortedEffects = {
  /** Allowed, in the order they came. */
  readonly allowed: readonly Effect[];
  /** Not allowed, or unusable: a `set-state` whose key is not a text. */
  readonly refused: readonly Effect[];
};

export function sortEffects(effects: readonly Effect[], policy: EffectPolicy): SortedEffects {
  const mayBe = (effect: Effect) =>
    allows(policy, effect.type) && (effect.type !== SET_STATE || typeof effect.key === 'string');
  return { allowed: effects.filter(mayBe), refused: effects.filter((effect) => !mayBe(effect)) };
}

export type AppliedEffects = {
  /** Allowed, and for the library user to carry out. */
  readonly handedOn: readonly Effect[];
  readonly refused: readonly Effect[];
};

/** Sets the state entries that the policy allows, in order; a later one wins. The other allowed effects are handed on. */
export function applyEffects(
  effects: readonly Effect[],
  policy: EffectPolicy,
  state: Map<string, unknown>,
): AppliedEffects {
  const { allowed, refused } = sortEffects(effects, policy);
  for (const effect of allowed) {
    if (effect.type === SET_STATE) state.set(String(effect.key), effect.value);
  }
  return { handedOn: allowed.filter((effect) => effect.type !== SET_STATE), refused };
}

/** One line for the model about effects that do not come about. */
export function describeRefused(refused: readonly Effect[]): string {
  const types = [...new Set(refused.map((effect) => effect.type))];
  return `[Not done, since the effect policy does not allow it: ${types.join(', ')}.]`;
}
