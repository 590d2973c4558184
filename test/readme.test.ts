import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { configTable } from '../src/config/describe.js';
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
