/** Answers to permission questions, from wherever they come. */
import type { ApprovalVerdict } from '../events/types.js';

const ALLOWING = ['once', 'session', 'always'] as const;

/** What an answer comes to: only the words that allow do, anything else is a `no`. */
export function verdictOf(given: unknown): ApprovalVerdict {
  const { answer, message, by } = isObject(given) ? given : { answer: given };
  const allowing = ALLOWING.find((word) => word === answer);
  return {
    answer: allowing ?? 'no',
    ...(allowing === undefined && typeof message === 'string' && message.trim() !== '' && { message }),
    ...((by === 'rule' || by === 'timeout') && { by }),
  };
}

function isObject(value: unknown): value is { answer?: unknown; message?: unknown; by?: unknown } {
  return typeof value === 'object' && value !== null;
}
