/** Writes the schema out for people: the text of .env.example and the README's table. */
import { flagText, GROUPS, type Group, VARIABLES, type Variable, WORKER_VARIABLES } from './schema.js';

const ENV_EXAMPLE_HEAD = `\
# chatcli does not read ./.env by itself, so that no folder can choose where your key goes. Three ways to use one:
#   for one run:    chatcli agent --env-file .env "task"
#   in this folder: chatcli trust env     (asks anew when the file changes)
#   for every run:  mkdir -p ~/.config/chatcli && cp .env ~/.config/chatcli/.env
`;

type Entry = {
  /** As a person would write it for one worker, where it is a worker's variable. */
  readonly example: string;
  readonly title: string;
  readonly default: string | undefined;
  readonly help: string;
  readonly flag: string | undefined;
};

/** The text of .env.example: every variable, commented out, with its default. */
export function envExample(): string {
  const sections = groups().map(([group, title]) => {
    const entries = entriesOf(group).map(({ example, default: value, help, flag }) => {
      const withFlag = flag === undefined ? '' : ` Flag: ${flag}.`;
      return `${commented(help.replaceAll('`', '') + withFlag)}#${example}=${value ?? ''}\n`;
    });
    return `# --- ${title} ---\n\n${entries.join('\n')}`;
  });
  return [ENV_EXAMPLE_HEAD, ...sections].join('\n');
}

/** The README's table in Markdown, one row for each variable, with a line break at its end. */
export function configTable(): string {
  const rows = groups().flatMap(([group]) =>
    entriesOf(group).map(({ title, default: value, help, flag }) => {
      const cells = [code(title), code(value), code(flag), help];
      return `| ${cells.join(' | ')} |`;
    }),
  );
  return ['| Variable | Default | Flag | Meaning |', '|---|---|---|---|', ...rows, ''].join('\n');
}

function groups(): readonly (readonly [Group, string])[] {
  return Object.entries(GROUPS) as [Group, string][];
}

function entriesOf(group: Group): readonly Entry[] {
  const fixed = Object.entries<Variable>(VARIABLES)
    .filter(([, variable]) => variable.group === group)
    .map(([name, variable]) => ({
      example: name,
      title: name,
      default: variable.default,
      help: variable.help,
      flag: variable.flag && flagText(variable.flag),
    }));
  return group === 'workers' ? [...fixed, ...workerEntries()] : fixed;
}

function workerEntries(): readonly Entry[] {
  return Object.values(WORKER_VARIABLES).map(({ suffix, help }) => ({
    example: `CHATCLI_AGENT_CODER_${suffix}`,
    title: `CHATCLI_AGENT_<NAME>_${suffix}`,
    default: undefined,
    help,
    flag: undefined,
  }));
}

/** Comment lines of at most 120 characters. */
function commented(text: string): string {
  return text.replace(/(.{1,118})(?: |$)/g, '# $1\n');
}

function code(text: string | undefined): string {
  return text === undefined ? '' : `\`${text}\``;
}
