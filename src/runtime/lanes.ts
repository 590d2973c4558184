/**
 * The conversation between runs: a log that only grows, and lanes, named histories that are rebuilt from it. When an
 * operation may be applied, now or behind a run, is the caller's to say.
 */
import { fullMemory, type Memory } from '../context/memory.js';
import type { EventBody } from '../events/types.js';
import { repair } from '../kernel/transcript.js';
import type { Message, OutcomeReason } from '../kernel/types.js';
import { durablePairs, withoutSkillPairs } from './skill-pairs.js';
import { readContextOp } from './typed-context.js';

export const DEFAULT_LANE = 'default';

/** How many operation ids are remembered, so that one that is sent twice counts once. */
const REMEMBERED_OPERATIONS = 128;

/** A reader of the stream may ask for another operation at each; one that does so without end must not hang the run. */
const APPLIED_AT_ONCE = 1_000;

const NOT_RUN = 'Not run: interrupted.';

/** What the next run is told of one that did not come to its end; a limit's summary speaks for itself. */
const MARKS: Readonly<Record<OutcomeReason, string | undefined>> = {
  answered: undefined,
  'turn-limit': undefined,
  timeout: '[The run above reached its time limit before it was finished.]',
  budget: '[The run above used up its budget before it was finished.]',
  stuck: '[The run above was ended because it went in circles.]',
  denied: '[The run above ended because an action that it needed was denied.]',
  interrupted: '[The run above was cancelled before it was finished.]',
  failed: '[The run above failed before it was finished.]',
};

/**
 * A change of the conversation that is no turn of it.
 * - `replace`: `messages` in place of the lane's; without them the lane keeps its own.
 * - `compact`: the same, but skills that were really loaded stay; without `messages` nothing else does.
 * - `restore`: `messages` in place of the lane's; without them those from before its last replacement.
 * - `switch`: goes on in `lane`, which begins empty if nothing was ever said in it.
 * A `systemPrompt` that is not blank becomes the prompt of all lanes; without one the prompt stays.
 */
export type ContextOp = {
  /** Whoever sends an operation twice under one id has it applied once. */
  readonly opId: string;
  readonly type: 'replace' | 'switch' | 'compact' | 'restore';
  /** The current one by default; for `switch`, `default`. */
  readonly lane?: string | undefined;
  /** System messages in it are left out, and calls without a result get one. */
  readonly messages?: readonly Message[] | undefined;
  readonly systemPrompt?: string | undefined;
  /** `manual` by default. */
  readonly reason?: string | undefined;
};

/** One entry of the log. `base`: runs from this place of the log on stand behind a replacement, not under it. */
export type LogEntry =
  | {
      readonly kind: 'run';
      readonly lane: string;
      readonly runId: string;
      /** The id of the run that it goes on with; of those that began as one only the last counts. */
      readonly beganAs: string;
      readonly status: OutcomeReason;
      readonly messages: readonly Message[];
    }
  | {
      readonly kind: 'operation';
      readonly lane: string;
      readonly op: Omit<ContextOp, 'messages'>;
      readonly replacement?: { readonly messages: readonly Message[]; readonly base: number };
    };

export type ContextEvent = Extract<EventBody, { type: 'context'; operationId: string }>;

export type ConversationOptions = {
  /** What of a lane enters the next run; all of it by default. */
  readonly memory?: Memory;
  readonly systemPrompt?: string;
  /**
   * Whether the result of this call is a skill's body that our own tool runner gave: the runner keeps the ids. Only
   * such are kept by a compaction; none by default.
   */
  readonly isLoadedSkill?: (runId: string, callId: string) => boolean;
  /** Told of each operation once it is applied. */
  readonly onContext?: (event: ContextEvent) => void;
};

export type Conversation = {
  /** What the next run begins with: the current lane through the memory, valid, without a system message. */
  readonly messages: () => readonly Message[];
  /** Whether a message of this conversation is a skill's body that our own tool gave. */
  readonly isLoadedSkill: (message: Message) => boolean;
  readonly systemPrompt: () => string;
  /** A blank text changes nothing: a run is never sent without the prompt it had. */
  readonly setSystemPrompt: (text: string) => void;
  readonly lane: () => string;
  /** Everything that ever was, in order; a copy. */
  readonly log: () => readonly LogEntry[];
  /**
   * Adds what was said in one run, from its task on, to the current lane. A run that failed or was cancelled is kept
   * as well: its open calls are answered, and a sentence behind it tells the next run how it ended. `beganAs` is the
   * id of the run that it goes on with, in whose place it stands then; its own by default.
   */
  readonly record: (runId: string, messages: readonly Message[], status: OutcomeReason, beganAs?: string) => void;
  /**
   * Applies an operation now: for when no run is on. False for an id that is known.
   * @throws {UsageError} when it is not valid; then nothing of it is applied, and its id is not known.
   */
  readonly apply: (op: ContextOp) => boolean;
  /**
   * Keeps an operation for `flushDeferred`: for while a run is on. What that run says is kept, also by a replacement.
   * False for an id that is known.
   * @throws {UsageError} as `apply`, at once.
   */
  readonly defer: (op: ContextOp) => boolean;
  /**
   * Applies what was deferred, in order, also what is deferred meanwhile; for after the run's last event. The ids that
   * were applied: after a thousand the rest waits for the next flush.
   */
  readonly flushDeferred: () => readonly string[];
};

/** An empty conversation in the lane `default`. */
export function createConversation(options: ConversationOptions = {}): Conversation {
  const { memory = fullMemory(), isLoadedSkill = () => false, onContext } = options;
  const log: LogEntry[] = [];
  // Marked by identity, and messages from outside come in as copies: no text can make itself one of these.
  const genuine = new WeakSet<Message>();
  const isNew = createIdMemory();
  const deferred: { readonly op: ContextOp; readonly base: number }[] = [];
  let lane = DEFAULT_LANE;
  let systemPrompt = options.systemPrompt ?? '';

  function setSystemPrompt(text: string): void {
    if (text.trim() !== '') systemPrompt = text;
  }

  /** The calls that loaded a skill in the runs that began as this one. */
  function loadedBefore(beganAs: string): ReadonlySet<string> {
    const messages = log.flatMap((entry) => (entry.kind === 'run' && entry.beganAs === beganAs ? entry.messages : []));
    return new Set(messages.flatMap((each) => (each.role === 'tool' && genuine.has(each) ? [each.callId] : [])));
  }

  function applyAt({ messages, ...op }: ContextOp, base: number): void {
    if (op.type === 'switch') lane = op.lane ?? DEFAULT_LANE;
    const target = op.lane ?? lane;
    const replacement = replacementOf({ ...op, ...(messages && { messages }) }, { log, lane: target, base, genuine });
    log.push({ kind: 'operation', lane: target, op, ...(replacement && { replacement }) });
    setSystemPrompt(op.systemPrompt ?? '');
    onContext?.({
      type: 'context',
      operation: op.type,
      operationId: op.opId,
      lane: target,
      reason: op.reason ?? 'manual',
      messages: project(log, target).length,
    });
  }

  return {
    messages: () => memory.context(project(log, lane)),
    isLoadedSkill: (message) => genuine.has(message),
    systemPrompt: () => systemPrompt,
    setSystemPrompt,
    lane: () => lane,
    log: () => structuredClone(log),
    record(runId, messages, status, beganAs = runId) {
      const kept = keep(messages);
      const known = loadedBefore(beganAs);
      for (const message of kept) {
        if (message.role !== 'tool') continue;
        if (known.has(message.callId) || isLoadedSkill(runId, message.callId)) genuine.add(message);
      }
      log.push({ kind: 'run', lane, runId, beganAs, status, messages: kept });
    },
    apply(given) {
      const op = readContextOp(given);
      if (!isNew(op)) return false;
      applyAt(op, log.length);
      return true;
    },
    defer(given) {
      const op = readContextOp(given);
      if (!isNew(op)) return false;
      deferred.push({ op, base: log.length });
      return true;
    },
    flushDeferred() {
      const applied: string[] = [];
      while (applied.length < APPLIED_AT_ONCE) {
        const due = deferred.shift();
        if (due === undefined) break;
        applyAt(due.op, due.base);
        applied.push(due.op.opId);
      }
      return applied;
    },
  };
}

/** What a lane says in the first `end` entries of the log: its last replacement and the runs behind that. */
function project(log: readonly LogEntry[], lane: string, end = log.length): readonly Message[] {
  const { messages, base } = lastReplacement(log, lane, end) ?? { messages: [], base: 0 };
  const runs = log.slice(base, end).flatMap((entry) => (entry.kind === 'run' && entry.lane === lane ? [entry] : []));
  const last = new Map(runs.map((run) => [run.beganAs, run]));
  const counted = runs.filter((run) => last.get(run.beganAs) === run);
  return [...messages, ...counted.flatMap((run) => [...run.messages, ...markOf(run.status)])];
}

type Replacement = { readonly messages: readonly Message[]; readonly base: number };

function lastReplacement(
  log: readonly LogEntry[],
  lane: string,
  end: number,
): (Replacement & { readonly index: number }) | undefined {
  for (let index = end - 1; index >= 0; index -= 1) {
    const entry = log[index];
    if (entry?.kind === 'operation' && entry.lane === lane && entry.replacement) return { ...entry.replacement, index };
  }
  return undefined;
}

type Place = {
  readonly log: readonly LogEntry[];
  readonly lane: string;
  /** How long the log was when the operation was asked for. */
  readonly base: number;
  readonly genuine: WeakSet<Message>;
};

/** What an operation puts in the place of a lane's messages, if it does. */
function replacementOf({ type, messages }: ContextOp, { log, lane, base, genuine }: Place): Replacement | undefined {
  switch (type) {
    case 'switch':
      return undefined;
    case 'compact': {
      const skills = durablePairs(project(log, lane, base), genuine);
      return { messages: [...keep(withoutSkillPairs(messages ?? [])), ...skills], base };
    }
    case 'replace':
      return messages && { messages: keep(messages), base };
    case 'restore': {
      if (messages !== undefined) return { messages: keep(messages), base };
      const last = lastReplacement(log, lane, log.length);
      return last && { messages: project(log, lane, last.index), base: last.index };
    }
    default:
      return type satisfies never;
  }
}

/** A copy that can be sent and that nobody can change. */
function keep(messages: readonly Message[]): readonly Message[] {
  const said = structuredClone(messages.filter((message) => message.role !== 'system'));
  return repair(said, NOT_RUN).map(frozen);
}

function frozen<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

function markOf(status: OutcomeReason): readonly Message[] {
  const content = MARKS[status];
  return content === undefined ? [] : [{ role: 'user', content }];
}

/** Says whether an operation comes for the first time, as far back as it remembers. */
function createIdMemory(): (op: ContextOp) => boolean {
  const known = new Set<string>();
  return ({ opId }) => {
    if (known.has(opId)) return false;
    known.add(opId);
    const [oldest] = known;
    if (known.size > REMEMBERED_OPERATIONS && oldest !== undefined) known.delete(oldest);
    return true;
  };
}
