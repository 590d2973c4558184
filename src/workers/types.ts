/** A worker is a page: front matter and a prompt, no code. */
export type Worker = {
  /** Lower case, e.g. `coder`; shown as CoderAgent where a person reads it. */
  readonly name: string;
  /** One line on what it is. */
  readonly description: string;
  /** For the catalogue the lead chooses from. */
  readonly whenToUse: string;
  /** Full tool names it may use. */
  readonly tools: readonly string[];
  /** A read-only worker's shell passes only the read-only table, whatever mode and rules say. */
  readonly readOnly: boolean;
  /** An entry worker is one a person starts; it is not in the catalogue. */
  readonly entry: boolean;
  /** Lowers the general limit; never raises it. */
  readonly maxTurns?: number;
  /** Lowers the general limit; never raises it. */
  readonly timeoutMs?: number;
  readonly model?: string;
  readonly prompt: string;
};
