/** Parity with the ReAct ancestors: answers and their form, usage, telemetry, skills, retries. Tags name the rows. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import * as z from 'zod';
import { loadSkills, readSkillBody, skillIndex } from '../../src/context/skills.js';
import type { State } from '../../src/kernel/types.js';
import { openaiChat } from '../../src/providers/openai-chat.js';
import { withRetry } from '../../src/providers/retry.js';
import type { ModelDelta, Provider } from '../../src/providers/types.js';
import { createInbox } from '../../src/runtime/steer.js';
import { createTelemetry, type TelemetryRecord } from '../../src/runtime/telemetry.js';
import { answerCheckOf, OutputRetriesExhausted, typedValue } from '../../src/runtime/typed.js';
import { defineTool } from '../../src/tools/types.js';
import { bench, calls, disorder, says, type Turn } from '../fixtures/bench.js';
import { fails, type Turn as ServedTurn, startModelServer } from '../fixtures/model-server.js';

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const POINT = z.object({ x: z.number() });

function echo(name = 'echo') {
  const runs: unknown[] = [];
  const tool = defineTool({
    name,
    doc: 'd',
    permission: 'read',
    concurrency: 'parallel',
    schema: z.object({ text: z.string().optional(), api_key: z.string().optional() }),
    subjects: () => [],
    run: async (input) => {
      runs.push(input);
      return { ok: true, output: 'echoed' };
    },
  });
  return { tool, runs };
}

const ends = (
  finishReason: 'length' | 'stop',
  text = '',
  usage?: { promptTokens: number; completionTokens: number },
): Turn => [
  ...(text === '' ? [] : [{ type: 'text', text } as const]),
  ...(usage ? [usageOf(usage)] : []),
  { type: 'end', finishReason },
];

const usageOf = (usage: { promptTokens: number; completionTokens: number }): ModelDelta => ({
  type: 'usage',
  usage: { ...usage, cachedTokens: 0, reasoningTokens: 0, totalTokens: usage.promptTokens + usage.completionTokens },
});

/** Our own client and retry, before a server that plays these turns. */
async function endpoint(turns: readonly ServedTurn[]) {
  const server = await startModelServer(turns, { strict: true });
  const chat = openaiChat({ name: 'x', baseUrl: server.url });
  closers.push(server.close, chat.close);
  const provider: Provider = withRetry(chat, { sleep: async () => undefined });
  return { server, turns: (): Turn => (request, signal) => provider.stream(request, signal) };
}

it('asks again in the same conversation until the answer fits, and gives its value, or says that it gave up after 3 retries [row 50]', async () => {
  const form = await answerCheckOf(POINT);
  const options = { checkAnswer: form.check };

  const mended = await bench({ turns: [says('x'), says('{"x":1}')], options });
  expect(mended.requests).toHaveLength(2);
  expect(await typedValue(mended.outcome, form)).toEqual({ value: { x: 1 } });
  expect(mended.requests[1]?.messages.slice(-2)).toEqual([
    { role: 'assistant', content: 'x' },
    { role: 'user', content: expect.stringContaining('not JSON') },
  ]);

  const spent = await bench({ turns: () => says('x'), options });
  expect(spent.requests).toHaveLength(4);
  expect(spent.outcome).toMatchObject({ reason: 'failed', error: { kind: 'output' } });
  const failure = await typedValue(spent.outcome, form).catch((thrown: unknown) => thrown);
  expect(failure).toBeInstanceOf(OutputRetriesExhausted);
  expect(failure).toMatchObject({ retries: 3 });
  expect(disorder(spent.events)).toEqual([]);
});

it('fails at blank endings without storing an assistant message, keeps their usage, and goes on with a text that was cut off [row 51]', async () => {
  const states: State[] = [];
  const options = { onState: (state: State) => void states.push(state) };
  const blank = await bench({ turns: () => ends('length', '', { promptTokens: 5, completionTokens: 1 }), options });

  expect(blank.outcome).toMatchObject({ reason: 'failed', answer: '', error: { kind: 'provider' } });
  expect(blank.outcome.usage).toMatchObject({ requests: 3, promptTokens: 15, completionTokens: 3 });
  expect(states.at(-1)?.messages.filter(({ role }) => role === 'assistant')).toEqual([]);

  const cut = await bench({ turns: [ends('length', 'Half of'), says(' it.')] });
  expect(cut.outcome).toMatchObject({ reason: 'answered', answer: 'Half of it.' });
  expect(cut.events.flatMap((event) => (event.type === 'notice' ? [event.code] : []))).toEqual(['reply-cut']);
});

it('sums usage over turns, takes the largest within a stream, counts what is missing as 0, and starts each run at 0 [row 54]', async () => {
  const { tool } = echo();
  const twice = await bench({
    turns: [
      [
        usageOf({ promptTokens: 3, completionTokens: 1 }),
        usageOf({ promptTokens: 2, completionTokens: 2 }),
        { type: 'call', call: { id: 'a', name: 'echo', arguments: '{}' } },
        { type: 'end', finishReason: 'tool_calls' },
      ],
      ends('stop', 'done', { promptTokens: 4, completionTokens: 2 }),
    ],
    tools: [tool],
  });
  expect(twice.outcome.usage).toMatchObject({ requests: 2, promptTokens: 7, completionTokens: 4 });

  const next = await bench({ turns: [ends('stop', 'done')] });
  expect(next.outcome.usage).toMatchObject({ requests: 1, promptTokens: 0, completionTokens: 0, totalTokens: 0 });

  const failed = await bench({ turns: [calls(['a', 'echo', {}]), new Error('broken')], tools: [tool] });
  expect(failed.outcome).toMatchObject({ reason: 'failed', usage: { promptTokens: 3, completionTokens: 2 } });
});

it('masks secrets by their keys in telemetry, and a stuck sink costs records but no run [row 55]', async () => {
  const { tool } = echo();
  const seen: TelemetryRecord[] = [];
  const good = createTelemetry((record) => void seen.push(record));
  const stuck = createTelemetry(() => new Promise(() => undefined));
  const { outcome } = await bench({
    turns: [
      ...Array.from({ length: 40 }, (_, n) => calls([`c${n}`, 'echo', { api_key: 'hunter2', text: `${n}` }])),
      says('done'),
    ],
    tools: [tool],
    maxTurns: 50,
    onEvent: (event) => {
      good.sink(event);
      stuck.sink(event);
    },
  });

  expect(outcome.reason).toBe('answered');
  expect(stuck.dropped()).toBeGreaterThan(0);
  await good.flush(5_000);
  const started = seen.find(({ name }) => name === 'tool.start');
  expect(started?.metadata.arguments).toEqual({ api_key: '[redacted]', text: '0' });
  expect(JSON.stringify(seen)).not.toContain('hunter2');
});

it('uses the good skill, reports the bad one, reads bodies on demand, and looks only into trusted folders [row 57]', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chatcli-parity-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const put = (name: string, text: string) => {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'SKILL.md'), text);
  };
  put('good', '---\nname: good\ndescription: When good is needed.\n---\nThe body.\n');
  put('bad', '---\nname: other\ndescription: x\n---\n');

  expect(await loadSkills([])).toEqual({ skills: [], diagnostics: [] });
  const { skills, diagnostics } = await loadSkills([{ path: folder, scope: 'user' }]);
  expect(diagnostics.map(({ type, severity }) => [type, severity])).toEqual([['name-mismatch', 'high']]);
  expect(skillIndex(skills)).toContain('- good: When good is needed.');
  expect(skillIndex(skills)).not.toContain('The body.');
  const [good] = skills;
  expect(good && (await readSkillBody(good))).toMatchObject({ text: 'The body.' });
});

it('asks again after a passing failure, and for the whole turn after a break in the middle, of which nothing is kept [row 58]', async () => {
  const { tool, runs } = echo();
  const limited = await endpoint([fails(429, 'slow down', { headers: { 'retry-after': '1' } }), { text: 'ok' }]);
  const waited = await bench({ turns: limited.turns });
  expect(waited.outcome).toMatchObject({ reason: 'answered', answer: 'ok' });
  expect(limited.server.requests).toHaveLength(2);
  expect(waited.events.flatMap((event) => (event.type === 'retry' ? [event.waitMs >= 1_000] : []))).toEqual([true]);

  const call = { name: 'echo', arguments: { text: 'once' } };
  const breaking = await endpoint([
    { text: 'I call', calls: [call], fault: { kind: 'reset', at: 'content' } },
    { text: 'I do call', calls: [call] },
    { text: 'ok' },
  ]);
  const mended = await bench({ turns: breaking.turns, tools: [tool] });
  expect(mended.outcome).toMatchObject({ reason: 'answered', answer: 'ok', turns: 2 });
  expect(breaking.server.requests).toHaveLength(3);
  expect(runs).toEqual([{ text: 'once' }]);
  const said = mended.requests[1]?.messages.flatMap((message) =>
    message.role === 'assistant' ? [message.content] : [],
  );
  expect(said).toEqual(['I do call']);

  const refused = await endpoint([fails(401, 'no')]);
  expect((await bench({ turns: refused.turns })).outcome).toMatchObject({
    reason: 'failed',
    error: { kind: 'provider' },
  });
  expect(refused.server.requests).toHaveLength(1);
});

it('ends a blank truncated reply before anything of it is stored, with its usage in the failure [edge 4]', async () => {
  const { tool, runs } = echo();
  const points: string[] = [];
  const states: State[] = [];
  const blanks = Array.from({ length: 3 }, () => ends('length', ' ', { promptTokens: 5, completionTokens: 1 }));
  const { outcome, events } = await bench({
    turns: [calls(['a', 'echo', {}]), ...blanks],
    tools: [tool],
    options: {
      onState: (state, point) => {
        points.push(point);
        states.push(state);
      },
    },
  });

  expect(outcome).toMatchObject({ reason: 'failed', error: { kind: 'provider' }, usage: { promptTokens: 18 } });
  expect(runs).toHaveLength(1);
  expect(states.at(-1)?.messages.filter(({ role }) => role === 'assistant')).toHaveLength(1);
  expect(points.at(-1)).toBe('terminal');
  expect(events.at(-2)?.type).toBe('run-end');
  expect(disorder(events)).toEqual([]);
});

it('holds no summary at a turn limit against the schema, and loses no answer to what comes in on the last turn [trap 7]', async () => {
  const { tool } = echo();
  const form = await answerCheckOf(POINT);
  const limited = await bench({
    turns: [calls(['a', 'echo', {}]), says('Half is done.')],
    tools: [tool],
    maxTurns: 1,
    options: { checkAnswer: form.check, responseSchema: form.schema },
  });
  expect(limited.outcome).toMatchObject({ reason: 'turn-limit', answer: 'Half is done.' });
  expect(limited.requests.map((request) => request.responseSchema !== undefined)).toEqual([true, false]);
  expect(limited.events.filter(({ type }) => type === 'output-check')).toEqual([]);
  expect(await typedValue(limited.outcome, form)).toBeUndefined();

  const inbox = createInbox(() => 'i1');
  const steered = await bench({
    turns: [
      async function* () {
        inbox.push('one more thing', 'steer');
        yield* says('{"x":1}') as readonly ModelDelta[];
      },
    ],
    maxTurns: 1,
    options: { inbox, checkAnswer: form.check },
  });
  expect(await typedValue(steered.outcome, form)).toEqual({ value: { x: 1 } });
  expect(steered.events.flatMap((event) => (event.type === 'input' ? [event.status] : []))).toEqual(['dropped']);
});

it('takes no stream without an end for an answer, empty arguments for no arguments, and tells equal call ids apart [trap 16]', async () => {
  const truncated = await endpoint([{ text: 'half', fault: { kind: 'truncate' } }, { text: 'whole' }]);
  const { outcome } = await bench({ turns: truncated.turns });
  expect(outcome).toMatchObject({ reason: 'answered', answer: 'whole' });
  expect(truncated.server.requests).toHaveLength(2);

  const { tool, runs } = echo();
  const odd = await endpoint([
    { calls: [{ name: 'echo', arguments: '', id: 'same' }] },
    {
      calls: [
        { name: 'echo', arguments: '{"text":"1"}', id: 'same' },
        { name: 'echo', arguments: '{"text":"2"}', id: 'same' },
      ],
    },
    { text: 'done' },
  ]);
  const run = await bench({ turns: odd.turns, tools: [tool] });
  expect(run.outcome).toMatchObject({ reason: 'answered', answer: 'done' });
  expect(runs).toEqual([{}, { text: '1' }, { text: '2' }]);
  const ids =
    run.requests.at(-1)?.messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : [])) ?? [];
  expect(new Set(ids).size).toBe(3);
});
