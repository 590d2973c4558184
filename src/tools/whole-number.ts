/** A schema for whole numbers. zod's own prints its bounds into the JSON Schema, where every request pays for them. */
import * as z from 'zod';

export function wholeNumber(least: number): z.ZodNumber {
  const fits = (value: number) => Number.isSafeInteger(value) && value >= least;
  return z.number().refine(fits, `must be a whole number, at least ${least}`);
}
