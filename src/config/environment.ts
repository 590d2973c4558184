/** The one place that touches `process.env`. Everything else gets the environment as a parameter. */

/** An environment as data: values by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * From here on Node checks certificates whatever `NODE_TLS_REJECT_UNAUTHORIZED` said, and does not warn that it would
 * not. For the program alone: a library leaves the process of its user as it is.
 */
export function keepCertificateChecks(): void {
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
}

/** A copy of the environment this process was started with; changing it changes nothing. */
export function processEnvironment(): Environment {
  return { ...process.env };
}
