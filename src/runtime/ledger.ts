export type Ledger = unknown;
