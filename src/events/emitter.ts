/** Stamps each event once and hands it to all readers. A reader that throws or rejects is dropped; it can't stop a run. */
import type { AgentEvent, EventBody, EventSink } from './types.js';

/** Replaces secret values. `stream` is for text that comes in pieces: it may hold back a tail until `flush`. */
export type Redactor = {
  readonly mask: (text: string) => string;
  readonly stream: () => { readonly push: (text: string) => string; readonly flush: () => string };
};

export type RunStamp = { readonly runId: string; readonly parentRunId?: string; readonly worker: string };

export type Emitter = {
  /** The `emit` of one run. All runs share one rising `seq`. */
  readonly forRun: (stamp: RunStamp) => (body: EventBody) => void;
};

export type EmitterOptions = {
  readonly now: () => number;
  readonly sinks: readonly EventSink[];
  readonly redactor: Redactor;
};

type DeltaType = 'text-delta' | 'reasoning-delta';

export function createEmitter({ now, sinks, redactor }: EmitterOptions): Emitter {
  const live = new Set(sinks);
  /** Readers whose promise failed since the last event. */
  const failedLater = new Set<EventSink>();
  let seq = 0;

  function send(stamp: RunStamp, body: EventBody): void {
    seq += 1;
    const event: AgentEvent = { v: 1, seq, at: now(), ...stamp, ...body };
    const broken = [...live].filter((sink) => failedLater.has(sink) || !reads(sink, event, failedLater));
    for (const sink of broken) live.delete(sink);
    if (broken.length > 0 && live.size > 0) {
      send(stamp, {
        type: 'notice',
        level: 'warning',
        code: 'reader-failed',
        text: 'An event reader failed and is left out from here on.',
      });
    }
  }

  function forRun(stamp: RunStamp): (body: EventBody) => void {
    const streams = { 'text-delta': redactor.stream(), 'reasoning-delta': redactor.stream() };

    /** What the redactor still holds of the text so far comes out before any other event. */
    function flush(): void {
      for (const type of ['text-delta', 'reasoning-delta'] as const) {
        const text = streams[type].flush();
        if (text !== '') send(stamp, { type, text });
      }
    }

    function emitDelta(type: DeltaType, piece: string): void {
      const text = streams[type].push(piece);
      if (text !== '') send(stamp, { type, text });
    }

    return (body) => {
      if (body.type === 'text-delta' || body.type === 'reasoning-delta') return emitDelta(body.type, body.text);
      flush();
      send(stamp, maskStrings(body, redactor.mask));
    };
  }

  return { forRun };
}

function reads(sink: EventSink, event: AgentEvent, failedLater: Set<EventSink>): boolean {
  try {
    const promise: unknown = sink(event);
    if (typeof promise === 'object' && promise !== null) Promise.resolve(promise).catch(() => failedLater.add(sink));
    return true;
  } catch {
    // Whatever is wrong with a reader, the run is worth more than its report; the caller tells the others.
    return false;
  }
}

/** The same JSON value with `mask` applied to every string in it. */
export function maskStrings<Value>(value: Value, mask: (text: string) => string): Value {
  if (typeof value === 'string') return mask(value) as Value;
  if (Array.isArray(value)) return value.map((item) => maskStrings(item, mask)) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, maskStrings(item, mask)])) as Value;
}
