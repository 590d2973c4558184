/** Turns layers of text into values: the first layer that sets a variable wins. Reading the layers is load's job. */
import type { Environment } from './environment.js';
import { badValue, type Origin, type Problem } from './problems.js';
import {
  canonicalName,
  type FlagName,
  flagText,
  isVariable,
  VARIABLES,
  type Values,
  type Variable,
  WORKER_VARIABLES,
  type WorkerOverride,
  workerVariable,
} from './schema.js';
import type { TextType } from './value-types.js';

/** What the person typed, as text; an empty text is refused, since it is more likely a slip than a wish. */
export type Flags = { readonly [Name in FlagName]?: string | undefined };

/** One source of texts, by variable name. */
export type Layer = { readonly origin: Exclude<Origin, 'default'>; readonly values: Environment };

export type Resolved = {
  readonly values: Values;
  /** By lower-case worker name with hyphens. */
  readonly overrides: Readonly<Record<string, WorkerOverride>>;
  /** By variable name, for each that has a value. */
  readonly origins: Readonly<Record<string, Origin>>;
  readonly problems: readonly Problem[];
};

type Reading = { readonly text: string; readonly origin: Origin };

/** Reads every variable from `layers`, highest first. What is not valid is a problem, and counts as not set. */
export function resolveSettings(layers: readonly Layer[]): Resolved {
  const problems: Problem[] = [];
  const origins: Record<string, Origin> = {};
  const values: Record<string, unknown> = {};

  const read = (
    name: string,
    variable: Pick<Variable, 'type' | 'flag' | 'secret' | 'secrets'>,
    reading: Reading,
  ): unknown => {
    const result = variable.type.safeParse(reading.text);
    if (result.success) {
      origins[name] = reading.origin;
      return result.data;
    }
    problems.push(
      badValue({
        variable: name,
        value: reading.text,
        origin: reading.origin,
        flag: variable.flag && flagText(variable.flag),
        isSecret: variable.secret === true || variable.secrets !== undefined,
        allowed: result.error.issues[0]?.message ?? 'another value',
      }),
    );
    return undefined;
  };

  for (const [name, variable] of Object.entries<Variable>(VARIABLES)) {
    const found = firstReading(layers, variable.lowerCase ? [name.toLowerCase(), name] : [name]);
    const value = found && read(name, variable, found);
    const fallback = variable.default;
    values[name] =
      value === undefined && fallback !== undefined
        ? read(name, variable, { text: fallback, origin: 'default' })
        : value;
  }
  const overrides = readOverrides(layers, read);
  // The loop above set every variable of the table with its own type.
  return { values: values as Values, overrides, origins, problems };
}

/** The layer of the flags: each under the name of the variable that it sets. */
export function flagLayer(flags: Flags): Layer {
  const values: Record<string, string | undefined> = {};
  for (const [name, { flag }] of Object.entries<Variable>(VARIABLES)) if (flag) values[name] = flags[flag];
  return { origin: 'flag', values };
}

/** Every secret that any layer holds, used or not, and the passwords within URLs. */
export function secretsIn(layers: readonly Layer[]): readonly string[] {
  const secrets = new Set<string>();
  for (const { values } of layers) {
    for (const [spelling, text] of Object.entries(values)) {
      const value = text?.trim();
      const name = canonicalName(spelling);
      if (!value || !isVariable(name)) continue;
      const variable: Variable = VARIABLES[name];
      for (const secret of variable.secrets?.(value) ?? (variable.secret ? [value] : [])) secrets.add(secret);
      for (const password of passwordsIn(value)) secrets.add(password);
    }
  }
  return [...secrets];
}

/** The first text of the first layer that has one; of the spellings of a name the first counts. */
function firstReading(layers: readonly Layer[], spellings: readonly string[]): Reading | undefined {
  for (const { origin, values } of layers) {
    for (const name of spellings) {
      const text = values[name]?.trim();
      if (text !== undefined && (text !== '' || origin === 'flag')) return { text, origin };
    }
  }
  return undefined;
}

function readOverrides(
  layers: readonly Layer[],
  read: (name: string, variable: { readonly type: TextType<unknown> }, reading: Reading) => unknown,
): Readonly<Record<string, WorkerOverride>> {
  const overrides: Record<string, Record<string, unknown>> = {};
  const names = new Set(layers.flatMap(({ values }) => Object.keys(values)));
  for (const name of [...names].toSorted()) {
    const target = workerVariable(name);
    if (isVariable(name) || !target) continue;
    const found = firstReading(layers, [name]);
    const value = found && read(name, WORKER_VARIABLES[target.field], found);
    if (value !== undefined) overrides[target.worker] = { ...overrides[target.worker], [target.field]: value };
  }
  return overrides;
}

function passwordsIn(value: string): readonly string[] {
  if (!URL.canParse(value)) return [];
  const { password } = new URL(value);
  if (password === '') return [];
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    return [password]; // A lone percent sign: the password is what stands there.
  }
}
