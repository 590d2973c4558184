/** `chatcli context`: what a run begins with, and how much of the model's window that takes. Nothing is asked of a model. */
import { createTokenCounter, estimateTokens } from '../context/tokens.js';
import { roomIn } from '../context/window.js';
import type { WindowSize } from '../events/types.js';
import { EXIT } from '../exit-codes.js';
import { createToolSpecs } from '../runtime/context.js';
import { grouped } from '../texts/en.js';
import { workerNamed } from '../workers/select.js';
import type { RunFlags } from './flags.js';
import { ENTRY_WORKERS } from './intent.js';
import type { Io } from './io.js';
import { createReport } from './report.js';
import type { SideRun } from './side-commands.js';
import { wire } from './wire.js';

type Part = { readonly name: string; readonly tokens: number };

type Filling = {
  readonly worker: string;
  readonly model: string;
  readonly window: WindowSize;
  readonly parts: readonly Part[];
  readonly total: number;
  /** What is left for the conversation once the reply has its share. */
  readonly left: number;
};

export const runContext: SideRun = ({ flags }, io) => showContext(flags as RunFlags, io);

/** Prints what fills the window before the task, and gives the exit code. */
async function showContext(flags: RunFlags, io: Io): Promise<number> {
  const report = createReport({ io, flags, sessionId: '', startedAt: io.now() });
  try {
    // A listing of one's own configuration: notices of a run have nothing to say here.
    const run = await wire({ intent: { kind: 'coder', words: [], flags }, io, report });
    try {
      const filling = await fillingOf(run, flags.worker ?? ENTRY_WORKERS.coder);
      io.stdout.write(flags.outputFormat === 'text' ? textOf(filling) : `${jsonOf(filling)}\n`);
      return EXIT.answered;
    } finally {
      run.close();
    }
  } catch (thrown) {
    return report.failure(thrown);
  }
}

async function fillingOf(run: Awaited<ReturnType<typeof wire>>, name: string): Promise<Filling> {
  const { tree, instructions, skillsIndex } = run;
  const worker = workerNamed(name, tree.workers);
  const model = tree.modelOf(worker);
  const specs = createToolSpecs(tree, worker);
  const files = instructions.files.map(({ path, text }) => ({ name: path, tokens: estimateTokens(text) }));
  const skills = estimateTokens(skillsIndex.join('\n\n'));
  const fromFiles = files.reduce((sum, { tokens }) => sum + tokens, skills);
  const parts: readonly Part[] = [
    { name: `page of the worker ${worker.name}`, tokens: estimateTokens(tree.systemPromptOf(worker)) - fromFiles },
    ...files,
    ...(skills > 0 ? [{ name: 'skills', tokens: skills }] : []),
    { name: `${specs.length} tools`, tokens: createTokenCounter().ofTools(specs) },
  ];
  const total = parts.reduce((sum, { tokens }) => sum + tokens, 0);
  const window = (await tree.windowOf?.(model)) ?? { tokens: 0, source: 'default' };
  return { worker: worker.name, model, window, parts, total, left: Math.max(0, roomIn(window.tokens) - total) };
}

function jsonOf({ worker, model, window, parts, total, left }: Filling): string {
  return JSON.stringify({
    type: 'context',
    worker,
    model,
    window_tokens: window.tokens,
    window_source: window.source,
    parts,
    total_tokens: total,
    left_tokens: left,
    estimated: true,
  });
}

const SOURCES: Readonly<Record<WindowSize['source'], string>> = {
  setting: 'as you set it',
  table: 'by our table',
  endpoint: 'as the endpoint says',
  default: 'assumed: nobody says',
  refusal: 'as the endpoint says',
};

function textOf({ worker, model, window, parts, total, left }: Filling): string {
  const reply = window.tokens - roomIn(window.tokens);
  const share = (tokens: number) => `${((100 * tokens) / window.tokens).toFixed(1)} %`;
  const rows = [
    ...parts.map(({ name, tokens }) => [name, grouped(tokens), share(tokens)]),
    ['before the task', grouped(total), share(total)],
    ['kept for the reply', grouped(reply), share(reply)],
    ['left for the conversation', grouped(left), share(left)],
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((cells) => (cells[column] ?? '').length)));
  const lines = rows.map((cells) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
  const title = `${worker} · ${model} · window ${grouped(window.tokens)} tokens (${SOURCES[window.source]})`;
  return `${[title, '', ...lines.slice(0, -3), '', ...lines.slice(-3), '', FOOT].join('\n')}\n`;
}

const FOOT = 'By estimate. A run says at its end what its requests really had: --output-format json, "context".';
