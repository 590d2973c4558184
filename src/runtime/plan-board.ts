/** Where the plans of a tree stand, each as its worker last gave it. */
import type { PlanStep } from '../events/types.js';

export type PlanBoard = {
  readonly set: (runId: string, steps: readonly PlanStep[]) => void;
  /** Empty for a run that gave none. */
  readonly of: (runId: string) => readonly PlanStep[];
};

export function createPlanBoard(): PlanBoard {
  const plans = new Map<string, readonly PlanStep[]>();
  return {
    set: (runId, steps) => void plans.set(runId, steps),
    of: (runId) => plans.get(runId) ?? [],
  };
}

/** The plan as text, for a model that would not see it any more; empty for none. */
export function planText(steps: readonly PlanStep[]): string {
  const lines = steps.map(
    ({ text, status, owner }) => `- ${status}: ${text}${owner === undefined ? '' : ` (${owner})`}`,
  );
  return lines.length === 0 ? '' : ['Your plan, as you last gave it to update_plan:', ...lines].join('\n');
}
