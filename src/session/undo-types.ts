/** The words of undo: what a path was, what became of it, and the records of a turn that the store keeps. */
import * as z from 'zod';

/** Why there is no copy of a file that was there. */
const REASONS = [
  'secret',
  'link',
  'hard-link',
  'special',
  'too-large',
  'unreadable',
  'beyond-limit',
  'store-failed',
] as const;
export type UnkeptReason = (typeof REASONS)[number];

const pathState = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('absent') }),
  /** A regular file. Where it is a state before a change, the store has these bytes. `mode`: permission bits. */
  z.object({ kind: z.literal('file'), hash: z.string().regex(/^[0-9a-f]{64}$/), mode: z.number().optional() }),
  z.object({ kind: z.literal('folder') }),
  z.object({ kind: z.literal('unkept'), reason: z.enum(REASONS) }),
]);
/** What a path is at one moment. */
export type PathState = z.output<typeof pathState>;

const change = z.object({
  type: z.literal('change'),
  /** When `before` was looked at, as a count within the turn: the lowest of a path is what undo goes back to. */
  order: z.number(),
  /** When `after` was looked at, where something else may have come between. */
  until: z.number().optional(),
  at: z.number(),
  /** Absolute. */
  path: z.string(),
  before: pathState,
  after: pathState,
  how: z.enum(['tool', 'command', 'background', 'undo']),
  command: z.string().optional(),
  /** Found after the run had died: whether the run or somebody else left this is not known. */
  isUnsure: z.boolean().optional(),
});
export type Change = z.output<typeof change>;

const header = z.object({
  type: z.literal('turn'),
  version: z.literal(1),
  at: z.number(),
  /** First line of the person's task. */
  task: z.string(),
  sessionId: z.string(),
  /** Real paths of the workspace's folders, the main one first: nothing outside them is restored. */
  roots: z.array(z.string()).min(1),
  pid: z.number(),
  /** The turn that this one undid. */
  undoes: z.number().optional(),
});
export type TurnHeader = z.output<typeof header>;

const commandStart = z.object({
  type: z.literal('command-start'),
  id: z.number(),
  order: z.number(),
  at: z.number(),
  command: z.string(),
  /** The stored scan of the moment before it. */
  scan: z.string(),
});
export type CommandStart = z.output<typeof commandStart>;

export const turnLine = z.discriminatedUnion('type', [
  header,
  change,
  commandStart,
  z.object({ type: z.literal('command-end'), id: z.number() }),
  /** What there is no copy of, as a sentence. */
  z.object({ type: z.literal('gap'), text: z.string() }),
  z.object({ type: z.literal('end'), at: z.number() }),
]);
export type TurnLine = z.output<typeof turnLine>;

export type Turn = TurnHeader & {
  /** Rises from turn to turn; never given twice. */
  readonly number: number;
  readonly changes: readonly Change[];
  readonly gaps: readonly string[];
  /** Commands that began and of which no end is told: still running, or the run was killed. */
  readonly openCommands: readonly CommandStart[];
  readonly hasEnded: boolean;
};

/** What undo knows of one path of a turn. */
export type TurnFile = {
  readonly path: string;
  readonly before: PathState;
  /** What the turn left at one time or another, the last one last. */
  readonly afters: readonly PathState[];
  readonly how: Change['how'];
  readonly isUnsure: boolean;
  /** Last changed while a command went on in the background: by that, or by somebody else. */
  readonly isMeanwhile: boolean;
  /** Somebody else changed it between two changes of the turn. */
  readonly isShared: boolean;
};

/** One entry a path: what it was before the turn, and what the turn made of it. Paths that ended as they began are left out. */
export function filesOf(turn: Pick<Turn, 'changes'>): readonly TurnFile[] {
  const byPath = new Map<string, Change[]>();
  for (const each of turn.changes) byPath.set(each.path, [...(byPath.get(each.path) ?? []), each]);
  return [...byPath].flatMap(([path, changes]) => {
    const sorted = changes.toSorted((a, b) => a.order - b.order);
    const [first] = sorted;
    const last = changes.at(-1);
    if (first === undefined || last === undefined || isSameState(first.before, last.after)) return [];
    const { before, how } = first;
    const isUnsure = last.isUnsure === true;
    const afters = changes.map(({ after }) => after);
    const isMeanwhile = last.how === 'background';
    return [{ path, before, afters, how, isUnsure, isMeanwhile, isShared: isShared(sorted) }];
  });
}

/** Whether a change started from what none before it had left. During a command that is not known. */
function isShared(changes: readonly Change[]): boolean {
  return changes.some(({ before, order }, index) => {
    const earlier = changes.slice(0, index);
    const isCovered = earlier.some(({ until = 0 }) => order < until);
    return index > 0 && !isCovered && !earlier.some(({ after }) => isSameContent(after, before));
  });
}

export function isSameContent(one: PathState, other: PathState): boolean {
  if (one.kind === 'file' && other.kind === 'file') return one.hash === other.hash;
  return one.kind === other.kind && one.kind !== 'unkept';
}

export function isSameState(one: PathState, other: PathState): boolean {
  if (one.kind === 'file' && other.kind === 'file')
    return one.hash === other.hash && (one.mode === undefined || other.mode === undefined || one.mode === other.mode);
  return one.kind === other.kind && one.kind !== 'unkept';
}

/** The turn that took this one back, unless that was taken back itself. */
export function undoneBy(turn: Turn, turns: readonly Turn[]): Turn | undefined {
  return turns.find((each) => each.undoes === turn.number && undoneBy(each, turns) === undefined);
}

/** Why there is no copy, for people. */
export const WHY_UNKEPT: Readonly<Record<UnkeptReason, string>> = {
  secret: 'holds secrets by its name, so no copy is kept',
  link: 'is a link',
  'hard-link': 'has several names (hard links)',
  special: 'is no regular file',
  'too-large': 'is too large to keep a copy',
  unreadable: 'cannot be read',
  'beyond-limit': 'was left out, since there are more files than are kept',
  'store-failed': 'could not be copied to the store',
};
