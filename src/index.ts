/** The library's public face: the kernel, the event stream, tools and providers that the command line is built of. */
export type { ProviderErrorKind } from './errors.js';
export { ChatcliError, ConfigError, DeadlineError, InterruptedError, ProviderError, UsageError } from './errors.js';
export type { AgentEvent, Display, EventBody, EventSink } from './events/types.js';
export { InvalidStep, observe, start } from './kernel/step.js';
export { openCalls, repair } from './kernel/transcript.js';
export type {
  Action,
  FinishReason,
  Limits,
  Message,
  Observation,
  Outcome,
  Proof,
  Reply,
  State,
  Step,
  ToolCall,
  ToolResult,
  Usage,
} from './kernel/types.js';
export { openaiChat } from './providers/openai-chat.js';
export { withRetry } from './providers/retry.js';
export { createScriptedProvider } from './providers/scripted.js';
export type { ModelDelta, ModelRequest, Provider, ToolSpec } from './providers/types.js';
export type { Tool, ToolContext, ToolOutput } from './tools/types.js';
export { defineTool, ToolFailure } from './tools/types.js';
