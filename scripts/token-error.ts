/**
 * Holds the estimate of tokens (src/context/tokens.ts) against a real tokenizer (o200k) on what a coding agent reads, and
 * prints the ratio estimate / real for each kind of text. Exit code 1 when one is outside the bounds.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { estimateTokens } from '../src/context/tokens.js';

/** Below 1 a window could be passed unnoticed; far above it room is given away. */
const LOWEST = 0.7;
const HIGHEST = 1.7;

const read = (folder: string, ending: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');

const run = (command: string, ...args: string[]) => execFileSync(command, args, { encoding: 'utf8' });

const TEXTS: Readonly<Record<string, string>> = {
  'TypeScript (src)': read('src', '.ts'),
  'prose (README.md, docs)': readFileSync('README.md', 'utf8') + read('docs', '.md'),
  'JSON (package-lock.json)': readFileSync('package-lock.json', 'utf8'),
  'minified code (dist)': read('dist', '.js').slice(0, 400_000),
  'file list (git ls-files)': run('git', 'ls-files'),
  'diff (git log -p)': run('git', 'log', '-p', '-n', '3').slice(0, 400_000),
  'numbers and hashes': run('git', 'log', '--format=%H %ct', '-n', '200'),
  Chinese: '修复购物车测试：循环从一开始，所以第一个商品没有被计算。请运行测试并检查结果。'.repeat(50),
  Japanese: 'カートのテストが失敗します。ループが1から始まるため、最初の商品が計算されません。'.repeat(50),
  Russian: 'Тест корзины падает: цикл начинается с единицы, поэтому первый товар не учитывается. '.repeat(50),
};

const rows = Object.entries(TEXTS).map(([text, content]) => {
  const [estimate, real] = [estimateTokens(content), encode(content, { disallowedSpecial: new Set() }).length];
  return { text, estimate, real, ratio: Number((estimate / real).toFixed(2)) };
});
console.table(rows);
process.exitCode = rows.some(({ ratio }) => ratio < LOWEST || ratio > HIGHEST) ? 1 : 0;
