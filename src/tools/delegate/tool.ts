/** Hands tasks to specialised workers. Running them is the dispatcher's; it comes in through the context. */
import * as z from 'zod';
import { type DelegatedResult, defineTool, type ToolOutput } from '../types.js';
import doc from './tool.md';

const schema = z.object({
  tasks: z
    .array(
      z.object({
        worker: z.string(),
        task: z.string().min(1),
        files: z.array(z.string()).optional().describe('Paths the worker should look at first'),
      }),
    )
    .min(1),
});

export const delegateTool = defineTool({
  name: 'delegate',
  doc,
  permission: 'meta',
  concurrency: 'serial',
  // Each worker has its own.
  ownTimeout: true,
  schema,
  subjects: () => [],
  title: ({ tasks }) => tasks.map(({ worker }) => worker).join(', '),
  async run({ tasks }, context): Promise<ToolOutput> {
    if (context.delegate === undefined) {
      return { ok: false, code: 'no-delegation', output: 'A delegated worker cannot delegate. Do the work yourself.' };
    }
    const results = await context.delegate(tasks);
    const failed = results.filter((result) => result.status !== 'done');
    const advice =
      failed.length === 0
        ? ''
        : '\n\nSome workers did not finish: look at why, then delegate what is open again, or say so.';
    return {
      ok: failed.length < results.length,
      ...(failed.length === results.length && { code: 'workers-failed' }),
      output: results.map(describeResult).join('\n\n') + advice,
      display: { kind: 'lines', lines: results.map((result) => `${result.worker}: ${result.problem ?? 'done'}`) },
    };
  },
});

function describeResult(result: DelegatedResult, index: number): string {
  const files = result.filesChanged.length === 0 ? '' : `\nFiles changed: ${result.filesChanged.join(', ')}`;
  const problem = result.problem === undefined ? '' : `\nProblem: ${result.problem}`;
  return `[${index + 1}] ${result.worker}: ${result.status}${problem}${files}\n${result.text}`.trimEnd();
}
