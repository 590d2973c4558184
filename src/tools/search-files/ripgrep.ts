/** Searches by ripgrep. What it reports is checked against our own rules, so that both ways find the same. */
import { ProcessStartError, runProcess } from '../../process.js';
import type { ToolContext } from '../types.js';
import { createJsonLines } from './json-lines.js';
import { createCollector } from './ripgrep-events.js';
import { badPattern, type Found, type Search } from './search.js';

const TIME_LIMIT_MS = 30_000;
/** Words by which ripgrep says that it is the pattern that is wrong. */
const PATTERN_PROBLEM = /regex|PCRE2/i;

export type RipgrepOptions = {
  /** Absolute path of the program. */
  readonly ripgrep: string;
  readonly context: Pick<ToolContext, 'workspace' | 'childEnvironment'>;
};

/**
 * Undefined where this ripgrep can't do it (too old, or not to be started).
 * @throws {ToolFailure} `bad-pattern`, with ripgrep's reason.
 */
export async function searchByRipgrep(
  search: Search,
  { ripgrep, context }: RipgrepOptions,
): Promise<Found | undefined> {
  const enough = new AbortController();
  const stop = () => enough.abort(search.signal.reason);
  search.signal.addEventListener('abort', stop, { once: true });
  const collector = createCollector(search, stop);
  const lines = createJsonLines(collector);
  try {
    if (search.signal.aborted) stop();
    const { RIPGREP_CONFIG_PATH: _config, ...env } = context.childEnvironment;
    const result = await runProcess({
      file: ripgrep,
      args: argumentsFor(search),
      cwd: context.workspace.root,
      env,
      signal: enough.signal,
      timeoutMs: TIME_LIMIT_MS,
      maxBytes: 10_000,
      onOutput: (text, stream) => (stream === 'stdout' ? lines.push(text) : undefined),
    });
    search.signal.throwIfAborted();
    if (result.exitCode === 2 && result.stdout === '') return failed(result.stderr, search);
    return collector.finish(result.timedOut ? [`Stopped after ${TIME_LIMIT_MS / 1000} s; search a smaller path.`] : []);
  } catch (thrown) {
    if (thrown instanceof ProcessStartError) return undefined;
    throw thrown;
  } finally {
    search.signal.removeEventListener('abort', stop);
  }
}

/** `--pre` and configuration files run programs; neither is ever used. */
function argumentsFor(search: Search): readonly string[] {
  return [
    '--no-config',
    ...['--json', '--crlf', '--sort', 'path', '--engine', 'auto'],
    // Without a repository .gitignore counts as well; files of other tools and of the user's own don't.
    ...['--no-require-git', '--no-ignore-dot', '--no-ignore-global'],
    ...(search.reader.rules.isPlain ? [] : ['--no-ignore-parent']),
    ...(search.isFile ? [] : skippedFolders(search)),
    ...(search.hidden ? ['--hidden'] : []),
    ...(search.ignoreCase ? ['--ignore-case'] : []),
    ...(search.contextLines > 0 ? ['--context', String(search.contextLines)] : []),
    ...['-e', search.pattern, '--', search.base],
  ];
}

/** These are dropped by our rules anyway, but only after they were searched. */
function skippedFolders({ base }: Search): readonly string[] {
  return ['.git', 'node_modules'].flatMap((name) => (base.split(/[\\/]/).includes(name) ? [] : ['--glob', `!${name}`]));
}

function failed(stderr: string, search: Search): undefined {
  if (!PATTERN_PROBLEM.test(stderr)) return undefined;
  throw badPattern(search.pattern, stderr.replace(/^rg: /, '').trim());
}
