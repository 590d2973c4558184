/** Which worker runs a task. */
import { UsageError } from '../errors.js';
import type { Message } from '../kernel/types.js';
import { fillPrompt } from '../prompt.js';
import pickPrompt from './select/pick.md';
import type { Worker } from './types.js';

/** Runs when a pick makes no sense: it can do whatever the others can. */
export const FALLBACK_WORKER = 'coder';

/** `coder` → `CoderAgent`, the name people know from ChatCLI. */
export function displayName(worker: string): string {
  const words = worker.split('-').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return worker === 'agent' ? 'Agent' : `${words.join('')}Agent`;
}

/**
 * The worker a person named, in any of its spellings: `coder`, `@coder`, `CoderAgent`.
 * @throws {UsageError} when there is none.
 */
export function workerNamed(name: string, workers: ReadonlyMap<string, Worker>): Worker {
  const wanted = name.replace(/^@/, '').toLowerCase();
  const worker = workers.get(wanted) ?? workers.get(wanted.replace(/agent$/, ''));
  if (worker !== undefined) return worker;
  throw new UsageError(`There is no worker "${name}".`, {
    hint: `The workers are: ${[...workers.keys()].join(', ')}.`,
  });
}

/** The workers a lead or a pick may choose from. */
export function catalogue(workers: ReadonlyMap<string, Worker>): readonly Worker[] {
  return [...workers.values()].filter((worker) => !worker.entry);
}

/** One line a worker, for a prompt. */
export function describeCatalogue(workers: readonly Worker[]): string {
  return workers.map((worker) => `- ${worker.name}: ${worker.whenToUse}`).join('\n');
}

/** The request that has the model pick one worker for a task. */
export function pickMessages(task: string, workers: readonly Worker[]): readonly Message[] {
  return [
    { role: 'system', content: fillPrompt(pickPrompt, { workers: describeCatalogue(workers) }) },
    { role: 'user', content: task },
  ];
}

/** Reads the model's pick. `valid` is false when it named no worker of the catalogue, and the fallback is taken. */
export function readPick(
  answer: string,
  workers: readonly Worker[],
): { readonly worker: string; readonly valid: boolean } {
  const picked = pickedName(answer);
  const known = workers.some((worker) => worker.name === picked);
  return known && picked !== undefined ? { worker: picked, valid: true } : { worker: FALLBACK_WORKER, valid: false };
}

function pickedName(answer: string): string | undefined {
  const object = /\{[^{}]*\}/.exec(answer)?.[0];
  if (object === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(object);
    const name = typeof value === 'object' && value !== null && 'worker' in value ? value.worker : undefined;
    return typeof name === 'string' ? name.toLowerCase() : undefined;
  } catch {
    // Not JSON: an invalid pick like any other, for which there is the fallback.
    return undefined;
  }
}
