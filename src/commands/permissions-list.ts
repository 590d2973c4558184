/** `chatcli permissions`: the rules in force and where they come from; `remove` takes back what an answer stored. */
import { loadConfig } from '../config/load.js';
import { removeStoredRule, type StoredRule, storedRulesFile } from '../config/stored-rules.js';
import { UsageError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import type { Rule, RuleKind } from '../permissions/types.js';
import { createWorkspace } from '../tools/workspace.js';
import type { RunFlags } from './flags.js';
import { hasTerminal, type Io, pathFrom } from './io.js';
import { modeOf } from './permissions.js';
import { createReport } from './report.js';
import { loadRules } from './rule-sources.js';
import type { SideRun } from './side-commands.js';

type ListedRule = {
  readonly kind: RuleKind;
  readonly rule: string;
  readonly tools: readonly string[];
  readonly source: string;
  readonly reason: string | null;
  /** Of a stored one: what `remove` takes. */
  readonly number: number | null;
  /** Of a stored one: the only folder in which it counts. */
  readonly folder: string | null;
};

type Listing = {
  readonly root: string;
  readonly file: string;
  readonly mode: string;
  readonly rules: readonly ListedRule[];
  /** Stored for other folders of the repository: not in force here. */
  readonly elsewhere: readonly ListedRule[];
};

export const runPermissions: SideRun = async ({ flags, operands, action }, io) => {
  const run = flags as Partial<RunFlags>;
  const { outputFormat = 'text' } = run;
  try {
    const text = action === 'remove' ? await remove(run, operands, io) : await list(run, io);
    io.stdout.write(text);
    return EXIT.answered;
  } catch (thrown) {
    return createReport({ io, flags: { outputFormat }, sessionId: '', startedAt: io.now() }).failure(thrown);
  }
};

async function open(flags: Partial<RunFlags>, io: Io) {
  const cwd = pathFrom(io.cwd, flags.cwd);
  const { envFile, approvalMode } = flags;
  const trustsWorkspace = flags.trustWorkspace === true;
  const loaded = await loadConfig({
    env: io.env,
    cwd,
    flags: { envFile, approvalMode },
    isForListing: true,
    trustsWorkspace,
  });
  const { roots } = await createWorkspace({ root: cwd });
  return { loaded, ...(await loadRules({ io, flags, loaded, roots })) };
}

async function list(flags: Partial<RunFlags>, io: Io): Promise<string> {
  const { loaded, rules, stored, folder } = await open(flags, io);
  const listing: Listing = {
    root: loaded.trust.root,
    file: storedRulesFile(loaded.config.folders.state),
    mode: modeOf(
      { kind: 'coder', words: [], flags: { outputFormat: 'text', ...flags } },
      loaded.config,
      hasTerminal(io),
    ),
    rules: (['deny', 'ask', 'allow'] as const).flatMap((kind) => rules[kind].map((rule) => listed(kind, rule, stored))),
    elsewhere: stored.flatMap(({ text, folder: where, at }, index) =>
      where === folder
        ? []
        : [
            {
              kind: 'allow',
              rule: text,
              tools: [],
              source: at,
              reason: null,
              number: index + 1,
              folder: where,
            } as const,
          ],
    ),
  };
  return flags.outputFormat === 'json' ? `${JSON.stringify({ type: 'permissions', ...listing })}\n` : textOf(listing);
}

function listed(kind: RuleKind, { text, tools, source, reason }: Rule, stored: readonly StoredRule[]): ListedRule {
  const index =
    source.kind === 'stored' ? stored.findIndex((each) => each.at === source.place && each.text === text) : -1;
  return {
    kind,
    rule: text,
    tools,
    source: source.place,
    reason: reason ?? null,
    number: index < 0 ? null : index + 1,
    folder: index < 0 ? null : (stored[index]?.folder ?? null),
  };
}

function textOf({ root, mode, rules, elsewhere }: Listing): string {
  const sections = (['deny', 'ask', 'allow'] as const).map((kind) => {
    const rows = rules.filter((rule) => rule.kind === kind);
    return [`${kind}:`, ...(rows.length === 0 ? ['  (no rules)'] : rows.map(rowOf))];
  });
  const others = elsewhere.map((rule) => `${rowOf(rule)}, only in ${rule.folder}`);
  const hasStored = rules.some(({ number }) => number !== null) || others.length > 0;
  return `${[
    `${root} · mode ${mode}`,
    ...sections.flat(),
    ...(others.length > 0 ? ['stored for other folders:', ...others] : []),
    ...(hasStored ? ['Stored rules have a number: chatcli permissions remove NUMBER takes one back.'] : []),
  ].join('\n')}\n`;
}

function rowOf({ number, rule, source, reason }: ListedRule): string {
  const mark = number === null ? '  ' : `${number} `.padStart(3);
  return `${mark.padStart(4)}${oneLine(rule)}  (${oneLine(source)}${reason === null ? '' : `: ${oneLine(reason)}`})`;
}

/** A file may hold anything, and a terminal would obey what is no text. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

async function remove(flags: Partial<RunFlags>, operands: readonly string[], io: Io): Promise<string> {
  const wanted = (operands[0] ?? '').trim();
  const { loaded, stored, folder } = await open(flags, io);
  const rule = pick(wanted, stored, folder);
  await removeStoredRule(loaded.config.folders.state, loaded.trust.root, rule);
  const where = rule.folder === '.' ? '' : ` in ${rule.folder}`;
  return flags.outputFormat === 'json'
    ? `${JSON.stringify({ type: 'permissions-removed', rule: rule.text, folder: rule.folder })}\n`
    : `Removed: ${oneLine(rule.text)}${where}\n`;
}

function pick(wanted: string, stored: readonly StoredRule[], folder: string): StoredRule {
  const fitting = /^\d+$/.test(wanted)
    ? stored.slice(Number(wanted) - 1, Number(wanted)).filter(() => Number(wanted) > 0)
    : stored.filter(({ text }) => text === wanted);
  const own = fitting.find((rule) => rule.folder === folder);
  const [first, ...more] = fitting;
  if (own !== undefined) return own;
  if (first === undefined) {
    throw new UsageError(`There is no stored rule "${wanted}" for this repository.`, {
      hint: 'chatcli permissions lists them, with their numbers. Rules of a settings file are removed there.',
    });
  }
  if (more.length > 0) {
    throw new UsageError(`The rule "${wanted}" is stored for several folders.`, {
      hint: 'Name one by its number: chatcli permissions lists them.',
    });
  }
  return first;
}
