/** The end of a set of tools. */
import { messageOf } from '../errors.js';
import type { Tool } from './types.js';

/** Ends what the tools left running; gives what that was, as sentences. One that fails does not keep the others. */
export async function closeTools(tools: Iterable<Tool>): Promise<readonly string[]> {
  const closed = await Promise.allSettled([...tools].map(async (tool) => tool.close?.() ?? []));
  return closed.flatMap((each) => (each.status === 'fulfilled' ? each.value : [messageOf(each.reason)]));
}
