import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endingOfError } from '../../src/exit-codes.js';
import { type Bench, makeBench } from './bench.js';

let bench: Bench;
beforeAll(async () => {
  bench = await makeBench();
});
afterAll(() => bench.remove());

const TURNS = 'allowed is a whole number from 1 to 10000.';

describe('a value that is not valid', () => {
  it('is named with its source and what is allowed, from the environment', async () => {
    const error = await bench.failure({ CHATCLI_AGENT_WORKER_MAX_TURNS: 'abc' });
    expect(error.message).toBe(`CHATCLI_AGENT_WORKER_MAX_TURNS="abc" from the environment is not valid: ${TURNS}`);
    expect(endingOfError(error)).toEqual({ exitCode: 3, subtype: 'error_config' });
  });

  it('is named with the flag', async () => {
    const error = await bench.failure({}, { maxTurns: '0' });
    expect(error.message).toBe(`CHATCLI_AGENT_WORKER_MAX_TURNS="0" from the flag --max-turns is not valid: ${TURNS}`);
  });

  it('is named with the env file', async () => {
    const envFile = await bench.write('bad.env', 'CHATCLI_AGENT_CODER_MAX_TURNS=-1\n');
    const error = await bench.failure({}, { envFile });
    expect(error.message).toBe(`CHATCLI_AGENT_CODER_MAX_TURNS="-1" from the file ${envFile} is not valid: ${TURNS}`);
  });

  it('is refused when a flag is empty, since a limit that was meant would be lost', async () => {
    const error = await bench.failure({}, { timeout: '' });
    expect(error.message).toMatch(/^CHATCLI_TIMEOUT="" from the flag --timeout is not valid: allowed is a duration/);
  });

  it('does not hide behind another: all are told at once', async () => {
    const error = await bench.failure({
      CHATCLI_AGENT_WORKER_TIMEOUT: '0',
      CHATCLI_MAX_RETRIES: 'many',
      CHATCLI_PROVIDER: 'groq',
      CHATCLI_AGENT_CODER_TIMEOUT: 'soon',
      CHATCLI_PRICE_INPUT: '1',
      LOG_LEVEL: 'loud',
    });
    expect(error.message.split('\n').map((line) => line.split(' from ')[0])).toEqual([
      '6 settings cannot be used:',
      '  - CHATCLI_AGENT_WORKER_TIMEOUT="0"',
      '  - CHATCLI_MAX_RETRIES="many"',
      '  - LOG_LEVEL="loud"',
      '  - CHATCLI_AGENT_CODER_TIMEOUT="soon"',
      '  - CHATCLI_PRICE_OUTPUT is not set: CHATCLI_PRICE_INPUT and CHATCLI_PRICE_OUTPUT only count together.',
      '  - GROQ_API_KEY is not set: the provider groq needs a key.',
    ]);
  });

  it('is not taken for a missing one', async () => {
    const error = await bench.failure({ CHATCLI_PROVIDER: 'openai', OPENAI_API_KEY: 'two words' });
    expect(error.message).toMatch(/^OPENAI_API_KEY=\(not shown, 9 characters\) from the environment is not valid/);
  });

  it('is told once, where the other price is there', async () => {
    const error = await bench.failure({ CHATCLI_PRICE_INPUT: 'free', CHATCLI_PRICE_OUTPUT: '1' });
    expect(error.message).toMatch(/^CHATCLI_PRICE_INPUT="free" from the environment is not valid: .*$/);
  });

  it('is no concern where a higher source wins', async () => {
    const { config } = await bench.load({ CHATCLI_AGENT_WORKER_MAX_TURNS: 'abc' }, { maxTurns: '3' });
    expect(config.workers.maxTurns).toBe(3);
  });

  it('cannot play with the terminal, and is cut where it is long', async () => {
    const strange = await bench.failure({ LOG_LEVEL: 'a\u001b[2Jb\u202ec' });
    expect(strange.message).toContain('LOG_LEVEL="a\\u{1b}[2Jb\\u{202e}c" from');
    const long = await bench.failure({ LOG_LEVEL: 'x'.repeat(5_000) });
    expect(long.message).toContain(`LOG_LEVEL="${'x'.repeat(80)}…" from`);
  });
});

describe('an error text', () => {
  const SECRET = 'sk-very-secret-1234';
  it.each([
    ['a key with a space', { OPENAI_API_KEY: `${SECRET} x` }],
    ['a key of a preset', { GROQ_API_KEY: `${SECRET}\u00e9` }],
    ['a key in the wrong variable', { OPENAI_API_KEY: SECRET, LOG_LEVEL: SECRET }],
    ['a key as the provider', { OPENAI_API_KEY: SECRET, CHATCLI_PROVIDER: SECRET }],
    ['a password in a URL that is not valid', { CHATCLI_BASE_URL: `ftp://ann:${SECRET}@example.com` }],
    ['a password in no URL at all', { CHATCLI_BASE_URL: `//ann:${SECRET}@` }],
    ['a key beside another fault', { OPENAI_API_KEY: SECRET, CHATCLI_MAX_RETRIES: 'x' }],
  ])('never shows %s', async (_, env) => {
    const error = await bench.failure(env);
    expect(`${error.message} ${error.hint} ${error.stack} ${String(error.cause)}`).not.toContain(SECRET);
  });
});
