/**
 * Reads a model's arguments leniently, before the schema judges them: other tools' names for the same thing, and values in the
 * wrong type that can only mean one thing. What stays wrong is the schema's to refuse.
 */

/** A JSON Schema object, as far as it is looked at here. */
type Schema = Readonly<Record<string, unknown>>;

/** Names by which other tools and earlier transcripts know our arguments. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  path: [
    'file_path',
    'filename',
    'file_name',
    'file',
    'absolute_path',
    'relative_path',
    'target_file',
    'dir',
    'directory',
    'dir_path',
    'folder',
  ],
  command: ['cmd', 'script', 'shell_command'],
  cwd: ['workdir', 'working_directory', 'working_dir'],
  old_string: ['old_str', 'old_text', 'old', 'search', 'find'],
  new_string: ['new_str', 'new_text', 'new', 'replace', 'replacement'],
  replace_all: ['all', 'replace_all_occurrences', 'allow_multiple'],
  content: ['contents', 'text', 'file_text', 'file_content', 'data'],
  pattern: ['regex', 'regexp', 'query', 'search_pattern', 'glob', 'glob_pattern'],
  glob: ['include', 'include_pattern', 'file_pattern'],
  offset: ['start_line', 'line_start', 'from_line', 'line', 'start'],
  limit: ['max_lines', 'line_count', 'num_lines', 'lines'],
  ignore_case: ['case_insensitive', 'i'],
  context: ['context_lines', 'c'],
  max_results: ['head_limit', 'max_count', 'max_matches'],
  depth: ['max_depth'],
  hidden: ['show_hidden', 'include_hidden'],
  timeout_ms: ['timeout'],
  patch: ['input', 'diff'],
  url: ['uri', 'link', 'href'],
  body: ['data', 'payload', 'content'],
  steps: ['plan', 'todos', 'items'],
  question: ['prompt', 'text'],
};

/** `raw` as close to the tool's `parameters` (a JSON Schema) as can be told; other keys and values stay as they are. */
export function normalizeArguments(raw: unknown, parameters: Schema): unknown {
  return normalizeValue(raw, parameters);
}

function normalizeValue(value: unknown, schema: Schema): unknown {
  switch (schema.type) {
    case 'object':
      return normalizeObject(parsedIf(value, isRecord), schema);
    case 'array': {
      const list = parsedIf(value, Array.isArray);
      const items = isRecord(schema.items) ? schema.items : {};
      return Array.isArray(list) ? list.map((item: unknown) => normalizeValue(item, items)) : list;
    }
    case 'integer':
    case 'number':
      return typeof value === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;
    case 'boolean':
      return typeof value === 'string' && /^\s*(true|false)\s*$/i.test(value) ? /true/i.test(value) : value;
    default:
      return value;
  }
}

/** Some models write a nested value as JSON in a string. */
function parsedIf(value: unknown, fits: (parsed: unknown) => boolean): unknown {
  if (typeof value !== 'string') return value;
  try {
    const parsed: unknown = JSON.parse(value);
    return fits(parsed) ? parsed : value;
  } catch {
    return value; // Just a string, which the schema will refuse.
  }
}

function normalizeObject(value: unknown, schema: Schema): unknown {
  if (!isRecord(value) || !isRecord(schema.properties)) return value;
  const properties = schema.properties;
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const entries = new Map<string, unknown>();
  for (const [given, item] of Object.entries(value)) {
    const key = nameFor(given, properties, value);
    if (entries.has(key)) continue;
    // Null is how a model fills in what it does not want to give.
    if (item === null && Object.hasOwn(properties, key) && !required.includes(key)) continue;
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    entries.set(key, isRecord(property) ? normalizeValue(item, property) : item);
  }
  return Object.fromEntries(entries);
}

/** The schema's own name for a key, if the key is none of its names and the right one was not given as well. */
function nameFor(given: string, properties: Schema, value: Schema): string {
  if (Object.hasOwn(properties, given)) return given;
  const snake = given
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
  const isFree = (name: string) => Object.hasOwn(properties, name) && !Object.hasOwn(value, name);
  if (isFree(snake)) return snake;
  const known = Object.entries(ALIASES).find(([name, aliases]) => aliases.includes(snake) && isFree(name));
  return known?.[0] ?? given;
}

function isRecord(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
