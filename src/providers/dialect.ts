/** What an endpoint has shown that it does not take. The standard form goes first, and is changed only on its word. */
import { complaintInText } from './complaint.js';

export type Dialect = {
  /** Asks for the usage at the end of a stream. */
  readonly sendsStreamOptions: boolean;
  readonly tokensField: 'max_tokens' | 'max_completion_tokens';
};

/**
 * The dialect to try next, after `status` and `body` refused a request in `dialect`; undefined where the refusal is
 * about something else. Never the same answer twice in a row.
 */
export function adaptedDialect(dialect: Dialect, status: number, body: string): Dialect | undefined {
  if (status !== 400 && status !== 422) return undefined;
  const { message } = complaintInText(body);
  if (dialect.sendsStreamOptions && /stream_options|include_usage/.test(body))
    return { ...dialect, sendsStreamOptions: false };
  if (dialect.tokensField === 'max_tokens' && /max_completion_tokens/.test(message)) {
    return { ...dialect, tokensField: 'max_completion_tokens' };
  }
  return undefined;
}
