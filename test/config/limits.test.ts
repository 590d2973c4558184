import { describe, expect, it } from 'vitest';
import { limitsFor, modelFor, type PageLimits, type WorkerSettings } from '../../src/config/limits.js';

const GENERAL: WorkerSettings = { parallel: true, maxTurns: 30, timeoutMs: 600_000, own: {}, fromFlags: {} };
const OWN: WorkerSettings = { ...GENERAL, own: { coder: { maxTurns: 50, timeoutMs: 900_000, model: 'own' } } };
const FLAG: WorkerSettings = { ...OWN, fromFlags: { maxTurns: 5, model: 'flag' } };

describe('limitsFor', () => {
  it.each<[string, WorkerSettings, string, PageLimits | undefined, [number, number]]>([
    ['takes the general limits', GENERAL, 'coder', undefined, [30, 600_000]],
    ["takes the worker's own limits first", OWN, 'coder', undefined, [50, 900_000]],
    ["leaves another worker's limits alone", OWN, 'file', undefined, [30, 600_000]],
    ['takes the flag before both', FLAG, 'coder', undefined, [5, 900_000]],
    ['takes the flag for every worker', FLAG, 'file', undefined, [5, 600_000]],
    ['lets a page lower the general limits', GENERAL, 'coder', { maxTurns: 3, timeoutMs: 1_000 }, [3, 1_000]],
    ['lets a page lower one limit alone', GENERAL, 'coder', { maxTurns: 3 }, [3, 600_000]],
    ['never lets a page raise a limit', GENERAL, 'coder', { maxTurns: 99, timeoutMs: 9e6 }, [30, 600_000]],
    ['lets a page lower what the own variable set', OWN, 'coder', { maxTurns: 40, timeoutMs: 1e6 }, [40, 900_000]],
    ['lets a page lower a flag', FLAG, 'coder', { maxTurns: 2 }, [2, 900_000]],
    ['knows no worker named like a property of objects', GENERAL, 'constructor', undefined, [30, 600_000]],
  ])('%s', (_, workers, name, page, [maxTurns, timeoutMs]) => {
    expect(limitsFor(workers, name, page)).toEqual({ maxTurns, timeoutMs });
  });
});

describe('modelFor', () => {
  it.each<[string, WorkerSettings, string | undefined, string]>([
    ['takes the general model', GENERAL, undefined, 'general'],
    ["takes the page's model before it", GENERAL, 'page', 'page'],
    ["takes the worker's own variable before that", OWN, 'page', 'own'],
    ['takes the flag before all', FLAG, 'page', 'flag'],
  ])('%s', (_, workers, page, expected) => {
    expect(modelFor(workers, 'coder', { general: 'general', page })).toBe(expected);
  });
});
