/** Keeps `turn-start` and `turn-end` in pairs, whatever ends a turn. */
import { NO_USAGE } from '../kernel/step.js';
import type { FinishReason, Usage } from '../kernel/types.js';
import type { RunContext } from './types.js';

export type Turn = {
  /** Counts one up, emits `turn-start`, and gives the number; while a turn is open, gives that one's. */
  readonly begin: (purpose: 'turn' | 'summary') => number;
  /** What the reply of the open turn was, for its end. */
  readonly replied: (finishReason: FinishReason, usage: Usage) => void;
  /** Emits `turn-end`, if a turn is open. */
  readonly end: () => void;
};

/** `turnsBefore` is how many turns a run had that is gone on with. */
export function createTurn(ctx: RunContext, turnsBefore: number): Turn {
  let number = turnsBefore;
  let open = false;
  let reply: { finishReason?: FinishReason; usage: Usage } | undefined;
  return {
    begin(purpose) {
      if (open) return number;
      number += 1;
      open = true;
      reply = undefined;
      ctx.emit({ type: 'turn-start', turn: number, purpose });
      return number;
    },
    replied(finishReason, usage) {
      reply = { finishReason, usage };
    },
    end() {
      if (!open) return;
      open = false;
      ctx.emit({ type: 'turn-end', turn: number, usage: NO_USAGE, ...reply });
    },
  };
}
