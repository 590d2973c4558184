/** Keeps the worker's plan and shows it. The plan is whole in each call, so the model does not get it back. */
import * as z from 'zod';
import { PLAN_STATUSES, type PlanStep } from '../../events/types.js';
import { clean } from '../clean.js';
import { defineTool, ToolFailure, type ToolOutput } from '../types.js';
import doc from './tool.md';

const MAX_STEPS = 50;
const MAX_TEXT_CHARACTERS = 300;

const schema = z.object({
  steps: z.array(z.object({ text: z.string(), status: z.enum(PLAN_STATUSES), owner: z.string().optional() })),
});
type Input = z.output<typeof schema>;

export const updatePlanTool = defineTool({
  name: 'update_plan',
  doc,
  permission: 'meta',
  concurrency: 'serial',
  schema,
  subjects: () => [],
  async run(input, { keepPlan }): Promise<ToolOutput> {
    const steps = readSteps(input);
    keepPlan?.(steps);
    const active = steps.filter(({ status }) => status === 'active');
    const advice = active.length > 1 ? ` ${active.length} steps are active: one at a time is easier to follow.` : '';
    const output = steps.length === 0 ? 'The plan is empty now.' : `Noted: ${progressOf(steps)}.${advice}`;
    return { ok: true, output, display: { kind: 'lines', lines: [progressOf(steps)] } };
  },
});

function readSteps({ steps }: Input): readonly PlanStep[] {
  if (steps.length > MAX_STEPS)
    throw new ToolFailure(
      'bad-plan',
      `A plan has at most ${MAX_STEPS} steps, and this has ${steps.length}. Sum some up.`,
    );
  return steps.map(({ text, status, owner }, index) => {
    const line = oneLine(text);
    if (line === '') throw new ToolFailure('bad-plan', `Step ${index + 1} has no text.`);
    const by = owner === undefined ? '' : oneLine(owner);
    return { text: line, status, ...(by !== '' && { owner: by }) };
  });
}

function progressOf(steps: readonly PlanStep[]): string {
  const failed = steps.filter(({ status }) => status === 'failed').length;
  const done = `${steps.filter(({ status }) => status === 'done').length} of ${steps.length} steps done`;
  return failed === 0 ? done : `${done}, ${failed} failed`;
}

function oneLine(text: string): string {
  const line = clean(text).replace(/\s+/g, ' ').trim();
  return line.length <= MAX_TEXT_CHARACTERS
    ? line
    : `${line.slice(0, MAX_TEXT_CHARACTERS).replace(/[\ud800-\udbff]$/, '')}…`;
}
