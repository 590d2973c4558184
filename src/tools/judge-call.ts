/** What a decision of the policy comes to for one call: it runs, it is refused, or the person says. */
import { isDeepStrictEqual } from 'node:util';
import type { ApprovalQuestion, ApprovalVerdict, Display } from '../events/types.js';
import type { ToolCall } from '../kernel/types.js';
import type { Decision, Request } from '../permissions/types.js';
import { hasInvisible, madeVisible } from '../permissions/visible.js';
import { untilAborted } from './abort.js';
import { failureOf } from './attempts.js';
import { checkedDisplay } from './check-output.js';
import { describeSubjects } from './describe-subjects.js';
import type { ExecuteOptions, PreparedCall, Unrun } from './execute.js';
import type { Tool, ToolContext } from './types.js';

const MAX_QUESTIONS = 3; // About one change, whose file does not stay as it was shown.
const KEEPS_CHANGING = 'Not run: what it would change goes on changing while the person is asked. Read it again.';

/** For a call that was cancelled before it ran. */
export const INTERRUPTED: Unrun = { ok: false, code: 'interrupted', output: 'Not run: interrupted.' };

/** Puts a decision into effect: asks where it says so. Undefined when the call may run. */
export async function judge(
  decision: Decision,
  { call, input }: Pick<PreparedCall, 'call' | 'input'>,
  request: Request,
  tool: Tool,
  options: Pick<ExecuteOptions, 'context' | 'decide' | 'approve'>,
): Promise<Unrun | undefined> {
  if (decision.kind === 'allow') return undefined;
  if (decision.kind === 'deny') return refusal(decision.rule, decision.reason);
  let shown = await whatToShow(tool, input, options.context);
  for (let asked = 1; ; asked++) {
    if ('unrun' in shown) return shown.unrun;
    const question = questionOf(decision, request, call, shown.display);
    const verdict = await options.approve(question, () => options.decide(request));
    if (options.context.signal.aborted) return INTERRUPTED;
    if (verdict.answer === 'no') return refusedBy(verdict);
    if (shown.display?.kind !== 'diff' && shown.display?.kind !== 'diffs') return undefined;
    // A question may stand for long: the person agreed to what was shown, not to what it would be by now.
    const now = await whatToShow(tool, input, options.context);
    if (isDeepStrictEqual(now, shown)) return undefined;
    if (asked === MAX_QUESTIONS) return { ok: false, code: 'changed-on-disk', output: KEEPS_CHANGING };
    shown = now;
  }
}

type Shown = { readonly display: Display | undefined } | { readonly unrun: Unrun };

/** What the person is shown; a call that can't succeed need not be asked for. */
async function whatToShow(tool: Tool, input: unknown, context: ToolContext): Promise<Shown> {
  try {
    return { display: checkedDisplay(await untilAborted(context.signal, tool.preview?.(input, context))) };
  } catch (thrown) {
    return { unrun: context.signal.aborted ? INTERRUPTED : failureOf(thrown, tool.name, context.signal) };
  }
}

function questionOf(
  decision: Extract<Decision, { kind: 'ask' }>,
  { subjects }: Request,
  call: ToolCall,
  display: Display | undefined,
): ApprovalQuestion {
  const subject = describeSubjects(subjects) || call.arguments;
  const { reason, rule, storedRule, matched } = decision;
  const cwd = subjects.find(({ kind }) => kind === 'command');
  return {
    tool: call.name,
    subject,
    shown: madeVisible(subject),
    ...(hasInvisible(subject) && { hasInvisible: true }),
    ...(cwd?.kind === 'command' && { cwd: cwd.cwd }),
    reason,
    ...(matched && { matched }),
    ...(rule !== undefined && { rule }),
    ...(storedRule !== undefined && { storedRule }),
    ...(display && { display }),
  };
}

function refusedBy({ message, by }: ApprovalVerdict): Unrun {
  if (by === 'timeout')
    return refusal('no answer', `${message ?? 'Nobody answered in time.'} That counts as no. Do something else.`);
  if (message !== undefined) return refusal('the person', `The person said no, and: ${message}`);
  return refusal('the person', 'The person said no. Do something else, or ask what they want.');
}

function refusal(rule: string, reason: string): Unrun {
  return { ok: false, code: 'denied', output: `Denied (${rule}): ${reason}`, denied: { rule, reason } };
}
