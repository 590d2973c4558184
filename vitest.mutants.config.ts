import { defineConfig } from 'vitest/config';
import { viteMarkdown } from './scripts/markdown-plugin.mjs';

/** Only the kernel's own tests and the parity tests that drive it directly: fast, and without processes. */
export default defineConfig({
  plugins: [viteMarkdown],
  test: { include: ['test/kernel/**/*.test.ts', 'test/parity/kernel.test.ts'], environment: 'node' },
});
