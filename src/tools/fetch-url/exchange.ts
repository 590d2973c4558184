/** Sends the request of a call and follows its redirects, each of them judged like the first URL. */
import type { Address, HttpClient, HttpResponse } from '../../http.js';
import { ToolFailure } from '../types.js';
import { addressesOf, type Resolve, readTarget, type Target } from './target.js';

export type Asked = {
  readonly method: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
};

export type Surroundings = {
  readonly client: HttpClient;
  readonly allowedHosts: readonly string[];
  readonly resolve: Resolve;
  readonly isProxied: (url: URL) => boolean;
  /** Whether the policy lets a redirect go on to another host. */
  readonly mayGoOn: (url: string, from: Target) => boolean;
  /** Of our own, under those of the call. */
  readonly ownHeaders: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
};

export type Exchanged = {
  readonly response: HttpResponse;
  readonly target: Target;
  readonly redirects: number;
  /** The method that got the response. */
  readonly method: string;
  /** Where it redirects to, and that was not gone to. */
  readonly leadsTo?: string;
};

const MAX_REDIRECTS = 10;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** @throws {ToolFailure} for what may not be asked; {HttpError} for what does not answer. */
export async function exchange(first: Target, asked: Asked, around: Surroundings): Promise<Exchanged> {
  let target = first;
  let { method, headers, body } = asked;
  for (let redirects = 0; ; redirects++) {
    const response = await send(target, { method, headers, body }, around);
    const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null;
    const got = { response, target, redirects, method };
    if (location === null || !URL.canParse(location, target.url.href)) return got;
    if (redirects === MAX_REDIRECTS) {
      response.release();
      throw new ToolFailure(
        'too-many-redirects',
        `It redirects more than ${MAX_REDIRECTS} times: it goes round in a circle.`,
      );
    }
    const next = await nextTarget(new URL(location, target.url).href, response, around);
    const becomesGet = changesToGet(response.status, method);
    const isElsewhere = next.host !== target.host;
    // Nobody was asked about the other host, and what was to be sent was meant for this one.
    const keepsBody = !becomesGet && body !== undefined;
    if ((keepsBody && !mayCarry(target.url, next.url)) || (isElsewhere && !around.mayGoOn(next.url.href, target)))
      return { ...got, leadsTo: next.url.href };
    response.release();
    if (becomesGet) {
      method = 'GET';
      body = undefined;
      headers = without(headers, (name) => name.startsWith('content-'));
    }
    if (!keepsHeaders(target.url, next.url)) headers = {};
    target = next;
  }
}

/** A body goes neither to another host, nor in plain sight where it was not meant to. */
export function mayCarry(from: URL, to: URL): boolean {
  return from.hostname === to.hostname && (from.protocol === to.protocol || to.protocol === 'https:');
}

async function send(target: Target, { method, headers, body }: Asked, around: Surroundings): Promise<HttpResponse> {
  const { client, signal, ownHeaders } = around;
  const isProxied = around.isProxied(target.url);
  const connectTo: readonly Address[] | undefined = await addressesOf(target, { ...around, isProxied });
  return client.fetch(target.url.href, {
    method,
    headers: { ...ownHeaders, ...headers },
    signal,
    handsBackRedirects: true,
    ...(body !== undefined && { body }),
    ...(connectTo && { connectTo }),
  });
}

async function nextTarget(url: string, response: HttpResponse, { allowedHosts }: Surroundings): Promise<Target> {
  try {
    return readTarget(url, allowedHosts);
  } catch (thrown) {
    response.release();
    if (!(thrown instanceof ToolFailure)) throw thrown;
    throw new ToolFailure(thrown.code, `It redirects to where it may not: ${thrown.message}`, { cause: thrown });
  }
}

function changesToGet(status: number, method: string): boolean {
  return (status === 303 && method !== 'HEAD') || ((status === 301 || status === 302) && method === 'POST');
}

/** Headers that a model gave are meant for one origin; only its move from http to https is still the same one. */
function keepsHeaders(from: URL, to: URL): boolean {
  const isUpgrade = from.protocol === 'http:' && to.protocol === 'https:' && from.port === '' && to.port === '';
  return from.origin === to.origin || (isUpgrade && from.hostname === to.hostname);
}

function without(headers: Asked['headers'], isLeftOut: (name: string) => boolean): Asked['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isLeftOut(name)));
}
