import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { applyPatchTool } from '../../src/tools/apply-patch/tool.js';
import { editFileTool } from '../../src/tools/edit-file/tool.js';
import { readFileTool } from '../../src/tools/read-file/tool.js';
import { writeFileTool } from '../../src/tools/write-file/tool.js';
import { calls, bench as loop, says } from '../fixtures/bench.js';
import { bench, tempFolder } from './bench.js';

const PATHS = 50;
const CALLS = 1000;
const pathOf = (index: number) => `d${index % 7}/f${index % PATHS}`;
const end = '// end';

/** Puts a token of its own into one file or two, by one of three tools. */
function callOf(index: number): readonly [name: string, input: Record<string, unknown>] {
  const token = `token ${index};`;
  const path = pathOf(index);
  if (index % 3 === 0) return ['edit_file', { path, old_string: end, new_string: `${token}\n${end}` }];
  if (index % 3 === 1)
    return ['edit_file', { path, edits: [{ old_string: `${end}\n`, new_string: `${token}\n${end}\n` }] }];
  const other = pathOf(index * 13 + 5);
  const paths = other === path ? [path] : [path, other];
  const sections = paths.map((each) => `*** Update File: ${each}\n@@\n+${token}\n ${end}\n`);
  return ['apply_patch', { patch: `*** Begin Patch\n${sections.join('')}*** End Patch` }];
}

const touchedBy = (index: number) =>
  index % 3 === 2 ? [...new Set([pathOf(index), pathOf(index * 13 + 5)])] : [pathOf(index)];

function expectAllTokens(files: ReadonlyMap<string, string>): void {
  for (const [path, text] of files) {
    const wanted = Array.from({ length: CALLS }, (_, index) => index).filter((index) =>
      touchedBy(index).includes(path),
    );
    const found = [...text.matchAll(/token (\d+);/g)].map((match) => Number(match[1]));
    expect([path, found.sort((one, other) => one - other)]).toEqual([path, wanted]);
  }
}

const allPaths = [...new Set(Array.from({ length: CALLS }, (_, index) => pathOf(index)))];

async function contents(root: string): Promise<ReadonlyMap<string, string>> {
  const read = allPaths.map(async (path) => [path, await readFile(join(root, path), 'utf8')] as const);
  return new Map(await Promise.all(read));
}

it('1,000 calls at the same time lose no update, and none waits for ever', async () => {
  const { call, root } = await bench(Object.fromEntries(allPaths.map((path) => [path, `${end}\n`])));
  const tools = new Map([editFileTool, applyPatchTool].map((tool) => [tool.name, tool]));
  const outputs = await Promise.all(
    Array.from({ length: CALLS }, (_, index) => {
      const [name, input] = callOf(index);
      return call(tools.get(name) ?? editFileTool, input);
    }),
  );
  expect(outputs.filter(({ ok }) => !ok)).toEqual([]);
  expectAllTokens(await contents(root));
}, 120_000);

it('1,000 calls of one reply, through the round, lose no update, with whole files written among them', async () => {
  const root = await tempFolder();
  for (const path of allPaths) {
    await mkdir(join(root, path, '..'), { recursive: true });
    await writeFile(join(root, path), `${end}\n`);
  }
  const others = Array.from(
    { length: 100 },
    (_, index) => [`w${index}`, 'write_file', { path: `w/${index % 20}`, content: `${index}` }] as const,
  );
  const edits = Array.from({ length: CALLS }, (_, index) => [`c${index}`, ...callOf(index)] as const);
  const mixed = edits.flatMap((edit, index) => (index % 10 === 0 ? [edit, others[index / 10] ?? edit] : [edit]));
  const { events } = await loop({
    root,
    tools: [editFileTool, applyPatchTool, writeFileTool, readFileTool],
    turns: [calls(...mixed), says('done')],
  });

  const ends = events.filter((event) => event.type === 'tool-end');
  expect(ends.filter(({ ok }) => !ok)).toEqual([]);
  expect(ends).toHaveLength(CALLS + others.length);
  expectAllTokens(await contents(root));
  // Of several writes of one file in one reply the last counts.
  for (const name of await readdir(join(root, 'w'))) {
    expect(await readFile(join(root, 'w', name), 'utf8')).toBe(String(80 + Number(name)));
  }
}, 120_000);
