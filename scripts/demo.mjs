/** The main job on an embedded example: the real binary, loop and tools; only the model's side is a script. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const workspace = mkdtempSync(join(tmpdir(), 'chatcli-demo-'));
cpSync(join(root, 'demo', 'project'), workspace, { recursive: true });

const task = 'A test fails. Find out why, fix the fault and run the test again.';
const flags = ['--approval-mode', 'auto-edit', '--allowed-tools', 'shell(npm test)'];

console.log(`A small project with a failing test was copied to ${workspace}.`);
console.log("The model's side is a script (demo/script.json): no key, no network. The loop, the tools, the policy and");
console.log('the files are real.\n');
console.log(
  `$ chatcli coder "${task}" \\\n    ${flags.map((flag) => (flag.includes('(') ? `'${flag}'` : flag)).join(' ')}\n`,
);

const { status } = spawnSync(process.execPath, [join(root, 'bin', 'chatcli.js'), 'coder', task, ...flags], {
  cwd: workspace,
  stdio: ['ignore', 'inherit', 'inherit'],
  env: {
    ...process.env,
    CHATCLI_PROVIDER: 'scripted',
    CHATCLI_SCRIPT: join(root, 'demo', 'script.json'),
    CHATCLI_HOME: join(workspace, '.chatcli-home'),
  },
});
rmSync(workspace, { recursive: true, force: true });
process.exitCode = status ?? 1;
