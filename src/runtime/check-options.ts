/** What a library user gives, looked at before anything starts: a mistake is told at once, by the name of the option. */
import { messageOf, UsageError } from '../errors.js';
import { APPROVAL_MODES } from '../permissions/types.js';
import type { AgentOptions, AskOptions } from './agent-types.js';
import type { EffectPolicy } from './effects.js';

/** What a value may be, in words, and whether it is. */
type Kind = readonly [words: string, fits: (value: unknown) => boolean];
type Kinds<Options> = { readonly [Name in keyof Options]?: Kind };

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isNumber = (value: unknown, least: number): value is number => typeof value === 'number' && value >= least;
const isText = (value: unknown) => typeof value === 'string';
const areTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
const isFunction = (value: unknown) => typeof value === 'function';
const isMember = (value: unknown, name: string) => isObject(value) && isFunction(Reflect.get(Object(value), name));

const TEXT: Kind = ['a text', isText];
const TEXTS: Kind = ['a list of texts', areTexts];
const BOOLEAN: Kind = ['true or false', (value) => typeof value === 'boolean'];
const FUNCTION: Kind = ['a function', isFunction];
const OBJECT: Kind = ['an object', isObject];
const LIST: Kind = ['a list', Array.isArray];
/** `Infinity` is no limit. */
const TIME: Kind = ['milliseconds, 0 or more', (value) => isNumber(value, 0)];
const AMOUNT: Kind = ['a number, 0 or more', (value) => isNumber(value, 0)];
const USD: Kind = ['USD, 0 or more', (value) => isNumber(value, 0) && Number.isFinite(value)];
const COUNT: Kind = ['a whole number, 0 or more', (value) => isWhole(value, 0)];
const FROM_ONE: Kind = ['a whole number, 1 or more', (value) => isWhole(value, 1)];

function isWhole(value: unknown, least: number): boolean {
  return isNumber(value, least) && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY);
}

const POLICY: Kinds<EffectPolicy> = {
  mode: [
    "'allow-list', 'allow-all' or 'deny-all'",
    (mode) => ['allow-list', 'allow-all', 'deny-all'].includes(String(mode)),
  ],
  allow: TEXTS,
  deny: TEXTS,
};

const LIMITS: Kinds<NonNullable<AgentOptions['limits']>> = {
  maxTurns: FROM_ONE,
  timeoutMs: TIME,
  maxOutputRetries: COUNT,
  maxRequests: COUNT,
  maxTokens: COUNT,
  maxCostUsd: AMOUNT,
};

const PRICE: Kinds<NonNullable<AgentOptions['price']>> = {
  inputUsdPerMillion: USD,
  outputUsdPerMillion: USD,
};

const CHECKPOINTS: Kinds<NonNullable<AgentOptions['checkpoints']>> = {
  secret: ['a text or bytes', (secret) => isText(secret) || secret instanceof Uint8Array],
  ttlMs: TIME,
};

const AGENT: Kinds<AgentOptions> = {
  provider: ['a provider, such as openaiChat(…) or FakeProvider(…)', (provider) => isMember(provider, 'stream')],
  model: TEXT,
  contextWindow: FROM_ONE,
  tools: LIST,
  systemPrompt: TEXT,
  limits: OBJECT,
  memory: ['a memory, such as windowMemory() or fullMemory()', (memory) => isMember(memory, 'context')],
  workspace: TEXT,
  toolContext: OBJECT,
  state: ['a Map', (state) => state instanceof Map],
  approvalMode: [`one of ${APPROVAL_MODES.join(', ')}`, (mode) => APPROVAL_MODES.some((known) => known === mode)],
  approve: FUNCTION,
  askUser: FUNCTION,
  onEvent: FUNCTION,
  roundExecutor: FUNCTION,
  transformRequest: FUNCTION,
  stream: BOOLEAN,
  httpOptions: OBJECT,
  maxTokens: FROM_ONE,
  modelOptions: OBJECT,
  toolTimeoutMs: TIME,
  toolRetries: COUNT,
  toolRetryBackoffMs: TIME,
  toolHeartbeatMs: TIME,
  idleTimeoutMs: TIME,
  effectPolicy: OBJECT,
  price: OBJECT,
  onEffect: FUNCTION,
  output: ['a zod schema, or a JSON Schema as an object', isObject],
  checkpoints: OBJECT,
  observability: FUNCTION,
  skillFolders: TEXTS,
  now: FUNCTION,
};

/** A `checkpoint` of any kind is judged by `checkpoint.ts`, with the others of no use. */
const ASK: Kinds<AskOptions> = {
  tools: LIST,
  allowedTools: TEXTS,
  toolContext: OBJECT,
  maxTokens: FROM_ONE,
  modelOptions: OBJECT,
  signal: ['an AbortSignal', (signal) => signal instanceof AbortSignal],
  raw: BOOLEAN,
  effectPolicy: OBJECT,
  timeoutMs: TIME,
};

/**
 * Checks what `createAgent` is given, but for its tools.
 * @throws {UsageError} naming the option and what it may be.
 */
export function checkAgentOptions(options: AgentOptions): void {
  const where = 'createAgent';
  if (!isObject(options)) throw new UsageError(`${where} takes an object of options, with a \`provider\` at least.`);
  const { effectPolicy, limits, price, checkpoints } = options;
  check(where, AGENT, options, ['provider']);
  if (limits !== undefined) check(where, LIMITS, limits, [], 'limits.');
  if (price !== undefined) check(where, PRICE, price, ['inputUsdPerMillion', 'outputUsdPerMillion'], 'price.');
  if (effectPolicy !== undefined) check(where, POLICY, effectPolicy, ['mode', 'allow', 'deny'], 'effectPolicy.');
  if (checkpoints !== undefined) check(where, CHECKPOINTS, checkpoints, ['secret'], 'checkpoints.');
}

/**
 * Checks a task and what may differ in its run, but for its tools.
 * @throws {UsageError} naming the option and what it may be.
 */
export function checkAskOptions(task: string, ask: AskOptions): void {
  if (typeof task !== 'string') throw new UsageError(`The task has to be a text, and not ${shown(task)}.`);
  if (!isObject(ask)) throw new UsageError(`The options of a run have to be an object, and not ${shown(ask)}.`);
  check('A run', ASK, ask, []);
  const { effectPolicy } = ask;
  if (effectPolicy !== undefined) check('A run', POLICY, effectPolicy, ['mode', 'allow', 'deny'], 'effectPolicy.');
}

function check<Options extends object>(
  where: string,
  kinds: Kinds<Options>,
  options: Options,
  required: readonly (keyof Options & string)[],
  prefix = '',
): void {
  for (const [name, [words, fits]] of Object.entries<Kind>(kinds as Record<string, Kind>)) {
    const value: unknown = Reflect.get(options, name);
    const isLeftOut = value === undefined && !required.some((each) => each === name);
    if (isLeftOut || fits(value)) continue;
    throw new UsageError(`${where}: \`${prefix}${name}\` has to be ${words}, and not ${shown(value)}.`);
  }
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object like this';
  return typeof value === 'function' ? 'a function' : messageOf(value);
}
