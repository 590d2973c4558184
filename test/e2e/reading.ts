/** Reads what a run printed and what it sent. */
import type { AgentEvent } from '../../src/events/types.js';
import type { RecordedRequest } from '../fixtures/model-server.js';
import type { PlayedRun, Run } from './support.js';

// biome-ignore lint/suspicious/noExplicitAny: tests look into it freely.
type Loose = any;

/** The `json` format: exactly one value, and a newline. */
export function jsonOf(run: Run): Loose {
  if (!/^[^\n]+\n$/.test(run.stdout)) throw new Error(`stdout is not one line: ${JSON.stringify(cut(run.stdout))}`);
  return JSON.parse(run.stdout);
}

/** The `stream-json` format: events, then the result. */
export function streamOf(run: Run): { readonly events: readonly AgentEvent[]; readonly result: Loose } {
  if (!run.stdout.endsWith('\n')) throw new Error('stdout does not end with a newline.');
  const lines: Loose[] = run.stdout
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line));
  return { events: lines.slice(0, -1), result: lines.at(-1) };
}

/** The texts that a request carries as tool results, in order. */
export function resultsIn(request: RecordedRequest | undefined): readonly string[] {
  const messages: Loose[] = request?.body.messages ?? [];
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
}

/** The newest tool result of a run: the one its last request brought. */
export function lastResult({ requests }: PlayedRun): string {
  return resultsIn(requests.at(-1)).at(-1) ?? '';
}

/** What the person's side of a request says: its first user message. */
export function taskIn(request: RecordedRequest | undefined): string {
  const messages: Loose[] = request?.body.messages ?? [];
  return messages.find(({ role }) => role === 'user')?.content ?? '';
}

/** The text of a request's newest message. */
export function lastMessageIn(request: RecordedRequest | undefined): string {
  const messages: Loose[] = request?.body.messages ?? [];
  return messages.at(-1)?.content ?? '';
}

export function toolsIn(request: RecordedRequest | undefined): readonly string[] {
  const tools: Loose[] = request?.body.tools ?? [];
  return tools.map((tool) => tool.function.name);
}

/** A long text for a message: its start and its end. */
export function cut(text: string): string {
  return text.length <= 3_000 ? text : `${text.slice(0, 1_500)}\n[…]\n${text.slice(-1_500)}`;
}
