/**
 * Plays recorded replies cut into pieces, since a network cuts anywhere: short ones in two at every single byte, all of
 * them at every N bytes and at places of chance. The pieces go to the provider's own reading of a reply; a socket would
 * join them again.
 */
import { messageOf } from '../../src/errors.js';
import type { HttpResponse } from '../../src/http.js';
import { readReply } from '../../src/providers/read-reply.js';
import { createChunkReducer } from '../../src/providers/stream.js';
import type { CaseResult, Group } from './group.js';
import { differenceOf, outcomeOf, readCases, type WireCase } from './wire.js';

/** Below this size every position is tried. */
const SHORT_BYTES = 4_096;
const EVERY_BYTES = [1, 2, 3, 7, 64, 1_000];
const CHANCE_RUNS = 40;

export async function playWireSplits(folder: string): Promise<Group> {
  const results: CaseResult[] = [];
  for (const wireCase of await readCases(folder)) results.push(await playCase(wireCase));
  return { name: 'wire-splits', results };
}

async function playCase({ id, body, wanted }: WireCase): Promise<CaseResult> {
  for (const cuts of splitsOf(body.length)) {
    const difference = await playSplit(body, cuts, wanted);
    if (difference !== undefined)
      return { id, verdict: 'fail', detail: `cut at ${cuts.slice(0, 20).join(', ')}: ${difference}` };
  }
  return { id, verdict: 'pass-exact' };
}

function* splitsOf(length: number): Generator<readonly number[]> {
  if (length < SHORT_BYTES) for (let at = 1; at < length; at += 1) yield [at];
  for (const step of EVERY_BYTES)
    yield Array.from({ length: Math.ceil(length / step) - 1 }, (_, index) => (index + 1) * step);
  const random = createRandom(length);
  for (let run = 0; run < CHANCE_RUNS; run += 1) {
    const count = 1 + Math.floor(random() * 30);
    yield Array.from({ length: count }, () => Math.floor(random() * length)).sort((left, right) => left - right);
  }
}

async function playSplit(
  body: Buffer,
  cuts: readonly number[],
  wanted: WireCase['wanted'],
): Promise<string | undefined> {
  const pieces = [0, ...cuts].map((from, index) => body.subarray(from, cuts[index] ?? body.length));
  try {
    return differenceOf(await outcomeOf(readReply(responseOf(pieces), createChunkReducer())), wanted);
  } catch (thrown) {
    return messageOf(thrown);
  }
}

function responseOf(pieces: readonly Uint8Array[]): HttpResponse {
  const headers = new Map([['content-type', 'text/event-stream; charset=utf-8']]);
  return {
    url: 'http://conformance/v1/chat/completions',
    status: 200,
    ok: true,
    headers: { get: (name) => headers.get(name) ?? null, entries: () => headers.entries() },
    body: (async function* () {
      yield* pieces;
    })(),
    text: async () => Buffer.concat(pieces).toString(),
    release: () => undefined,
  };
}

/** Numbers from 0 to 1, the same in every run (a linear congruential generator, constants of Numerical Recipes). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
