/** The rules that bind a run, from all their sources: flags, settings files, what answers stored. */
import { homedir } from 'node:os';
import path from 'node:path';
import type { LoadedConfig } from '../config/load.js';
import { type StoredRule, storedRules } from '../config/stored-rules.js';
import type { Place } from '../permissions/place.js';
import { isFolder, nearestRealPath } from '../permissions/real-path.js';
import { readRuleText } from '../permissions/rule-texts.js';
import { parseRule, parseRuleList } from '../permissions/rules.js';
import type { Rule, RuleKind, RuleSet } from '../permissions/types.js';
import type { RunFlags } from './flags.js';
import type { Io } from './io.js';

export type LoadedRules = {
  readonly rules: RuleSet;
  readonly place: Place;
  /** Of this repository, those of its other folders included, which do not count here. */
  readonly stored: readonly StoredRule[];
  /** The folder that the run is in, below the repository's root, with `/`. */
  readonly folder: string;
};

export type RuleSources = {
  readonly io: Pick<Io, 'env'>;
  readonly flags: Pick<RunFlags, 'allowedTools' | 'disallowedTools'>;
  readonly loaded: Pick<LoadedConfig, 'config' | 'settingRules' | 'trust'>;
  /** Real paths of the workspace's folders. */
  readonly roots: readonly string[];
};

/**
 * @throws {UsageError} for a rule of a flag that can't be read.
 * @throws {ConfigError} for one of a file, with `FILE:LINE`.
 */
export async function loadRules({ io, flags, loaded, roots }: RuleSources): Promise<LoadedRules> {
  const { config, settingRules, trust } = loaded;
  const home = io.env.HOME || homedir();
  const place: Place = { roots, home, realPath: nearestRealPath, isFolder };
  const stored = await storedRules(config.folders.state, trust.root);
  const folder =
    path
      .relative(trust.root, roots[0] ?? trust.cwd)
      .split(path.sep)
      .join('/') || '.';
  const ofFlag = (kind: RuleKind, flag: string, values: readonly string[] = []) =>
    parseRuleList(values, { kind, source: { kind: 'flag', place: flag } });
  const ofFiles = (kind: RuleKind) =>
    settingRules
      // A project may only narrow.
      .filter((rule) => rule.kind === kind && (kind !== 'allow' || rule.scope === 'user'))
      .map((rule) => readRuleText(rule, place));
  // Who asks for read-only now means it, whatever was allowed before; a flag beside it is as new.
  const mayStand = () => config.approvalMode !== 'read-only';
  return {
    place,
    stored,
    folder,
    rules: {
      deny: [...ofFlag('deny', '--disallowed-tools', flags.disallowedTools), ...ofFiles('deny')],
      ask: ofFiles('ask'),
      allow: [
        ...ofFlag('allow', '--allowed-tools', flags.allowedTools),
        ...ofFiles('allow').filter(mayStand),
        // All are read: a broken one is told wherever it counts.
        ...stored
          .map(ruleOfStored)
          .filter((_, index) => stored[index]?.folder === folder)
          .filter(mayStand),
      ],
    },
  };
}

function ruleOfStored({ text, at }: StoredRule): Rule {
  return parseRule(text, { kind: 'allow', source: { kind: 'stored', place: at } });
}
