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
 * than read are refused unless `approve` answers for them or `approvalMode` lets them pass.
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
export type { ProviderErrorKind, Rejection } from './errors.js';
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
export type { AgentEvent, Display, EventBody, EventSink } from './events/types.js';
export * as kernel from './kernel/step.js';
export { InvalidStep, observe, reopen, start } from './kernel/step.js';
export { openCalls, repair } from './kernel/transcript.js';
export type {
  Action,
  FinishReason,
  Limits,
  Message,
  Observation,
  Outcome,
  Proof,
  Replay,
  Reply,
  State,
  Step,
  ToolCall,
  ToolResult,
  Usage,
} from './kernel/types.js';
export { withFallback } from './providers/fallback.js';
export { openaiChat } from './providers/openai-chat.js';
export { openaiResponses } from './providers/openai-responses.js';
export { withRetry } from './providers/retry.js';
export type { Script, ScriptedProvider, ScriptedReply } from './providers/scripted.js';
export { createScriptedProvider, createScriptedProvider as FakeProvider } from './providers/scripted.js';
export type { TextProtocolOptions } from './providers/text-protocol.js';
export { withTextProtocol } from './providers/text-protocol.js';
export type { ModelDelta, ModelRequest, Provider, ToolSpec } from './providers/types.js';
export type {
  Agent,
  AgentOptions,
  AskOptions,
  CancelOptions,
  RunHandle,
  SteerOptions,
  SteerResult,
} from './runtime/agent-types.js';
export { CheckpointError } from './runtime/checkpoint.js';
export type { StreamChunk } from './runtime/chunks.js';
export type { EffectPolicy } from './runtime/effects.js';
export { intersect } from './runtime/effects.js';
export type { ContextOp } from './runtime/lanes.js';
export type { AttemptPolicy, RoundExecutor, TransformRequest } from './runtime/options.js';
export type { TelemetryRecord } from './runtime/telemetry.js';
export { createTelemetry } from './runtime/telemetry.js';
export { answerCheckOf, OutputParseError, OutputRetriesExhausted } from './runtime/typed.js';
export { createTools } from './tools/index.js';
export type { Effect, Tool, ToolContext, ToolOutput } from './tools/types.js';
export { defineTool, ToolFailure } from './tools/types.js';
