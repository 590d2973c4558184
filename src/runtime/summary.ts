/** Asks the model for a summary of the older part of a history. */
import { summaryRequest } from '../context/compact.js';
import { messageOf, ProviderError } from '../errors.js';
import type { EventBody } from '../events/types.js';
import type { Message, Reply, Usage } from '../kernel/types.js';
import { addUsage, NO_USAGE } from '../kernel/usage.js';
import type { ModelRequest } from '../providers/types.js';
import { askModel } from './ask-model.js';
import type { RunContext } from './types.js';

/** A summary, or why there is none; `usage` is what the tries cost. */
export type SummaryResult = { readonly usage: Usage } & ({ readonly text: string } | { readonly problem: string });

const TRIES = 3;
const REPLY_TOKENS = 2_000;
/** For a model that thinks before it says something. */
const RAISED_TOKENS = 16_000;
const LONGEST_CHARS = 8_000;

/**
 * Tries three times at most: of less, when the request was too long itself, and with more room for the reply, when that
 * was cut off or said nothing. `maxChars` bounds the request, and half of it what comes back.
 * @throws what `askModel` throws when the run is stopped.
 */
export async function askSummary(older: readonly Message[], maxChars: number, ctx: RunContext): Promise<SummaryResult> {
  let usage = NO_USAGE;
  let chars = maxChars;
  let maxTokens = REPLY_TOKENS;
  let problem = '';
  let partial = '';
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      const request = { ...requestOf(ctx), messages: summaryRequest(older, Math.floor(chars)), maxTokens };
      const reply: Reply = await askModel(request, quiet(ctx), (_, lost) => {
        usage = addUsage(usage, lost);
      });
      usage = addUsage(usage, reply.usage);
      const text = withinChars(reply.text.trim(), Math.min(LONGEST_CHARS, maxChars / 2));
      if (text !== '' && reply.finishReason !== 'length') return { text, usage };
      partial = text === '' ? partial : text;
      problem = text === '' ? 'the model said nothing' : 'it was cut off at its length limit';
      maxTokens = RAISED_TOKENS;
    } catch (thrown) {
      if (ctx.signal.aborted) throw thrown;
      problem = messageOf(thrown);
      // The next request will say what is wrong with the endpoint, if it is not only this.
      if (!(thrown instanceof ProviderError) || thrown.failure !== 'too-long') break;
      problem = 'the request for it was too long';
      chars /= 2;
    }
  }
  return partial === '' ? { problem, usage } : { text: partial, usage };
}

function withinChars(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars).replace(/[\ud800-\udbff]$/, '')}…`;
}

function requestOf({ model, options }: RunContext): Omit<ModelRequest, 'messages'> {
  const { headers, stream } = options;
  return { model, tools: [], ...(headers && { headers }), ...(stream === false && { stream }) };
}

/** A summary is no answer: nobody is shown it as one. */
function quiet(ctx: RunContext): RunContext {
  return { ...ctx, emit: (body) => (SAYS_IT.has(body.type) ? undefined : ctx.emit(body)) };
}

const SAYS_IT: ReadonlySet<EventBody['type']> = new Set(['text-delta', 'reasoning-delta', 'message']);
