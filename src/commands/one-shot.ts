/** One task from the command line to its exit code: read the task, wire, run, report. */
import { randomUUID } from 'node:crypto';
import { runWorker } from '../runtime/dispatch.js';
import { workerNamed } from '../workers/select.js';
import { ENTRY_WORKERS, type Intent } from './intent.js';
import type { Io } from './io.js';
import { pickWorker } from './pick-worker.js';
import { createReport } from './report.js';
import { readTask } from './task-input.js';
import { wire } from './wire.js';

/**
 * Runs one task and reports it on stdout and stderr in the format asked for.
 * @returns the exit code. Whatever goes wrong is reported here too: nothing is thrown.
 */
export async function runOneShot(intent: Intent, io: Io): Promise<number> {
  const startedAt = io.now();
  const sessionId = randomUUID();
  const report = createReport({ io, flags: intent.flags, sessionId, startedAt });
  try {
    const task = await readTask(intent.words, {
      stdin: io.stdin,
      signal: io.signal,
      onWait: () => report.hint('moreStdin'),
    });
    const run = await wire({ intent, io, report });
    try {
      const named = intent.flags.worker === undefined ? undefined : workerNamed(intent.flags.worker, run.tree.workers);
      const entry = named ?? workerNamed(ENTRY_WORKERS[intent.kind], run.tree.workers);
      const worker =
        named === undefined && run.picksWorker ? await pickWorker(run.tree, entry, task, run.signal) : entry;
      report.setRun({
        worker: worker.name,
        model: run.tree.modelOf(worker),
        budget: run.tree.budget,
        ledger: run.tree.ledger,
      });
      const outcome = await runWorker(run.tree, { worker, task, index: 0, total: 1, signal: run.signal });
      return report.outcome(outcome);
    } finally {
      await run.close();
    }
  } catch (thrown) {
    return report.failure(thrown);
  }
}
