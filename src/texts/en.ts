/** The words shown to people, in English. Other languages have the same keys. */
export const en = {
  turns: (count: number) => (count === 1 ? '1 turn' : `${count} turns`),
  tokens: (count: number) => `${grouped(count)} tokens`,
  lines: (count: number) => (count === 1 ? '1 line' : `${count} lines`),
  moreLines: (count: number) => (count === 1 ? '… 1 more line' : `… ${count} more lines`),
  earlierLines: (count: number) => (count === 1 ? '… 1 line before' : `… ${count} lines before`),
  exitCode: (code: number) => `exit ${code}`,
  denied: 'denied',
  noTurns: 'summary',
  retry: (attempt: number, maxAttempts: number, wait: string, reason: string) =>
    `${reason.replace(/[.:]?\s*$/, '.')} Trying again in ${wait} (${attempt} of ${maxAttempts}).`,
  shortened: (operation: 'shrink' | 'summary' | 'trim', before: number, after: number) =>
    `${SHORTENED[operation]} to keep within the model's window: ${grouped(before)} → ${grouped(after)} tokens`,
  fallback: (from: string, to: string, reason: string) =>
    `${reason.replace(/[.:]?\s*$/, '.')} Going on with the model ${to} in place of ${from}.`,
  incomplete: '(this reply was dropped before its end)',
  warning: 'warning',
  error: 'error',
  filesChanged: 'files changed',
  checks: (edited: boolean) => (edited ? 'commands since the last edit' : 'commands'),
  more: (count: number) => `… and ${count} more`,
  waitingForModel: 'waiting for the model',
  noChecks: 'none: nothing was run after the last edit',
  stoppedByLimit: 'stopped',
  reason: {
    answered: 'done',
    'turn-limit': 'turn limit reached',
    timeout: 'time limit reached',
    budget: 'budget used up',
    stuck: 'stopped: it went in circles',
    denied: 'stopped: a needed action was denied',
    interrupted: 'interrupted',
    failed: 'failed',
  },
  workerStatus: { done: 'done', failed: 'failed', 'timed-out': 'timed out', cancelled: 'cancelled' },
  /** In front of a text that is not a finished answer, so that nobody takes it for one. */
  partial: (reason: string) => `[partial: ${reason}]`,
  approval: {
    asks: (worker: string, tool: string) => `${worker} wants to use ${tool}:`,
    hasInvisible: 'It holds characters that cannot be seen, shown as \\u{…}.',
    startsIn: (folder: string) => `in the folder ${folder}`,
    matched: (rule: string, source: string) => `rule: ${rule} (${source})`,
    addsForSession: (rule: string) => `[s] adds the rule ${rule} until this run ends`,
    addsForGood: (rule: string) => `[a] stores the rule ${rule} for this repository`,
    wholeCommand: (tool: string) => `${tool}(THE COMMAND ABOVE)`,
    keys: ({ session, always }: { readonly session: boolean; readonly always: boolean }) =>
      `Allow? [y] once${session ? '  [s] this session' : ''}${always ? '  [a] always' : ''}  [n] no, [n WHY] no and why: `,
  },
  userQuestion: {
    asks: (worker: string) => `${worker} asks you:`,
    keys: 'Your answer, a number or words (empty: none): ',
    key: 'Your answer (empty: none): ',
  },
  moreStdin: 'Reading standard input to its end (Ctrl-D at a terminal, Ctrl-C to stop).',
} as const;

const SHORTENED = {
  shrink: 'results shortened',
  summary: 'the older part summed up',
  trim: 'the older part left out',
} as const;

export type Texts = typeof en;

/** 1234567 → 1,234,567. Not `toLocaleString`, whose first call loads ICU's number formats: 26 ms. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}
