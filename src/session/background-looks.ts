/**
 * Commands that go on after their call: a further look when they have ended finds what they changed since. A person may
 * have worked there meanwhile too, so what this turn did not record itself is marked, and taken back only on a word.
 */
import type { Scan } from './scan.js';
import { differenceOf } from './scan-difference.js';
import { type Change, isSameContent, isSameState } from './undo-types.js';

export type Seen = Pick<Change, 'path' | 'before' | 'after' | 'order'>;

export type BackgroundLooks = {
  /** Told of each change that is recorded otherwise. */
  seen(change: Seen): void;
  /** `finish` is given what changed from `from` on once the command `hasEnded`, and takes the look for it. */
  follow(command: Followed): void;
  /** Waits for the last look of all that have ended. */
  settle(): Promise<void>;
};

export type Followed = {
  readonly from: Scan;
  readonly order: number;
  readonly hasEnded: Promise<unknown>;
  readonly look: () => Promise<Scan>;
  readonly finish: (changes: readonly Pick<Change, 'path' | 'before' | 'after'>[]) => void;
};

export function createBackgroundLooks(warn: (thrown: unknown) => void): BackgroundLooks {
  const open = new Set<Promise<void>>();
  const changes: Seen[] = [];

  async function end({ from, order, hasEnded, look, finish }: Followed): Promise<void> {
    await hasEnded;
    const now = await look();
    const own = new Map<string, { readonly first: Seen; readonly last: Seen }>();
    for (const each of changes.filter((change) => change.order > order))
      own.set(each.path, { first: own.get(each.path)?.first ?? each, last: each });
    const isOwn = ({ path, before, after }: Pick<Change, 'path' | 'before' | 'after'>) => {
      const known = own.get(path);
      return known && isSameContent(known.first.before, before) && isSameState(known.last.after, after);
    };
    finish(differenceOf(from, now).filter((each) => !isOwn(each)));
  }

  return {
    seen: (change) => {
      if (open.size > 0) changes.push(change);
    },
    follow: (command) => {
      const ending: Promise<void> = end(command)
        .catch(warn)
        .finally(() => {
          open.delete(ending);
          if (open.size === 0) changes.length = 0;
        });
      open.add(ending);
    },
    settle: async () => {
      await Promise.all(open);
    },
  };
}
