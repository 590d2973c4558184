/**
 * The benchmark's model endpoint: Chat Completions on 127.0.0.1, without latency. Each run has a base URL of its own, and
 * its requests are counted, not parsed, so that the server costs the same whatever a program sends.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the model does in one run: so many tool calls, one a turn, then the answer. */
export type Script = {
  readonly toolCalls: number;
  /** The shell command of a turn, counted from 1. */
  readonly command: (turn: number) => string;
  /** The answer's deltas. */
  readonly answer: readonly string[];
};

export type ServedRun = {
  readonly baseUrl: string;
  /** When each request came, in milliseconds. */
  readonly requestTimes: () => readonly number[];
  /** The body of the first request. */
  readonly firstBody: () => string;
  /** Forgets the run. */
  readonly end: () => void;
};

export type ModelServer = {
  readonly serve: (script: Script) => ServedRun;
  readonly close: () => void;
};

type State = { readonly script: Script; readonly requestTimes: number[]; firstBody: string };

const TOOL = 'shell';
const WORDS_BEFORE_A_CALL = ['I ', 'look ', 'at ', 'the ', 'next ', 'thing.'];
const USAGE = { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020 };
const DELTAS_A_WRITE_ROUND = 500; // Between two looks at whether the client keeps up.

export async function startModelServer(): Promise<ModelServer> {
  const runs = new Map<string, State>();
  let lastId = 0;

  const server = createServer((request, response) => {
    const state = runs.get(/^\/runs\/(\d+)\/v1\/chat\/completions$/.exec(request.url ?? '')?.[1] ?? '');
    if (request.method !== 'POST' || state === undefined) return refuse(response, 404);
    state.requestTimes.push(performance.now());
    // A program that goes on asking would run for ever.
    if (state.requestTimes.length > state.script.toolCalls + 1) return refuse(response, 400);
    void answer(request, response, state);
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    serve: (script) => {
      lastId += 1;
      const id = String(lastId);
      const state: State = { script, requestTimes: [], firstBody: '' };
      runs.set(id, state);
      return {
        baseUrl: `http://127.0.0.1:${port}/runs/${id}/v1`,
        requestTimes: () => state.requestTimes,
        firstBody: () => state.firstBody,
        end: () => runs.delete(id),
      };
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message: `bench: no answer for this request (${status})` } }));
}

async function answer(request: IncomingMessage, response: ServerResponse, state: State): Promise<void> {
  const turn = state.requestTimes.length;
  const body: Buffer[] = [];
  request.on('data', (bytes: Buffer) => {
    if (turn === 1) body.push(bytes);
  });
  await new Promise((resolve) => request.once('close', resolve).once('end', resolve));
  if (turn === 1) state.firstBody = Buffer.concat(body).toString();
  const { script } = state;
  const events = turn <= script.toolCalls ? callEvents(turn, script.command(turn)) : answerEvents(script.answer);
  await writeEvents(response, events);
}

function callEvents(turn: number, command: string): readonly string[] {
  const text = JSON.stringify({ command });
  const half = Math.ceil(text.length / 2);
  const calls = [
    { index: 0, id: `call_${turn}`, type: 'function', function: { name: TOOL, arguments: '' } },
    { index: 0, function: { arguments: text.slice(0, half) } },
    { index: 0, function: { arguments: text.slice(half) } },
  ];
  return [
    ...WORDS_BEFORE_A_CALL.map((content) => chunk({ content })),
    ...calls.map((call) => chunk({ tool_calls: [call] })),
    ...endEvents('tool_calls'),
  ];
}

function answerEvents(answer: readonly string[]): readonly string[] {
  return [...answer.map((content) => chunk({ content })), ...endEvents('stop')];
}

function endEvents(finishReason: string): readonly string[] {
  return [chunk({}, finishReason), event({ ...HEAD, choices: [], usage: USAGE }), 'data: [DONE]\n\n'];
}

const HEAD = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'bench' };

function chunk(delta: object, finishReason: string | null = null): string {
  return event({ ...HEAD, choices: [{ index: 0, delta, finish_reason: finishReason }] });
}

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** One write an event, as an endpoint does that sends each delta as soon as it has it. */
async function writeEvents(response: ServerResponse, events: readonly string[]): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (let start = 0; start < events.length && !response.destroyed; start += DELTAS_A_WRITE_ROUND) {
    for (const text of events.slice(start, start + DELTAS_A_WRITE_ROUND)) response.write(text);
    if (response.writableNeedDrain) await drained(response);
  }
  response.end();
}

/** Also resolves when the client is gone. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      response.off('drain', settle).off('close', settle);
      resolve();
    };
    response.on('drain', settle).on('close', settle);
  });
}
