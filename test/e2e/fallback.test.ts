import { describe, expect, it } from 'vitest';
import { calls, fails, says, type Turn, type Turns } from '../fixtures/model-server.js';
import { jsonOf } from './reading.js';
import { type PlayOptions, play } from './support.js';

const USAGE = { prompt_tokens: 1_000_000, completion_tokens: 0, total_tokens: 1_000_000 };
const QUICK = { CHATCLI_MAX_RETRIES: '1', OPENAI_MODEL: 'gpt-4o' };

/** `gpt-4o` is overloaded; any other model plays the turns. */
const withoutFirst = (...turns: readonly Turn[]): Turns => {
  let played = 0;
  return ({ body }) => (body.model === 'gpt-4o' ? fails(503, 'overloaded') : (turns[played++] ?? fails(500, 'none')));
};

const ask = (turns: Turns, env: PlayOptions['env'], ...flags: readonly string[]) =>
  play(turns, ['agent', 'x', ...flags], { env: { ...QUICK, ...env } });

describe('a model that is overloaded', () => {
  it('is asked alone where no other was named, and the run fails', async () => {
    const run = await ask(() => fails(503, 'overloaded'), { CHATCLI_MAX_RETRIES: '2' }, '--output-format', 'json');

    expect(run.requests.map(({ body }) => body.model)).toEqual(['gpt-4o', 'gpt-4o', 'gpt-4o']);
    expect(run.exitCode).toBe(4);
    expect(jsonOf(run)).toMatchObject({ is_error: true, result: '', model: 'gpt-4o' });
    expect(jsonOf(run)).not.toHaveProperty('fallbacks');
  });

  it('is left for the next that was named: shown, in the JSON, and paid as that one', async () => {
    const turns = withoutFirst({ ...says('Hello.'), usage: USAGE });
    const run = await ask(turns, { CHATCLI_FALLBACK_MODELS: 'gpt-4o-mini' }, '--output-format', 'json');

    expect(run.requests.map(({ body }) => body.model)).toEqual(['gpt-4o', 'gpt-4o', 'gpt-4o-mini']);
    const reason = 'openai answered 503: overloaded (given up after 2 attempts)';
    const sentence = `${reason}. Going on with the model gpt-4o-mini in place of gpt-4o.`;
    expect(jsonOf(run)).toMatchObject({
      result: 'Hello.',
      model: 'gpt-4o-mini',
      fallbacks: [{ from: 'gpt-4o', to: 'gpt-4o-mini', reason }],
      warnings: [sentence],
      total_cost_usd: 0.15,
      usage: { requests: 3 },
    });
    expect(run.stderr).toContain(`warning: ${sentence}`);
  });

  it('is not asked again in the run, and the switch is said once', async () => {
    const turns = withoutFirst(calls('list_files'), { ...says('Done.'), usage: USAGE });
    const run = await ask(turns, { CHATCLI_FALLBACK_MODELS: 'gpt-4o-mini,o3' }, '--output-format', 'stream-json');

    expect(run.requests.map(({ body }) => body.model)).toEqual(['gpt-4o', 'gpt-4o', 'gpt-4o-mini', 'gpt-4o-mini']);
    const events = run.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.filter(({ type }) => type === 'fallback')).toMatchObject([{ from: 'gpt-4o', to: 'gpt-4o-mini' }]);
    expect(run.stderr.match(/Going on with the model/g)).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ type: 'result', model: 'gpt-4o-mini', total_cost_usd: 0.15 });
  });

  it('stands in the log', async () => {
    const run = await ask(withoutFirst(says('Hello.')), { CHATCLI_FALLBACK_MODELS: 'o3', LOG_LEVEL: 'warn' });

    expect(run.stderr).toMatch(/"level":"warn".*"from":"gpt-4o","to":"o3".*"msg":"model fallback"/);
  });
});

describe('models to fall back on', () => {
  it('are of no use for a key that is refused', async () => {
    const run = await ask(() => fails(401, 'bad key'), { CHATCLI_FALLBACK_MODELS: 'o3' });

    expect(run.requests.map(({ body }) => body.model)).toEqual(['gpt-4o']);
    expect(run.exitCode).toBe(4);
  });

  it('have to have a known price where the cost is limited', async () => {
    const run = await ask([], { CHATCLI_FALLBACK_MODELS: 'o3,unheard-of' }, '--max-budget-usd', '1');

    expect([run.exitCode, run.requests.length]).toEqual([3, 0]);
    expect(run.stderr).toContain('the price of unheard-of is not known');
  });
});
