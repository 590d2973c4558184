/** The limit of a reply: raised once in a run, after a reply was cut off at it. */
import { ProviderError, type ProviderErrorKind } from '../errors.js';
import type { Reply } from '../kernel/types.js';
import type { ModelRequest } from '../providers/types.js';
import { askModel, type OnDropped } from './ask-model.js';
import type { RunContext } from './types.js';

export type ReplyLimit = {
  /** `askModel` with the limit that is in force. Throws what that throws. */
  readonly ask: (request: ModelRequest, onDropped: OnDropped) => Promise<Reply>;
};

const RAISED_TOKENS = 16_384;
const RAISED_BY = 2;
/** What endpoints answer to a limit above the model's own, or one that leaves no room for the request. */
const MAY_BE_THE_LIMIT: ReadonlySet<ProviderErrorKind> = new Set(['bad-request', 'too-long']);

/**
 * For one run. The reply that was cut off stands, in pieces; those after it have twice its length, or what a whole file
 * needs. Where the endpoint refuses that, nothing is raised.
 */
export function createReplyLimit(ctx: RunContext): ReplyLimit {
  let raised: number | undefined;
  let mayRaise = true;

  function noteCut({ usage }: Reply, { maxTokens = 0 }: ModelRequest): void {
    if (mayRaise) raised = Math.max(RAISED_TOKENS, RAISED_BY * Math.max(usage.completionTokens, maxTokens));
    const how = mayRaise ? ` The limit is raised to ${raised} tokens.` : '';
    const text = `The reply was cut off at its length limit; the model is asked to go on.${how}`;
    ctx.emit({ type: 'notice', level: 'info', code: 'reply-cut', text });
    mayRaise = false;
  }

  async function askWithin(request: ModelRequest, onDropped: OnDropped): Promise<Reply> {
    if (raised === undefined) return askModel(request, ctx, onDropped);
    try {
      return await askModel({ ...request, maxTokens: raised }, ctx, onDropped);
    } catch (thrown) {
      if (!(thrown instanceof ProviderError) || !MAY_BE_THE_LIMIT.has(thrown.failure)) throw thrown;
      raised = undefined;
      return askModel(request, ctx, onDropped);
    }
  }

  return {
    async ask(request, onDropped) {
      const reply = await askWithin(request, onDropped);
      if (reply.finishReason === 'length') noteCut(reply, request);
      return reply;
    },
  };
}
