/** Plays recorded replies through a loopback server and the real provider, and compares what comes out of it. */
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { messageOf } from '../../src/errors.js';
import { openaiChat } from '../../src/providers/openai-chat.js';
import type { ModelDelta, Provider } from '../../src/providers/types.js';
import type { CaseResult, Group } from './group.js';

const counts = z.object({ promptTokens: z.number(), completionTokens: z.number(), totalTokens: z.number() });
const expected = z.object({
  text: z.string(),
  reasoning: z.string(),
  toolCalls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.unknown() })),
  finishReason: z.string(),
  usage: counts.nullable(),
});
export type Outcome = z.output<typeof expected>;

const TIME_LIMIT_MS = 10_000;

export async function playWire(folder: string): Promise<Group> {
  const results: CaseResult[] = [];
  for (const wireCase of await readCases(folder)) results.push(await playCase(wireCase));
  return { name: 'wire', results };
}

export type WireCase = { readonly id: string; readonly body: Buffer; readonly wanted: Outcome };

/** The recorded replies of a folder, with what each has to come to. */
export async function readCases(folder: string): Promise<readonly WireCase[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sse')).sort();
  return Promise.all(
    names.map(async (name) => {
      const id = name.replace(/\.sse$/, '');
      const [body, text] = await Promise.all([
        readFile(join(folder, name)),
        readFile(join(folder, `${id}.expected.json`), 'utf8'),
      ]);
      return { id, body, wanted: expected.parse(JSON.parse(text)) };
    }),
  );
}

async function playCase({ id, body, wanted }: WireCase): Promise<CaseResult> {
  const server = await serve(body);
  const { port } = server.address() as AddressInfo;
  const provider = openaiChat({ name: 'conformance', baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'none' });
  try {
    const difference = differenceOf(await ask(provider), wanted);
    return difference === undefined ? { id, verdict: 'pass-exact' } : { id, verdict: 'fail', detail: difference };
  } catch (thrown) {
    return { id, verdict: 'fail', detail: messageOf(thrown) };
  } finally {
    provider.close();
    server.closeAllConnections();
    server.close();
  }
}

/** The first thing that came out otherwise, in a line; undefined where nothing did. */
export function differenceOf(seen: Outcome, wanted: Outcome): string | undefined {
  const differing = Object.entries(wanted).find(
    ([key, value]) => !isDeepStrictEqual(value, seen[key as keyof Outcome]),
  );
  if (differing === undefined) return undefined;
  const [key, value] = differing;
  return `${key}: ${show(seen[key as keyof Outcome])} instead of ${show(value)}`;
}

async function serve(body: Buffer): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      response.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function ask(provider: Provider): Promise<Outcome> {
  const request = { model: 'conformance', messages: [{ role: 'user' as const, content: 'hi' }], tools: [] };
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error(`no end within ${TIME_LIMIT_MS} ms`)), TIME_LIMIT_MS);
  try {
    return await outcomeOf(provider.stream(request, limit.signal));
  } finally {
    clearTimeout(timer);
  }
}

/** What a reply comes to in the words of an expected file. */
export async function outcomeOf(reply: AsyncIterable<ModelDelta>): Promise<Outcome> {
  let [text, reasoning, finishReason] = ['', '', 'none'];
  let usage: Outcome['usage'] = null;
  const toolCalls: Outcome['toolCalls'] = [];
  for await (const delta of reply) {
    switch (delta.type) {
      case 'text':
        text += delta.text;
        break;
      case 'reasoning':
        reasoning += delta.text;
        break;
      case 'call':
        toolCalls.push({ ...delta.call, arguments: parseArguments(delta.call.arguments) });
        break;
      case 'usage':
        usage = larger(usage, delta.usage);
        break;
      case 'retry':
        throw new Error(`it wanted to try again: ${delta.reason}`);
      case 'model':
      case 'fallback':
        throw new Error('it wanted another model');
      case 'activity':
      case 'notice':
      case 'replay':
        break;
      case 'end':
        finishReason = delta.finishReason;
        break;
      default:
        return delta satisfies never;
    }
  }
  return { text, reasoning, toolCalls, finishReason, usage };
}

/** Empty arguments mean an empty object; broken ones are compared as the text they are. */
function parseArguments(text: string): unknown {
  try {
    return text.trim() === '' ? {} : JSON.parse(text);
  } catch {
    return text;
  }
}

/** A later report counts where it is larger, as `ModelDelta` has it. */
function larger(before: Outcome['usage'], now: NonNullable<Outcome['usage']>): NonNullable<Outcome['usage']> {
  return {
    promptTokens: Math.max(before?.promptTokens ?? 0, now.promptTokens),
    completionTokens: Math.max(before?.completionTokens ?? 0, now.completionTokens),
    totalTokens: Math.max(before?.totalTokens ?? 0, now.totalTokens),
  };
}

function show(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 200);
}
