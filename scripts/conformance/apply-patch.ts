/** The shared patch scenarios: counted once the tool exists. */
import { createTools } from '../../src/tools/index.js';
import type { Group } from './group.js';

export async function playApplyPatch(): Promise<Group> {
  const results = createTools().has('apply_patch') ? [] : undefined;
  return { name: 'apply-patch', results };
}
