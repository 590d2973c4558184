import { defineConfig } from 'vitest/config';
import { viteMarkdown } from './scripts/markdown-plugin.mjs';

export default defineConfig({
  plugins: [viteMarkdown],
  test: {
    include: ['test/**/*.test.ts'],
    environment: 'node',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Two workers: the machine that CI runs on has two cores, and the end-to-end tests start processes of their own.
    maxWorkers: 2,
  },
});
