/**
 * `npm run conformance -- DIR`: plays shared cases against the real provider and the real tools. `conformance.json` holds how many
 * of each group must pass; a corruption always fails. The cases stay in DIR.
 */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { playApplyPatch } from './conformance/apply-patch.js';
import { playEditCases } from './conformance/edit-cases.js';
import { countOf, type Group, passed } from './conformance/group.js';
import { playWire } from './conformance/wire.js';
import { playWireSplits } from './conformance/wire-splits.js';

const PARTS = ['wire', 'edit-cases.jsonl', 'apply-patch'];

const folder = process.argv[2];
const missing = folder === undefined ? PARTS : await missingParts(folder);
if (folder === undefined || missing.length > 0) {
  console.error('usage: npm run conformance -- DIR   (DIR holds wire/, edit-cases.jsonl and apply-patch/)');
  if (folder !== undefined) console.error(`not there: ${missing.map((part) => join(folder, part)).join(', ')}`);
  process.exitCode = 2;
} else {
  process.exitCode = report(await play(folder), await readMinimums()) ? 0 : 1;
}

async function missingParts(from: string): Promise<readonly string[]> {
  const found = await Promise.all(PARTS.map((part) => stat(join(from, part)).catch(() => undefined)));
  return PARTS.filter((_, index) => found[index] === undefined);
}

async function play(from: string): Promise<readonly Group[]> {
  return [
    await playWire(join(from, 'wire')),
    await playWireSplits(join(from, 'wire')),
    await playEditCases(join(from, 'edit-cases.jsonl')),
    await playApplyPatch(join(from, 'apply-patch')),
  ];
}

async function readMinimums(): Promise<Readonly<Record<string, number>>> {
  return z.record(z.string(), z.number()).parse(JSON.parse(await readFile('conformance.json', 'utf8')));
}

/** Whether all groups reach their minimum without a corruption. */
function report(groups: readonly Group[], minimums: Readonly<Record<string, number>>): boolean {
  const rows: string[][] = [['group', 'pass', 'exact', 'also', 'safe miss', 'fail', 'corruption', 'minimum']];
  const problems: string[] = [];
  const remarks: string[] = [];
  for (const { name, results } of groups) {
    if (results === undefined) {
      remarks.push(`${name}: not built yet`);
      continue;
    }
    const minimum = minimums[name] ?? 0;
    const corruptions = countOf(results, 'corruption');
    const numbers = [
      passed(results),
      countOf(results, 'pass-exact'),
      countOf(results, 'pass-also'),
      countOf(results, 'safe-miss'),
      countOf(results, 'fail'),
      corruptions,
      minimum,
    ];
    rows.push([name, ...numbers.map(String)]);
    for (const { id, verdict, detail } of results) {
      if (!verdict.startsWith('pass'))
        remarks.push(`${name}/${id}: ${verdict}${detail === undefined ? '' : `, ${detail}`}`);
    }
    if (passed(results) < minimum) problems.push(`${name} passes ${passed(results)} of at least ${minimum}`);
    if (corruptions > 0) problems.push(`${name} has ${corruptions} corruptions`);
  }
  for (const row of rows)
    console.log(row.map((cell, index) => (index === 0 ? cell.padEnd(12) : cell.padStart(11))).join(''));
  for (const remark of remarks) console.log(remark);
  console.log(problems.length === 0 ? 'conformance: ok' : `conformance: FAILED ${problems.join('; ')}`);
  return problems.length === 0;
}
