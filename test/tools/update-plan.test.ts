import { describe, expect, it } from 'vitest';
import type { PlanStep } from '../../src/events/types.js';
import { updatePlanTool } from '../../src/tools/update-plan/tool.js';
import { bench } from './bench.js';

async function plan(steps: readonly object[]) {
  const { call, context } = await bench();
  const kept: (readonly PlanStep[])[] = [];
  Object.assign(context, { keepPlan: (given: readonly PlanStep[]) => kept.push(given) });
  return { ...(await call(updatePlanTool, { steps })), kept };
}

describe('update_plan', () => {
  it('keeps the steps and confirms them in a few words', async () => {
    const steps = [
      { text: 'Look', status: 'done' },
      { text: 'Change', status: 'active', owner: 'coder' },
      { text: 'Check', status: 'pending' },
    ];
    const { ok, output, kept } = await plan(steps);
    expect({ ok, output, kept }).toEqual({ ok: true, output: 'Noted: 1 of 3 steps done.', kept: [steps] });
  });

  it.each([
    ['what failed', ['done', 'failed'], 'Noted: 1 of 2 steps done, 1 failed.'],
    [
      'that too much is at work',
      ['active', 'active'],
      'Noted: 0 of 2 steps done. 2 steps are active: one at a time is easier to follow.',
    ],
    ['that there is none', [], 'The plan is empty now.'],
  ])('says %s', async (_, statuses, expected) => {
    expect((await plan(statuses.map((status) => ({ text: 'x', status })))).output).toBe(expected);
  });

  it('takes control sequences out, and cuts what is no line', async () => {
    const { kept } = await plan([
      { text: 'a\u001b[31m\nb\u202e', status: 'pending', owner: ' ' },
      { text: 'x'.repeat(999), status: 'done' },
    ]);
    expect(kept).toEqual([
      [
        { text: 'a b', status: 'pending' },
        { text: `${'x'.repeat(300)}…`, status: 'done' },
      ],
    ]);
  });

  it.each([
    ['too many steps', Array.from({ length: 51 }, () => ({ text: 'x', status: 'pending' }))],
    ['a step without text', [{ text: ' ', status: 'pending' }]],
  ])('keeps no plan with %s', async (_, steps) => {
    const { code, kept } = await plan(steps);
    expect({ code, kept }).toEqual({ code: 'bad-plan', kept: [] });
  });
});
