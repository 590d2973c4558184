/**
 * Checkpoints: a run's state as a token that can be stored anywhere. Signed, so that nobody can change it; bound to
 * the configuration, so that it goes on as it began. Going on with a state is the loop's job.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { ChatcliError, ConfigError, messageOf } from '../errors.js';
import type { State } from '../kernel/types.js';
import type { SafePoint } from './options.js';
import { readContent, readState, type SealedContent } from './typed-state.js';

const VERSION = 'cc1';

/**
 * - `bad-format`: not one of our tokens at all.
 * - `bad-version`: ours, of another version.
 * - `bad-signature`: changed, or sealed with another secret.
 * - `expired`: older than it may be.
 * - `other-config`: sealed under another model, prompt, limits, tools or answer form.
 * - `bad-state`: genuine, yet what is in it is no state of a run.
 */
export type CheckpointProblem =
  | 'bad-format'
  | 'bad-version'
  | 'bad-signature'
  | 'expired'
  | 'other-config'
  | 'bad-state';

/** A checkpoint that cannot be gone on with; `code` says why. */
export class CheckpointError extends ChatcliError {
  readonly code: CheckpointProblem;

  constructor(code: CheckpointProblem, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super('usage', message, options);
    this.code = code;
  }
}

export type CheckpointOptions = {
  /** Whoever has it can make checkpoints; 32 random bytes are a good one. Not empty. */
  readonly secret: string | Uint8Array;
  /** How long a token can be opened, in milliseconds; for ever by default. */
  readonly ttlMs?: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
};

export type Checkpoints = {
  /** The token of a state: `cc1.<payload>.<signature>`, in characters that are safe in file names and URLs. */
  readonly seal: (content: {
    readonly state: State;
    /** Of the configuration that the run has: `fingerprintOf`. */
    readonly fingerprint: string;
    readonly point: SafePoint;
    /** Of the run that it began with, however often it was gone on with. */
    readonly runId?: string;
  }) => string;
  /**
   * What is in a token; white space around it is left out.
   * @throws {CheckpointError} whose `code` tells what is wrong with it.
   */
  readonly open: (token: string, fingerprint: string) => OpenedCheckpoint;
};

export type OpenedCheckpoint = { readonly state: State; readonly runId?: string };

/**
 * Seals and opens checkpoints with one secret.
 * @throws {ConfigError} when the secret is empty.
 */
export function createCheckpoints({ secret, ttlMs, now }: CheckpointOptions): Checkpoints {
  if (!secret?.length) throw new ConfigError('The secret of checkpoints is empty: anybody could make one.');
  const signatureOf = (signed: string) => createHmac('sha256', secret).update(signed).digest('base64url');

  return {
    seal({ state, fingerprint, point, runId }) {
      const sealedAt = now();
      const expiry = ttlMs === undefined ? {} : { expiresAt: sealedAt + ttlMs };
      const payload: SealedContent = { sealedAt, ...expiry, fingerprint, runId, point, state };
      const signed = `${VERSION}.${Buffer.from(JSON.stringify(payload)).toString('base64url')}`;
      return `${signed}.${signatureOf(signed)}`;
    },
    open(token, fingerprint) {
      const { signed, payload, signature } = partsOf(String(token).trim());
      if (!isEqual(signature, signatureOf(signed))) {
        throw new CheckpointError('bad-signature', 'The checkpoint was changed, or sealed with another secret.');
      }
      const content = contentOf(payload);
      if (content.expiresAt !== undefined && now() >= content.expiresAt) {
        throw new CheckpointError('expired', `The checkpoint expired on ${new Date(content.expiresAt).toISOString()}.`);
      }
      if (content.fingerprint !== fingerprint) {
        const hint = 'Give the same model, system prompt, limits, tools and answer schema as the run that made it.';
        throw new CheckpointError('other-config', 'The checkpoint is of another configuration.', { hint });
      }
      return { state: stateOf(content.state), ...(content.runId !== undefined && { runId: content.runId }) };
    },
  };
}

/** What a checkpoint is bound to. `limits` and `output` are plain JSON. */
export type FingerprintParts = {
  readonly model: string;
  readonly systemPrompt: string;
  readonly limits: object;
  /** Their order does not count. */
  readonly toolNames: readonly string[];
  /** The form that the answer has to have, e.g. a JSON Schema; absent for free text. */
  readonly output?: unknown;
};

/** The SHA-256 of the parts, in hex. The same for the same content, in whatever order its fields stand. */
export function fingerprintOf(parts: FingerprintParts): string {
  const text = JSON.stringify(canonical({ ...parts, toolNames: [...parts.toolNames].sort() }));
  return createHash('sha256').update(text).digest('hex');
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, canonical(field)]));
}

function partsOf(token: string): { readonly signed: string; readonly payload: string; readonly signature: string } {
  const [, version = '', payload = '', signature = ''] = /^(cc\d+)\.([\w-]+)\.([\w-]+)$/.exec(token) ?? [];
  if (version === '') throw new CheckpointError('bad-format', 'This is no checkpoint: it would begin with "cc1.".');
  if (version !== VERSION) {
    throw new CheckpointError('bad-version', `The checkpoint is of version ${version}; this chatcli reads ${VERSION}.`);
  }
  return { signed: `${version}.${payload}`, payload, signature };
}

/** Takes the same time wherever the two differ, so that a signature cannot be guessed piece by piece. */
function isEqual(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function contentOf(payload: string): SealedContent {
  try {
    return readContent(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
  } catch (cause) {
    throw new CheckpointError('bad-state', 'The checkpoint holds something else than a checkpoint.', { cause });
  }
}

function stateOf(value: unknown): State {
  try {
    return readState(value);
  } catch (cause) {
    throw new CheckpointError('bad-state', `The checkpoint holds no state of a run:\n${messageOf(cause)}`, { cause });
  }
}
