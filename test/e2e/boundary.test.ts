/** The edge of the workspace, by every tool that reads or writes files, with all permissions: the disk is looked at. */
import { linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { calls, says } from '../fixtures/model-server.js';
import { makePlace, type Place } from './place.js';
import { resultsIn } from './reading.js';
import { play } from './support.js';

const CANARY = 'canary-5150';

const waysTo = (path: string) => [
  calls('read_file', { path }),
  calls('edit_file', { path, old_string: CANARY, new_string: 'pwned' }),
  calls('edit_file', { path, old_string: '', new_string: 'pwned' }),
  calls('write_file', { path, content: 'pwned' }),
  calls('search_files', { pattern: 'canary', path }),
  calls('list_files', { path }),
  ...[
    `*** Update File: ${path}\n@@\n-${CANARY}\n+pwned`,
    `*** Add File: ${path}\n+pwned`,
    `*** Delete File: ${path}`,
    `*** Update File: a.txt\n*** Move to: ${path}\n@@\n-a\n+pwned`,
    `*** Update File: ${path}\n*** Move to: inside.txt\n@@\n-${CANARY}\n+pwned`,
  ].map((section) => calls('apply_patch', { patch: `*** Begin Patch\n${section}\n*** End Patch` })),
  calls('apply_patch', { patch: `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${CANARY}\n+pwned\n` }),
  calls('apply_patch', { patch: `--- ${path}\n+++ ${path}\n@@ -1 +1 @@\n-${CANARY}\n+pwned\n` }),
];

function surroundings(): { readonly place: Place; readonly sibling: string } {
  const place = makePlace({ 'a.txt': 'a\n' });
  const sibling = `${place.root}-evil`;
  mkdirSync(sibling);
  writeFileSync(join(sibling, 'f'), `${CANARY}\n`);
  symlinkSync('../work-evil/f', join(place.root, 'link'));
  symlinkSync('../work-evil', join(place.root, 'folder'));
  symlinkSync('../work-evil/created', join(place.root, 'dangling'));
  symlinkSync('link', join(place.root, 'chain'));
  return { place, sibling };
}

describe('no tool reaches', () => {
  it.each([
    ['a file behind a link [A19]', 'link'],
    ['a file behind two links [A19]', 'chain'],
    ['a file in a folder behind a link [A19]', 'folder/f'],
    ['a new file behind a dangling link [A21]', 'dangling'],
    ['a new file in a folder behind a link [A21]', 'folder/new'],
    ['a sibling whose name begins alike [A22] [pain 20]', '../work-evil/f'],
    ['a sibling by the long way round [A22]', './a.txt/../../work-evil/f'],
  ])('%s', async (_, path) => {
    const { place, sibling } = surroundings();
    const turns = waysTo(path);
    const run = await play(
      [{ calls: turns.flatMap((turn) => turn.calls ?? []) }, says('ok')],
      ['coder', 'x', '--dangerously-skip-permissions'],
      { place },
    );

    expect(resultsIn(run.requests[1])).toHaveLength(turns.length);
    // Not what the model itself sent, but what it was told.
    expect(resultsIn(run.requests[1]).filter((result) => /^(?:\d+│|.*:\s*)canary/m.test(result))).toEqual([]);
    expect([readdirSync(sibling), readFileSync(join(sibling, 'f'), 'utf8')]).toEqual([['f'], `${CANARY}\n`]);
    expect([place.read('a.txt'), place.has('inside.txt')]).toEqual(['a\n', false]);
  });

  it('the other name of a hard link: the file in the workspace alone is new [A24]', async () => {
    const { place, sibling } = surroundings();
    const hard = ['h1', 'h2', 'h3'];
    for (const name of hard) linkSync(join(sibling, 'f'), join(place.root, name));
    const turns = [
      calls('edit_file', { path: 'h1', old_string: CANARY, new_string: 'new' }),
      calls('read_file', { path: 'h2' }),
      calls('write_file', { path: 'h2', content: 'new\n' }),
      calls('apply_patch', { patch: `*** Begin Patch\n*** Update File: h3\n@@\n-${CANARY}\n+new\n*** End Patch` }),
      says('ok'),
    ];
    await play(turns, ['coder', 'x', '--dangerously-skip-permissions'], { place });

    expect(hard.map((name) => place.read(name))).toEqual(['new\n', 'new\n', 'new\n']);
    expect(readFileSync(join(sibling, 'f'), 'utf8')).toBe(`${CANARY}\n`);
  });
});
