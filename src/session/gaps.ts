/** What undo has no copy of, as sentences; and how much it looks at. */
import type { Scan, ScanLimits } from './scan.js';
import { type PathState, type UnkeptReason, WHY_UNKEPT } from './undo-types.js';

const MEGABYTE = 1_000_000;

/** Large enough for most projects, small enough that a command does not wait for long, nor the disk fill up. */
export const LIMITS: { readonly usual: ScanLimits; readonly destructive: ScanLimits } = {
  usual: { files: 20_000, bytes: 200 * MEGABYTE, fileBytes: 20 * MEGABYTE, ms: 10_000 },
  destructive: { files: 50_000, bytes: 400 * MEGABYTE, fileBytes: 50 * MEGABYTE, ms: 60_000 },
};

/** Named of each kind; the rest is counted. */
const NAMED = 3;
const LINE_CHARACTERS = 200;

/** In most projects there are some, and nobody wonders that a link is no copy. */
const HARMLESS: ReadonlySet<UnkeptReason> = new Set(['secret', 'link', 'special']);

/** Of what a scan found: a person is told what is `serious`, and can look up the rest. */
export function gapsOf(
  { entries, limit }: Scan,
  shown: (path: string) => string,
): { readonly serious: readonly string[]; readonly harmless: readonly string[] } {
  const byReason = new Map<UnkeptReason, string[]>();
  for (const [path, entry] of entries) {
    if (entry.kind === 'folder' || 'hash' in entry.kept) continue;
    const { reason } = entry.kept;
    const found = byReason.get(reason);
    if (found === undefined) byReason.set(reason, [shown(path)]);
    else found.push(shown(path));
  }
  const sentences = (isWanted: (reason: UnkeptReason) => boolean) =>
    [...byReason].flatMap(([reason, paths]) => (isWanted(reason) ? [`${WITHOUT_COPY[reason]}: ${named(paths)}.`] : []));
  const unseen = limit === 'files' ? ['There are more files than are looked at.'] : [];
  return {
    serious: [...unseen, ...sentences((reason) => !HARMLESS.has(reason))],
    harmless: sentences((reason) => HARMLESS.has(reason)),
  };
}

const WITHOUT_COPY: Readonly<Record<UnkeptReason, string>> = {
  secret: 'No copy of files that hold secrets by their names',
  link: 'No copy of links',
  'hard-link': 'No copy of files with several names (hard links)',
  special: 'No copy of pipes, sockets and devices',
  'too-large': 'No copy of large files',
  unreadable: 'No copy of files that cannot be read',
  'beyond-limit': 'No copy beyond the limit of bytes and time',
  'store-failed': 'No copy, since the store cannot be written',
};

/** What changed without a copy of what it was, in one sentence; none where there is nothing. */
export function describeUnkept(
  changed: readonly { readonly path: string; readonly state: PathState }[],
): readonly string[] {
  const texts = changed.flatMap(({ path, state }) =>
    state.kind === 'unkept' ? [`${path} (it ${WHY_UNKEPT[state.reason]})`] : [],
  );
  return texts.length === 0 ? [] : [`Undo can't bring back what was changed here: ${named(texts)}.`];
}

function named(texts: readonly string[]): string {
  const more = texts.length - NAMED;
  return texts.slice(0, NAMED).join(', ') + (more > 0 ? `, and ${more} more` : '');
}

/** For a list: one line, not too long. */
export function firstLine(text: string): string {
  const line = text.trim().split(/\r?\n/, 1)[0] ?? '';
  return line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS)}…` : line;
}
