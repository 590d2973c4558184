/** The tools `shell_output` and `shell_stop`: what background commands print, and their end. They reach only our own. */
import * as z from 'zod';
import { defineTool, type Tool } from '../types.js';
import type { BackgroundCommands } from './background.js';
import { reportList, reportLook } from './background-report.js';
import outputDoc from './output.md';
import stopDoc from './stop.md';

const DEFAULT_WAIT_MS = 1_000;
const MAX_WAIT_MS = 60_000;

export function createShellOutputTool(background: BackgroundCommands): Tool {
  return defineTool({
    name: 'shell_output',
    doc: outputDoc.trim(),
    // Whoever could start the command may see what it prints; a rule for `shell` covers this as well.
    permission: 'meta',
    concurrency: 'serial',
    ownTimeout: true,
    schema: z.object({ id: z.string().optional(), wait_ms: z.number().min(0).optional() }),
    subjects: () => [{ kind: 'none' }],
    title: ({ id }) => id ?? 'all',
    run: async ({ id, wait_ms = DEFAULT_WAIT_MS }, { signal }) => {
      if (id === undefined) return reportList(background.list());
      return reportLook(await background.look(id, Math.min(wait_ms, MAX_WAIT_MS), signal));
    },
  });
}

export function createShellStopTool(background: BackgroundCommands): Tool {
  return defineTool({
    name: 'shell_stop',
    doc: stopDoc.trim(),
    permission: 'meta',
    concurrency: 'serial',
    ownTimeout: true,
    schema: z.object({ id: z.string() }),
    subjects: () => [{ kind: 'none' }],
    title: ({ id }) => id,
    run: async ({ id }) => reportLook(await background.stop(id)),
  });
}
