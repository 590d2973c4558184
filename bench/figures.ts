/** What is measured: contestants in turn, several rounds, so that what else the machine does hits all of them alike. */

import type { Contest, Contestant } from './contest.js';
import { contextFigures } from './context-figures.js';
import type { Timing } from './measure.js';
import type { Script } from './model-server.js';
import type { Figure } from './table.js';

const ALL: readonly Contestant[] = ['fetch', 'ours', 'http'];
const LEAST_ROUNDS = 3;
const DELTAS = 50_000;
const DELTA = '8 chars '; // 400 kB in all.
const RESULT_BYTES = 100_000;

/** Every figure of PERFORMANCE.md that a bar of issue 2 names; about two minutes on a quiet machine, at most four. */
export const FIGURES: readonly ((contest: Contest) => Promise<readonly Figure[]>)[] = [
  versionFigures,
  oneCallFigures,
  turnFigures,
  deltaFigures,
  memoryFigures,
  bigResultFigures,
  contextFigures,
];

async function versionFigures({ timeNode, chatcliPath }: Contest): Promise<readonly Figure[]> {
  const floor: number[] = [];
  const ours: number[] = [];
  await inRounds({ rounds: 31, budgetMs: 15_000 }, async () => {
    floor.push((await timeNode('-e', '0')).wallMs);
    ours.push((await timeNode(chatcliPath, '--version')).wallMs);
  });
  // Without CPU times, which a system may count in steps of 10 ms.
  return [{ name: '--version : node -e 0', unit: 'ms', floor: fast(floor), ours: fast(ours), bar: 1.3, goal: 1.15 }];
}

async function oneCallFigures(contest: Contest): Promise<readonly Figure[]> {
  const times = await race(contest, turns(1), { rounds: 11, budgetMs: 30_000 });
  return [
    { name: 'one tool call : fetch floor', unit: 'ms', ...compared(times.fetch, times.ours), bar: 1.5, goal: 0.8 },
    { name: 'one tool call : http floor', unit: 'ms', ...compared(times.http, times.ours) },
  ];
}

/**
 * The cost of one more turn, early and late in a run: from request to request, as the model's end of the line sees it.
 * The time of a shorter run taken from that of a longer one says the same, with the noise of two start-ups on it.
 */
async function turnFigures(contest: Contest): Promise<readonly Figure[]> {
  const spans = [
    { name: 'a turn at 10 (10 to 50)', from: 10, to: 50 },
    { name: 'a turn at 200 (150 to 200)', from: 150, to: 200 },
  ];
  const runs: Record<Contestant, (readonly number[])[]> = { ours: [], fetch: [], http: [] };
  await inRounds({ rounds: 9, budgetMs: 60_000 }, async () => {
    for (const contestant of ALL) runs[contestant].push(await contest.requestTimes(contestant, turns(200)));
  });
  return spans.flatMap(({ name, from, to }) => {
    // The whole span of a run, not its fastest turns: collecting garbage is part of what turns cost.
    const turnOf = (contestant: Contestant) =>
      fast(runs[contestant].map((times) => ((times[to] ?? Number.NaN) - (times[from] ?? Number.NaN)) / (to - from)));
    const [fetch, ours, http] = [turnOf('fetch'), turnOf('ours'), turnOf('http')];
    return [
      { name: `${name} : fetch floor`, unit: 'ms', floor: fetch, ours, bar: 1.5 },
      { name: `${name} : http floor`, unit: 'ms', floor: http, ours, goal: 1.2 },
    ];
  });
}

async function deltaFigures(contest: Contest): Promise<readonly Figure[]> {
  const script = { ...turns(0), answer: Array.from({ length: DELTAS }, () => DELTA) };
  const times = await race(contest, script, { rounds: 5, budgetMs: 25_000 });
  return [
    {
      name: '400 kB in 50,000 deltas : fetch floor',
      unit: 'ms',
      ...compared(times.fetch, times.ours),
      bar: 3,
      goal: 1.5,
    },
    { name: '400 kB in 50,000 deltas : http floor', unit: 'ms', ...compared(times.http, times.ours) },
  ];
}

async function memoryFigures(contest: Contest): Promise<readonly Figure[]> {
  const peaks: Record<Contestant, number[]> = { ours: [], fetch: [], http: [] };
  await inRounds({ rounds: 5, budgetMs: 20_000 }, async () => {
    for (const contestant of ALL) {
      const peak = await contest.peakRss(contestant, turns(10));
      if (peak !== undefined) peaks[contestant].push(peak);
    }
  });
  if (peaks.ours.length === 0) return [];
  const [ours, fetch, http] = [median(peaks.ours), median(peaks.fetch), median(peaks.http)];
  return [
    { name: 'RSS of 10 turns : fetch floor', unit: 'MiB', floor: fetch, ours, bar: 1.3 },
    { name: 'RSS of 10 turns : http floor', unit: 'MiB', floor: http, ours, goal: 1.2 },
  ];
}

async function bigResultFigures(contest: Contest): Promise<readonly Figure[]> {
  const command = (turn: number) => `head -c ${RESULT_BYTES} /dev/zero | tr '\\0' x; echo ${turn}`;
  const peak = await contest.peakRss('ours', { ...turns(200), command });
  if (peak === undefined) return [];
  return [{ name: 'RSS of 200 turns, 100 kB results', unit: 'MiB', ours: peak, bar: 250 }];
}

function turns(toolCalls: number): Script {
  return { toolCalls, command: (turn) => `echo turn ${turn}`, answer: ['All ', 'done', '.'] };
}

type Times = Record<Contestant, Timing[]>;

async function race(contest: Contest, script: Script, limits: Rounds): Promise<Times> {
  const times: Times = { ours: [], fetch: [], http: [] };
  await inRounds(limits, async () => {
    for (const contestant of ALL) times[contestant].push(await contest.time(contestant, script));
  });
  return times;
}

type Rounds = { readonly rounds: number; readonly budgetMs: number };

/** Stops before its last round where the machine is slow, but not before the third. */
async function inRounds({ rounds, budgetMs }: Rounds, round: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  for (let done = 0; done < rounds; done += 1) {
    if (done >= LEAST_ROUNDS && performance.now() - startedAt > budgetMs) return;
    await round();
  }
}

function compared(floor: readonly Timing[], ours: readonly Timing[]): Pick<Figure, 'floor' | 'ours' | 'cpuRatio'> {
  const [floorTime, ourTime] = [middle(floor), middle(ours)];
  const cpuRatio = ourTime.cpuMs / floorTime.cpuMs;
  return { floor: floorTime.wallMs, ours: ourTime.wallMs, ...(Number.isFinite(cpuRatio) && { cpuRatio }) };
}

function middle(times: readonly Timing[]): Timing {
  return { wallMs: median(times.map(({ wallMs }) => wallMs)), cpuMs: median(times.map(({ cpuMs }) => cpuMs)) };
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** What the fastest tenth stays within. What else a machine does makes a run longer, never shorter. */
function fast(values: readonly number[]): number {
  return quantile(values, 0.1);
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}
