import { describe, expect, it } from 'vitest';
import { ConfigError, UsageError } from '../../src/errors.js';
import { builtinWorkers, workerOf } from '../../src/workers/load.js';
import { catalogue, displayName, pickMessages, readPick, workerNamed } from '../../src/workers/select.js';

const TOOLS = [
  'read_file',
  'list_files',
  'search_files',
  'edit_file',
  'apply_patch',
  'write_file',
  'shell',
  'shell_output',
  'shell_stop',
  'fetch_url',
  'delegate',
  'update_plan',
  'ask_user',
];
const workers = builtinWorkers(TOOLS);

describe('the workers that come with chatcli', () => {
  it('are these', () => {
    expect([...workers.keys()]).toEqual(['agent', 'chat', 'coder', 'file', 'planner', 'refiner', 'verifier']);
  });

  it.each(['chat', 'file', 'planner', 'refiner', 'verifier'])('%s may only read', (name) => {
    expect(workers.get(name)).toMatchObject({
      readOnly: true,
      tools: ['read_file', 'list_files', 'search_files', 'shell'],
    });
  });

  it('carry no limits of their own', () => {
    expect(
      [...workers.values()].filter((worker) => worker.maxTurns !== undefined || worker.timeoutMs !== undefined),
    ).toEqual([]);
  });

  it('are offered to the lead, but for those a person starts', () => {
    expect(catalogue(workers).map((worker) => worker.name)).toEqual([
      'coder',
      'file',
      'planner',
      'refiner',
      'verifier',
    ]);
  });
});

describe('a worker page', () => {
  const HEAD = { name: 'mine', description: 'd', whenToUse: 'w', tools: ['read_file'] };
  const read = (head: object) => workerOf({ file: 'mine.md', head, text: 'You work.' }, TOOLS);

  it('becomes a worker', () => {
    expect(read({ ...HEAD, readOnly: true, maxTurns: 5, model: 'm' })).toEqual({
      ...HEAD,
      readOnly: true,
      entry: false,
      maxTurns: 5,
      model: 'm',
      prompt: 'You work.',
    });
  });

  it.each<[string, object, RegExp]>([
    ['an unknown tool', { ...HEAD, tools: ['fly'] }, /mine\.md .*fly/],
    ['a missing field', { ...HEAD, description: undefined }, /mine\.md[\s\S]*description/],
    ['a wrong type', { ...HEAD, maxTurns: 'many' }, /mine\.md[\s\S]*maxTurns/],
    ['an unknown field', { ...HEAD, magic: 1 }, /magic/],
    ['a name that no variable could be made of', { ...HEAD, name: 'My Worker' }, /lower-case/],
  ])('is refused for %s, naming the page', (_, head, message) => {
    expect(() => read(head)).toThrow(ConfigError);
    expect(() => read(head)).toThrow(message);
  });
});

describe('choosing a worker', () => {
  it.each([
    ['coder', 'coder'],
    ['@coder', 'coder'],
    ['CoderAgent', 'coder'],
    ['agent', 'agent'],
  ])('%s is %s', (name, worker) => {
    expect(workerNamed(name, workers).name).toBe(worker);
  });

  it('says which there are when there is none of that name', () => {
    expect(() => workerNamed('toString', workers)).toThrow(UsageError);
  });

  it.each([
    ['plain JSON', '{"worker": "file"}', { worker: 'file', valid: true }],
    ['JSON in prose and capitals', 'I pick:\n```json\n{"worker":"Planner"}\n```', { worker: 'planner', valid: true }],
    ['prose', 'The file worker.', { worker: 'coder', valid: false }],
    ['an entry worker', '{"worker":"agent"}', { worker: 'coder', valid: false }],
    ['an unknown worker', '{"worker":"hasOwnProperty"}', { worker: 'coder', valid: false }],
    ['broken JSON', '{"worker":', { worker: 'coder', valid: false }],
    ['a number', '{"worker":3}', { worker: 'coder', valid: false }],
  ])('reads a pick given as %s', (_, answer, pick) => {
    expect(readPick(answer, catalogue(workers))).toEqual(pick);
  });

  it('asks with every worker of the catalogue', () => {
    const [system, user] = pickMessages('fix it', catalogue(workers));
    for (const { name, whenToUse } of catalogue(workers)) expect(system?.content).toContain(`- ${name}: ${whenToUse}`);
    expect(user).toEqual({ role: 'user', content: 'fix it' });
  });

  it.each([
    ['coder', 'CoderAgent'],
    ['agent', 'Agent'],
    ['code-review', 'CodeReviewAgent'],
  ])('%s is shown as %s', (name, shown) => {
    expect(displayName(name)).toBe(shown);
  });
});
