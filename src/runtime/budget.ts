export type Budget = unknown;
