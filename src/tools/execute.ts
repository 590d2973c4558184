/**
 * Runs one tool call: reads its arguments, asks the policy, asks the person, runs it. Every way it can go ends in a
 * result for the model; nothing is thrown. Order and concurrency of calls are `runtime/round.ts`'s.
 */
import { DeadlineError, messageOf } from '../errors.js';
import type { ApprovalQuestion, ApprovalVerdict, EventBody } from '../events/types.js';
import type { ToolCall } from '../kernel/types.js';
import type { Decision, Request, Subject } from '../permissions/types.js';
import { untilAborted } from './abort.js';
import { normalizeArguments } from './arguments.js';
import { type AttemptPolicy, DEFAULT_ATTEMPTS, failureOf, runAttempts } from './attempts.js';
import { checkedSubjects } from './check-output.js';
import { describeSubjects } from './describe-subjects.js';
import { INTERRUPTED, judge } from './judge-call.js';
import { keepWhole } from './keep-whole.js';
import type { AdvertisedTool } from './spec.js';
import { cutMiddle, joinCut } from './truncate.js';
import { type Tool, type ToolContext, ToolFailure, type ToolOutput } from './types.js';

/** A call whose arguments fit its tool, or the result that it gets without being run. */
export type PreparedCall = {
  readonly call: ToolCall;
  readonly tool: Tool | undefined;
  readonly input: unknown;
  readonly subjects: readonly Subject[];
  readonly problem: Unrun | undefined;
};

/** What a call that is not run comes to; `denied` says who refused it, if anyone did. */
export type Unrun = ToolOutput & Pick<Executed, 'denied'>;

/**
 * What came of a call. `ran` is false when it was refused, cancelled before its start or had bad arguments; its
 * duration is that of the tool itself, without the time that a person took to answer.
 */
export type Executed = ToolOutput & {
  readonly callId: string;
  readonly durationMs: number;
  readonly ran: boolean;
  /** How often the tool was tried; 0 when it did not run. */
  readonly attempts: number;
  readonly denied?: { readonly rule: string; readonly reason: string };
  /** A command that, by the read-only table, does no more than a read. */
  readonly onlyReads?: boolean;
};

export type ExecuteOptions = {
  readonly context: ToolContext;
  readonly decide: (request: Request) => Decision;
  /** `again` judges the call anew, for a question that has waited: an answer to another one may have settled it. */
  readonly approve: (question: ApprovalQuestion, again: () => Decision) => Promise<ApprovalVerdict>;
  readonly emit: (body: EventBody) => void;
  /** `DEFAULT_ATTEMPTS` if absent. */
  readonly attempts?: AttemptPolicy;
  /** Of the result that the model gets; `RESULT_LIMIT_BYTES` if absent. */
  readonly limitBytes?: number;
  /** May change what the tool gave back, before anyone is told of it. */
  readonly review?: (output: ToolOutput) => ToolOutput;
};

/** No tool's result may fill the window by itself; each tool cuts more wisely, and earlier, on its own. */
export const RESULT_LIMIT_BYTES = 20_000;

/** The tools a worker may call, and how they were advertised to it. */
type OfferedTools = { readonly tools: ReadonlyMap<string, Tool>; readonly toolSpecs: readonly AdvertisedTool[] };

/** Never rejects; a schema that does not come to an end is given up when `signal` aborts. */
export async function prepareCall(
  call: ToolCall,
  { tools, toolSpecs }: OfferedTools,
  signal: AbortSignal,
): Promise<PreparedCall> {
  const tool = tools.get(call.name);
  const refuse = (code: string, output: string): PreparedCall => ({
    call,
    tool,
    input: undefined,
    subjects: [],
    problem: { ok: false, code, output },
  });
  if (tool === undefined) {
    return refuse('unknown-tool', `There is no tool "${call.name}". The tools are: ${[...tools.keys()].join(', ')}.`);
  }
  let raw: unknown;
  try {
    raw = call.arguments.trim() === '' ? {} : JSON.parse(call.arguments);
  } catch (cause) {
    return refuse(
      'bad-arguments',
      `The arguments of ${call.name} are not valid JSON: ${messageOf(cause)}. Send the call again.`,
    );
  }
  const parameters = toolSpecs.find((spec) => spec.name === tool.name)?.parameters ?? {};
  try {
    const parsed = await untilAborted(signal, tool.schema.safeParseAsync(normalizeArguments(raw, parameters)));
    if (!parsed.success) {
      const issues = parsed.error.issues
        .map((issue) => `${issue.path.map(String).join('.') || 'arguments'}: ${issue.message}`)
        .join('; ');
      return refuse(
        'bad-arguments',
        `The arguments of ${call.name} do not fit: ${issues}. Send the call again, corrected.`,
      );
    }
    const subjects = checkedSubjects(tool.subjects(parsed.data));
    return { call, tool, input: parsed.data, subjects, problem: undefined };
  } catch (thrown) {
    if (thrown instanceof ToolFailure) return refuse(thrown.code, thrown.message);
    return refuse('tool-error', `${call.name} failed: ${messageOf(thrown)}`);
  }
}

/** Carries a prepared call through policy, approval and run, between its `tool-start` and its `tool-end`. */
export async function executeCall(prepared: PreparedCall, options: ExecuteOptions): Promise<Executed> {
  const { call } = prepared;
  const { context, emit } = options;
  const subject = titleOf(prepared);
  emit({
    type: 'tool-start',
    callId: call.id,
    name: call.name,
    arguments: call.arguments,
    ...(subject !== '' && { subject }),
  });

  const { denied, ran, durationMs, attempts, ...output } = await judgeAndRun(prepared, options).catch(
    // A question that breaks off, say. The call has started, so it ends, and the run goes on.
    (thrown: unknown) => (context.signal.aborted ? interrupted : notRun(failureOf(thrown, call.name, context.signal))),
  );
  const text = await withinLimit(context.mask(output.output), call, options);
  const { ok, touched, command, display } = output;
  // A limit that ends a tool is told as one, and not as a cancel.
  const isLimit = output.code === 'interrupted' && context.signal.reason instanceof DeadlineError;
  const code = isLimit ? 'timeout' : output.code;
  emit({
    type: 'tool-end',
    callId: call.id,
    name: call.name,
    ok,
    ...(code !== undefined && { code }),
    ...(denied && { denied: true, rule: denied.rule }),
    durationMs,
    attempts,
    output: text,
    ...(touched && { touched }),
    ...(command && { command }),
    ...(display && { display }),
  });
  return { ...output, output: text, callId: call.id, durationMs, ran, attempts, ...(denied && { denied }) };
}

async function withinLimit(
  text: string,
  { id }: ToolCall,
  { limitBytes = RESULT_LIMIT_BYTES, context }: ExecuteOptions,
): Promise<string> {
  const cut = cutMiddle(text, limitBytes);
  if (cut === undefined) return text;
  const file = await keepWhole(text, id, context);
  return joinCut(cut, file === undefined ? ' and lost: it could not be kept' : `; the whole of it is in ${file}`);
}

function titleOf({ tool, input, subjects, problem }: PreparedCall): string {
  try {
    const title: unknown = problem === undefined ? tool?.title?.(input) : undefined;
    if (typeof title === 'string') return title;
  } catch {
    // A title is only for show; without it the call is shown by its subjects.
  }
  return describeSubjects(subjects);
}

type Judged = ToolOutput & Pick<Executed, 'ran' | 'denied' | 'durationMs' | 'attempts' | 'onlyReads'>;

const notRun = (output: Unrun): Judged => ({ ...output, ran: false, durationMs: 0, attempts: 0 });

const interrupted = notRun(INTERRUPTED);

async function judgeAndRun(prepared: PreparedCall, options: ExecuteOptions): Promise<Judged> {
  const { tool, problem } = prepared;
  if (options.context.signal.aborted) return interrupted;
  if (problem !== undefined || tool === undefined) {
    return notRun(problem ?? { ok: false, code: 'unknown-tool', output: 'There is no such tool.' });
  }
  let subjects: readonly Subject[];
  try {
    subjects = await Promise.all(prepared.subjects.map((subject) => reallyAbout(subject, options.context)));
  } catch (thrown) {
    return notRun(failureOf(thrown, tool.name, options.context.signal));
  }
  const request: Request = { tool: prepared.call.name, permission: tool.permission, subjects };
  const decision = options.decide(request);
  const refusal = await judge(decision, prepared, request, tool, options);
  if (refusal !== undefined) return notRun(refusal);
  if (options.context.signal.aborted) return interrupted;
  const { context, attempts: policy = DEFAULT_ATTEMPTS, review = asItIs } = options;
  const startedAt = context.now();
  const { output, attempts } = await runAttempts(tool, prepared.input, context, policy);
  const onlyReads = decision.kind === 'allow' && decision.onlyReads === true;
  return {
    ...review(output),
    ran: true,
    attempts,
    durationMs: context.now() - startedAt,
    ...(onlyReads && { onlyReads }),
  };
}

const asItIs = (output: ToolOutput): ToolOutput => output;

/** A path as the gate resolves it: the policy judges where a link leads, not what it is called. */
async function reallyAbout(subject: Subject, { workspace }: ToolContext): Promise<Subject> {
  return subject.kind === 'path' ? { kind: 'path', path: (await workspace.locate(subject.path)).shown } : subject;
}
