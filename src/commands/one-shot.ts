/** One task from the command line to its exit code: read the task, wire, run, report. */
import { randomUUID } from 'node:crypto';
import type { Outcome } from '../kernel/types.js';
import { withTimeLimit } from '../runtime/deadline.js';
import { runWorker } from '../runtime/dispatch.js';
import type { AnswerForm } from '../runtime/typed.js';
import { workerNamed } from '../workers/select.js';
import type { Worker } from '../workers/types.js';
import { withCheckpoints } from './checkpoint-file.js';
import { ENTRY_WORKERS, type Intent } from './intent.js';
import { type Io, pathFrom } from './io.js';
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
  const report = createReport({ io, flags: intent.flags, sessionId: randomUUID(), startedAt: io.now() });
  try {
    const form = await answerFormOf(intent.flags.jsonSchema, io.cwd);
    const onWait = () => report.hint('moreStdin');
    const task = await readTask(intent.words, { stdin: io.stdin, signal: io.signal, onWait });
    const run = await wire({ intent, io, report });
    try {
      const limit = { timeoutMs: run.timeoutMs, whose: 'The run', now: io.now, signal: io.signal };
      const doing = { intent, report, form, cwd: io.cwd };
      const outcome = await withTimeLimit(limit, (signal) => runTask(run, task, { ...doing, signal }));
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

async function runTask(run: WiredRun, task: string, { intent, report, form, signal, cwd }: Doing): Promise<Outcome> {
  const { tree } = run;
  const describe = (worker: Worker) =>
    report.setRun({ worker: worker.name, model: tree.modelOf(worker), budget: tree.budget, ledger: tree.ledger });
  const { worker: named } = intent.flags;
  const entry = workerNamed(named ?? ENTRY_WORKERS[intent.kind], tree.workers);
  describe(entry);
  const picks = named === undefined && run.picksWorker;
  const worker = picks ? await pickWorker(tree, entry, task, signal) : entry;
  describe(worker);
  const held = heldTo(form, tree, worker);
  const { checkpoint } = intent.flags;
  const file = checkpoint === undefined ? undefined : pathFrom(cwd, checkpoint);
  const kept =
    file === undefined
      ? held
      : await withCheckpoints(held, worker, { file, stateFolder: run.stateFolder, schema: form?.schema });
  // A key that was pasted or piped in is not for the model.
  return runWorker(kept, {
    worker,
    task: tree.toolContext.mask(task),
    index: 0,
    total: 1,
    signal,
  });
}
