/** What one worker may use, out of the general settings, its own variables and its page. */
import type { WorkerOverride } from './schema.js';

export type WorkerSettings = {
  /** Whether the lead may delegate. */
  readonly parallel: boolean;
  /** The general limit of model calls. */
  readonly maxTurns: number;
  /** The general limit of time. */
  readonly timeoutMs: number;
  /** A worker's own variables, by its name. */
  readonly own: Readonly<Record<string, WorkerOverride>>;
  /** What a flag set: it wins over a worker's own variables as well. */
  readonly fromFlags: Pick<WorkerOverride, 'model' | 'maxTurns'>;
};

/** The limits that a worker's page may set. */
export type PageLimits = { readonly maxTurns?: number; readonly timeoutMs?: number };

/**
 * A worker's limits: flag, else its own variable, else the general variable or its default.
 * The page's limit lowers that result where it is smaller, and never raises it.
 */
export function limitsFor(
  workers: WorkerSettings,
  workerName: string,
  page: PageLimits = {},
): { readonly maxTurns: number; readonly timeoutMs: number } {
  const own = ownSettings(workers, workerName);
  const maxTurns = workers.fromFlags.maxTurns ?? own.maxTurns ?? workers.maxTurns;
  const timeoutMs = own.timeoutMs ?? workers.timeoutMs;
  return {
    maxTurns: Math.min(maxTurns, page.maxTurns ?? maxTurns),
    timeoutMs: Math.min(timeoutMs, page.timeoutMs ?? timeoutMs),
  };
}

/** A worker's model: flag, else its own variable, else its page's, else the general one. */
export function modelFor<Model extends string | undefined>(
  workers: WorkerSettings,
  workerName: string,
  models: { readonly general: Model; readonly page?: string | undefined },
): string | Model {
  return workers.fromFlags.model ?? ownSettings(workers, workerName).model ?? models.page ?? models.general;
}

function ownSettings(workers: WorkerSettings, workerName: string): WorkerOverride {
  return (Object.hasOwn(workers.own, workerName) && workers.own[workerName]) || {};
}
