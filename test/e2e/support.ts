/**
 * Runs the built binary the way people do: a folder to work in, an environment, a command line, and a server on
 * 127.0.0.1 that plays the model. Build first (`npm run build`); nothing here is faked but the model.
 *
 * Every run is held to what must never happen, whatever it is about: see `faultsOf`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from 'vitest';
import type { AgentEvent } from '../../src/events/types.js';
import {
  type ModelServer,
  type ModelServerOptions,
  type RecordedRequest,
  startModelServer,
  type Turns,
} from '../fixtures/model-server.js';

export const BINARY = resolve('bin/chatcli.js');
if (!existsSync(resolve('dist/main.js'))) throw new Error('There is no dist/main.js: run `npm run build` first.');

/** The key of every run. Nothing that leaves the program may show it, but for the header it is meant for. */
export const KEY = 'sk-e2e-0123456789abcdefghijklmnopqrstuvwxyz';

/** No single run may take longer: it is killed, and its test fails. */
const LIMIT_MS = 20_000;
/** What a dying process may still need after the program has ended. */
const LEFT_GRACE_MS = 1_000;

/** A workspace with a home of its own, both empty at first. Removed when its test file has ended. */
export type Place = {
  /** The workspace: real path, the working folder of every run. */
  readonly root: string;
  /** HOME of every run, which also marks its processes. */
  readonly home: string;
  /** CHATCLI_HOME. */
  readonly settings: string;
  readonly env: Readonly<Record<string, string>>;
  write(path: string, content: string | Uint8Array): void;
  read(path: string): string;
  has(path: string): boolean;
};

const folders: string[] = [];
const running = new Set<Running>();
const servers = new Set<ModelServer>();

afterAll(async () => {
  for (const run of running) run.destroy();
  await Promise.all([...servers].map((server) => server.close()));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function makePlace(files: Readonly<Record<string, string | Uint8Array>> = {}): Place {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'chatcli-e2e-')));
  folders.push(folder);
  const [root, home, bin] = ['work', 'home', 'bin'].map((name) => join(folder, name)) as [string, string, string];
  const settings = join(home, 'chatcli');
  for (const path of [root, settings, bin]) mkdirSync(path, { recursive: true });
  // As npm installs it.
  symlinkSync(BINARY, join(bin, 'chatcli'));
  const place: Place = {
    root,
    home,
    settings,
    env: {
      PATH: [bin, dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
      HOME: home,
      CHATCLI_HOME: settings,
      LANG: 'C.UTF-8',
      TERM: 'xterm-256color',
    },
    write: (path, content) => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    },
    read: (path) => readFileSync(join(root, path), 'utf8'),
    has: (path) => existsSync(join(root, path)),
  };
  for (const [path, content] of Object.entries(files)) place.write(path, content);
  return place;
}

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
  /** Writes to a `held` stdin. */
  readonly type: (text: string) => void;
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
    const faults = [...(isOverdue ? [`it took longer than ${limitMs} ms`] : []), ...(await faultsOf(done, env))];
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
    type: (text) => child.stdin?.write(text),
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

/** What no run may do: leave a process or a temporary file behind, show a stack trace, show the key, colour a pipe. */
async function faultsOf(run: Run, env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const shown = run.stdout + run.stderr;
  const faults: string[] = [];
  if (/^ {2,}at .*(?::\d+:\d+\)?$|<anonymous>)/m.test(run.stderr)) faults.push('a stack trace is on stderr');
  if (shown.includes(KEY)) faults.push(`the key is on ${run.stdout.includes(KEY) ? 'stdout' : 'stderr'}`);
  if (shown.includes('\u001b') && env.FORCE_COLOR === undefined) faults.push('a control sequence is on a pipe');
  const temporary = readdirSync(run.place.root, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /\.tmp|~$|\.chatcli/.test(path),
  );
  if (temporary.length > 0) faults.push(`left in the workspace: ${temporary.join(', ')}`);
  const left = await lastingProcessesOf(run.place);
  if (left.length > 0) faults.push(`processes left: ${left.map(({ command }) => command).join('; ')}`);
  return faults;
}

export type LivingProcess = { readonly pid: number; readonly command: string };

/** The living processes of a place's runs, told by their HOME. Only Linux shows them; elsewhere there are none. */
export function processesOf(place: Place): readonly LivingProcess[] {
  if (!existsSync('/proc/self/environ')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && readProc(name, 'environ').split('\0').includes(`HOME=${place.home}`))
    .map((name) => ({ pid: Number(name), command: readProc(name, 'cmdline').split('\0').join(' ').trim() }));
}

async function lastingProcessesOf(place: Place): Promise<readonly LivingProcess[]> {
  const deadline = performance.now() + LEFT_GRACE_MS;
  for (;;) {
    const left = processesOf(place);
    if (left.length === 0 || performance.now() > deadline) return left;
    await sleep(50);
  }
}

function readProc(pid: string, file: 'environ' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // It ended meanwhile, or is another user's.
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}

function cut(text: string): string {
  return text.length <= 3_000 ? text : `${text.slice(0, 1_500)}\n[…]\n${text.slice(-1_500)}`;
}

/** Waits until `condition` holds. */
export async function until(what: string, condition: () => boolean, limitMs = 10_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`It did not come to this within ${limitMs} ms: ${what}`);
    await sleep(10);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into it freely.
type Loose = any;

/** The `json` format: exactly one value, and a newline. */
export function jsonOf(run: Run): Loose {
  if (!/^[^\n]+\n$/.test(run.stdout)) throw new Error(`stdout is not one line: ${JSON.stringify(cut(run.stdout))}`);
  return JSON.parse(run.stdout);
}

/** The `stream-json` format: events, then the result. */
export function streamOf(run: Run): { readonly events: readonly AgentEvent[]; readonly result: Loose } {
  if (!run.stdout.endsWith('\n')) throw new Error('stdout does not end with a newline.');
  const lines: Loose[] = run.stdout
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line));
  return { events: lines.slice(0, -1), result: lines.at(-1) };
}

/** The texts that a request carries as tool results, in order. */
export function resultsIn(request: RecordedRequest | undefined): readonly string[] {
  const messages: Loose[] = request?.body.messages ?? [];
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
}

/** The newest tool result of a run: the one its last request brought. */
export function lastResult({ requests }: PlayedRun): string {
  return resultsIn(requests.at(-1)).at(-1) ?? '';
}

/** What the person's side of a request says: its first user message. */
export function taskIn(request: RecordedRequest | undefined): string {
  const messages: Loose[] = request?.body.messages ?? [];
  return messages.find(({ role }) => role === 'user')?.content ?? '';
}

export function toolsIn(request: RecordedRequest | undefined): readonly string[] {
  const tools: Loose[] = request?.body.tools ?? [];
  return tools.map((tool) => tool.function.name);
}
