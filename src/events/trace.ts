/** Keeps what happened in the last runs, event by event, for whoever looks later. Within bounds. */
import type { AgentEvent, EventSink } from './types.js';

/** Per run: a long one at that, and some megabytes at most. */
export const EVENTS_KEPT = 2_000;
export const RUNS_KEPT = 100;

export type Trace = {
  /** As they came, deltas one by one: the first 2,000. Checkpoints are without their token. */
  readonly events: readonly AgentEvent[];
  /** Whether more came than are kept. */
  readonly truncated: boolean;
};

export type Traces = {
  /** Reads the stream. Each run begins with its `worker-start` or `run-start`; what comes before that is left out. */
  readonly sink: EventSink;
  /** The history of one run so far, as a copy; undefined for one that is not known, or no more. */
  readonly of: (runId: string) => Trace | undefined;
  /** The ids of the runs that are kept, at most 100, by their start. */
  readonly runs: () => readonly string[];
};

/** Each token holds the whole run so far: some hundred of them would be most of what the process has in memory. */
function withoutToken(event: AgentEvent): AgentEvent {
  return event.type === 'checkpoint' ? { ...event, token: '' } : event;
}

/** An empty history. The oldest run by start goes when one too many starts. */
export function createTraces(): Traces {
  const traces = new Map<string, { readonly events: AgentEvent[]; truncated: boolean }>();

  function begin(runId: string): void {
    traces.set(runId, { events: [], truncated: false });
    const [oldest] = traces.keys();
    if (traces.size > RUNS_KEPT && oldest !== undefined) traces.delete(oldest);
  }

  return {
    sink(event) {
      // Only a start may begin a trace: a late event must not bring back a run that had to go.
      const isStart = event.type === 'worker-start' || event.type === 'run-start';
      if (isStart && !traces.has(event.runId)) begin(event.runId);
      const trace = traces.get(event.runId);
      if (trace === undefined) return;
      if (trace.events.length < EVENTS_KEPT) trace.events.push(withoutToken(event));
      else trace.truncated = true;
    },
    of(runId) {
      const trace = traces.get(runId);
      return trace && { events: [...trace.events], truncated: trace.truncated };
    },
    runs: () => [...traces.keys()],
  };
}
