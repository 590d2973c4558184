/** Which of the servers that keep their window to themselves one is: by its preset, its list of models, or its own API. */
import { type Asking, askJson } from './ask-json.js';
import { asRecord, type JsonRecord, recordsIn } from './json.js';

export type LocalKind = 'ollama' | 'lmstudio' | 'llamacpp';

/** `owned_by` in the lists of these servers, which tells them whatever preset they are reached by. */
const OWNERS: Readonly<Record<string, LocalKind>> = {
  library: 'ollama',
  organization_owner: 'lmstudio',
  llamacpp: 'llamacpp',
};

/** What only that server answers, and what the answer holds. */
const SIGNS: readonly (readonly [LocalKind, path: string, isAnswer: (answer: JsonRecord) => boolean])[] = [
  ['ollama', '/api/ps', ({ models }) => Array.isArray(models)],
  ['lmstudio', '/api/v0/models', ({ data }) => recordsIn(data).some(hasLoadState)],
  ['llamacpp', '/props', (props) => asRecord(props.default_generation_settings) !== undefined],
];

/** Loopback, and what RFC 1918, 3927, 4193 and 6598 set aside for one's own networks; so are names without a dot. */
const OWN_HOST =
  /^([\w-]+|.+\.(localhost|local|internal)|(127|10|192\.168|172\.(1[6-9]|2\d|3[01])|169\.254|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7]))(\.\d+)+|\[(::1|f[cd].*|fe[89ab].*)\])$/;

/** Gateways answer every path that ends in `/models` with their list. */
function hasLoadState(model: JsonRecord): boolean {
  return model.state !== undefined || model.max_context_length !== undefined;
}

export function localKindOf(preset: string, owner: string): LocalKind | undefined {
  return (
    SIGNS.map(([kind]) => kind).find((kind) => kind === preset) ??
    (Object.hasOwn(OWNERS, owner) ? OWNERS[owner] : undefined)
  );
}

/** The kind of a server on this machine or the network around it, by what it answers; nobody else is asked. */
export async function askLocalKind(asking: Asking): Promise<LocalKind | undefined> {
  if (!isOwnAddress(asking.baseUrl)) return undefined;
  const root = rootOf(asking.baseUrl);
  const answers = SIGNS.map(async ([kind, path, isAnswer]) => {
    const answer = await askJson(root + path, asking);
    const record = 'problem' in answer ? undefined : asRecord(answer.value);
    return record !== undefined && isAnswer(record) ? kind : undefined;
  });
  return (await Promise.all(answers)).find((kind) => kind !== undefined);
}

/** Where the server's own API begins. */
export function rootOf(baseUrl: string): string {
  return baseUrl.replace(/\/v1$/, '');
}

export function isOwnAddress(baseUrl: string): boolean {
  return URL.canParse(baseUrl) && OWN_HOST.test(new URL(baseUrl).hostname);
}
