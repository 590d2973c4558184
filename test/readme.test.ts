import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { configTable } from '../src/config/describe.js';
import { eventSchema } from '../src/events/schema.js';
import { createAgent, FakeProvider } from '../src/index.js';
import { APPROVAL_MODES } from '../src/permissions/types.js';
import { PRESETS } from '../src/providers/presets.js';
import { createTools } from '../src/tools/index.js';
import { builtinWorkers } from '../src/workers/load.js';

const readme = readFileSync('README.md', 'utf8');

describe('the README', () => {
  it('holds the table of variables as the schema gives it', () => {
    expect(readme).toContain(configTable().trim());
  });

  it.each([
    ['worker', [...builtinWorkers([...createTools().keys()]).keys()]],
    ['preset', PRESETS.map((preset) => preset.name)],
    ['mode', APPROVAL_MODES],
  ])('names every %s', (_, names) => {
    expect(names.filter((name) => !new RegExp(`[\`\\s]${name}[\`\\s]`).test(readme))).toEqual([]);
  });
});

describe('the map of the ancestors', () => {
  const map = readFileSync('docs/from-the-ancestors.md', 'utf8');
  const named = (owner: string) =>
    [...map.matchAll(new RegExp(`(?<!\\.)\\b${owner}\\.(\\w+)`, 'g'))].map(([, name]) => name ?? '');

  it('names no method that an agent does not have', () => {
    const agent = createAgent({ provider: FakeProvider([]) });
    expect(named('agent').filter((name) => !(name in agent))).toEqual([]);
    expect(named('agent').length).toBeGreaterThan(20);
  });

  it('names no option that createAgent does not take', () => {
    const types = readFileSync('src/runtime/agent-types.ts', 'utf8');
    const names = [...named('options'), ...named('limits')];
    expect(names.filter((name) => !types.includes(`readonly ${name}?:`))).toEqual([]);
    expect(names.length).toBeGreaterThan(20);
  });

  it('names every kind of event that is ours', () => {
    const kinds = eventSchema.options.map(
      (option) => ('options' in option ? option.options[0] : option).shape.type.value,
    );
    expect(kinds.filter((kind) => !map.includes(`\`${kind}`))).toEqual([]);
  });
});
