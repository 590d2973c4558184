/** A tool that a library user made, looked at before a model is offered it. */
import { messageOf, UsageError } from '../errors.js';
import type { Permission } from '../permissions/types.js';
import { parametersOf } from './spec.js';
import type { Tool } from './types.js';

const PERMISSIONS: readonly string[] = ['read', 'write', 'execute', 'network', 'meta'] satisfies readonly Permission[];
const CONCURRENCIES: readonly string[] = ['parallel', 'path', 'serial'] satisfies readonly Tool['concurrency'][];

/** What providers take, and what `ask-model.ts` makes of a name that a model writes. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Refuses what is no tool, or one that would fail in the middle of a run.
 * @throws {UsageError} naming the tool and all that is wrong with it.
 */
export function checkTool(tool: Tool): void {
  if (typeof tool !== 'object' || tool === null) {
    throw new UsageError(`A tool is an object as defineTool makes it, not ${tool === null ? 'null' : typeof tool}.`);
  }
  const problems = [...problemsOf(tool)];
  if (problems.length === 0) return;
  const name = typeof tool.name === 'string' ? JSON.stringify(tool.name) : 'without a name';
  throw new UsageError(`The tool ${name} can't be used: ${problems.join('; ')}.`);
}

function* problemsOf(tool: Tool): Generator<string> {
  if (typeof tool.name !== 'string' || !NAME.test(tool.name)) {
    yield '`name` has to be 1 to 64 of the characters A-Z, a-z, 0-9, _ and -';
  }
  if (typeof tool.doc !== 'string') yield '`doc` has to be a text for the model';
  if (!PERMISSIONS.includes(tool.permission)) yield `\`permission\` has to be one of ${PERMISSIONS.join(', ')}`;
  if (!CONCURRENCIES.includes(tool.concurrency)) yield `\`concurrency\` has to be one of ${CONCURRENCIES.join(', ')}`;
  for (const method of ['subjects', 'run'] as const) {
    if (typeof tool[method] !== 'function') yield `\`${method}\` has to be a function`;
  }
  for (const method of ['title', 'preview', 'close'] as const) {
    if (tool[method] !== undefined && typeof tool[method] !== 'function') yield `\`${method}\` has to be a function`;
  }
  if (tool.ownTimeout !== undefined && typeof tool.ownTimeout !== 'boolean') yield '`ownTimeout` has to be a boolean';
  yield* schemaProblems(tool);
}

function* schemaProblems(tool: Tool): Generator<string> {
  if (typeof tool.schema !== 'object' || tool.schema === null || !('_zod' in tool.schema)) {
    yield '`schema` has to be a zod schema of its arguments';
    return;
  }
  try {
    const { type = 'object' } = parametersOf(tool);
    if (type !== 'object') yield `\`schema\` has to be one of an object, not of type ${messageOf(type)}`;
  } catch (thrown) {
    yield `\`schema\` can't be written as JSON Schema: ${messageOf(thrown)}`;
  }
}
