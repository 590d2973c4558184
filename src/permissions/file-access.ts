/** What rules and names say of a file that somebody comes by without having named it: in a listing or a search. */
import { resolve, sep } from 'node:path';
import { isSecret } from './command-cover.js';
import type { Place } from './place.js';
import { ruleRestrictsReading } from './rule-match.js';
import type { RuleSet } from './types.js';

/** `forbidden`: a rule denies reading it. `guarded`: reading it needs a question, since it holds secrets or a rule asks. */
export type FileAccess = 'free' | 'guarded' | 'forbidden';

/** `path` is absolute, and real: who walks through folders follows no links. */
export function fileAccess(
  path: string,
  { rules, roots, home }: Pick<Place, 'roots' | 'home'> & { readonly rules: RuleSet },
): FileAccess {
  const place: Place = { roots, ...(home !== undefined && { home }) };
  const absolute = resolve(roots[0] ?? sep, path);
  if (rules.deny.some((rule) => ruleRestrictsReading(rule, absolute, place))) return 'forbidden';
  if (isSecret(absolute, place)) return 'guarded';
  return rules.ask.some((rule) => ruleRestrictsReading(rule, absolute, place)) ? 'guarded' : 'free';
}
