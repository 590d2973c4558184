import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, MAX_DURATION_MS, parseDuration } from '../../src/config/durations.js';

describe('parseDuration', () => {
  it.each([
    ['10m', 600_000],
    ['30s', 30_000],
    ['90', 90_000],
    ['1h30m', 5_400_000],
    ['500ms', 500],
    ['1.5h', 5_400_000],
    ['0.5', 500],
    ['1m0s', 60_000],
    ['2h45m30s100ms', 9_930_100],
    ['30s1m', 90_000],
    ['576h', MAX_DURATION_MS],
  ])('reads %s', (text, expectedMs) => {
    expect(parseDuration(text)).toBe(expectedMs);
  });

  it.each([
    '',
    '0',
    '0s',
    '0ms',
    '0.1ms',
    '-5s',
    '-1',
    '+5s',
    '10 m',
    '10M',
    '10min',
    'm',
    's10',
    '1e3',
    '0x10',
    'Infinity',
    'NaN',
    '1.s',
    '.5s',
    '1,5s',
    '10m5',
    '577h',
    '9'.repeat(400),
    'ten minutes',
    '10m\n',
  ])('refuses %j', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  it('fits a Node timer at most', () => {
    expect(MAX_DURATION_MS).toBeLessThan(2 ** 31);
  });
});

describe('formatDuration', () => {
  it.each([
    [0, '0ms'],
    [-5, '0ms'],
    [0.4, '0ms'],
    [234, '234ms'],
    [999, '999ms'],
    [999.6, '1s'],
    [1_000, '1s'],
    [1_234, '1.2s'],
    [59_940, '59.9s'],
    [59_960, '1m'],
    [60_000, '1m'],
    [90_400, '1m30s'],
    [600_000, '10m'],
    [3_599_600, '1h'],
    [5_400_000, '1h30m'],
    [3_601_000, '1h1s'],
  ])('shows %d as %s', (durationMs, expected) => {
    expect(formatDuration(durationMs)).toBe(expected);
  });

  it('writes what parseDuration reads, to within what is shown', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: MAX_DURATION_MS }), (durationMs) => {
        const readMs = parseDuration(formatDuration(durationMs)) ?? Number.NaN;
        const toleranceMs = durationMs < 1_000 ? 0 : durationMs < 59_950 ? 50 : 500;
        expect(Math.abs(readMs - durationMs)).toBeLessThanOrEqual(toleranceMs);
      }),
    );
  });
});
