/**
 * The openai package's Chat Completions over our own HTTP client. Of the SDK serve its resource, its types and its URL;
 * the rest is left out, for what was measured on Node 20: its `OpenAI` class brings all other resources along (115 kB,
 * 10 ms to load), and its way of sending makes WHATWG `Headers`, which load undici (35 ms and 4.4 MiB), keeps nothing of
 * an error's body that has no `error` in it, loses the cause of a timeout, and never takes its listener off the signal.
 */
import type { OpenAI } from 'openai/client';
import { Completions } from 'openai/resources/chat/completions/completions';
import type { HttpClient, HttpResponse } from '../http.js';

type Post = {
  readonly body: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * Chat Completions whose requests go through `http`, which carries the headers. Every answer is handed back as it is,
 * whatever its status: see `responseOf`. Nothing is retried, logged, or read from the environment.
 */
export function createCompletions(baseUrl: string, http: HttpClient): Completions {
  const base = baseUrl.replace(/\/$/, '');
  const client = {
    post: (path: string, { body, signal, headers }: Post) => ({
      asResponse: () =>
        http.fetch(base + path, {
          method: 'POST',
          body: JSON.stringify(body),
          ...(headers && { headers }),
          ...(signal && { signal }),
        }),
    }),
  };
  return new Completions(client as unknown as OpenAI);
}

/** Our own response to a request of such a client. Throws what `HttpClient.fetch` throws. */
export async function responseOf(promise: { asResponse(): Promise<unknown> }): Promise<HttpResponse> {
  return (await promise.asResponse()) as HttpResponse;
}
