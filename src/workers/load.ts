/** Reads worker pages: front matter in YAML, then the prompt. */
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { ConfigError } from '../errors.js';
import builtinPages from './pages:md';
import type { Worker } from './types.js';

const list = z.union([z.array(z.string()), z.string().transform((text) => text.split(',').map((item) => item.trim()))]);

const frontMatter = z.strictObject({
  name: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'lower-case words joined by "-"'),
  description: z.string().min(1),
  whenToUse: z.string().min(1),
  tools: list,
  readOnly: z.boolean().default(false),
  entry: z.boolean().default(false),
  maxTurns: z.int().positive().optional(),
  model: z.string().min(1).optional(),
});

/**
 * The worker a page describes.
 * @throws {ConfigError} naming the file, and the line where one is known, when the page cannot be used.
 */
export function parseWorker(file: string, text: string, knownTools: readonly string[]): Worker {
  const match = /^---\r?\n([\s\S]*?)\r?\n---\r?\n([\s\S]*)$/.exec(text.replace(/^\uFEFF/, ''));
  const [, head = '', prompt = ''] = match ?? [];
  if (match === null) throw new ConfigError(`${file}: a worker page starts with front matter between two lines "---".`);

  const document = parseDocument(head, { schema: 'core' });
  const [problem] = document.errors;
  if (problem !== undefined) throw new ConfigError(`${file}:${lineOf(head, problem.pos[0])}: ${problem.message}`);
  const parsed = frontMatter.safeParse(document.toJS({ maxAliasCount: 0 }));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ConfigError(
      `${file}:${lineOfKey(head, String(issue?.path[0] ?? ''))}: ${issue?.path.join('.')}: ${issue?.message}`,
    );
  }
  const unknown = parsed.data.tools.filter((tool) => !knownTools.includes(tool));
  if (unknown.length > 0) {
    const hint = `The tools are: ${knownTools.join(', ')}.`;
    throw new ConfigError(`${file}:${lineOfKey(head, 'tools')}: unknown tool ${unknown.join(', ')}.`, { hint });
  }
  return { ...parsed.data, prompt: prompt.trim() };
}

/** The workers that come with chatcli, by name. */
export function builtinWorkers(knownTools: readonly string[]): ReadonlyMap<string, Worker> {
  const workers = builtinPages.map(({ file, text }) => parseWorker(file, text, knownTools));
  return new Map(workers.map((worker) => [worker.name, worker]));
}

/** Line of an offset in the front matter, counted in the page, whose first line is `---`. */
function lineOf(head: string, offset: number): number {
  return head.slice(0, offset).split('\n').length + 1;
}

function lineOfKey(head: string, key: string): number {
  const line = head.split('\n').findIndex((text) => text.startsWith(`${key}:`));
  return line === -1 ? 1 : line + 2;
}
