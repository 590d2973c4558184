/** What a group of conformance cases came to. */

export type CaseResult = {
  readonly id: string;
  /** `safe-miss`: an error and an unchanged file where something else was listed. `corruption`: anything worse. */
  readonly verdict: 'pass-exact' | 'pass-also' | 'safe-miss' | 'fail' | 'corruption';
  /** What came instead, for a case that did not pass. */
  readonly detail?: string;
};

export type Group = {
  readonly name: string;
  /** Undefined: what it tests is not built yet, so it does not count. */
  readonly results: readonly CaseResult[] | undefined;
};

export function countOf(results: readonly CaseResult[], ...verdicts: readonly CaseResult['verdict'][]): number {
  return results.filter(({ verdict }) => verdicts.includes(verdict)).length;
}

export function passed(results: readonly CaseResult[]): number {
  return countOf(results, 'pass-exact', 'pass-also');
}
