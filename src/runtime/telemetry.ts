/**
 * Turns events into records for metrics and traces: few kinds, fixed keys, no texts of the conversation. They wait in a
 * short queue for whoever publishes them; a slow, stuck or throwing publisher costs records, never time of the run.
 */
import type { AgentEvent, EventSink } from '../events/types.js';
import type { OutcomeReason } from '../kernel/types.js';
import { redactForTelemetry } from './telemetry-redact.js';

/**
 * `request.*` is a run, `llm.*` a model call of it, `tool.*` a tool call, `output.*` a check of a structured answer.
 * A tool that ran out of time gives both `tool.timeout` and `tool.error`.
 */
export type TelemetryName =
  | 'request.start'
  | 'request.complete'
  | 'request.failed'
  | 'request.cancelled'
  | 'llm.start'
  | 'llm.retry'
  | 'llm.complete'
  | 'llm.error'
  | 'tool.start'
  | 'tool.retry'
  | 'tool.complete'
  | 'tool.error'
  | 'tool.timeout'
  | 'output.validated'
  | 'output.repair';

/** All keys that `metadata` may have; a record has those that it knows of. Names stay, new ones may come. */
export type TelemetryMetadata = {
  readonly run_id: string;
  readonly parent_run_id?: string;
  readonly worker: string;
  readonly model?: string;
  /** From 1. */
  readonly turn?: number;
  readonly finish_reason?: string;
  readonly call_id?: string;
  readonly tool?: string;
  /** The call's arguments, redacted and bounded. */
  readonly arguments?: unknown;
  /** How a run ended, e.g. `answered`, or a tool: `ok`, `failed`, `denied`. */
  readonly status?: string;
  /** For programs, e.g. `provider`, `timeout`. */
  readonly error_kind?: string;
  readonly error?: string;
  /** Why something is tried again. */
  readonly reason?: string;
};

/** All keys that `measurements` may have. Tokens are those of one model call, or of the whole run at its end. */
export type TelemetryMeasurements = {
  readonly duration_ms?: number;
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly total_tokens?: number;
  /** Tries after the first. */
  readonly retry_count?: number;
  /** Time before the work itself: the wait before a retry, or for a person's approval. */
  readonly queue_ms?: number;
};

export type TelemetryRecord = {
  readonly name: TelemetryName;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly metadata: TelemetryMetadata;
  readonly measurements: TelemetryMeasurements;
};

export type Telemetry = {
  /** A reader of the event stream. */
  readonly sink: EventSink;
  /** Records that were lost: the queue was full, or the publisher failed on them. */
  readonly dropped: () => number;
  /** Resolves when nothing waits any more, or after `timeoutMs`; true in the first case. */
  readonly flush: (timeoutMs: number) => Promise<boolean>;
};

const QUEUE_LIMIT = 100;

/** A telemetry hook over `publish`, which gets one record at a time and is waited for. */
export function createTelemetry(publish: (record: TelemetryRecord) => void | Promise<void>): Telemetry {
  const queue: TelemetryRecord[] = [];
  const recordsOf = createMapping();
  let dropped = 0;
  let draining: Promise<void> | undefined;

  async function drain(): Promise<void> {
    for (;;) {
      // Between two records others get their turn, whatever the publisher does.
      await new Promise((resolve) => setImmediate(resolve));
      const record = queue.shift();
      if (record === undefined) break;
      try {
        await publish(record);
      } catch {
        // The publisher's fault is not the run's; the count tells it.
        dropped += 1;
      }
    }
    draining = undefined;
  }

  return {
    sink: (event) => {
      for (const record of recordsOf(event)) {
        if (queue.length < QUEUE_LIMIT) queue.push(record);
        else dropped += 1;
      }
      if (queue.length > 0) draining ??= drain();
    },
    dropped: () => dropped,
    flush: async (timeoutMs) => {
      if (draining === undefined) return true;
      let timer: NodeJS.Timeout | undefined;
      const tooLong = new Promise<boolean>((resolve) => {
        timer = setTimeout(() => resolve(false), timeoutMs);
      });
      const isDone = await Promise.race([draining.then(() => true), tooLong]);
      clearTimeout(timer);
      return isDone;
    },
  };
}

type RunMemory = {
  readonly model: string;
  turn: { readonly number: number; readonly at: number } | undefined;
  retries: number;
  /** When each open tool call began. */
  readonly calls: Map<string, number>;
};

type Body = Pick<TelemetryRecord, 'name' | 'measurements'> & {
  readonly metadata?: Omit<TelemetryMetadata, 'run_id' | 'worker'>;
};

/** What records an event gives. Remembers open runs, for durations. */
function createMapping(): (event: AgentEvent) => readonly TelemetryRecord[] {
  const runs = new Map<string, RunMemory>();

  return (event) => {
    const { runId, parentRunId, worker, at } = event;
    if (event.type === 'run-start')
      runs.set(runId, { model: event.model, turn: undefined, retries: 0, calls: new Map() });
    const run = runs.get(runId);
    if (run === undefined) return [];
    const bodies = bodiesOf(event, run);
    if (event.type === 'run-end') runs.delete(runId);
    return bodies.map(({ name, metadata, measurements }) => ({
      name,
      at,
      metadata: {
        run_id: runId,
        ...(parentRunId !== undefined && { parent_run_id: parentRunId }),
        worker,
        model: run.model,
        ...(run.turn && { turn: run.turn.number }),
        ...metadata,
      },
      measurements,
    }));
  };
}

function bodiesOf(event: AgentEvent, run: RunMemory): readonly Body[] {
  switch (event.type) {
    case 'run-start':
      return [{ name: 'request.start', measurements: {} }];
    case 'turn-start':
      run.turn = { number: event.turn, at: event.at };
      run.retries = 0;
      return [{ name: 'llm.start', measurements: {} }];
    case 'retry':
      run.retries = event.attempt - 1;
      return [
        {
          name: 'llm.retry',
          metadata: { reason: bounded(event.reason) },
          measurements: { retry_count: run.retries, queue_ms: event.waitMs },
        },
      ];
    case 'turn-end':
      return [turnEnd(event, run)];
    case 'tool-start':
      run.calls.set(event.callId, event.at);
      return [
        {
          name: 'tool.start',
          metadata: { ...toolOf(event), arguments: argumentsOf(event.arguments) },
          measurements: {},
        },
      ];
    case 'tool-end':
      return toolEnd(event, run);
    case 'output-check': {
      const measurements = { retry_count: event.attempt - 1 };
      if (event.status === 'passed') return [{ name: 'output.validated', measurements }];
      return [{ name: 'output.repair', metadata: { reason: bounded(event.feedback ?? '') }, measurements }];
    }
    case 'run-end':
      return [runEnd(event)];
    default:
      // Pieces of replies and what is for people only: too many, or with too much in them.
      return [];
  }
}

type EventOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { readonly type: Type }>;

function turnEnd(event: EventOf<'turn-end'>, run: RunMemory): Body {
  const { finishReason, usage, at } = event;
  const duration_ms = at - (run.turn?.at ?? at);
  const measurements = { duration_ms, ...tokensOf(usage), retry_count: run.retries };
  if (finishReason === undefined) return { name: 'llm.error', measurements };
  return { name: 'llm.complete', metadata: { finish_reason: finishReason }, measurements };
}

function toolEnd(event: EventOf<'tool-end'>, run: RunMemory): readonly Body[] {
  const { ok, code, denied, attempts, durationMs, at, callId } = event;
  const startedAt = run.calls.get(callId) ?? at;
  run.calls.delete(callId);
  const retry_count = Math.max(0, attempts - 1);
  const measurements = { duration_ms: durationMs, retry_count, queue_ms: Math.max(0, at - startedAt - durationMs) };
  const status = ok ? 'ok' : denied === true ? 'denied' : 'failed';
  const metadata = { ...toolOf(event), status, ...(code !== undefined && { error_kind: code }) };
  const retries: readonly Body[] =
    retry_count === 0 ? [] : [{ name: 'tool.retry', metadata, measurements: { retry_count } }];
  if (ok) return [...retries, { name: 'tool.complete', metadata, measurements }];
  const timeouts: readonly Body[] = code === 'timeout' ? [{ name: 'tool.timeout', metadata, measurements }] : [];
  return [...retries, ...timeouts, { name: 'tool.error', metadata, measurements }];
}

const RUN_ENDS: Readonly<Partial<Record<OutcomeReason, TelemetryName>>> = {
  answered: 'request.complete',
  interrupted: 'request.cancelled',
};

function runEnd({ reason, error, usage, durationMs }: EventOf<'run-end'>): Body {
  return {
    name: RUN_ENDS[reason] ?? 'request.failed',
    metadata: { status: reason, ...(error && { error_kind: error.kind, error: bounded(error.message) }) },
    measurements: { duration_ms: durationMs, ...tokensOf(usage) },
  };
}

function tokensOf(usage: EventOf<'run-end'>['usage']) {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
  };
}

const toolOf = ({ callId, name }: { readonly callId: string; readonly name: string }) => ({
  call_id: callId,
  tool: name,
});

const bounded = (text: string): string => String(redactForTelemetry(text));

/** Text that can't be read as JSON can't be redacted by its keys, so it is left out. */
function argumentsOf(text: string): unknown {
  try {
    return redactForTelemetry(JSON.parse(text.trim() === '' ? '{}' : text));
  } catch {
    return '[not JSON]';
  }
}
