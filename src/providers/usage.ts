/** Token counts as endpoints report them, under the names of Chat Completions, of Responses and of their relatives. */
import type { Usage } from '../kernel/types.js';
import { asRecord, countOf } from './json.js';

export type Counts = Omit<Usage, 'requests'>;

/** The counts in a report; undefined where it is none, or says nothing. */
export function countsOf(value: unknown): Counts | undefined {
  const report = asRecord(value);
  if (report === undefined) return undefined;
  const promptTokens = countOf(report.prompt_tokens ?? report.input_tokens);
  const completionTokens = countOf(report.completion_tokens ?? report.output_tokens);
  const promptDetails = asRecord(report.prompt_tokens_details ?? report.input_tokens_details);
  const completionDetails = asRecord(report.completion_tokens_details ?? report.output_tokens_details);
  const cached = promptDetails?.cached_tokens ?? report.prompt_cache_hit_tokens ?? report.cached_tokens;
  const counts = {
    promptTokens,
    completionTokens,
    cachedTokens: countOf(cached),
    reasoningTokens: countOf(completionDetails?.reasoning_tokens ?? report.reasoning_tokens),
    totalTokens: countOf(report.total_tokens) || promptTokens + completionTokens,
  };
  return counts.totalTokens === 0 ? undefined : counts;
}

/** Count by count, the larger of two reports on one reply. */
export function largest(left: Counts, right: Counts): Counts {
  return {
    promptTokens: Math.max(left.promptTokens, right.promptTokens),
    completionTokens: Math.max(left.completionTokens, right.completionTokens),
    cachedTokens: Math.max(left.cachedTokens, right.cachedTokens),
    reasoningTokens: Math.max(left.reasoningTokens, right.reasoningTokens),
    totalTokens: Math.max(left.totalTokens, right.totalTokens),
  };
}
