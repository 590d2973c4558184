/** Small questions to an endpoint beside its chat: one JSON answer, in bounded time and size. */
import { createHttpClient, type HttpClientOptions, HttpError } from '../http.js';
import { excerpt } from './complaint.js';
import { parseJson } from './json.js';

export type Asking = {
  /** With its `/v1`, if the endpoint has one; without a slash at its end. */
  readonly baseUrl: string;
  /** For each answer as a whole. */
  readonly timeoutMs: number;
  readonly apiKey?: string;
  /** Its headers win over ours. */
  readonly network?: Pick<HttpClientOptions, 'proxy' | 'ca' | 'headers'>;
};

/** What came, or why nothing did, as a sentence. */
export type JsonAnswer = { readonly value: unknown } | { readonly problem: string };

const ANSWER_LIMIT_BYTES = 8 * 1024 * 1024; // OpenRouter's list of models has about 1 MB.
const TOO_SLOW = 'too slow';

/** Sends a GET to `url`, or a POST where there is a `body`. What the endpoint or the network does wrong is a problem. */
export async function askJson(url: string, asking: Omit<Asking, 'baseUrl'>, body?: object): Promise<JsonAnswer> {
  const { timeoutMs, apiKey, network } = asking;
  const headers = {
    accept: 'application/json',
    ...(body && { 'content-type': 'application/json' }),
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    ...network?.headers,
  };
  const http = createHttpClient({ ...network, firstByteTimeoutMs: timeoutMs, idleTimeoutMs: timeoutMs, headers });
  const controller = new AbortController();
  // A server that dribbles would outlast both timers of the client.
  const timer = setTimeout(() => controller.abort(TOO_SLOW), timeoutMs);
  try {
    const request = body && { method: 'POST', body: JSON.stringify(body) };
    const response = await http.fetch(url, { ...request, signal: controller.signal });
    const text = await response.text(ANSWER_LIMIT_BYTES);
    if (!response.ok)
      return { problem: `${response.url} answered ${response.status}: ${excerpt(text) || 'no message'}` };
    const value = parseJson(text);
    return value === undefined ? { problem: `${response.url} did not answer with JSON.` } : { value };
  } catch (thrown) {
    if (thrown === TOO_SLOW) return { problem: `${url} did not answer within ${timeoutMs / 1000} s.` };
    if (thrown instanceof HttpError) return { problem: thrown.message };
    throw thrown;
  } finally {
    clearTimeout(timer);
    http.close();
  }
}
