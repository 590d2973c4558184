/** A workbench for tests of the library: `createAgent` over a provider that says what a test wants. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import {
  type Agent,
  type AgentEvent,
  type AgentOptions,
  createAgent,
  defineTool,
  type Message,
  type ModelDelta,
  type ModelRequest,
  type Provider,
  RejectedError,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from '../../src/index.js';
import type { Turn } from '../fixtures/bench.js';

export type AgentBench = {
  readonly agent: Agent;
  /** As `onEvent` gets them. */
  readonly events: readonly AgentEvent[];
  readonly requests: readonly ModelRequest[];
  /** That of each request. */
  readonly signals: readonly AbortSignal[];
};

export type AgentBenchOptions = Omit<AgentOptions, 'provider'>;

/** An agent whose model plays `turns`, one a request. */
export function agentOver(
  turns: readonly Turn[] | ((request: ModelRequest, index: number) => Turn),
  options: AgentBenchOptions = {},
): AgentBench {
  const events: AgentEvent[] = [];
  const requests: ModelRequest[] = [];
  const signals: AbortSignal[] = [];
  const provider: Provider = {
    name: 'bench',
    async *stream(request, signal) {
      requests.push(request);
      signals.push(signal);
      const index = requests.length - 1;
      const turn = typeof turns === 'function' ? turns(request, index) : turns[index];
      if (turn === undefined) throw new Error('the script has no more turns');
      if (turn instanceof Error) throw turn;
      yield* typeof turn === 'function' ? turn(request, signal) : turn;
    },
  };
  const onEvent = (event: AgentEvent) => {
    events.push(event);
    options.onEvent?.(event);
  };
  return { agent: createAgent({ ...options, provider, onEvent }), events, requests, signals };
}

/** Yields these pieces, then waits for ever; it does as its signal says. */
export const hangs = (...pieces: readonly ModelDelta[]): Turn =>
  async function* (_, signal) {
    yield* pieces;
    await new Promise((_, reject) => {
      if (signal.aborted) reject(signal.reason as Error);
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  };

/** Waits for ever, whatever its signal says. */
export const isDeaf: Turn = async function* () {
  yield* [];
  await new Promise(() => undefined);
};

/** Plays `turn` once `opening` is fulfilled. */
export const behind = (opening: Promise<unknown>, turn: readonly ModelDelta[]): Turn =>
  async function* () {
    await opening;
    yield* turn;
  };

export const text = (piece: string): ModelDelta => ({ type: 'text', text: piece });
export const end: ModelDelta = { type: 'end', finishReason: 'stop' };

/** A promise and the way to fulfil it. */
export function gate(): { readonly opening: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opening = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opening, open };
}

/** A tool that does what a test says, and keeps the text that each run of it got. */
export function probe(
  name: string,
  run: (text: string, context: ToolContext) => Promise<ToolOutput> = async () => ({ ok: true, output: `${name} ran` }),
  fields: Partial<Tool> = {},
): { readonly tool: Tool; readonly ran: string[] } {
  const ran: string[] = [];
  const tool = defineTool({
    name,
    doc: 'Probes.',
    permission: 'read',
    concurrency: 'parallel',
    schema: z.object({ text: z.string().optional() }),
    subjects: () => [],
    run: ({ text: given = '' }, context) => {
      ran.push(given);
      return run(given, context);
    },
    ...fields,
  });
  return { tool, ran };
}

/** A tool that ends when `opening` is fulfilled. */
export const waiting = (name: string, opening: Promise<unknown>) =>
  probe(name, async () => {
    await opening;
    return { ok: true, output: `${name} ran` };
  });

/** Waits until `condition` holds. */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`It did not come to this: ${what}`);
    await sleep(2);
  }
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

export const ofType = <Type extends AgentEvent['type']>(events: readonly AgentEvent[], type: Type) =>
  events.filter((event): event is Extract<AgentEvent, { type: Type }> => event.type === type);

/** Each message as its role and its text, or the names of its calls. */
export const told = (messages: readonly Message[] = []): readonly string[] =>
  messages.map((message) => {
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []).map(({ name }) => name) : [];
    return `${message.role}: ${[message.content, ...calls].filter(Boolean).join(' ')}`;
  });

export const toolNames = (request: ModelRequest | undefined): readonly string[] =>
  request?.tools.map(({ name }) => name) ?? [];

/** What an endpoint would refuse about these messages. */
export function faultsOf(messages: readonly Message[]): readonly string[] {
  const faults: string[] = [];
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.includes(message.callId)) faults.push(`a result without a call: ${message.callId}`);
      open = open.filter((id) => id !== message.callId);
      continue;
    }
    if (open.length > 0) faults.push(`${message.role} behind calls without a result: ${open.join(', ')}`);
    open = message.role === 'assistant' ? (message.toolCalls ?? []).map(({ id }) => id) : [];
    if (new Set(open).size !== open.length) faults.push(`two calls with one id: ${open.join(', ')}`);
    if (message.role === 'assistant' && open.length === 0 && message.content.trim() === '')
      faults.push('an empty reply');
  }
  if (open.length > 0) faults.push(`calls without a result: ${open.join(', ')}`);
  return faults;
}

/** Why a run was not started. */
export function rejectionOf(act: () => unknown): RejectedError | undefined {
  try {
    act();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof RejectedError) return thrown;
    throw thrown;
  }
}
