import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { UsageError } from '../../src/errors.js';
import { answerCheckOf, OutputParseError, OutputRetriesExhausted, typedValue } from '../../src/runtime/typed.js';

const SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string', pattern: '^[a-z]+$' }, items: { type: 'array', items: { type: 'integer' } } },
  required: ['name'],
  additionalProperties: false,
};

const feedbackOf = async (schema: Record<string, unknown>, answer: string) => {
  const check = await (await answerCheckOf(schema)).check(answer);
  return check.ok ? 'fits' : check.feedback;
};

describe('an answer held against a JSON Schema', () => {
  it.each([
    ['as it is', '{"name":"a","items":[1]}'],
    ['with blanks around', '\n  {"name":"a","items":[1]} \n'],
    ['in a code fence', '```json\n{"name":"a","items":[1]}\n```'],
    ['in a fence without a language', '```\n{"name":"a","items":[1]}\n```\n'],
    ['in a fence with CRLF', '```json\r\n{"name":"a","items":[1]}\r\n```'],
  ])('%s gives its value', async (_, answer) => {
    const form = await answerCheckOf(SCHEMA);
    expect(await form.check(answer)).toEqual({ ok: true, value: { name: 'a', items: [1] } });
  });

  it.each([
    ['prose around it', 'Here: {"name":"a"}', 'it is not JSON'],
    ['two fences', '```json\n{"name":"a"}\n```\n```json\n{}\n```', 'it is not JSON'],
    ['nothing', '', 'it is not JSON'],
    ['a missing field', '{}', "the whole: must have required property 'name'"],
    ['a field that is only inherited', '{"items":[]}', "required property 'name'"],
    ['a wrong type deep inside', '{"name":"a","items":[1,"x"]}', '/items/1: must be integer'],
    ['a field too many', '{"name":"a","b/c":1}', 'must NOT have additional properties ("b/c")'],
    ['a text that its pattern refuses', '{"name":"A"}', '/name: must match pattern'],
    ['more than 1 MB', JSON.stringify({ name: 'a'.repeat(1_000_000) }), 'it is longer than 1 MB'],
    ['more levels than anybody needs', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'nested deeper than 500 levels'],
  ])('with %s is refused, and where and what is said', async (_, answer, problem) => {
    const feedback = await feedbackOf(SCHEMA, answer);
    expect(feedback).toContain(problem);
    expect(feedback.length).toBeLessThan(600);
  });

  it('does not take what every object inherits for a field of its own', async () => {
    expect(await feedbackOf({ type: 'object', required: ['toString'] }, '{}')).toContain('toString');
  });

  it('names ten problems at most', async () => {
    const feedback = await feedbackOf(SCHEMA, JSON.stringify({ name: 'a', items: Array(30).fill('x') }));
    expect(feedback.split('\n')).toHaveLength(13);
    expect(feedback).toContain('- and 20 more');
  });

  it.each([
    ['of draft-07, with a tuple', { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] }],
    [
      'of 2020-12, with a tuple',
      { $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{ type: 'string' }] },
    ],
    ['with a format', { items: { type: 'string', format: 'who-knows' } }],
    ['with notes of OpenAPI', { items: { type: 'string', example: 'x', xml: { name: 'n' }, 'x-order': 1 } }],
    ['with a property of such a name', { items: { type: 'string' }, properties: { example: {}, 'x-a b': {} } }],
    ['with a list of types', { items: { type: ['string', 'null'] } }],
    ['with a reference into itself', { $defs: { s: { type: 'string' } }, items: { $ref: '#/$defs/s' } }],
  ])('may have a schema %s', async (_, schema) => {
    expect(await feedbackOf(schema, '["a"]')).toBe('fits');
    expect(await feedbackOf(schema, '[1]')).toContain('/0: must be string');
  });

  it.each([
    ['of an unknown type', { type: 'strnig' }],
    ['with a misspelt keyword', { type: 'object', propertys: {} }],
    ['with a misspelt note', { type: 'object', exmaple: {} }],
    ['with one that no extension may be called', { type: 'object', 'x a': {} }],
    ['with a broken pattern', { type: 'string', pattern: '(' }],
    ['with a reference to elsewhere', { $ref: 'https://example.com/schema.json' }],
    ['of a dialect that is not known', { $schema: 'http://json-schema.org/draft-04/schema#' }],
    ['that is checked later', { $async: true, type: 'object' }],
    ['that is longer than 64 KiB', { type: 'string', description: 'x'.repeat(70_000) }],
    ['that nests without end', nested(20_000)],
  ])('cannot have a schema %s', async (_, schema) => {
    await expect(answerCheckOf(schema)).rejects.toThrow(UsageError);
  });

  it.each([[null], [[1]], ['x'], [true]])('cannot have %j for a schema', async (schema) => {
    await expect(answerCheckOf(schema as unknown as Record<string, unknown>)).rejects.toThrow(UsageError);
  });

  it('is told to the model with the schema as JSON', async () => {
    const { instructions, schema } = await answerCheckOf(SCHEMA);
    expect(instructions).toContain(JSON.stringify(SCHEMA));
    expect(schema).toEqual(SCHEMA);
  });
});

function nested(depth: number): Record<string, unknown> {
  let schema: Record<string, unknown> = {};
  for (let level = 0; level < depth; level += 1) schema = { not: schema };
  return schema;
}

describe('an answer held against a zod schema', () => {
  const schema = z.object({
    when: z.string().transform((text) => text.length),
    even: z.number().refine((number) => number % 2 === 0, 'must be even'),
  });

  it('gives the value that the schema makes of it', async () => {
    const form = await answerCheckOf(schema);
    expect(await form.check('{"when":"abc","even":2}')).toEqual({ ok: true, value: { when: 3, even: 2 } });
    expect(form.schema).toMatchObject({ type: 'object', properties: { when: { type: 'string' } } });
  });

  it('is refused where its shape is wrong', async () => {
    const check = await (await answerCheckOf(schema)).check('{"when":1,"even":3}');
    expect(check).toEqual({ ok: false, feedback: expect.stringContaining('/when: ') });
  });

  it('that fits but breaks a refinement is refused, and what the refinement says goes to the model', async () => {
    const check = await (await answerCheckOf(schema)).check('{"when":"a","even":3}');
    expect(check).toEqual({ ok: false, feedback: expect.stringContaining('/even: must be even') });
  });

  it('that a transform finds fault with is refused as well', async () => {
    const day = z.string().transform((text, context) => {
      const at = Date.parse(text);
      if (Number.isNaN(at)) context.addIssue({ code: 'custom', message: 'no such day' });
      return at;
    });
    const form = await answerCheckOf(day);
    expect(await form.check('"x"')).toEqual({ ok: false, feedback: expect.stringContaining('no such day') });
    expect(await form.check('"2020-01-01"')).toMatchObject({ ok: true, value: Date.UTC(2020) });
  });

  it('that a transform throws at is an error of its own, with its cause, for which nobody is asked again', async () => {
    const broken = z.string().transform(() => {
      throw new RangeError('no such day');
    });
    const form = await answerCheckOf(broken);
    expect(await form.check('"x"')).toMatchObject({ ok: true });
    const failure = await typedValue({ reason: 'answered', answer: '"x"' }, form).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(OutputParseError);
    expect(failure).toMatchObject({ kind: 'output', answer: '"x"', cause: new RangeError('no such day') });
  });

  it('may have an asynchronous refinement', async () => {
    const form = await answerCheckOf(z.string().refine(async (text) => text === 'yes'));
    expect(await form.check('"yes"')).toEqual({ ok: true, value: 'yes' });
    expect(await form.check('"no"')).toMatchObject({ ok: false });
  });

  it('cannot have a schema that JSON cannot say', async () => {
    await expect(answerCheckOf(z.object({ at: z.date() }))).rejects.toThrow(UsageError);
  });
});

describe('the value of a run', () => {
  it('is there only after an answer', async () => {
    const form = await answerCheckOf(z.number());
    expect(await typedValue({ reason: 'answered', answer: '7' }, form)).toEqual({ value: 7 });
    expect(await typedValue({ reason: 'turn-limit', answer: '7' }, form)).toBeUndefined();
    expect(await typedValue({ reason: 'interrupted', answer: '' }, form)).toBeUndefined();
  });

  it('is an error with the number of retries once they are spent', async () => {
    const form = await answerCheckOf(z.number());
    const error = { kind: 'output', message: 'refused 3 times' };
    const failure = await typedValue({ reason: 'failed', answer: 'x', error }, form, 2).catch((thrown) => thrown);
    expect(failure).toBeInstanceOf(OutputRetriesExhausted);
    expect(failure).toMatchObject({ kind: 'output', retries: 2, message: 'refused 3 times' });
  });
});
