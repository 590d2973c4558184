/** The structured log: JSON lines with `level` as a word. One reader of the event stream, through pino. */
import { pino } from 'pino';
import { maskStrings } from '../events/emitter.js';
import type { AgentEvent, EventSink } from '../events/types.js';
import { formatMs } from './format.js';

export type LogOptions = {
  readonly level: string;
  /** A file that is appended to (mode 0600), or 2 for stderr. */
  readonly destination: string | 2;
  /** Takes out what looks like a secret: logs are kept, and sent to others. */
  readonly redact: (text: string) => string;
};

/** Its messages `agent turn`, `tool_call` and `tool result`, and their fields, are a contract with log readers. */
export function createLogSink({ level, destination, redact }: LogOptions): EventSink {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: (fields) => maskStrings(fields, redact) },
    },
    // Synchronous: a log that loses its last lines in a crash is of no use when it is needed.
    pino.destination({ dest: destination, sync: true, append: true, mkdir: true, mode: 0o600 }),
  );
  return (event) => {
    const run = { run: event.runId, agent: event.worker };
    switch (event.type) {
      case 'turn-end':
        return logger.info({ ...run, turn: event.turn, tokens: event.usage.totalTokens }, 'agent turn');
      case 'tool-start':
        return logger.info({ ...run, name: event.name, args: event.arguments }, 'tool_call');
      case 'tool-end':
        return logger.info({ ...run, ...resultFields(event) }, 'tool result');
      case 'retry':
        return logger.warn(
          { ...run, attempt: event.attempt, wait: formatMs(event.waitMs), reason: event.reason },
          'retry',
        );
      case 'fallback':
        return logger.warn({ ...run, from: event.from, to: event.to, reason: event.reason }, 'model fallback');
      case 'notice':
        return logger[event.level === 'warning' ? 'warn' : 'info']({ ...run, code: event.code }, redact(event.text));
      case 'run-end':
        return logger.info(
          { ...run, reason: event.reason, turns: event.turns, error: event.error?.message },
          'run end',
        );
      case 'text-delta':
      case 'reasoning-delta':
      case 'tool-update':
        return;
      default:
        return logger.debug({ ...run, event: event.type }, event.type);
    }
  };
}

function resultFields(event: Extract<AgentEvent, { type: 'tool-end' }>): object {
  const { name, ok, code, output, durationMs } = event;
  return {
    name,
    ok,
    ...(code !== undefined && { code }),
    lines: output.split('\n').length,
    duration: formatMs(durationMs),
  };
}
