/**
 * Runs the built binary the way people do: a folder to work in, an environment, a command line, and a server on
 * 127.0.0.1 that plays the model. Build first (`npm run build`); nothing here is faked but the model.
 *
 * Every run is held to what must never happen, whatever it is about: see `faultsOf`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from 'vitest';
import {
  type ModelServer,
  type ModelServerOptions,
  type RecordedRequest,
  startModelServer,
  type Turns,
} from '../fixtures/model-server.js';
import { BINARY, type LivingProcess, makePlace, type Place, processesOf } from './place.js';
import { cut } from './reading.js';

/** The key of every run. Nothing that leaves the program may show it, but for the header it is meant for. */
export const KEY = 'sk-e2e-0123456789abcdefghijklmnopqrstuvwxyz';

/** No single run may take longer: it is killed, and its test fails. */
const LIMIT_MS = 20_000;
/** What a dying process may still need after the program has ended. */
const LEFT_GRACE_MS = 1_000;

const running = new Set<Running>();
const servers = new Set<ModelServer>();

afterAll(async () => {
  for (const run of running) run.destroy();
  await Promise.all([...servers].map((server) => server.close()));
});

export type RunOptions = {
  /** A new one by default. */
  readonly place?: Place;
  /** Where the model is; without it no provider is configured. */
  readonly server?: ModelServer | undefined;
  /** On top of the place's own; an undefined one is left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What stdin holds, then its end; `held`: a pipe that stays open and silent. Nothing by default: /dev/null. */
  readonly stdin?: { readonly text: string | Uint8Array } | 'held';
  /** For node itself, before the program. */
  readonly nodeFlags?: readonly string[];
  readonly limitMs?: number;
};

export type Run = {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
  readonly place: Place;
};

export type Running = {
  readonly pid: number;
  readonly place: Place;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Rejects where something happened that never may. */
  readonly ended: Promise<Run>;
  readonly destroy: () => void;
};

/** Runs `chatcli …` to its end. */
export function chatcli(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  return start(args, options).ended;
}

/** Starts `chatcli …`. */
export function start(args: readonly string[], options: RunOptions = {}): Running {
  return launch(process.execPath, [...(options.nodeFlags ?? []), BINARY, ...args], options);
}

/** Runs a line of `sh` in which `chatcli` is on the PATH. */
export function inShell(line: string, options: RunOptions = {}): Promise<Run> {
  return launch('/bin/sh', ['-c', line], options).ended;
}

export type PlayedRun = Run & { readonly requests: readonly RecordedRequest[] };

export type PlayOptions = RunOptions & {
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly model?: ModelServerOptions;
};

/** Runs `chatcli …`, or a line of `sh`, against a model that plays `turns` and refuses malformed requests. */
export async function play(
  turns: Turns,
  command: readonly string[] | string,
  options: PlayOptions = {},
): Promise<PlayedRun> {
  const server = await serve(turns, options.model);
  const place = options.place ?? makePlace();
  for (const [path, content] of Object.entries(options.files ?? {})) place.write(path, content);
  const all = { ...options, place, server };
  try {
    const run = await (typeof command === 'string' ? inShell(command, all) : chatcli(command, all));
    return { ...run, requests: server.requests };
  } finally {
    servers.delete(server);
    await server.close();
  }
}

/** A strict model server that lives until its test file has ended. */
export async function serve(turns: Turns, options: ModelServerOptions = {}): Promise<ModelServer> {
  const server = await startModelServer(turns, { strict: true, ...options });
  servers.add(server);
  return server;
}

/** The environment of a run: nothing of ours but what is named here. */
export function environmentOf(place: Place, { server, env = {} }: RunOptions): Record<string, string> {
  const provider = server && { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: KEY, OPENAI_MODEL: 'mock' };
  const entries = Object.entries({ ...place.env, ...provider, ...env });
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function launch(file: string, args: readonly string[], options: RunOptions): Running {
  const { place = makePlace(), stdin, limitMs = LIMIT_MS } = options;
  const startedAt = performance.now();
  const before = oursIn(place);
  const env = environmentOf(place, options);
  // A session of its own, so that a test's signals reach it alone and it can be killed as a whole.
  const child = spawn(file, args, {
    cwd: place.root,
    env,
    detached: true,
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`Cannot start ${file}.`);
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  // The program may end without reading all of it.
  child.stdin?.on('error', () => undefined);
  if (typeof stdin === 'object') child.stdin?.end(stdin.text);

  let isOverdue = false;
  const destroy = () => {
    killGroup(pid);
    for (const left of processesOf(place)) process.kill(left.pid, 'SIGKILL');
  };
  const timer = setTimeout(() => {
    isOverdue = true;
    destroy();
  }, limitMs);
  const ended = endOf(child).then(async ({ exitCode, signal, at }) => {
    clearTimeout(timer);
    running.delete(run);
    const done = { exitCode, signal, stdout: stdout(), stderr: stderr(), ms: at - startedAt, place };
    const faults = [
      ...(isOverdue ? [`it took longer than ${limitMs} ms`] : []),
      ...(await faultsOf(done, env, before)),
    ];
    destroy();
    if (faults.length > 0) {
      throw new Error(`${faults.join('; ')}\n--- stdout\n${cut(done.stdout)}\n--- stderr\n${cut(done.stderr)}`);
    }
    return done;
  });
  // A test that fails before it waits for the end is failed by its own fault alone.
  ended.catch(() => undefined);
  const run: Running = {
    pid,
    place,
    stdout,
    stderr,
    kill: (signal) => child.kill(signal),
    ended,
    destroy,
  };
  running.add(run);
  return run;
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  const chunks: Buffer[] = [];
  stream?.on('data', (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

function endOf(child: ChildProcess): Promise<{ exitCode: number | null; signal: NodeJS.Signals | null; at: number }> {
  return new Promise((resolve, reject) => {
    let at = 0;
    child.once('error', reject);
    child.once('exit', () => {
      at = performance.now();
    });
    child.once('close', (exitCode, signal) => resolve({ exitCode, signal, at }));
  });
}

/** What a run might leave in its workspace, and what is named like it. */
function oursIn({ root }: Place): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tmp|~$|\.chatcli/.test(path));
}

/** What no run may do: leave a process or a temporary file behind, show a stack trace, show the key, colour a pipe. */
async function faultsOf(
  run: Run,
  env: Readonly<Record<string, string>>,
  before: readonly string[],
): Promise<readonly string[]> {
  const shown = run.stdout + run.stderr;
  const faults: string[] = [];
  if (/^ {2,}at .*(?::\d+:\d+\)?$|<anonymous>)/m.test(run.stderr)) faults.push('a stack trace is on stderr');
  if (shown.includes(KEY)) faults.push(`the key is on ${run.stdout.includes(KEY) ? 'stdout' : 'stderr'}`);
  if (shown.includes('\u001b') && env.FORCE_COLOR === undefined) faults.push('a control sequence is on a pipe');
  const temporary = oursIn(run.place).filter((path) => !before.includes(path));
  if (temporary.length > 0) faults.push(`left in the workspace: ${temporary.join(', ')}`);
  const left = await lastingProcessesOf(run.place);
  if (left.length > 0) faults.push(`processes left: ${left.map(({ command }) => command).join('; ')}`);
  return faults;
}

async function lastingProcessesOf(place: Place): Promise<readonly LivingProcess[]> {
  const deadline = performance.now() + LEFT_GRACE_MS;
  for (;;) {
    const left = processesOf(place);
    if (left.length === 0 || performance.now() > deadline) return left;
    await sleep(50);
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

/** Waits until `condition` holds. */
export async function until(what: string, condition: () => boolean, limitMs = 10_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`It did not come to this within ${limitMs} ms: ${what}`);
    await sleep(10);
  }
}
