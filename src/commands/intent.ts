/** What a person asked for, and the worker that stands for each way of asking. */
import type { RunFlags } from './flags.js';

export type Intent = {
  readonly kind: 'agent' | 'coder' | 'chat';
  /** The task's words; empty when it is to come from stdin. */
  readonly words: readonly string[];
  readonly flags: RunFlags;
};

export const ENTRY_WORKERS: Readonly<Record<Intent['kind'], string>> = { agent: 'agent', coder: 'coder', chat: 'chat' };
