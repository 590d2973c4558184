/** The settings of one process as the rest of the program sees them: parsed once, never changed. */
import path from 'node:path';
import type { ApprovalMode, SandboxSetting } from '../permissions/types.js';
import type { OpenaiApi, ReasoningSetting, ToolProtocol } from '../providers/presets.js';
import type { Folders } from './folders.js';
import type { WorkerSettings } from './limits.js';
import type { ProviderChoice } from './provider-choice.js';
import type { Resolved } from './resolve.js';
import type { LogLevel } from './value-types.js';

export type Config = {
  readonly provider: ProviderChoice;
  /** Which API of an endpoint is asked. */
  readonly openaiApi: OpenaiApi;
  readonly toolProtocol: ToolProtocol;
  readonly workers: WorkerSettings;
  /** What all workers of a run may use together; absent: no limit. */
  readonly run: {
    readonly maxRequests?: number;
    readonly maxTokens?: number;
    readonly maxCostUsd?: number;
    readonly timeoutMs?: number;
  };
  /** Absent: nobody chose one, and the default depends on whether there is a terminal. */
  readonly approvalMode?: ApprovalMode;
  /** How long a question waits for its answer. */
  readonly approvalTimeoutMs: number;
  readonly sandbox: {
    readonly setting: SandboxSetting;
    readonly network: boolean;
    /** Absolute paths that can be read inside. */
    readonly readable: readonly string[];
  };
  /** A name or a path, as it was set; absent: bash, or /bin/sh. */
  readonly shell?: string;
  readonly requests: {
    /** Further tries after the first; 0 means none. */
    readonly maxRetries: number;
    readonly firstByteTimeoutMs: number;
    readonly idleTimeoutMs: number;
    readonly sendReasoning: ReasoningSetting;
  };
  readonly network: {
    /** As URLs; they may hold a password. */
    readonly proxy: { readonly http?: string; readonly https?: string; readonly noProxy?: string };
    /** PEM files. Absolute; the second one as Node itself reads it. */
    readonly caBundle?: string;
    readonly nodeExtraCertificates?: string;
    /** By lower-case name. */
    readonly headers: Readonly<Record<string, string>>;
    /** For the provider `openai`. */
    readonly organization?: string;
    readonly project?: string;
  };
  readonly models: {
    /** Empty: none, and a request that fails for good ends the run. */
    readonly fallbacks: readonly string[];
    /** Tokens. */
    readonly contextWindow?: number;
  };
  /** For a model whose price is not known. */
  readonly price?: { readonly inputUsdPerMillion: number; readonly outputUsdPerMillion: number };
  readonly log: {
    readonly level: LogLevel;
    /** Absolute; absent: stderr. */
    readonly file?: string;
  };
  /** Forced on or off; absent: the terminal decides. */
  readonly color?: boolean;
  readonly folders: Folders;
};

/** Names what was resolved. Relative file names count from `cwd`. */
export function configFrom(
  resolved: Resolved,
  more: {
    readonly provider: ProviderChoice;
    readonly folders: Folders;
    readonly cwd: string;
    readonly nodeExtraCertificates: string | undefined;
  },
): Config {
  const { values } = resolved;
  return {
    provider: more.provider,
    openaiApi: values.CHATCLI_OPENAI_API,
    toolProtocol: values.CHATCLI_TOOL_PROTOCOL,
    workers: {
      parallel: values.CHATCLI_AGENT_PARALLEL_MODE,
      maxTurns: values.CHATCLI_AGENT_WORKER_MAX_TURNS,
      timeoutMs: values.CHATCLI_AGENT_WORKER_TIMEOUT,
      own: resolved.overrides,
      fromFlags: present({
        model: resolved.origins.CHATCLI_MODEL === 'flag' ? values.CHATCLI_MODEL : undefined,
        maxTurns:
          resolved.origins.CHATCLI_AGENT_WORKER_MAX_TURNS === 'flag'
            ? values.CHATCLI_AGENT_WORKER_MAX_TURNS
            : undefined,
      }),
    },
    run: present({
      maxRequests: values.CHATCLI_MAX_REQUESTS,
      maxTokens: values.CHATCLI_MAX_TOKENS_TOTAL,
      maxCostUsd: values.CHATCLI_MAX_BUDGET_USD,
      timeoutMs: values.CHATCLI_TIMEOUT,
    }),
    approvalTimeoutMs: values.CHATCLI_APPROVAL_TIMEOUT,
    sandbox: {
      setting: values.CHATCLI_SANDBOX,
      network: values.CHATCLI_SANDBOX_NETWORK,
      readable: values.CHATCLI_SANDBOX_READ ?? [],
    },
    requests: {
      maxRetries: values.CHATCLI_MAX_RETRIES,
      firstByteTimeoutMs: values.CHATCLI_FIRST_BYTE_TIMEOUT,
      idleTimeoutMs: values.CHATCLI_IDLE_TIMEOUT,
      sendReasoning: values.CHATCLI_SEND_REASONING,
    },
    network: networkFrom(resolved, more),
    models: {
      fallbacks: values.CHATCLI_FALLBACK_MODELS ?? [],
      ...present({ contextWindow: values.CHATCLI_CONTEXT_WINDOW }),
    },
    log: logFrom(resolved, more.cwd),
    folders: more.folders,
    ...present({
      approvalMode: values.CHATCLI_APPROVAL_MODE,
      shell: values.CHATCLI_SHELL,
      price: priceFrom(resolved),
      color: colorFrom(resolved),
    }),
  };
}

function networkFrom(
  { values }: Resolved,
  { cwd, nodeExtraCertificates }: { readonly cwd: string; readonly nodeExtraCertificates: string | undefined },
): Config['network'] {
  const bundle = values.CHATCLI_CA_BUNDLE;
  return {
    proxy: present({
      http: values.HTTP_PROXY ?? values.ALL_PROXY,
      https: values.HTTPS_PROXY ?? values.ALL_PROXY,
      noProxy: values.NO_PROXY,
    }),
    headers: values.CHATCLI_HEADERS ?? {},
    ...present({
      caBundle: bundle && path.resolve(cwd, bundle),
      nodeExtraCertificates,
      organization: values.OPENAI_ORG_ID,
      project: values.OPENAI_PROJECT_ID,
    }),
  };
}

function logFrom({ values }: Resolved, cwd: string): Config['log'] {
  const named = values.CHATCLI_LOG_FILE;
  const level = values.LOG_LEVEL ?? (named === undefined ? 'silent' : 'info');
  return { level, ...present({ file: named && path.resolve(cwd, named) }) };
}

function priceFrom({ values }: Resolved): Config['price'] {
  const { CHATCLI_PRICE_INPUT: input, CHATCLI_PRICE_OUTPUT: output } = values;
  return input === undefined || output === undefined
    ? undefined
    : { inputUsdPerMillion: input, outputUsdPerMillion: output };
}

function colorFrom({ values }: Resolved): boolean | undefined {
  if (values.NO_COLOR !== undefined) return false;
  return values.FORCE_COLOR === undefined ? undefined : !['0', 'false'].includes(values.FORCE_COLOR.toLowerCase());
}

/** The fields that have a value, so that "absent" is one thing and not two. */
function present<Fields extends object>(fields: Fields): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };
}
