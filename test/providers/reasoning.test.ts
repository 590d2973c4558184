/** Reasoning over the wire: what comes with a reply, and how it goes back to endpoints that want it or refuse it. */
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Message } from '../../src/kernel/types.js';
import { type OpenaiChatOptions, openaiChat } from '../../src/providers/openai-chat.js';
import type { ReasoningForm } from '../../src/providers/presets.js';
import { defineTool } from '../../src/tools/types.js';
import { bench } from '../fixtures/bench.js';
import {
  fails,
  type RecordedRequest,
  says,
  startModelServer,
  type Turn,
  type Turns,
} from '../fixtures/model-server.js';

const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function connect(turns: Turns, options: Partial<OpenaiChatOptions> = {}) {
  const server = await startModelServer(turns, { strict: true });
  const provider = openaiChat({ name: 'mine', baseUrl: server.url, ...options });
  closers.push(server.close, provider.close);
  return { server, provider };
}

const HISTORY: readonly Message[] = [
  { role: 'user', content: 'U' },
  { role: 'assistant', content: '', reasoning: 'hm', toolCalls: [{ id: 'k', name: 'x', arguments: '{}' }] },
  { role: 'tool', callId: 'k', name: 'x', content: 'R' },
];

/** How each request carried the reasoning of the history. */
const formsOf = (requests: readonly RecordedRequest[]) =>
  requests.map(({ body }) => {
    const [, said] = body.messages;
    return 'reasoning_content' in said ? 'reasoning_content' : 'reasoning' in said ? 'reasoning' : 'none';
  });

/** Answers what an endpoint with this demand answers. */
const demanding = (isFine: (said: object) => boolean, refusal: Turn) => (request: RecordedRequest) =>
  isFine(request.body.messages[1]) ? says('ok') : refusal;

const needs = (message: string) => demanding((said) => 'reasoning_content' in said, fails(400, message));
const refuses = (turn: Turn) => demanding((said) => !('reasoning_content' in said || 'reasoning' in said), turn);

async function ask(turns: Turns, options: Partial<OpenaiChatOptions>, times = 1): Promise<readonly string[]> {
  const { server, provider } = await connect(turns, options);
  for (let count = 0; count < times; count += 1) {
    const request = { model: 'm', messages: HISTORY, tools: [] };
    for await (const _delta of provider.stream(request, new AbortController().signal));
  }
  return formsOf(server.requests);
}

describe('an endpoint that will not go on without the reasoning', () => {
  it.each([
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
    'Missing reasoning_content field in the assistant message at message index 2.',
    'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2',
  ])('and says %j gets it from then on', async (message) => {
    expect(await ask(needs(message), {}, 2)).toEqual(['none', 'reasoning_content', 'reasoning_content']);
    expect(await ask(needs(message), { reasoning: 'reasoning' })).toEqual(['reasoning', 'reasoning_content']);
  });

  it('is not given it where a person said never', async () => {
    const message = 'Missing reasoning_content field';
    await expect(ask(needs(message), { isReasoningFixed: true })).rejects.toThrow(message);
  });
});

describe('an endpoint that refuses the reasoning', () => {
  const groq = (field: string) =>
    `'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property '${field}' is unsupported)]`;

  it.each<[ReasoningForm, Turn]>([
    ['reasoning_content', fails(400, groq('reasoning_content'))],
    [
      'reasoning_content',
      fails(400, "messages.2.assistant.reasoning_content: property 'x.reasoning_content' is unsupported"),
    ],
    ['reasoning', fails(400, 'messages[1].reasoning: reasoning is not supported with this model')],
    [
      'reasoning_content',
      {
        status: 422,
        body: {
          detail: [{ loc: ['body', 'messages', 1, 'reasoning_content'], msg: 'Extra inputs are not permitted' }],
        },
      },
    ],
  ])('as %s gets none from then on', async (reasoning, refusal) => {
    expect(await ask(refuses(refusal), { reasoning }, 2)).toEqual([reasoning, 'none', 'none']);
  });

  it('is sent it all the same where a person said always', async () => {
    const refusal = fails(400, groq('reasoning_content'));
    await expect(ask(refuses(refusal), { reasoning: 'reasoning_content', isReasoningFixed: true })).rejects.toThrow(
      '400',
    );
  });
});

it.each([
  ['takes it neither so nor so', 'reasoning_content is missing, and unsupported', 2],
  ['complains of something else', 'reasoning_effort is missing', 1],
])('an endpoint that %s is asked again at most once', async (_name, message, requests) => {
  const { server, provider } = await connect(() => fails(400, message));
  const request = { model: 'm', messages: HISTORY, tools: [] };
  const read = async () => {
    for await (const _delta of provider.stream(request, new AbortController().signal));
  };
  await expect(read()).rejects.toThrow(message);
  expect(server.requests).toHaveLength(requests);
});

/** An event stream of these choices' deltas. */
const stream = (finishReason: string, ...deltas: readonly object[]): Turn => {
  const chunks = [
    ...deltas.map((delta) => ({ choices: [{ delta }] })),
    { choices: [{ delta: {}, finish_reason: finishReason }] },
  ];
  return {
    body: `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`,
    headers: { 'content-type': 'text/event-stream' },
  };
};

describe('what came along with a reply', () => {
  const note = defineTool({
    name: 'note',
    doc: 'Takes a note.',
    permission: 'read',
    concurrency: 'parallel',
    schema: z.object({ id: z.string().optional() }),
    subjects: () => [],
    run: async () => ({ ok: true, output: 'noted' }),
  });
  const run = async (first: Turn, options: Partial<OpenaiChatOptions> = {}) => {
    const { server, provider } = await connect([first, says('done')], options);
    const { outcome } = await bench({ provider, tools: [note] });
    return { outcome, said: server.requests[1]?.body.messages[2] };
  };

  it.each<[string, readonly object[]]>([
    [
      'with the call',
      [
        {
          tool_calls: [
            {
              id: 'c',
              function: { name: 'note', arguments: '{}' },
              extra_content: { google: { thought_signature: 'sig' } },
            },
          ],
        },
      ],
    ],
    [
      'behind the call',
      [
        { tool_calls: [{ id: 'c', function: { name: 'note', arguments: '{}' } }] },
        { tool_calls: [{ extra_content: { google: { thought_signature: 'sig' } } }] },
      ],
    ],
  ])("goes back unchanged: Gemini's signature %s", async (_where, deltas) => {
    const { outcome, said } = await run(stream('stop', ...deltas));
    expect(outcome).toMatchObject({ reason: 'answered', answer: 'done' });
    expect(said.tool_calls).toEqual([
      {
        id: 'c',
        type: 'function',
        function: { name: 'note', arguments: '{}' },
        extra_content: { google: { thought_signature: 'sig' } },
      },
    ]);
  });

  it("goes back unchanged: OpenRouter's reasoning details, whole and in order", async () => {
    const { said } = await run(
      stream(
        'tool_calls',
        { reasoning: 'h', reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'h' }] },
        { reasoning: 'm', reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'm', signature: 's' }] },
        { reasoning_details: [{ type: 'reasoning.encrypted', index: 1, data: 'x', id: 'r' }] },
        { tool_calls: [{ index: 0, id: 'c', function: { name: 'note', arguments: '{}' } }] },
      ),
      { reasoning: 'reasoning' },
    );
    expect(said.reasoning_details).toEqual([
      { type: 'reasoning.text', index: 0, text: 'hm', signature: 's' },
      { type: 'reasoning.encrypted', index: 1, data: 'x', id: 'r' },
    ]);
  });

  it('is kept by message: each reply with calls has its own', async () => {
    const thinks = (words: string, id: string): Turn => ({
      reasoning: words,
      calls: [{ name: 'note', id, arguments: { id } }],
    });
    const { server, provider } = await connect([thinks('one', 'a'), thinks('two', 'b'), says('done')], {
      reasoning: 'reasoning_content',
    });
    await bench({ provider, tools: [note] });
    const said = server.requests[2]?.body.messages.filter(({ role }: { role: string }) => role === 'assistant');
    expect(said.map(({ reasoning_content: words }: { reasoning_content: string }) => words)).toEqual(['one', 'two']);
  });
});
