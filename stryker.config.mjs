/** Mutation check of the kernel: `npm run mutants`. Survivors are listed with their reasons in docs/mutants.md. */
export default {
  mutate: ['src/kernel/**/*.ts', '!src/kernel/types.ts'],
  testRunner: 'vitest',
  vitest: { configFile: 'vitest.mutants.config.ts' },
  reporters: ['clear-text', 'json'],
  jsonReporter: { fileName: 'reports/mutants.json' },
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  coverageAnalysis: 'perTest',
  concurrency: 2,
  tempDirName: '.stryker-tmp',
  ignorePatterns: ['dist', 'reports', 'coverage', 'demo', 'docs', 'examples', 'bench', '.ci'],
  thresholds: { high: 95, low: 90, break: 90 },
};
