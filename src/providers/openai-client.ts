/**
 * The openai package over our own HTTP client. Of the SDK serve its resources, their types and its URLs; its way of
 * sending is replaced, for what was measured on Node 20: it makes WHATWG `Headers`, which load undici (35 ms and
 * 4.4 MiB, more than the SDK itself), keeps nothing of an error's body that has no `error` in it, loses the cause of a
 * timeout, and never takes its listener off the signal.
 */
import { APIPromise } from 'openai/api-promise';
import { OpenAI } from 'openai/client';
import type { HttpClient, HttpResponse } from '../http.js';

/**
 * An SDK client whose requests go through `http`, which carries the headers. Every answer is handed back as it is,
 * whatever its status: see `responseOf`. Nothing is retried, logged, or read from the environment.
 */
export function createOpenaiClient(baseUrl: string, http: HttpClient): OpenAI {
  const client = new OpenAI({
    // All given, so that the SDK looks for none of them in the environment.
    apiKey: 'in our own headers',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    baseURL: baseUrl,
    maxRetries: 0,
    logLevel: 'off',
    fetch: () => Promise.reject(new Error('The SDK sends nothing by itself.')),
  });

  async function send(options: Parameters<OpenAI['request']>[0]): Promise<ApiAnswer> {
    const final = await options;
    const url = client.buildURL(final.path, null);
    const request = {
      method: final.method.toUpperCase(),
      body: JSON.stringify(final.body),
      signal: final.signal ?? undefined,
    };
    const response = await http.fetch(url, request);
    return {
      response: response as unknown as Response,
      options: final,
      controller: new AbortController(),
      requestLogID: '',
      retryOfRequestLogID: undefined,
      startTime: 0,
    };
  }

  client.request = (options) => new APIPromise(client, send(options));
  return client;
}

/** Our own response to a request of such a client. Throws what `HttpClient.fetch` throws. */
export async function responseOf(promise: Pick<APIPromise<unknown>, 'asResponse'>): Promise<HttpResponse> {
  return (await promise.asResponse()) as unknown as HttpResponse;
}

type ApiAnswer = Awaited<ConstructorParameters<typeof APIPromise>[1]>;
