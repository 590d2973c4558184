/** Without delegation one short request picks the one worker that runs the task. */
import { askModel } from '../runtime/ask-model.js';
import { createRunContext, type RunTree } from '../runtime/context.js';
import { withTimeLimit } from '../runtime/deadline.js';
import { catalogue, FALLBACK_WORKER, pickMessages, readPick, workerNamed } from '../workers/select.js';
import type { Worker } from '../workers/types.js';

const SHOWN: ReadonlySet<string> = new Set(['retry', 'fallback']);

/**
 * Asks the model which worker of the catalogue fits, and tells the pick as a notice. An invalid pick means coder.
 * The time limit of a worker binds it too.
 * @throws what the provider throws, and the signal's reason on abort.
 */
export function pickWorker(tree: RunTree, lead: Worker, task: string, signal: AbortSignal): Promise<Worker> {
  const limit = { timeoutMs: tree.limitsOf(lead).timeoutMs, whose: 'The choice of a worker', now: tree.now, signal };
  return withTimeLimit(limit, (limited) => pick(tree, lead, task, limited));
}

async function pick(tree: RunTree, lead: Worker, task: string, signal: AbortSignal): Promise<Worker> {
  const ctx = createRunContext(tree, lead, { signal });
  // The pick's own words are no part of the conversation; only what went wrong and its result are told.
  const quiet = {
    ...ctx,
    emit: (body: Parameters<typeof ctx.emit>[0]) => (SHOWN.has(body.type) ? ctx.emit(body) : undefined),
  };
  const workers = catalogue(tree.workers);
  const reply = await askModel(
    { model: ctx.model, messages: pickMessages(tree.toolContext.mask(task), workers), tools: [] },
    quiet,
  );
  const { worker, valid } = readPick(reply.text, workers);
  const text = valid ? `Picked the worker ${worker}.` : `The pick named no worker; ${FALLBACK_WORKER} takes the task.`;
  ctx.emit({ type: 'notice', level: 'info', code: 'worker-picked', text });
  return workerNamed(worker, tree.workers);
}
