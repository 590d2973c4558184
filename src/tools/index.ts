/** The tools that there are. A new one is a folder beside these and a line here. */

import { groupsThatEndWithUs } from '../process.js';
import { delegateTool } from './delegate/tool.js';
import { editFileTool } from './edit-file/tool.js';
import { listFilesTool } from './list-files/tool.js';
import { readFileTool } from './read-file/tool.js';
import { searchFilesTool } from './search-files/tool.js';
import { createBackgroundCommands } from './shell/background.js';
import { createShellOutputTool, createShellStopTool } from './shell/background-tools.js';
import { createShellTool, type ShellOptions } from './shell/tool.js';
import type { Tool } from './types.js';
import { writeFileTool } from './write-file/tool.js';

/** All tools by name, in the order in which they are advertised. */
export function createTools({
  groups = groupsThatEndWithUs(),
  ...options
}: ShellOptions = {}): ReadonlyMap<string, Tool> {
  const background = createBackgroundCommands(groups);
  const all: readonly Tool[] = [
    readFileTool,
    listFilesTool,
    searchFilesTool,
    editFileTool,
    writeFileTool,
    createShellTool({ ...options, groups, background }),
    createShellOutputTool(background),
    createShellStopTool(background),
    delegateTool,
  ];
  return new Map(all.map((tool) => [tool.name, tool]));
}
