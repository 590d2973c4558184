/** Runs one program and measures it: its time, its CPU time, or its highest memory. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Program = {
  /** Of node. */
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
};

export type Place = {
  readonly cwd: string;
  /** For what the program prints: files, so that nobody has to read along. */
  readonly logFolder: string;
  readonly signal: AbortSignal;
};

/** `cpuMs` is user and system time of the program and all its children; NaN on Windows. */
export type Timing = { readonly wallMs: number; readonly cpuMs: number };

const IS_POSIX = process.platform !== 'win32';
const LIMIT_MS = 60_000;
const SAMPLE_MS = 10; // The kernel keeps the peak; only what the last moments add is missed.
// `times` is how a POSIX system tells the CPU time of children without a helper; the shell itself costs 1 ms.
const WITH_TIMES = ['-c', '"$@"; status=$?; times >&3; exit $status', 'sh', process.execPath];

/** @throws {Error} when the program fails, or takes longer than a minute. */
export async function timing(program: Program, place: Place): Promise<Timing> {
  const startedAt = performance.now();
  const child = IS_POSIX
    ? start('/bin/sh', [...WITH_TIMES, ...program.args], program, place)
    : start(process.execPath, program.args, program, place);
  let times = '';
  child.stdio[3]?.on('data', (bytes: Buffer) => {
    times += bytes.toString();
  });
  await end(child, program, place);
  return { wallMs: performance.now() - startedAt, cpuMs: childrenCpuMs(times) };
}

/**
 * The most memory (RSS, MiB) that the program itself ever had, as Linux counts it; undefined elsewhere. Not PSS, which
 * depends on how many other Node processes the machine has. Throws as `timing` does.
 */
export async function peakRss(program: Program, place: Place): Promise<number | undefined> {
  const child = start(process.execPath, program.args, program, place);
  let peak: number | undefined;
  const sampler = setInterval(() => {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readProc(`${child.pid}/status`))?.[1];
    if (kilobytes !== undefined) peak = Number(kilobytes) / 1024;
  }, SAMPLE_MS);
  try {
    await end(child, program, place);
  } finally {
    clearInterval(sampler);
  }
  return peak;
}

function start(file: string, args: readonly string[], { env }: Program, { cwd, logFolder }: Place): ChildProcess {
  const [out, error] = [openSync(join(logFolder, 'stdout'), 'w'), openSync(join(logFolder, 'stderr'), 'w')];
  try {
    return spawn(file, args, { cwd, env, detached: IS_POSIX, stdio: ['ignore', out, error, 'pipe'] });
  } finally {
    closeSync(out);
    closeSync(error);
  }
}

function end(child: ChildProcess, { args }: Program, { logFolder, signal }: Place): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => kill(child), LIMIT_MS);
    const onAbort = () => kill(child);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) kill(child);
    child.once('error', reject);
    child.once('close', (code, by) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      if (signal.aborted) return reject(signal.reason);
      if (code === 0) return resolve();
      const said = readFileSync(join(logFolder, 'stderr'), 'utf8').trim().slice(-1000);
      reject(new Error(`node ${args.join(' ')} ended with ${by ?? `exit code ${code}`}: ${said}`));
    });
  });
}

/** The program and the commands it has running: theirs are groups of their own, which end when the program is gone. */
function kill(child: ChildProcess): void {
  if (child.pid === undefined) return;
  for (const pid of IS_POSIX ? [...descendantsOf(child.pid), -child.pid] : [child.pid]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Gone already, which is what was wanted.
    }
  }
}

/** The second line of `times`: user and system time of the shell's children, as `0m0.123s`. */
function childrenCpuMs(times: string): number {
  const [, line] = times.split('\n');
  const parts = [...(line ?? '').matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds),
  );
  return parts.length === 2 ? parts.reduce((sum, seconds) => sum + seconds * 1000, 0) : Number.NaN;
}

function descendantsOf(pid: number): readonly number[] {
  const children = readProc(`${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

/** Empty where there is no such file: another system, or a process that has just ended. */
function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return '';
  }
}
