/** Lets a library user's executor decide order, concurrency and refusal of a round's calls, and keeps the round whole. */
import { setImmediate as othersTurn } from 'node:timers/promises';
import { messageOf } from '../errors.js';
import type { ToolCall, ToolResult } from '../kernel/types.js';
import type { PreparedCall, Unrun } from '../tools/execute.js';
import type { RoundExecutor } from './options.js';

/** Shown as the rule that decided, where an executor refuses a call. */
const RULE = 'round executor';

export type ExecutorRound = {
  readonly executor: RoundExecutor;
  readonly prepared: readonly PreparedCall[];
  /** Carries out one call, or its `problem`, with all its events; never throws. */
  readonly runCall: (prepared: PreparedCall) => Promise<ToolResult>;
  readonly signal: AbortSignal;
};

/**
 * The results of all calls, in call order. Each call is carried out once at most, with the arguments that the model gave;
 * what `run` gave stands. Never throws: an executor that fails, or leaves calls out, makes failed results of them; an
 * abort ends the waiting for it, not that for calls that have begun.
 */
export async function runExecutor(round: ExecutorRound): Promise<readonly ToolResult[]> {
  const { prepared, runCall } = round;
  const begun = new Map<string, Promise<ToolResult>>();
  let isOver = false;

  function begin(call: PreparedCall): Promise<ToolResult> {
    const running = begun.get(call.call.id) ?? runCall(call);
    begun.set(call.call.id, running);
    return running;
  }
  async function run({ id }: ToolCall): Promise<ToolResult> {
    const known = prepared.find(({ call }) => call.id === id);
    if (known !== undefined && (!isOver || begun.has(id))) return begin(known);
    const why = isOver ? 'the round is over' : 'this round has no such call';
    return { callId: id, ok: false, code: 'no-call', output: `Not run: ${why}.` };
  }
  function take(result: ToolResult): void {
    if (!isResult(result)) throw new TypeError('it gave something else than {callId, ok, output: TEXT}');
    const known = prepared.find(({ call }) => call.id === result.callId);
    if (known !== undefined && !begun.has(result.callId)) void begin({ ...known, problem: unrun(result) });
  }

  const leftOut = await consume(round, run, take);
  isOver = true;
  return Promise.all(prepared.map((call) => begun.get(call.call.id) ?? begin({ ...call, problem: leftOut })));
}

/** Reads the executor to its end, or to an abort. Gives back what the calls that it left out come to. */
async function consume(
  { executor, prepared, signal }: ExecutorRound,
  run: (call: ToolCall) => Promise<ToolResult>,
  take: (result: ToolResult) => void,
): Promise<Unrun> {
  const abort = abortOf(signal);
  try {
    const calls = prepared.map(({ call }) => call);
    const results = signal.aborted ? undefined : executor(calls, run, signal)[Symbol.asyncIterator]();
    while (results !== undefined) {
      const next = await Promise.race([results.next(), abort.happened]);
      if (next === undefined || signal.aborted) {
        // It may be deaf to its signal, so nobody waits for it, nor for what it throws now.
        results.return?.().catch(() => undefined);
        break;
      }
      if (next.done) break;
      take(next.value);
      // An executor that never waits would keep timers from firing, so that no limit could end it.
      await othersTurn();
    }
    const output = 'Not run: the round executor gave no result for this call.';
    return { ok: false, code: 'no-result', output };
  } catch (thrown) {
    return { ok: false, code: 'executor-failed', output: `Not run: the round executor failed: ${messageOf(thrown)}` };
  } finally {
    abort.forget();
  }
}

/** A promise that an abort fulfils, and the way to let go of the signal. */
function abortOf(signal: AbortSignal): { readonly happened: Promise<undefined>; readonly forget: () => void } {
  let onAbort = (): void => undefined;
  const happened = new Promise<undefined>((resolve) => {
    onAbort = () => resolve(undefined);
  });
  signal.addEventListener('abort', onAbort, { once: true });
  return { happened, forget: () => signal.removeEventListener('abort', onAbort) };
}

/** What comes from a library user's code may be anything. */
function isResult({ callId, ok, output }: Partial<Record<keyof ToolResult, unknown>>): boolean {
  return typeof callId === 'string' && typeof ok === 'boolean' && typeof output === 'string';
}

function unrun({ ok, output, code, denied }: ToolResult): Unrun {
  if (denied) return { ok: false, code: code ?? 'denied', output, denied: { rule: RULE, reason: output } };
  return { ok, output, ...(code !== undefined && { code }) };
}
