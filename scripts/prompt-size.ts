/** Counts what each worker's system prompt and tool schemas cost in tokens (o200k), and fails over the limits. */
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { systemPrompt } from '../src/context/system.js';
import { createTools } from '../src/tools/index.js';
import { advertise } from '../src/tools/spec.js';
import { builtinWorkers } from '../src/workers/load.js';
import { catalogue, describeCatalogue } from '../src/workers/select.js';

/** The limit; the goal of shared/PERFORMANCE.md is 1,200. */
const LIMITS: Readonly<Record<string, number>> = { coder: 1800, file: 1000 };

const tools = createTools();
const workers = builtinWorkers([...tools.keys()]);
const values = { workers: describeCatalogue(catalogue(workers)) };
const environment = { root: '/home/someone/projects/example', platform: 'linux', date: '2026-01-01' };

const rows = [...workers.values()].map((worker) => {
  const prompt = systemPrompt({ prompt: worker.prompt, values, environment, instructions: { files: [], cut: false } });
  const own = advertise(worker.tools.flatMap((name) => tools.get(name) ?? []));
  const schemas = own.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
  const [promptTokens, toolTokens] = [encode(prompt).length, encode(JSON.stringify(schemas)).length];
  return {
    worker: worker.name,
    prompt: promptTokens,
    tools: toolTokens,
    total: promptTokens + toolTokens,
    limit: LIMITS[worker.name],
  };
});
console.table(rows);
const over = rows.filter((row) => row.limit !== undefined && row.total > row.limit);
for (const row of over)
  console.log(`over the limit: ${row.worker} has ${row.total} tokens, at most ${row.limit} are allowed`);
process.exitCode = over.length > 0 ? 1 : 0;
