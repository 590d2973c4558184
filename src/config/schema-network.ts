/** The variables about the way to the endpoint, and what of it answers: a part of the schema. */
import type { Variable } from './schema.js';
import {
  anyText,
  duration,
  headerLines,
  headerValue,
  integer,
  line,
  names,
  openaiApi,
  proxyUrl,
  reasoningSetting,
  toolProtocol,
} from './value-types.js';

export const NETWORK_VARIABLES = {
  CHATCLI_OPENAI_API: {
    group: 'provider',
    type: openaiApi,
    default: 'auto',
    help: '`chat` (Chat Completions), `responses`, or `auto`: `responses` for models of OpenAI that need it.',
  },
  CHATCLI_TOOL_PROTOCOL: {
    group: 'provider',
    type: toolProtocol,
    default: 'auto',
    help: 'How tools are offered: `native`, `text` (in the prompt) or `auto` (text where the endpoint says that the model has no tools).',
  },
  OPENAI_ORG_ID: {
    group: 'provider',
    type: headerValue,
    help: 'The organisation that requests to the provider `openai` count for.',
  },
  OPENAI_PROJECT_ID: {
    group: 'provider',
    type: headerValue,
    help: 'The project that requests to the provider `openai` count for.',
  },
  CHATCLI_FALLBACK_MODELS: {
    group: 'provider',
    type: names,
    help: 'Models to go on with, in this order, when one is overloaded or cannot be reached: `a,b`. Unset: the run fails.',
  },
  CHATCLI_CONTEXT_WINDOW: {
    group: 'provider',
    type: integer(4_000),
    help: 'Tokens that the model takes in. Unset: what the endpoint or our table says of the model.',
  },

  CHATCLI_MAX_RETRIES: {
    group: 'network',
    type: integer(0, 20),
    default: '3',
    help: 'How often a request that failed for a passing reason is sent again.',
  },
  CHATCLI_SEND_REASONING: {
    group: 'network',
    type: reasoningSetting,
    default: 'auto',
    help: "Whether a model's earlier reasoning goes back to it: `auto` (where the provider needs it), `always` or `never`.",
  },
  CHATCLI_FIRST_BYTE_TIMEOUT: {
    group: 'network',
    type: duration,
    default: '120s',
    help: 'How long a request may wait for the first byte of its reply.',
  },
  CHATCLI_IDLE_TIMEOUT: {
    group: 'network',
    type: duration,
    default: '75s',
    help: 'How long a reply that has begun may stay silent.',
  },
  HTTPS_PROXY: proxy(
    'The proxy for https:// URLs, such as `http://user:password@proxy:3128`. Also in lower case, which wins.',
  ),
  HTTP_PROXY: proxy('The proxy for http:// URLs. A local server that is found by itself is never asked through one.'),
  ALL_PROXY: proxy('The proxy for both, where the ones above are not set.'),
  NO_PROXY: {
    group: 'network',
    type: anyText,
    shared: true,
    lowerCase: true,
    help: 'What is reached without a proxy, as a list with commas: `*`, `host`, `.domain`, `host:port`, `10.0.0.0/8`.',
  },
  CHATCLI_CA_BUNDLE: {
    group: 'network',
    type: line,
    help: 'A PEM file with certificates to trust besides those that Node trusts.',
  },
  CHATCLI_HEADERS: {
    group: 'network',
    type: headerLines,
    secrets: headerSecrets,
    help: 'Further headers of every request to the provider, one `Name: value` a line. Their values are never shown.',
  },
} as const satisfies Readonly<Record<string, Variable>>;

function proxy(help: string) {
  return { group: 'network', type: proxyUrl, shared: true, lowerCase: true, secrets: proxySecrets, help } as const;
}

/** The password, and its pair with the user name, which goes over the wire in base64. */
function proxySecrets(text: string): readonly string[] {
  const parsed = proxyUrl.safeParse(text);
  if (!parsed.success) return [];
  const { username, password } = new URL(parsed.data);
  if (password === '') return [];
  const pair = [username, password].map(decoded);
  return [password, pair[1] ?? '', pair.join(':')];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A lone percent sign: the password is what stands there.
  }
}

/** A plain word, such as a team's name, stands in too much ordinary text to be blanked everywhere. */
const PLAIN_WORD = /^[a-z]{1,20}$/i;
const SECRET_NAME = /auth|key|token|secret|passw|cookie|credential/i;

/** The values, and of `Bearer abc` also what stands behind the word. */
function headerSecrets(text: string): readonly string[] {
  return text.split(/\r?\n/).flatMap((row) => {
    const [, name = '', value = ''] = /^\s*([^:]*):\s*(.*?)\s*$/.exec(row) ?? [];
    const values = [value, ...(/^\w+ +\S+$/.test(value) ? [value.replace(/^\w+ +/, '')] : [])];
    return values.filter((part) => part !== '' && (SECRET_NAME.test(name) || !PLAIN_WORD.test(part)));
  });
}
