import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDeadline } from '../../src/runtime/deadline.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const start = (timeoutMs: number) => {
  const onExpire = vi.fn();
  return { onExpire, deadline: createDeadline(timeoutMs, Date.now, onExpire) };
};

describe('a deadline', () => {
  it('expires once, at its time', () => {
    const { onExpire } = start(100);
    vi.advanceTimersByTime(99);
    expect(onExpire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1000);
    expect(onExpire).toHaveBeenCalledTimes(1);
  });

  it('does not count the time it is paused', () => {
    const { onExpire, deadline } = start(100);
    vi.advanceTimersByTime(60);
    deadline.pause();
    vi.advanceTimersByTime(10_000);
    deadline.resume();
    vi.advanceTimersByTime(39);
    expect(onExpire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(onExpire).toHaveBeenCalledTimes(1);
  });

  it('stays paused until every pause was resumed', () => {
    const { onExpire, deadline } = start(100);
    deadline.pause();
    deadline.pause();
    deadline.resume();
    vi.advanceTimersByTime(1000);
    expect(onExpire).not.toHaveBeenCalled();
    deadline.resume();
    vi.advanceTimersByTime(100);
    expect(onExpire).toHaveBeenCalledTimes(1);
  });

  it('never expires once cleared, and holds no timer', () => {
    const { onExpire, deadline } = start(100);
    deadline.clear();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(1000);
    expect(onExpire).not.toHaveBeenCalled();
  });

  it('can be longer than the longest timer of the platform', () => {
    const month = 31 * 24 * 3600 * 1000;
    const { onExpire } = start(month);
    vi.advanceTimersByTime(month - 1);
    expect(onExpire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(onExpire).toHaveBeenCalledTimes(1);
  });
});
