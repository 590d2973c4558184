import { readFileSync } from 'node:fs';
import { parse } from 'dotenv';
import { describe, expect, it } from 'vitest';
import { configTable, envExample } from '../../src/config/describe.js';
import { isFileVariable, VARIABLES } from '../../src/config/schema.js';

describe('envExample', () => {
  it('is what .env.example holds: after a change run `node scripts/run.mjs scripts/env-example.ts`', () => {
    expect(readFileSync(new URL('../../.env.example', import.meta.url), 'utf8')).toBe(envExample());
  });

  it('says in its first lines that ./.env is not read, and the three ways to use it', () => {
    const head = envExample().split('\n').slice(0, 5);
    expect(head[0]).toContain('does not read ./.env by itself');
    expect(head[1]).toContain('--env-file .env');
    expect(head[2]).toContain('chatcli trust env');
    expect(head[3]).toContain('~/.config/chatcli/.env');
    expect(head[4]).toBe('');
  });

  it('sets nothing as it is, and every variable once its comment sign is taken away', () => {
    expect(parse(envExample())).toEqual({});
    const uncommented = Object.keys(parse(envExample().replace(/^#(?=[A-Z_]+=)/gm, '')));
    const extra = uncommented.filter((name) => !Object.hasOwn(VARIABLES, name));
    expect(uncommented.filter((name) => Object.hasOwn(VARIABLES, name)).toSorted()).toEqual(
      Object.keys(VARIABLES).toSorted(),
    );
    expect(extra).toEqual([
      'CHATCLI_AGENT_CODER_MODEL',
      'CHATCLI_AGENT_CODER_MAX_TURNS',
      'CHATCLI_AGENT_CODER_TIMEOUT',
    ]);
    expect(extra.every(isFileVariable)).toBe(true);
  });
});

describe('configTable', () => {
  it('has a row of four cells for every variable', () => {
    const [head, rule, ...rows] = configTable().trimEnd().split('\n');
    expect([head, rule]).toEqual(['| Variable | Default | Flag | Meaning |', '|---|---|---|---|']);
    expect(rows.every((row) => row.split('|').length === 6)).toBe(true);
    expect(rows).toHaveLength(Object.keys(VARIABLES).length + 3);
    expect(rows).toContain(
      '| `CHATCLI_AGENT_WORKER_MAX_TURNS` | `30` | `--max-turns` | Model calls that every worker may make on its task, the lead included. |',
    );
  });
});
