/**
 * `npm run bench`: ours against bare Node and against the smallest agent loop that Node can run (bench/floor.mjs, or
 * ../shared/tools/floor.mjs where that is there), on a model without latency. Prints one table; exit code 1 when a bar
 * is missed. Ratios, not times: a machine is slower than another, and slower at noon than at night.
 */
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { openContest } from './contest.js';
import { FIGURES } from './figures.js';
import { startModelServer } from './model-server.js';
import { type Figure, isOver, tableOf } from './table.js';

const LIMIT_MS = 240_000;

async function main(): Promise<number> {
  const root = resolve('.');
  const controller = new AbortController();
  const onSignal = () => controller.abort(new Error('interrupted'));
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  const timer = setTimeout(() => controller.abort(new Error(`not done within ${LIMIT_MS / 1000} s`)), LIMIT_MS);
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'chatcli-bench-')));
  const server = await startModelServer();
  const figures: Figure[] = [];
  try {
    const cwd = join(folder, 'workspace');
    await mkdir(cwd);
    const contest = await openContest(root, server, { cwd, logFolder: folder, signal: controller.signal });
    console.log(
      `node ${process.version} on ${process.platform}, ${availableParallelism()} cores (${cpus()[0]?.model ?? '?'})`,
    );
    console.log(
      `floor: ${relative(root, contest.floorPath)}; medians (--version, turns: the fastest tenth of the runs), all taking turns\n`,
    );
    for (const figuresOf of FIGURES) figures.push(...(await figuresOf(contest)));
  } catch (thrown) {
    console.error(`bench: ${thrown instanceof Error ? thrown.message : thrown}`);
    return 2;
  } finally {
    if (figures.length > 0) console.log(tableOf(figures));
    clearTimeout(timer);
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
  return figures.some(isOver) ? 1 : 0;
}

process.exitCode = await main();
