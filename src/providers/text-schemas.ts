/** Writes tools out for a model that reads of them in its prompt: as short as can be without losing what it needs. */
import { asRecord, type JsonRecord, textOf } from './json.js';
import type { ToolSpec } from './types.js';

/** A tool in two lines or more: its name and arguments, then what it is for. */
export function describeTool({ name, description, parameters }: ToolSpec): string {
  return `## ${name} ${typeText(parameters)}\n${description.trim()}`;
}

/** How a tool is called: a block with what it needs, and all it takes. */
export function rightForm({ name, parameters }: ToolSpec): string {
  const required = namesIn(parameters.required);
  const properties = Object.entries(asRecord(parameters.properties) ?? {});
  const example = properties
    .filter(([key]) => required.includes(key))
    .map(([key, schema]) => `${JSON.stringify(key)}: ${exampleOf(asRecord(schema) ?? {})}`);
  return `${blockOf(name, `{${example.join(', ')}}`)} (arguments: ${typeText(parameters)})`;
}

/** A call in the form that the model is taught. */
export function blockOf(name: string, json: string): string {
  return `<tool_call name="${name}">${json}</tool_call>`;
}

/** A JSON Schema as a type in TypeScript's manner, or as it is where that would lose something. */
function typeText(schema: JsonRecord): string {
  const description = textOf(schema.description);
  return description === '' ? bareType(schema) : `${bareType(schema)} (${description})`;
}

function bareType(schema: JsonRecord): string {
  const { type, items, enum: values, anyOf, oneOf } = schema;
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' | ');
  if ('const' in schema) return JSON.stringify(schema.const);
  const options = anyOf ?? oneOf;
  if (Array.isArray(options)) return options.map((option) => typeText(asRecord(option) ?? {})).join(' | ');
  if (Array.isArray(type)) return type.join(' | ');
  const item = asRecord(items);
  if (type === 'array' && item !== undefined) {
    const text = typeText(item);
    return text.includes(' ') && !text.startsWith('{') ? `(${text})[]` : `${text}[]`;
  }
  const properties = asRecord(schema.properties);
  if (properties !== undefined) return objectType(properties, namesIn(schema.required));
  if (typeof type === 'string') return type === 'object' ? '{}' : type;
  return JSON.stringify(schema);
}

function objectType(properties: JsonRecord, required: readonly unknown[]): string {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const isOptional = !required.includes(name);
    return `${name}${isOptional ? '?' : ''}: ${typeText(asRecord(schema) ?? {})}`;
  });
  return `{${fields.join(', ')}}`;
}

function exampleOf({ type, enum: values }: JsonRecord): string {
  if (Array.isArray(values)) return JSON.stringify(values[0]);
  switch (type) {
    case 'number':
    case 'integer':
      return '1';
    case 'boolean':
      return 'true';
    case 'array':
      return '[…]';
    case 'object':
      return '{…}';
    default:
      return '"…"';
  }
}

function namesIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
