/** What each name in a rule covers: our classes and tools, and the names that users of Claude Code have in their files. */

const READING = ['read_file', 'list_files', 'search_files'] as const;
const SHELL = ['shell', 'shell_output', 'shell_stop'] as const;
const EDITING = ['edit_file', 'apply_patch'] as const;

const COVERED: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['read', READING],
  ['edit', EDITING],
  ['write', ['write_file']],
  ['shell', SHELL],
  ['fetch', ['fetch_url']],
  ['agent', ['delegate']],
  ['read_file', ['read_file']],
  ['list_files', ['list_files']],
  ['search_files', ['search_files']],
  ['edit_file', ['edit_file']],
  ['apply_patch', ['apply_patch']],
  ['write_file', ['write_file']],
  ['shell_output', ['shell_output']],
  ['shell_stop', ['shell_stop']],
  ['fetch_url', ['fetch_url']],
  ['delegate', ['delegate']],
  ['update_plan', ['update_plan']],
  ['ask_user', ['ask_user']],
  ['load_skill', ['load_skill']],
  ['Bash', SHELL],
  ['BashOutput', ['shell_output']],
  ['KillShell', ['shell_stop']],
  ['KillBash', ['shell_stop']],
  ['Read', ['read_file']],
  ['Glob', ['list_files']],
  ['LS', ['list_files']],
  ['Grep', ['search_files']],
  ['Edit', EDITING],
  ['MultiEdit', EDITING],
  ['Write', ['write_file']],
  ['WebFetch', ['fetch_url']],
  ['Agent', ['delegate']],
  ['Task', ['delegate']],
  ['TodoWrite', ['update_plan']],
  ['AskUserQuestion', ['ask_user']],
  ['Skill', ['load_skill']],
]);

const MCP = /^mcp__[A-Za-z0-9][A-Za-z0-9_.-]*?__(?:[A-Za-z0-9_.-]+|\*)$/;
const FILE_TOOLS: readonly string[] = [...READING, ...EDITING, 'write_file'];

/** The tools that a name covers, `mcp__server__*` as it stands; undefined for a name that is none. */
export function toolsNamed(name: string): readonly string[] | undefined {
  return MCP.test(name) ? [name] : COVERED.get(name);
}

/** All names that can stand in a rule, for an error. */
export function ruleNames(): string {
  return `${[...COVERED.keys()].join(', ')}, mcp__SERVER__TOOL, mcp__SERVER__*`;
}

/** What may stand between the parentheses behind a name. */
export function specKind(tools: readonly string[]): 'command' | 'path' | 'host' | undefined {
  if (tools.includes('shell')) return 'command';
  if (tools.includes('fetch_url')) return 'host';
  return tools.some((tool) => FILE_TOOLS.includes(tool)) ? 'path' : undefined;
}

/** Whether one of the names is that of a tool; `mcp__server__*` is that of all tools of a server. */
export function coversTool(tools: readonly string[], tool: string): boolean {
  return tools.some((name) => name === tool || (name.endsWith('__*') && tool.startsWith(name.slice(0, -1))));
}

/** Whether tools of these names show what is in a file: reading, and editing, which tells where a text was not found. */
export function isReading(tools: readonly string[]): boolean {
  return READING.some((tool) => tools.includes(tool));
}

/** Whether tools of these names change files: whoever forbids one way means the file. */
export function isChanging(tools: readonly string[]): boolean {
  return CHANGES_FILES.some((tool) => tools.includes(tool));
}

export const CHANGES_FILES: readonly string[] = [...EDITING, 'write_file'];
export const SHOWS_CONTENT: readonly string[] = [...READING, ...EDITING];
