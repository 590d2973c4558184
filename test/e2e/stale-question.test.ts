/** A question about a file that changes while it stands: a person agrees to what they were shown, and to nothing else. */
import { describe, expect, it } from 'vitest';
import { calls, says } from '../fixtures/model-server.js';
import { makePlace } from './place.js';
import { atTerminal, KEYS } from './pseudo-terminal.js';
import { lastResult } from './reading.js';
import { serve, until } from './support.js';

const THEIRS = 'one\ntwo\nthe work of a person\n';
const patch = (...lines: readonly string[]) => ({ patch: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') });

async function asked(tool: string, input: Record<string, unknown>) {
  const place = makePlace({ f: 'one\ntwo\n' });
  const server = await serve([calls('read_file', { path: 'f' }), calls(tool, input), says('ok')]);
  const run = atTerminal(['coder', 'x'], { place, server });
  const questions = (count: number) =>
    until(`question ${count}`, () => run.screen().split('Allow?').length - 1 === count);
  await questions(1);
  place.write('f', THEIRS);
  place.write('new', THEIRS);
  run.type(`y${KEYS.enter}`);
  const result = () => lastResult({ requests: server.requests } as never);
  return { place, run, questions, result };
}

describe('a file that changes while the question stands', () => {
  it.each([
    ['write_file', { path: 'f', content: 'model\n' }],
    ['apply_patch', patch('*** Add File: f', '+model')],
    ['apply_patch', patch('*** Delete File: f')],
  ])('is not replaced or deleted as a whole: %s %j', async (tool, input) => {
    const { place, run, result } = await asked(tool, input);
    await run.ended;
    expect(place.read('f')).toBe(THEIRS);
    expect(result()).toContain('changed on disk since you last read');
  });

  it.each([
    ['edit_file', { path: 'f', old_string: 'one', new_string: 'uno' }, 'uno\ntwo\nthe work of a person\n', THEIRS],
    ['apply_patch', patch('*** Update File: f', '@@', '-two', '+dos'), 'one\ndos\nthe work of a person\n', THEIRS],
    ['write_file', { path: 'new', content: 'model\n' }, THEIRS, 'model\n'],
  ])('is asked about once more where it would be another change: %s %j', async (tool, input, f, fresh) => {
    const { place, run, questions } = await asked(tool, input);
    await questions(2);
    expect([place.read('f'), place.read('new')]).toEqual([THEIRS, THEIRS]);
    expect(run.screen().split('Allow?')[1]).toContain('the work of a person');
    run.type(`y${KEYS.enter}`);
    await run.ended;
    expect([place.read('f'), place.read('new')]).toEqual([f, fresh]);
  });
});
