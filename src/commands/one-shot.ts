/** One task from the command line to its exit code: read the task, wire, run, report. */
import { randomUUID } from 'node:crypto';
import type { Outcome } from '../kernel/types.js';
import { withTimeLimit } from '../runtime/deadline.js';
import { runWorker } from '../runtime/dispatch.js';
import type { AnswerForm } from '../runtime/typed.js';
import { catalogue, workerNamed } from '../workers/select.js';
import type { Worker } from '../workers/types.js';
import { openCheckpoint } from './checkpoint-run.js';
import { ENTRY_WORKERS, type Intent } from './intent.js';
import type { Io } from './io.js';
import { answerFormOf, heldTo, structuredOf } from './json-schema.js';
import { pickWorker } from './pick-worker.js';
import { createReport, type Report } from './report.js';
import { readTask } from './task-input.js';
import { type WiredRun, wire } from './wire.js';

/**
 * Runs one task and reports it on stdout and stderr in the format asked for.
 * @returns the exit code. Whatever goes wrong is reported here too: nothing is thrown.
 */
export async function runOneShot(intent: Intent, io: Io): Promise<number> {
  const sessionId = randomUUID();
  const report = createReport({ io, flags: intent.flags, sessionId, startedAt: io.now() });
  try {
    const form = await answerFormOf(intent.flags.jsonSchema, io.cwd);
    const onWait = () => report.hint('moreStdin');
    const task = await readTask(intent.words, { stdin: io.stdin, signal: io.signal, onWait });
    const run = await wire({ intent, io, report });
    try {
      run.beginTurn(task, sessionId);
      const limit = { timeoutMs: run.timeoutMs, whose: 'The run', now: io.now, signal: io.signal };
      const doing = { intent, report, form, cwd: io.cwd };
      const work = withTimeLimit(limit, (signal) => runTask(run, task, { ...doing, signal }));
      const outcome = await work.finally(run.endTools);
      return report.outcome(outcome, await structuredOf(outcome, form));
    } finally {
      run.close();
    }
  } catch (thrown) {
    return report.failure(thrown);
  }
}

type Doing = {
  readonly intent: Intent;
  readonly report: Report;
  readonly form: AnswerForm | undefined;
  readonly cwd: string | undefined;
  readonly signal: AbortSignal;
};

async function runTask(run: WiredRun, given: string, { intent, report, form, signal, cwd }: Doing): Promise<Outcome> {
  const { tree } = run;
  // A key that was pasted or piped in is not for the model.
  const task = tree.toolContext.mask(given);
  const describe = (worker: Worker) =>
    report.setRun({ worker: worker.name, model: tree.modelOf(worker), budget: tree.budget, ledger: tree.ledger });
  const { worker: named } = intent.flags;
  const entry = workerNamed(named ?? ENTRY_WORKERS[intent.kind], tree.workers);
  describe(entry);
  const picks = named === undefined && run.picksWorker;
  const { checkpoint: file } = intent.flags;
  const workers = picks ? catalogue(tree.workers) : [entry];
  const stored =
    file === undefined
      ? undefined
      : await openCheckpoint({ file, cwd, tree, workers, task, stateFolder: run.stateFolder, schema: form?.schema });
  const worker = stored?.worker ?? (picks ? await pickWorker(tree, entry, task, signal) : entry);
  describe(worker);
  const held = heldTo(form, tree, worker);
  return runWorker(stored?.kept(held, worker) ?? held, {
    worker,
    task,
    index: 0,
    total: 1,
    signal,
  });
}
