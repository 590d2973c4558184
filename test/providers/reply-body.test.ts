/** A reply as its bytes come: cut anywhere, joined, or broken off. */
import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../src/errors.js';
import type { HttpResponse } from '../../src/http.js';
import { readReply } from '../../src/providers/read-reply.js';
import { createChunkReducer } from '../../src/providers/stream.js';
import type { ModelDelta } from '../../src/providers/types.js';

const EVENT_STREAM = 'text/event-stream';

function responseOf(pieces: readonly Uint8Array[], type = EVENT_STREAM): HttpResponse {
  const headers = new Map([['content-type', type]]);
  return {
    url: 'http://h/v1/chat/completions',
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

/** The deltas, without signs of life and with neighbouring texts joined. */
async function read(pieces: readonly Uint8Array[], type?: string): Promise<readonly ModelDelta[]> {
  const deltas: ModelDelta[] = [];
  for await (const delta of readReply(responseOf(pieces, type), createChunkReducer())) {
    const last = deltas.at(-1);
    if ('text' in delta && last?.type === delta.type)
      deltas[deltas.length - 1] = { ...delta, text: last.text + delta.text };
    else if (delta.type !== 'activity') deltas.push(delta);
  }
  return deltas;
}

const event = (delta: object, more: object = {}) => JSON.stringify({ choices: [{ delta, ...more }] });
const call = (fragment: object) => event({ tool_calls: [fragment] });

const EVENTS = [
  event({ role: 'assistant', reasoning_content: '想一想 ' }),
  event({ reasoning_content: '🛠️' }),
  event({ content: '修复 ' }),
  event({ content: 'é\u2028' }),
  '{"choices":[]}',
  call({ index: 0, id: 'k1', function: { name: 'read', arguments: '' } }),
  call({ index: 0, function: { arguments: '{"path":' } }),
  call({ index: 0, function: { arguments: '"ü"}' } }),
  call({ index: 0, id: 'k2', function: { name: 'list', arguments: '' } }),
  event({}, { finish_reason: 'tool_calls' }),
  '{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}',
  '[DONE]',
];
const EXPECTED: readonly ModelDelta[] = [
  { type: 'reasoning', text: '想一想 🛠️' },
  { type: 'text', text: '修复 é\u2028' },
  {
    type: 'usage',
    usage: { promptTokens: 9, completionTokens: 3, cachedTokens: 0, reasoningTokens: 0, totalTokens: 12 },
  },
  { type: 'call', call: { id: 'k1', name: 'read', arguments: '{"path":"ü"}' } },
  { type: 'call', call: { id: 'k2', name: 'list', arguments: '{}' } },
  { type: 'end', finishReason: 'tool_calls' },
];

const withoutUsage = (deltas: unknown) =>
  Array.isArray(deltas) ? deltas.filter((delta: ModelDelta) => delta.type !== 'usage') : deltas;

const WRITTEN: [name: string, text: string, type?: string][] = [
  ['plain', EVENTS.map((data) => `data: ${data}\n\n`).join('')],
  ['with CRLF, comments and no blanks', EVENTS.map((data) => `: hi\r\n\r\ndata:${data}\r\n\r\n`).join('')],
  ['with CR, other fields and a byte order mark', `\uFEFF${EVENTS.map((data) => `id: 1\rdata: ${data}\r\r`).join('')}`],
  ['under a wrong content type', EVENTS.map((data) => `data: ${data}\n\n`).join(''), 'application/json'],
  ['after blank lines and a comment', `\n\n: processing\n\n${EVENTS.map((data) => `data: ${data}\n\n`).join('')}`],
];

describe('a reply', () => {
  it.each<[string, string, string?]>(WRITTEN)(
    'written %s means the same wherever its bytes are cut',
    async (_name, text, type) => {
      const body = Buffer.from(text);
      for (let at = 0; at <= body.length; at += 1)
        expect(await read([body.subarray(0, at), body.subarray(at)], type)).toEqual(EXPECTED);
      expect(
        await read(
          [...body].map((byte) => Buffer.of(byte)),
          type,
        ),
      ).toEqual(EXPECTED);
    },
  );

  it.each<[string, string, string?]>(WRITTEN.slice(0, 3))(
    'written %s is whole, or a passing failure, wherever it breaks off',
    async (_name, text) => {
      const body = Buffer.from(text);
      for (let at = 0; at <= body.length; at += 1) {
        const outcome = await read([body.subarray(0, at)]).catch((thrown: unknown) => thrown);
        if (outcome instanceof ProviderError) expect(outcome).toMatchObject({ failure: 'network', retryable: true });
        // Behind the finish reason only the usage may be missing.
        else expect(EXPECTED.filter((delta) => delta.type !== 'usage')).toEqual(withoutUsage(outcome));
      }
    },
  );

  it('is read to its end, whatever came in at once', async () => {
    const long = 'x'.repeat(300_000);
    const body = Buffer.from(`data: ${event({ content: long })}\n\ndata: ${event({}, { finish_reason: 'stop' })}\n\n`);
    for (const at of [0, 70_000, 200_000, body.length - 40])
      expect(await read([body.subarray(0, at), body.subarray(at)])).toEqual([
        { type: 'text', text: long },
        { type: 'end', finishReason: 'stop' },
      ]);
  });

  it('as one JSON object means the same wherever its bytes are cut', async () => {
    const message = { content: '修复', tool_calls: [{ id: 'k', function: { name: 'list', arguments: {} } }] };
    const body = Buffer.from(JSON.stringify({ choices: [{ message, finish_reason: 'tool_calls' }] }, null, 1));
    for (let at = 0; at <= body.length; at += 1)
      expect(await read([body.subarray(0, at), body.subarray(at)], 'application/json')).toEqual([
        { type: 'text', text: '修复' },
        { type: 'call', call: { id: 'k', name: 'list', arguments: '{}' } },
        { type: 'end', finishReason: 'tool_calls' },
      ]);
  });
});
