/**
 * Runs one tool call: reads its arguments, asks the policy, asks the person, runs it. Every way it can go ends in a
 * result for the model; nothing is thrown. Order and concurrency of calls are `runtime/round.ts`'s.
 */
import { messageOf } from '../errors.js';
import type { ApprovalAnswer, ApprovalQuestion, Display, EventBody } from '../events/types.js';
import type { ToolCall } from '../kernel/types.js';
import type { Decision, Request, Subject } from '../permissions/types.js';
import { normalizeArguments } from './arguments.js';
import type { AdvertisedTool } from './spec.js';
import { truncateOutput } from './truncate.js';
import { type Tool, type ToolContext, ToolFailure, type ToolOutput } from './types.js';

/** A call whose arguments fit its tool, or the result that says why they do not. */
export type PreparedCall = {
  readonly call: ToolCall;
  readonly tool: Tool | undefined;
  readonly input: unknown;
  readonly subjects: readonly Subject[];
  readonly problem: ToolOutput | undefined;
};

/**
 * What came of a call. `ran` is false when it was refused, cancelled before its start or had bad arguments; its
 * duration is that of the tool itself, without the time that a person took to answer.
 */
export type Executed = ToolOutput & {
  readonly callId: string;
  readonly durationMs: number;
  readonly ran: boolean;
  readonly denied?: { readonly rule: string; readonly reason: string };
};

export type ExecuteOptions = {
  readonly context: ToolContext;
  readonly decide: (request: Request) => Decision;
  readonly approve: (question: ApprovalQuestion) => Promise<ApprovalAnswer>;
  readonly emit: (body: EventBody) => void;
};

/** No tool's result may fill the window by itself; each tool cuts more wisely, and earlier, on its own. */
const RESULT_LIMIT_BYTES = 30_000;

/** The tools a worker may call, and how they were advertised to it. */
type OfferedTools = { readonly tools: ReadonlyMap<string, Tool>; readonly toolSpecs: readonly AdvertisedTool[] };

export function prepareCall(call: ToolCall, { tools, toolSpecs }: OfferedTools): PreparedCall {
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
  const parsed = tool.schema.safeParse(normalizeArguments(raw, parameters));
  if (!parsed.success) {
    const issues = parsed.error.issues
      .map((issue) => `${issue.path.join('.') || 'arguments'}: ${issue.message}`)
      .join('; ');
    return refuse(
      'bad-arguments',
      `The arguments of ${call.name} do not fit: ${issues}. Send the call again, corrected.`,
    );
  }
  return { call, tool, input: parsed.data, subjects: tool.subjects(parsed.data), problem: undefined };
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

  const done = await judgeAndRun(prepared, options);
  const { denied, ran, durationMs, ...output } = done;
  const text = truncateOutput(context.mask(output.output), RESULT_LIMIT_BYTES);
  const { ok, code, touched, command, display } = output;
  emit({
    type: 'tool-end',
    callId: call.id,
    name: call.name,
    ok,
    ...(code !== undefined && { code }),
    ...(denied && { denied: true, rule: denied.rule }),
    durationMs,
    attempts: ran ? 1 : 0,
    output: text,
    ...(touched && { touched }),
    ...(command && { command }),
    ...(display && { display }),
  });
  return { ...output, output: text, callId: call.id, durationMs, ran, ...(denied && { denied }) };
}

function titleOf({ tool, input, subjects, problem }: PreparedCall): string {
  return (problem === undefined ? tool?.title?.(input) : undefined) ?? describeSubjects(subjects);
}

/** What a call is about, for people: its path, command or URL. */
export function describeSubjects(subjects: readonly Subject[]): string {
  return subjects
    .map((subject) => {
      if (subject.kind === 'path') return subject.path;
      if (subject.kind === 'command') return subject.command;
      return subject.kind === 'url' ? subject.url : '';
    })
    .filter((text) => text !== '')
    .join(', ');
}

type Judged = ToolOutput & Pick<Executed, 'ran' | 'denied' | 'durationMs'>;

async function judgeAndRun(prepared: PreparedCall, options: ExecuteOptions): Promise<Judged> {
  const { tool, problem } = prepared;
  if (options.context.signal.aborted) return interrupted;
  if (problem !== undefined || tool === undefined) {
    return { ...(problem ?? { ok: false, output: 'There is no such tool.' }), ran: false, durationMs: 0 };
  }
  let subjects: readonly Subject[];
  try {
    subjects = await Promise.all(prepared.subjects.map((subject) => reallyAbout(subject, options.context)));
  } catch (thrown) {
    return { ...failureOf(thrown, tool, options.context), ran: false, durationMs: 0 };
  }
  const refusal = await judge(prepared, subjects, tool, options);
  if (refusal !== undefined) return refusal;
  if (options.context.signal.aborted) return interrupted;
  const startedAt = options.context.now();
  const output = await runTool(tool, prepared.input, options.context);
  return { ...output, ran: true, durationMs: options.context.now() - startedAt };
}

const interrupted: Judged = {
  ok: false,
  code: 'interrupted',
  output: 'Not run: interrupted.',
  ran: false,
  durationMs: 0,
};

/** A path as the gate resolves it: the policy judges where a link leads, not what it is called. */
async function reallyAbout(subject: Subject, { workspace }: ToolContext): Promise<Subject> {
  return subject.kind === 'path' ? { kind: 'path', path: (await workspace.locate(subject.path)).shown } : subject;
}

/** Undefined when the call may run. */
async function judge(
  { call, input }: PreparedCall,
  subjects: readonly Subject[],
  tool: Tool,
  options: ExecuteOptions,
): Promise<Judged | undefined> {
  const decision = options.decide({ tool: call.name, permission: tool.permission, subjects });
  if (decision.kind === 'allow') return undefined;
  if (decision.kind === 'deny') return refusal(decision.rule, decision.reason);
  let display: Display | undefined;
  try {
    display = await tool.preview?.(input, options.context);
  } catch (thrown) {
    // What can't succeed need not be asked for.
    return { ...failureOf(thrown, tool, options.context), ran: false, durationMs: 0 };
  }
  const question: ApprovalQuestion = {
    tool: call.name,
    subject: describeSubjects(subjects) || call.arguments,
    reason: decision.reason,
    ...(decision.rule !== undefined && { rule: decision.rule }),
    ...(display && { display }),
  };
  const answer = await options.approve(question);
  if (options.context.signal.aborted) return interrupted;
  return answer === 'no'
    ? refusal('the person', 'The person said no. Do something else, or ask what they want.')
    : undefined;
}

function refusal(rule: string, reason: string): Judged {
  return {
    ok: false,
    code: 'denied',
    output: `Denied (${rule}): ${reason}`,
    ran: false,
    durationMs: 0,
    denied: { rule, reason },
  };
}

async function runTool(tool: Tool, input: unknown, context: ToolContext): Promise<ToolOutput> {
  try {
    return await tool.run(input, context);
  } catch (thrown) {
    return failureOf(thrown, tool, context);
  }
}

function failureOf(thrown: unknown, tool: Tool, context: ToolContext): ToolOutput {
  if (thrown instanceof ToolFailure) return { ok: false, code: thrown.code, output: thrown.message };
  if (context.signal.aborted) return { ok: false, code: 'interrupted', output: 'Stopped: interrupted.' };
  return { ok: false, code: 'tool-error', output: `${tool.name} failed: ${messageOf(thrown)}` };
}
