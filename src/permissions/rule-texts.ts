/** Rules of settings files: their grammar, and whether they fit what their author says that they must, and must not, fit. */
import { ConfigError } from '../errors.js';
import { coverOf } from './command-cover.js';
import type { Place } from './place.js';
import { commandsOf, ruleAllows, ruleRestricts } from './rule-match.js';
import { specKind, toolsNamed } from './rule-names.js';
import { parseRule } from './rules.js';
import type { Request, Rule, RuleKind, RuleText } from './types.js';

/**
 * @throws {ConfigError} with `FILE:LINE` for a rule that can't be read, and for one that does not fit its examples: with a
 * rule left out, or one that means something else, more would be allowed than its author wants.
 */
export function readRuleText(written: RuleText, place: Place): Rule {
  const { kind, text, source, reason, match = [], notMatch = [] } = written;
  const rule = parseRule(text, { kind, source: { kind: 'settings', place: source } }, reason);
  const wrong = (example: string, says: string) =>
    new ConfigError(`${source}: The rule "${rule.text}" ${says} ${JSON.stringify(example)}.`, {
      hint: 'Correct the rule, or its "match" and "notMatch", and start again.',
    });
  for (const example of match) {
    if (!fits(rule, kind, requestOf(example, rule, source), place))
      throw wrong(example, 'does not fit its own "match"');
  }
  for (const example of notMatch) {
    if (fits(rule, kind, requestOf(example, rule, source), place)) throw wrong(example, 'fits its own "notMatch"');
  }
  return rule;
}

function fits(rule: Rule, kind: RuleKind, request: Request, place: Place): boolean {
  if (kind !== 'allow') return ruleRestricts(rule, request, place);
  return (
    ruleAllows(rule, request, place) ||
    commandsOf(request).some((subject) => coverOf(subject, request, [rule], place).rule !== undefined)
  );
}

/** `shell(git push origin)`, or only what would stand between the parentheses. */
function requestOf(example: string, rule: Rule, source: string): Request {
  const [, name, inside] = /^\s*([A-Za-z_]\w*)\((.*)\)\s*$/s.exec(example) ?? [];
  const named = name === undefined ? undefined : toolsNamed(name);
  const tools = named ?? rule.tools;
  const [tool = ''] = tools;
  const given = (named === undefined ? example : (inside ?? '')).trim();
  if (given === '') throw new ConfigError(`${source}: an example of the rule "${rule.text}" is empty.`);
  switch (specKind(tools)) {
    case 'command':
      return { tool, permission: 'execute', subjects: [{ kind: 'command', command: given, cwd: '.' }] };
    case 'path':
      return { tool, permission: 'read', subjects: [{ kind: 'path', path: given }] };
    case 'host': {
      const address = given.replace(/^domain:/, '');
      const url = URL.canParse(address) && address.includes('://') ? address : `https://${address}`;
      return { tool, permission: 'network', subjects: [{ kind: 'url', url }] };
    }
    default:
      return { tool: given, permission: 'meta', subjects: [] };
  }
}
