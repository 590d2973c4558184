/** `chatcli models`: what the provider offers, with windows and prices; what our table knows where it can't be asked. */
import { loadConfig } from '../config/load.js';
import { NO_KEY } from '../config/provider-choice.js';
import { ChatcliError, UsageError } from '../errors.js';
import { maskStrings } from '../events/emitter.js';
import { EXIT } from '../exit-codes.js';
import { findLocalServers } from '../providers/local.js';
import { type KnownModel, knownModel, knownModelsOf, MODELS, type Price } from '../providers/models.js';
import { type OfferedModel, offeredModels } from '../providers/offered.js';
import { presetNamed } from '../providers/presets.js';
import { grouped } from '../texts/en.js';
import type { ModelsFlags } from './flags.js';
import { type Io, pathFrom } from './io.js';
import { networkFor } from './network.js';
import { createRedactor } from './redactor.js';
import { createReport } from './report.js';
import type { SideRun } from './side-commands.js';

type ListedModel = {
  readonly id: string;
  /** Tokens; null where not known. */
  readonly window: number | null;
  /** USD per million tokens; null where not known, and for a server of one's own, which asks for none. */
  readonly price: Price | null;
};

type Listing = {
  readonly provider: string | null;
  readonly baseUrl: string | null;
  /** Why it is our table that is shown. */
  readonly problem?: string;
  readonly models: readonly ListedModel[];
};

const LONGEST_ID = 80; // In the table, which one name should not push out of the window.
const TIMEOUT_AT_MOST_MS = 10_000; // A person waits for it, and a far list may have a megabyte.

export const runModels: SideRun = ({ flags }, io) => listModels(flags as ModelsFlags, io);

/**
 * Prints the list, and gives the exit code: 4 where the endpoint gives none, with the reason on stderr and our table on
 * stdout; 0 where there is no endpoint to ask, and the table is all there is.
 */
async function listModels(flags: ModelsFlags, io: Io): Promise<number> {
  const { outputFormat } = flags;
  const reportAs = (format: ModelsFlags['outputFormat']) =>
    createReport({ io, flags: { outputFormat: format }, sessionId: '', startedAt: io.now() });
  try {
    const cwd = pathFrom(io.cwd, flags.cwd);
    const { provider, envFile } = flags;
    const { config, secretValues } = await loadConfig({
      env: io.env,
      cwd,
      flags: { provider, envFile },
      isForListing: true,
    });
    const { mask } = createRedactor(secretValues);
    const listing = maskStrings(await listingOf(config), mask);
    io.stdout.write(outputFormat === 'text' ? textOf(listing) : `${jsonOf(listing)}\n`);
    const { provider: asked, problem } = listing;
    if (asked === null || problem === undefined) return EXIT.answered;
    // As text in either format: the JSON on stdout is the listing, which says it too.
    return reportAs('text').failure(new ChatcliError('provider', `${asked} gives no list of models: ${problem}`));
  } catch (thrown) {
    return reportAs(outputFormat).failure(thrown);
  }
}

async function listingOf(config: Awaited<ReturnType<typeof loadConfig>>['config']): Promise<Listing> {
  const choice = config.provider;
  if (choice.kind === 'scripted') throw new UsageError('The provider scripted has no models to list.');
  const endpoint = choice.kind === 'none' ? await localEndpoint() : choice;
  if (endpoint === undefined) {
    const problem = 'no provider is configured, and no local server answers.';
    return { provider: null, baseUrl: null, problem, models: MODELS.map(fromTable) };
  }
  const { name, baseUrl, apiKey } = endpoint;
  const network = await networkFor(config, endpoint);
  const key = apiKey === NO_KEY ? {} : { apiKey };
  const timeoutMs = Math.min(TIMEOUT_AT_MOST_MS, config.requests.firstByteTimeoutMs);
  const offer = await offeredModels({ name, baseUrl, ...key, network, timeoutMs });
  if ('problem' in offer)
    return { provider: name, baseUrl, problem: offer.problem, models: knownModelsOf(name).map(fromTable) };
  const isOwn = offer.localKind !== undefined || presetNamed(name)?.local !== undefined;
  return { provider: name, baseUrl, models: offer.models.map((model) => joined(model, isOwn)) };
}

async function localEndpoint() {
  const [server] = await findLocalServers();
  return server && { name: server.preset, baseUrl: server.baseUrl, apiKey: NO_KEY };
}

/** What the endpoint says goes before our table, which says nothing of a server of one's own. */
function joined({ id, contextTokens, mostContextTokens, price }: OfferedModel, isOwn: boolean): ListedModel {
  const known = isOwn ? undefined : knownModel(id);
  return {
    id: oneLine(id),
    window: contextTokens ?? known?.contextTokens ?? mostContextTokens ?? null,
    price: price ?? known?.price ?? null,
  };
}

/** An endpoint may name its models as it likes, and a terminal would obey what is no text. */
function oneLine(id: string): string {
  return id.replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
}

function fromTable({ id, contextTokens, price }: KnownModel): ListedModel {
  return { id, window: contextTokens ?? null, price };
}

function jsonOf({ provider, baseUrl, problem, models }: Listing): string {
  return JSON.stringify({
    type: 'models',
    provider,
    base_url: baseUrl,
    source: problem === undefined ? 'endpoint' : 'table',
    ...(problem !== undefined && { problem }),
    models: models.map(({ id, window, price }) => ({
      id,
      context_window: window,
      price: price && { input: price.input, cached_input: price.cachedInput, output: price.output },
    })),
  });
}

function textOf({ provider, baseUrl, problem, models }: Listing): string {
  const title = provider === null ? [] : [`${provider} · ${baseUrl}`];
  // Where an endpoint was asked, stderr says why.
  const why = problem === undefined || provider !== null ? [] : [`No list: ${problem}`];
  const note =
    models.length === 0
      ? [problem === undefined ? 'It offers no models.' : 'Our own table knows none of its models.']
      : problem === undefined
        ? []
        : ['From our own table, which may be out of date:'];
  const rows = [HEAD, ...models.map(cellsOf)];
  return `${[...title, ...why, ...note, ...(models.length === 0 ? [] : ['', ...aligned(rows), '', FOOT])].join('\n')}\n`;
}

const HEAD = ['model', 'window', 'input', 'cached', 'output'];
const FOOT = 'Window in tokens, prices in USD per million tokens; - is not known.';

function cellsOf({ id, window, price }: ListedModel): readonly string[] {
  const prices = price === null ? ['-', '-', '-'] : [price.input, price.cachedInput, price.output].map(usd);
  return [shortened(id), window === null ? '-' : grouped(window), ...prices];
}

function shortened(id: string): string {
  const characters = [...id];
  return characters.length > LONGEST_ID ? `${characters.slice(0, LONGEST_ID - 1).join('')}…` : id;
}

/** Names to the left, numbers to the right. */
function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = HEAD.map((_, column) => Math.max(...rows.map((cells) => [...(cells[column] ?? '')].length)));
  return rows.map((cells) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
}

/** At least two decimals, at most four. */
function usd(amount: number): string {
  return amount.toFixed(4).replace(/(\.\d\d\d*?)0+$/, '$1');
}
