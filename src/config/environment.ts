/** The one place that touches `process.env`. Everything else gets the environment as a parameter. */

/** An environment as data: values by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A copy of the environment this process was started with; changing it changes nothing. */
export function processEnvironment(): Environment {
  return { ...process.env };
}
