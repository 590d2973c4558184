import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { applyPatchTool } from '../../src/tools/apply-patch/tool.js';
import { editFileTool } from '../../src/tools/edit-file/tool.js';
import { readFileTool } from '../../src/tools/read-file/tool.js';
import { writeFileTool } from '../../src/tools/write-file/tool.js';
import { bench } from './bench.js';

/** Swaps the folder `d` with a link to a folder outside, as fast as it goes. */
const RACER = `
  const { renameSync, symlinkSync, unlinkSync } = require('node:fs');
  process.stdout.write('ready');
  for (;;) {
    try { renameSync('d', 'aside'); symlinkSync('../out', 'd'); } catch {}
    try { unlinkSync('d'); renameSync('aside', 'd'); } catch {}
  }
`;

describe.runIf(process.platform === 'linux')('while a folder is swapped with a link to outside', () => {
  it('nothing is written there and nothing read, in 2,000 calls', async () => {
    const { root, call } = await bench({ 'd/f': 'inside\n' });
    const outside = join(dirname(root), 'out');
    await mkdir(outside);
    await writeFile(join(outside, 'f'), 'canary\n');
    const racer = spawn(process.execPath, ['-e', RACER], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(async () => {
      const ended = once(racer, 'exit');
      racer.kill('SIGKILL');
      await ended;
    });
    await once(racer.stdout, 'data');

    const patch = (line: number) =>
      `*** Begin Patch\n*** Update File: d/f\n@@\n+${line}\n*** Add File: d/p${line}/q\n+x\n*** End Patch`;
    const outcomes = { made: 0, refused: 0 };
    for (let index = 0; index < 500; index++) {
      const calls = [
        () => call(writeFileTool, { path: `d/new${index}/g`, content: 'x' }),
        () => call(editFileTool, { path: 'd/f', old_string: 'inside', new_string: 'inside' + 's' }),
        () => call(applyPatchTool, { patch: patch(index) }),
        () => call(readFileTool, { path: 'd/f' }),
      ];
      for (const make of calls) {
        const { ok, output } = await make();
        outcomes[ok ? 'made' : 'refused']++;
        expect(output).not.toContain('canary');
      }
    }

    expect(await readdir(outside)).toEqual(['f']);
    expect(await readFile(join(outside, 'f'), 'utf8')).toBe('canary\n');
    // The race was one: calls came through, and calls were refused.
    expect(outcomes.made).toBeGreaterThan(0);
    expect(outcomes.refused).toBeGreaterThan(0);
  }, 120_000);
});
