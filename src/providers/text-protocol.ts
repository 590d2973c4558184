/**
 * Tool calling in text: for models that know no other, chosen by the person or found out from the endpoint; and the rescue
 * of calls that a model wrote into its text although it was offered the proper way.
 */
import { ProviderError } from '../errors.js';
import type { FinishReason, ToolCall } from '../kernel/types.js';
import type { ToolProtocol } from './presets.js';
import { createCallReader, type Piece } from './text-calls.js';
import { createTextWriter, isMalformed } from './text-history.js';
import { createQuoteCheck } from './text-quotes.js';
import type { ModelDelta, ModelRequest, Provider } from './types.js';

export type TextProtocolOptions = {
  /**
   * `native`: tools are only offered by the endpoint's own means. `text`: only in the prompt. `auto`, the default:
   * natively, until the endpoint says that a model has no tools.
   */
  readonly mode?: ToolProtocol;
};

/** So often in a row a malformed call is answered with the right form. The next one ends the run. */
const MALFORMED_ANSWERED = 2;

/**
 * The same provider, for models with and without tool calling. With `auto` a request that was refused for its tools is sent
 * again at once, a `notice` delta tells of it, and that model gets text from then on.
 * @throws {ProviderError} `protocol` when all calls of a reply are malformed, and those of the two before it were.
 */
export function withTextProtocol(provider: Provider, { mode = 'auto' }: TextProtocolOptions = {}): Provider {
  const withoutTools = new Set<string>();
  const writeAsText = createTextWriter();

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelDelta, void, undefined> {
    const asText = () => readCalls(provider.stream(writeAsText(request), signal), request, true);
    if (mode === 'text' || withoutTools.has(request.model)) {
      yield* asText();
      return;
    }
    let hasBegun = false;
    try {
      for await (const delta of readCalls(provider.stream(request, signal), request, false)) {
        hasBegun ||= delta.type !== 'activity' && delta.type !== 'retry';
        yield delta;
      }
    } catch (thrown) {
      if (mode !== 'auto' || hasBegun || !(thrown instanceof ProviderError && thrown.failure === 'no-tools'))
        throw thrown;
      // Workers that run side by side find it out together: only the first one tells.
      const isNews = !withoutTools.has(request.model);
      withoutTools.add(request.model);
      if (isNews) yield noticeFor(request.model);
      yield* asText();
    }
  }

  return { name: provider.name, stream };
}

function noticeFor(model: string): ModelDelta {
  const text =
    `The model ${model} has no tool calling, so it gets the tools as text in its prompt. ` +
    'CHATCLI_TOOL_PROTOCOL=text does so from the start.';
  return { type: 'notice', code: 'text-protocol', text };
}

type CallsPiece = Extract<Piece, { type: 'calls' }>;

const ACTIVITY: ModelDelta = { type: 'activity' };

/**
 * The deltas of a reply, calls in its text as calls. They come at its end: with native calls they are text. A model that
 * was offered tools natively means a block only where it ends the reply: an answer that shows one goes on behind it.
 */
async function* readCalls(
  deltas: AsyncIterable<ModelDelta>,
  request: ModelRequest,
  isTaught: boolean,
): AsyncGenerator<ModelDelta, void, undefined> {
  const isQuoted = createQuoteCheck(request.messages);
  const offer = { names: namesFor(request), isTaught: isTaught && request.tools.length > 0, isQuoted };
  if (offer.names.size === 0) {
    yield* deltas;
    return;
  }
  let reader = createCallReader(offer);
  let written: CallsPiece[] = [];
  let hasNativeCalls = false;

  function* tell(pieces: readonly Piece[]): Generator<ModelDelta, void, undefined> {
    for (const piece of pieces) {
      if (piece.type === 'calls') written.push(piece);
      else {
        if (!isTaught && piece.text.trim() !== '') yield* showWritten();
        yield piece;
      }
    }
  }

  function* showWritten(): Generator<ModelDelta, void, undefined> {
    if (written.length > 0) yield { type: 'text', text: written.map(({ block }) => block).join('\n') };
    written = [];
  }

  for await (const delta of deltas) {
    switch (delta.type) {
      case 'text': {
        const pieces = reader.push(delta.text);
        if (pieces.every(({ type }) => type !== 'text')) yield ACTIVITY;
        yield* tell(pieces);
        break;
      }
      case 'retry':
        reader = createCallReader(offer);
        written = [];
        hasNativeCalls = false;
        yield delta;
        break;
      case 'call':
        hasNativeCalls = true;
        yield delta;
        break;
      case 'end':
        yield* tell(reader.end());
        if (hasNativeCalls) yield* showWritten();
        yield* hasNativeCalls ? [delta] : endWith(written, delta.finishReason, request);
        break;
      default:
        yield delta;
    }
  }
}

/** The tools that may be called; where none is offered any more, those that were: a call of theirs is no answer. */
function namesFor({ tools, messages }: ModelRequest): ReadonlySet<string> {
  if (tools.length > 0) return new Set(tools.map(({ name }) => name));
  return new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.name] : [])));
}

function* endWith(
  written: readonly CallsPiece[],
  finishReason: FinishReason,
  request: ModelRequest,
): Generator<ModelDelta, void, undefined> {
  const calls = written.flatMap((piece) => piece.calls);
  // A call that was cut off is answered by the loop, and is no misunderstanding.
  if (finishReason !== 'length') refuseMisunderstanding(calls, request);
  for (const call of calls) yield { type: 'call', call };
  yield { type: 'end', finishReason: calls.length > 0 && finishReason === 'stop' ? 'tool_calls' : finishReason };
}

function refuseMisunderstanding(calls: readonly ToolCall[], { model, messages, tools }: ModelRequest): void {
  const isBad = (each: readonly ToolCall[]) => each.length > 0 && each.every((call) => isMalformed(call, tools));
  if (tools.length === 0 || !isBad(calls)) return;
  let answered = 0;
  for (const message of [...messages].reverse()) {
    if (message.role === 'tool') continue;
    if (message.role !== 'assistant' || !isBad(message.toolCalls ?? [])) break;
    answered += 1;
  }
  if (answered < MALFORMED_ANSWERED) return;
  const name = calls[0]?.name ?? '';
  throw new ProviderError(
    'protocol',
    `The model ${model} wrote its tool calls wrong ${answered + 1} times in a row, the last time "${name}", although it was shown the right form.`,
    { hint: 'Choose another model with -m NAME.' },
  );
}
