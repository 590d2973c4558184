/** The library's public face: the agent, the kernel, the event stream, tools and providers that the program is built of. */
import { createRedactor } from './commands/redactor.js';
import { processEnvironment } from './config/environment.js';
import { secretsIn } from './config/resolve.js';
import type { Usage } from './kernel/types.js';
import { costOf, priceOf } from './providers/models.js';
import { createAgentIn } from './runtime/agent.js';
import type { Agent, AgentOptions } from './runtime/agent-types.js';

/**
 * An agent: one conversation, one run at a time. Nothing is started or read before the first `ask`. Tools that do more
 * than read are refused unless `approve` answers for them or `approvalMode` lets them pass. The keys in the environment
 * are masked in events, tool results, outcomes and what the conversation keeps.
 * @throws {UsageError} {ConfigError} naming the option or tool that can't be used, e.g. a tool called `load_skill` beside
 * `skillFolders`.
 */
export function createAgent(options: AgentOptions): Agent {
  const environment = processEnvironment();
  const redactor = createRedactor(secretsIn([{ origin: 'environment', values: environment }]));
  const costOfKnown = (usage: Usage, model: string) => {
    const price = priceOf(model);
    return price && costOf(usage, price);
  };
  return createAgentIn({ environment, redactor, costOf: costOfKnown }, options);
}

export type { Memory, WindowOptions } from './context/memory.js';
export { fullMemory, windowMemory } from './context/memory.js';
export type { Severity, SkillDiagnostic } from './context/skills-page.js';
export type { ErrorKind, ProviderErrorKind, Rejection } from './errors.js';
export {
  ChatcliError,
  ConfigError,
  DeadlineError,
  InterruptedError,
  ProviderError,
  RejectedError,
  RunEndedError,
  UsageError,
  WorkerError,
} from './errors.js';
export { eventJsonSchema, InvalidEvent, parseEvent } from './events/schema.js';
export type { Trace } from './events/trace.js';
export type {
  AgentEvent,
  ApprovalAnswer,
  ApprovalQuestion,
  ApprovalVerdict,
  ContextFill,
  DiffLine,
  Display,
  EventBody,
  EventSink,
  EventStamp,
  FileDiff,
  PlanStep,
  TokenParts,
  UserQuestion,
  WindowSize,
  WindowSource,
} from './events/types.js';
export type { Address, ProxySettings, RouteSettings } from './http.js';
export * as kernel from './kernel/step.js';
export { InvalidStep, observe, reopen, start } from './kernel/step.js';
export { openCalls, repair } from './kernel/transcript.js';
export type {
  Action,
  End,
  FinishReason,
  Limits,
  Message,
  Observation,
  Opaque,
  Outcome,
  OutcomeReason,
  Proof,
  Replay,
  Reply,
  RunError,
  State,
  Step,
  Stop,
  StuckMemory,
  ToolCall,
  ToolResult,
  Usage,
  Verdict,
} from './kernel/types.js';
export type { FileAccess } from './permissions/file-access.js';
export type { ApprovalMode, Permission, Subject } from './permissions/types.js';
export type { ProcessGroups } from './process-group.js';
export type { ProcessStart } from './process-start.js';
export type { Dialect } from './providers/dialect.js';
export type { ClosableProvider, EndpointOptions } from './providers/endpoint.js';
export { withFallback } from './providers/fallback.js';
export type { OpenaiChatOptions } from './providers/openai-chat.js';
export { openaiChat } from './providers/openai-chat.js';
export { openaiResponses } from './providers/openai-responses.js';
export type { ReasoningForm, ToolProtocol } from './providers/presets.js';
export type { RetryOptions } from './providers/retry.js';
export { withRetry } from './providers/retry.js';
export type { Script, ScriptedProvider, ScriptedReply } from './providers/scripted.js';
export { createScriptedProvider, createScriptedProvider as FakeProvider } from './providers/scripted.js';
export type { TextProtocolOptions } from './providers/text-protocol.js';
export { withTextProtocol } from './providers/text-protocol.js';
export type { ModelDelta, ModelRequest, Provider, ToolSpec } from './providers/types.js';
export type { GivenPrice } from './runtime/agent-cost.js';
export type {
  Agent,
  AgentOptions,
  AskOptions,
  CancelOptions,
  RunHandle,
  SteerOptions,
  SteerResult,
} from './runtime/agent-types.js';
export type { BudgetLimits } from './runtime/budget.js';
export type { CheckpointProblem } from './runtime/checkpoint.js';
export { CheckpointError } from './runtime/checkpoint.js';
export type { StreamChunk } from './runtime/chunks.js';
export type { EffectPolicy } from './runtime/effects.js';
export { intersect } from './runtime/effects.js';
export type { ContextOp } from './runtime/lanes.js';
export type {
  AnswerCheck,
  AttemptPolicy,
  EffectOptions,
  RoundExecutor,
  SafePoint,
  TransformRequest,
} from './runtime/options.js';
export type { InputRefusal } from './runtime/steer.js';
export type {
  Telemetry,
  TelemetryMeasurements,
  TelemetryMetadata,
  TelemetryName,
  TelemetryRecord,
} from './runtime/telemetry.js';
export { createTelemetry } from './runtime/telemetry.js';
export type { AnswerForm, TypedCheck } from './runtime/typed.js';
export { answerCheckOf, OutputParseError, OutputRetriesExhausted } from './runtime/typed.js';
export type { JsonSchema } from './runtime/typed-schema.js';
export type { Resolve } from './tools/fetch-url/target.js';
export type { FetchOptions } from './tools/fetch-url/tool.js';
export type { ToolOptions } from './tools/index.js';
export { createTools } from './tools/index.js';
export type { Sandbox } from './tools/shell/sandbox-types.js';
export type { ShellOptions } from './tools/shell/tool.js';
export type {
  ChangeKeeper,
  DelegatedResult,
  DelegatedTask,
  Effect,
  Tool,
  ToolContext,
  ToolOutput,
} from './tools/types.js';
export { defineTool, ToolFailure } from './tools/types.js';
export type { FileChange, Location, Workspace, WriteOptions } from './tools/workspace.js';
