/** What a model endpoint is to us: one streaming call. */
import type { FinishReason, Message, Replay, ToolCall, Usage } from '../kernel/types.js';

/** A tool as a provider advertises it. `parameters` is a JSON Schema object. */
export type ToolSpec = {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
};

export type ModelRequest = {
  readonly model: string;
  readonly messages: readonly Message[];
  /** Empty: the request offers no tools. */
  readonly tools: readonly ToolSpec[];
  /** Upper bound of the reply, in tokens; absent: the endpoint's own. */
  readonly maxTokens?: number;
  /** False: the reply comes in one piece. */
  readonly stream?: false;
  /** Further HTTP headers; they win over the provider's own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as they are, e.g. `temperature`, under the names of Chat Completions; ours win. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** A JSON Schema the text has to fit, where the endpoint takes one. */
  readonly responseSchema?: Readonly<Record<string, unknown>>;
};

/**
 * One piece of a reply. A stream yields any number of pieces and then exactly one `end`, or throws a `ProviderError`.
 * A `retry` and a `fallback` make void whatever the stream yielded before them.
 */
export type ModelDelta =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  /** A whole call; its `id` is empty where the endpoint gave none. */
  | { readonly type: 'call'; readonly call: ToolCall }
  /** To be kept with the reply, and sent with it in the next requests. At most once. */
  | { readonly type: 'replay'; readonly replay: Replay }
  /** Within one stream a later report replaces an earlier one, count by count, where it is larger. */
  | { readonly type: 'usage'; readonly usage: Omit<Usage, 'requests'> }
  | {
      readonly type: 'retry';
      readonly attempt: number;
      readonly maxAttempts: number;
      readonly waitMs: number;
      readonly reason: string;
    }
  /** Something a person should know; `code` is for programs. It says nothing about the reply. */
  | { readonly type: 'notice'; readonly code: string; readonly text: string }
  /** First of a stream that another model answers than the one asked for, since that one failed before. */
  | { readonly type: 'model'; readonly model: string }
  /** `from` failed for good, and `to` is asked from here on. */
  | { readonly type: 'fallback'; readonly from: string; readonly to: string; readonly reason: string }
  /** Bytes came that show nothing yet, e.g. pieces of a call's arguments: the stream is alive. */
  | { readonly type: 'activity' }
  | { readonly type: 'end'; readonly finishReason: FinishReason };

export type Provider = {
  /** The preset's name, e.g. `openai`. */
  readonly name: string;
  /**
   * Asks the model once. Nothing is sent before the first pull; leaving the loop early drops the request.
   * @throws {ProviderError} for anything the endpoint or the network did wrong.
   * @throws the signal's reason when `signal` aborts.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelDelta>;
};
