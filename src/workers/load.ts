/** Reads worker pages: their front matter says what a worker is, the rest is its prompt. */
import * as z from 'zod';
import { ConfigError } from '../errors.js';
import builtinPages, { type Page } from './pages:md';
import type { Worker } from './types.js';

const frontMatter = z.strictObject({
  name: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be lower-case words joined by "-"'),
  description: z.string().min(1),
  whenToUse: z.string().min(1),
  tools: z.array(z.string()),
  readOnly: z.boolean().default(false),
  entry: z.boolean().default(false),
  maxTurns: z.int().positive().optional(),
  model: z.string().min(1).optional(),
});

/**
 * The worker that a page describes.
 * @throws {ConfigError} naming the page and the field when it cannot be used.
 */
export function workerOf({ file, head, text }: Page, knownTools: readonly string[]): Worker {
  const parsed = frontMatter.safeParse(head);
  if (!parsed.success) throw new ConfigError(`The worker page ${file} is not valid:\n${z.prettifyError(parsed.error)}`);
  const unknown = parsed.data.tools.filter((tool) => !knownTools.includes(tool));
  if (unknown.length > 0) {
    const hint = `The tools are: ${knownTools.join(', ')}.`;
    throw new ConfigError(`The worker page ${file} names an unknown tool: ${unknown.join(', ')}.`, { hint });
  }
  return { ...parsed.data, prompt: text };
}

/** The workers that come with chatcli, by name. */
export function builtinWorkers(knownTools: readonly string[]): ReadonlyMap<string, Worker> {
  const workers = builtinPages.map((page) => workerOf(page, knownTools));
  return new Map(workers.map((worker) => [worker.name, worker]));
}
