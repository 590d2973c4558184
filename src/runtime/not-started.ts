/** A run that could not start: it has an outcome and its events all the same, so that whoever reads them sees its end. */
import { resolve } from 'node:path';
import { NO_USAGE } from '../kernel/step.js';
import type { Outcome } from '../kernel/types.js';
import type { AgentParts, RunStart } from './agent-run.js';
import { AGENT_WORKER, limitsOf } from './agent-tree.js';
import { errorOf } from './perform.js';
import type { ActiveRun } from './run-slot.js';

/** Tells the run's start and end, gives back what was steered into it, and says in the outcome what was thrown. */
export function notStarted(
  { options, emitter }: Pick<AgentParts, 'options' | 'emitter'>,
  { task, ask }: Pick<RunStart, 'task' | 'ask'>,
  run: Pick<ActiveRun, 'id' | 'inbox'>,
  thrown: unknown,
): Outcome {
  const emit = emitter.forRun({ runId: run.id, worker: AGENT_WORKER });
  const { maxTurns, timeoutMs } = limitsOf(options, ask);
  const cwd = resolve(options.workspace ?? '.');
  const proof = { filesChanged: [], commandsSinceLastEdit: [] };
  const end = { reason: 'failed', answer: '', turns: 0, usage: NO_USAGE, proof, error: errorOf(thrown) } as const;

  emit({ type: 'worker-start', index: 0, total: 1, task });
  emit({ type: 'run-start', task, model: options.model ?? '', cwd, maxTurns, timeoutMs });
  for (const input of run.inbox.close()) emit({ type: 'input', status: 'dropped', ...input });
  emit({ type: 'run-end', ...end, durationMs: 0 });
  emit({ type: 'worker-end', index: 0, total: 1, status: 'failed', durationMs: 0, turns: 0, error: end.error });
  return { ...end, verdicts: [] };
}
