/** Asks endpoints which models they have, and looks for servers on this machine at the ports where they listen by default. */
import { type Asking, askJson } from './ask-json.js';
import { asRecord, textOf } from './json.js';
import { PRESETS } from './presets.js';

/** A place to look at. */
export type LocalCandidate = { readonly preset: string; readonly baseUrl: string };

export type LocalServer = LocalCandidate & { readonly models: readonly string[] };

export type FindOptions = {
  /** In place of the presets'; loopback only. */
  readonly candidates?: readonly LocalCandidate[];
  /** For each probe as a whole; 300 by default. All run at once. */
  readonly timeoutMs?: number;
};

const PROBE_TIMEOUT_MS = 300;
const LOOPBACK = /^(127(\.\d{1,3}){3}|localhost|\[::1\])$/;

/** The servers that answer `GET …/models` with a list of models, in the order of the candidates. Never fails. */
export async function findLocalServers(options: FindOptions = {}): Promise<readonly LocalServer[]> {
  const { candidates = localCandidates(), timeoutMs = PROBE_TIMEOUT_MS } = options;
  const probes = candidates.filter(isLoopback).map((candidate) => probe(candidate, timeoutMs));
  const found = await Promise.all(probes);
  return found.filter((server) => server !== undefined);
}

/** Where the local presets listen by default. */
export function localCandidates(): readonly LocalCandidate[] {
  return PRESETS.filter((preset) => preset.local).map(({ name, baseUrl }) => ({ preset: name, baseUrl }));
}

function isLoopback({ baseUrl }: LocalCandidate): boolean {
  return URL.canParse(baseUrl) && LOOPBACK.test(new URL(baseUrl).hostname);
}

async function probe(candidate: LocalCandidate, timeoutMs: number): Promise<LocalServer | undefined> {
  const models = await listModels({ baseUrl: candidate.baseUrl, timeoutMs });
  return models && { ...candidate, models };
}

/** The models that an endpoint names at `GET …/models`; undefined where it gives no such list in time. */
export async function listModels(asking: Asking): Promise<readonly string[] | undefined> {
  const answer = await askJson(`${asking.baseUrl}/models`, asking);
  return 'problem' in answer ? undefined : modelsIn(answer.value);
}

/** The ids of OpenAI's form of a list; undefined for any other answer. */
function modelsIn(body: unknown): readonly string[] | undefined {
  const data = asRecord(body)?.data;
  if (!Array.isArray(data)) return undefined;
  return data.map((model) => textOf(asRecord(model)?.id)).filter((id) => id !== '');
}
