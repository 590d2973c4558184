/** Takes the body of a reply through an API's reducer, and decides what a break in it means. */
import { ProviderError } from '../errors.js';
import { HttpError, type HttpResponse } from '../http.js';
import { excerpt } from './complaint.js';
import { type JsonRecord, parseJson } from './json.js';
import { DONE, type EventBatch, readEvents } from './reply-body.js';
import type { ModelDelta } from './types.js';

/** Takes the pieces of one reply, in the form of one API, and makes our deltas of them. */
export type ReplyReducer = {
  /**
   * The deltas of one parsed event, or of a whole reply.
   * @throws {ProviderError} for an error inside it, and `protocol` for what is no object.
   */
  push(chunk: unknown): readonly ModelDelta[];
  /** Whether a JSON body that came in place of a stream is a whole reply. */
  isReply(body: JsonRecord): boolean;
  /** Whether the reply said how it ended: what follows may be missing. */
  isFinished(): boolean;
  /** Whether nothing more can come that counts, so that the connection can be let go. */
  isOver(): boolean;
  /** The usage so far, to be reported for a reply that breaks off, too. */
  usage(): readonly ModelDelta[];
  /**
   * What was held back: usage, calls, and the `end`. `sawDone` says that the stream ended with `[DONE]`.
   * @throws {ProviderError} `network` (retryable) when the reply was cut off.
   */
  finish(sawDone: boolean): readonly ModelDelta[];
};

/**
 * The deltas of a reply. Neighbouring pieces of text that came in together are joined: a reader of 50,000 deltas has
 * then a few hundred to show, and none of them later.
 */
export async function* readReply(
  response: HttpResponse,
  reducer: ReplyReducer,
): AsyncGenerator<ModelDelta, void, undefined> {
  let sawDone = false;
  try {
    for await (const batch of readEvents(response, reducer.isReply)) {
      const reading = reduceBatch(reducer, batch);
      for (const delta of reading.deltas) yield delta;
      if (reading.failure) throw reading.failure;
      sawDone = reading.sawDone;
      // Pieces of a call's arguments show nothing for minutes, and must not pass for silence.
      const isOver = sawDone || reducer.isOver();
      if (reading.deltas.length === 0 && !isOver && !batch.isTail) yield ACTIVITY;
      if (isOver) {
        response.release();
        break;
      }
    }
  } catch (thrown) {
    // Nothing that matters comes after a finish reason, and some servers never close the connection properly.
    if (!(thrown instanceof HttpError && reducer.isFinished())) {
      for (const delta of reducer.usage()) yield delta;
      throw thrown;
    }
  }
  for (const delta of reducer.finish(sawDone)) yield delta;
}

const ACTIVITY: ModelDelta = { type: 'activity' };

type Reading = { readonly deltas: readonly ModelDelta[]; readonly sawDone: boolean; readonly failure?: unknown };

function reduceBatch(reducer: ReplyReducer, { events, isTail }: EventBatch): Reading {
  const deltas: ModelDelta[] = [];
  let sawDone = false;
  try {
    for (const data of events) {
      if (data.trim() === '') continue;
      sawDone = data.startsWith(DONE);
      if (sawDone || reducer.isOver()) break;
      const chunk = parseJson(data);
      if (chunk !== undefined) join(deltas, reducer.push(chunk));
      // A body cut inside its last line is told by the missing finish reason.
      else if (!isTail)
        throw new ProviderError('protocol', `The endpoint sent an event that is not JSON: ${excerpt(data)}`);
    }
  } catch (failure) {
    return { deltas, sawDone, failure };
  }
  return { deltas, sawDone };
}

function join(deltas: ModelDelta[], more: readonly ModelDelta[]): void {
  for (const delta of more) {
    const last = deltas.at(-1);
    const isText = delta.type === 'text' || delta.type === 'reasoning';
    if (isText && last?.type === delta.type)
      deltas[deltas.length - 1] = { type: delta.type, text: last.text + delta.text };
    else deltas.push(delta);
  }
}
