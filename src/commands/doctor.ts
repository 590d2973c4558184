/** `chatcli doctor`: what of this machine chatcli needs and finds, a line each. Asks nobody on the network. */
import { UsageError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import { type Check, type CheckLevel, examine } from './doctor-checks.js';
import type { RunFlags } from './flags.js';
import { type Io, pathFrom } from './io.js';
import { createReport } from './report.js';
import type { SideRun } from './side-commands.js';

type DoctorFlags = Pick<RunFlags, 'outputFormat' | 'provider' | 'cwd' | 'envFile'>;

/** Exit 3 where something that every task needs is broken, else 0. */
export const runDoctor: SideRun = async ({ flags }, io) => {
  const given = flags as DoctorFlags;
  const report = createReport({ io, flags: given, sessionId: '', startedAt: io.now() });
  try {
    if (given.outputFormat === 'stream-json') throw new UsageError('doctor has no events: use text or json.');
    const checks = await examine({ io, cwd: pathFrom(io.cwd, given.cwd), flags: given });
    io.stdout.write(given.outputFormat === 'json' ? `${jsonOf(checks)}\n` : textOf(checks, io));
    return isBroken(checks) ? EXIT.config : EXIT.answered;
  } catch (thrown) {
    return report.failure(thrown);
  }
};

function isBroken(checks: readonly Check[]): boolean {
  return checks.some(({ level }) => level === 'problem');
}

function jsonOf(checks: readonly Check[]): string {
  return JSON.stringify({ type: 'doctor', ok: !isBroken(checks), checks });
}

const MARKS: Readonly<Record<CheckLevel, string>> = { ok: 'ok', warning: 'warning', problem: 'problem' };
const MARK_WIDTH = Math.max(...Object.values(MARKS).map((mark) => mark.length));

function textOf(checks: readonly Check[], { stdout }: Io): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const indent = ' '.repeat(MARK_WIDTH + 2 + width + 2);
  const lines = checks.flatMap(({ name, level, found, advice }) => [
    `${MARKS[level].padEnd(MARK_WIDTH)}  ${name.padEnd(width)}  ${oneLine(found)}`,
    ...(advice === undefined ? [] : wrapped(oneLine(advice), indent, (stdout as { columns?: number }).columns)),
  ]);
  const counts = (level: CheckLevel) => checks.filter((check) => check.level === level).length;
  const [problems, warnings] = [counts('problem'), counts('warning')];
  const sum =
    problems > 0
      ? `${problems} of these ${problems === 1 ? 'has' : 'have'} to be mended before a task can run.`
      : warnings > 0
        ? 'Tasks can run; see the warnings for what does not.'
        : 'All is well.';
  return `${lines.join('\n')}\n\n${sum}\n`;
}

/** A name of a folder may hold anything. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
}

const WIDTH = 100; // where there is no terminal to ask.

function wrapped(text: string, indent: string, columns = WIDTH): string[] {
  const width = Math.max(columns - indent.length, 40);
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.map((line) => indent + line);
}
