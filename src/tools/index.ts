/** The tools that there are. A new one is a folder beside these and a line here. */
import { groupsThatEndWithUs } from '../process.js';
import { applyPatchTool } from './apply-patch/tool.js';
import { askUserTool } from './ask-user/tool.js';
import { delegateTool } from './delegate/tool.js';
import { editFileTool } from './edit-file/tool.js';
import { createFetchUrlTool, type FetchOptions } from './fetch-url/tool.js';
import { listFilesTool } from './list-files/tool.js';
import { readFileTool } from './read-file/tool.js';
import { searchFilesTool } from './search-files/tool.js';
import { createBackgroundCommands } from './shell/background.js';
import { createShellOutputTool, createShellStopTool } from './shell/background-tools.js';
import { createShellTool, type ShellOptions } from './shell/tool.js';
import type { Tool } from './types.js';
import { updatePlanTool } from './update-plan/tool.js';
import { writeFileTool } from './write-file/tool.js';

export type ToolOptions = ShellOptions & { readonly fetch?: FetchOptions };

/** All tools by name, in the order in which they are advertised. */
export function createTools({
  groups = groupsThatEndWithUs(),
  fetch,
  ...options
}: ToolOptions = {}): ReadonlyMap<string, Tool> {
  const background = createBackgroundCommands(groups);
  const all: readonly Tool[] = [
    readFileTool,
    listFilesTool,
    searchFilesTool,
    editFileTool,
    applyPatchTool,
    writeFileTool,
    createShellTool({ ...options, groups, background }),
    createShellOutputTool(background),
    createShellStopTool(background),
    createFetchUrlTool(fetch),
    delegateTool,
    updatePlanTool,
    askUserTool,
  ];
  return new Map(all.map((tool) => [tool.name, tool]));
}
