/** `--checkpoint FILE`: stores a run after each step, and goes on from what is stored there. */
import { UsageError } from '../errors.js';
import { canGoOn, taskOf } from '../kernel/transcript.js';
import type { State } from '../kernel/types.js';
import { shorten } from '../output/format.js';
import { CheckpointError, createCheckpoints, fingerprintOf } from '../runtime/checkpoint.js';
import type { RunTree } from '../runtime/context.js';
import type { Worker } from '../workers/types.js';
import { checkpointKey, openCheckpointFile } from './checkpoint-file.js';
import { earlierSpools } from './spool.js';

export type CheckpointRequest = {
  /** What the flag says, from `cwd` if it is relative. */
  readonly file: string;
  readonly cwd: string | undefined;
  /** Where the key is kept that signs checkpoints, one a user, and what was too long to hand over to the model. */
  readonly stateFolder: string;
  readonly tree: RunTree;
  /** Those that may be the root of this run. */
  readonly workers: readonly Worker[];
  /** As the run is given it. */
  readonly task: string;
  /** That of the answer, if it has to have one. */
  readonly schema: unknown;
};

export type CheckpointedRun = {
  /** The worker whose run is gone on with; undefined where a new run begins. */
  readonly worker: Worker | undefined;
  /** The tree whose root, of this worker, writes its state to the file, and starts from what is stored. */
  readonly kept: (tree: RunTree, worker: Worker) => RunTree;
};

/** Characters that are shown of each of two tasks. */
const TASK_WIDTH = 100;

/**
 * Reads what is stored, and says whether this run begins anew or goes on; a run that was answered leaves nothing to go
 * on with.
 * @throws {CheckpointError} for a checkpoint that is not one, was changed, or is of another configuration.
 * @throws {UsageError} when the file can't be used, or its run is of another task.
 */
export async function openCheckpoint(request: CheckpointRequest): Promise<CheckpointedRun> {
  const { file, tree, task } = request;
  const { token, save } = await openCheckpointFile(file, request.cwd);
  const checkpoints = createCheckpoints({ secret: await checkpointKey(request.stateFolder), now: tree.now });
  const fingerprint = (worker: Worker) =>
    fingerprintOf({
      model: tree.modelOf(worker),
      // The page alone: the rest of the prompt has the date in it, and stands in the stored state.
      systemPrompt: worker.prompt,
      limits: tree.limitsOf(worker),
      toolNames: worker.tools,
      output: request.schema,
    });
  const stored =
    token === undefined
      ? undefined
      : firstOf(request.workers, (worker) => ({ worker, ...checkpoints.open(token, fingerprint(worker)) }));
  const resumed = stored && canGoOn(stored.state) ? stored : undefined;
  if (resumed) {
    refuseOtherTask(taskOf(resumed.state), task, file);
    tree.budget.countEarlier(resumed.state.usage, tree.modelOf(resumed.worker));
    const { workspace } = tree.toolContext;
    const texts = resumed.state.messages.map(({ content }) => content);
    // The history says of these folders that results can be read there.
    for (const folder of await earlierSpools({ stateFolder: request.stateFolder, root: workspace.root }, texts))
      await workspace.allowReading(folder);
  }
  if (stored)
    tell(tree, resumed ? `Going on with the run in ${file}.` : `The run in ${file} was answered: a new one begins.`);

  return {
    worker: resumed?.worker,
    kept: (own, worker) => {
      const onState: RunTree['rootOptions']['onState'] = (state: State, point) =>
        save(checkpoints.seal({ state, fingerprint: fingerprint(worker), point }));
      return { ...own, rootOptions: { ...own.rootOptions, onState, ...(resumed && { resumeFrom: resumed.state }) } };
    },
  };
}

/** What `open` gives for the first worker whose configuration the checkpoint is of. */
function firstOf<Opened>(workers: readonly Worker[], open: (worker: Worker) => Opened): Opened | undefined {
  let other: CheckpointError | undefined;
  for (const worker of workers) {
    try {
      return open(worker);
    } catch (thrown) {
      if (!(thrown instanceof CheckpointError && thrown.code === 'other-config')) throw thrown;
      other = thrown;
    }
  }
  if (other) throw other;
  return undefined;
}

function refuseOtherTask(stored: string, given: string, file: string): void {
  if (stored === given) return;
  // Long ones may begin alike: a file that was piped in, and changed since.
  let alike = 0;
  while (alike < stored.length && stored[alike] === given[alike]) alike += 1;
  const from = alike < TASK_WIDTH / 2 ? 0 : alike - 20;
  const shown = (task: string) => `"${from > 0 ? '…' : ''}${shorten(task.slice(from), TASK_WIDTH)}"`;
  throw new UsageError(`The run in ${file} is of another task.`, {
    hint: [
      `Its task: ${shown(stored)}`,
      `Given now: ${shown(given)}`,
      'Give the same task to go on with it, or another file for this one.',
    ].join('\n'),
  });
}

function tell(tree: RunTree, text: string): void {
  tree.emitter.forRun({ runId: 'start', worker: 'chatcli' })({
    type: 'notice',
    level: 'info',
    code: 'checkpoint',
    text,
  });
}
