/** What the timers of Node can do. */

/** setTimeout and setInterval take a signed 32-bit number of milliseconds and fire at once above that: here, no limit. */
export const LONGEST_TIMER_MS = 2_147_483_647;
