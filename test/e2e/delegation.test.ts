import { describe, expect, it } from 'vitest';
import type { AgentEvent } from '../../src/events/types.js';
import { disorder } from '../fixtures/bench.js';
import { calls, type RecordedRequest, says, type Turn } from '../fixtures/model-server.js';
import { jsonOf, lastResult, resultsIn, streamOf, taskIn, toolsIn } from './reading.js';
import { type PlayOptions, play } from './support.js';

const isLead = (request: RecordedRequest) => toolsIn(request).includes('delegate');

const delegate = (...tasks: readonly { worker: string; task: string; files?: readonly string[] }[]) =>
  calls('delegate', { tasks });

/** A lead that delegates once and then answers, over workers that play `turns` one after another. */
function leadOver(opening: Turn, turns: readonly Turn[]) {
  let played = 0;
  let hasDelegated = false;
  return (request: RecordedRequest): Turn => {
    if (!isLead(request)) return turns[played++] ?? { status: 500, body: 'The script of the workers is over.' };
    if (hasDelegated) return says('All done.');
    hasDelegated = true;
    return opening;
  };
}

const runs = (events: readonly AgentEvent[]) =>
  events.flatMap((event) =>
    event.type === 'worker-start' || event.type === 'worker-end'
      ? [
          `${event.type} ${event.worker} ${event.index + 1}/${event.total}${event.type === 'worker-end' ? ` ${event.status}` : ''}`,
        ]
      : [],
  );

describe('a lead', () => {
  const files = { 'a.txt': 'one\n' };
  const edit = calls('edit_file', { path: 'a.txt', old_string: 'one', new_string: 'two' });
  const turns = () =>
    leadOver(delegate({ worker: 'coder', task: 'Write two.', files: ['a.txt'] }), [
      edit,
      says('Two stands there now.'),
    ]);
  const flags = ['agent', 'make it two', '--approval-mode', 'auto-edit'];

  it('hands a task to a worker of its own context, and answers with what comes back', async () => {
    const run = await play(turns(), [...flags, '--output-format', 'json'], { files });

    expect(jsonOf(run)).toMatchObject({
      subtype: 'success',
      worker: 'agent',
      result: 'All done.',
      num_turns: 2,
      usage: { requests: 4 },
      proof: { files_changed: ['a.txt'], commands_since_last_edit: [] },
    });
    expect(run.place.read('a.txt')).toBe('two\n');
    expect(lastResult(run)).toMatch(/coder: done\nFiles changed: a\.txt\nTwo stands there now\./);
  });

  it('has a history apart from that of its worker, which has no delegate tool and begins with its task alone', async () => {
    const run = await play(turns(), flags, { files });
    const [first, ofWorker, ofWorkerNext, last] = run.requests;

    expect(run.requests.map(isLead)).toEqual([true, false, false, true]);
    expect(taskIn(first)).toBe('make it two');
    expect(taskIn(ofWorker)).toMatch(/^Write two\.\n\n.*a\.txt$/);
    expect(ofWorker?.body.messages).toHaveLength(2);
    expect(JSON.stringify(ofWorkerNext?.body.messages)).not.toContain('make it two');
    expect(toolsIn(ofWorker)).toEqual(expect.arrayContaining(['edit_file', 'write_file', 'shell']));
    expect(toolsIn(first)).not.toContain('edit_file');
    expect(last?.body.messages.slice(0, 2)).toEqual(first?.body.messages);
    expect(last?.body.messages).toHaveLength(4);
    expect(last?.body.tools).toEqual(first?.body.tools);
  });

  it('and its worker tell their events in order, the worker with the run of the lead as its parent', async () => {
    const run = await play(turns(), [...flags, '--output-format', 'stream-json'], { files });
    const { events } = streamOf(run);

    expect(disorder(events)).toEqual([]);
    expect(runs(events)).toEqual([
      'worker-start agent 1/1',
      'worker-start coder 1/1',
      'worker-end coder 1/1 done',
      'worker-end agent 1/1 done',
    ]);
    const [lead, coder] = ['agent', 'coder'].map((name) => events.filter(({ worker }) => worker === name));
    const leadId = lead?.[0]?.runId;
    expect(new Set(lead?.map(({ parentRunId }) => parentRunId))).toEqual(new Set([undefined]));
    expect(new Set(coder?.map(({ parentRunId }) => parentRunId))).toEqual(new Set([leadId]));
    expect(new Set(coder?.map(({ runId }) => runId)).size).toBe(1);
    const places = events.map(({ worker, type }, place) => ({ worker, type, place }));
    const [from, to] = ['tool-start', 'tool-end'].map(
      (wanted) => places.find(({ worker, type }) => worker === 'agent' && type === wanted)?.place ?? -1,
    );
    expect(
      places.filter(({ worker }) => worker === 'coder').every(({ place }) => place > (from ?? 0) && place < (to ?? 0)),
    ).toBe(true);
  });

  it('shows the work of its worker below its own', async () => {
    const run = await play(turns(), flags, { files });

    expect(run.stderr).toMatch(
      /^● agent [\s\S]*\n▸ coder Write two\.[\s\S]*\n {2}✓ edit_file [\s\S]*\n◂ coder done · 2 turns[\s\S]*\n✓ delegate [\s\S]*\n● done · 2 turns/,
    );
    expect(run.stdout).toBe('All done.\n');
  });

  it('gets the results of several tasks in their order, and one failure does not sink the rest', async () => {
    const opening = delegate(
      { worker: 'file', task: 'first' },
      { worker: 'nobody', task: 'second' },
      { worker: '@Planner', task: 'third' },
      { worker: 'file', task: 'fourth' },
    );
    const turns = leadOver(opening, [
      says('one'),
      says('three'),
      { status: 400, body: { error: { message: 'not now' } } },
    ]);
    const run = await play(turns, ['agent', 'x', '--output-format', 'stream-json']);
    const { events, result } = streamOf(run);

    expect(result).toMatchObject({ subtype: 'success', result: 'All done.' });
    expect(lastResult(run)).toMatch(
      /\[1\] file: done\none\n\n\[2\] nobody: failed\n[\s\S]*The workers are: [\s\S]*\[3\] .*: done\nthree\n\n\[4\] file: failed\n[\s\S]*not now/,
    );
    expect(runs(events).filter((line) => line.startsWith('worker-end'))).toEqual([
      'worker-end file 1/4 done',
      'worker-end planner 3/4 done',
      'worker-end file 4/4 failed',
      'worker-end agent 1/1 done',
    ]);
    expect(disorder(events)).toEqual([]);
  });

  it('whose worker tries to delegate further tells that worker that it cannot', async () => {
    const turns = leadOver(delegate({ worker: 'coder', task: 'x' }), [
      delegate({ worker: 'file', task: 'y' }),
      says('I do it myself.'),
    ]);
    const run = await play(turns, ['agent', 'x']);

    expect(run.requests.map(isLead)).toEqual([true, false, false, true]);
    expect(resultsIn(run.requests[2])[0]).toMatch(/no tool "delegate"|cannot delegate/);
  });

  it('may not change a file by itself, and its worker only what the mode lets it', async () => {
    const run = await play(
      leadOver(delegate({ worker: 'coder', task: 'x' }), [edit, says('denied')]),
      ['agent', 'x', '--output-format', 'json'],
      { files },
    );

    expect(jsonOf(run)).toMatchObject({
      subtype: 'error_denied',
      exit_code: 6,
      permission_denials: [{ tool: 'edit_file', subject: 'a.txt' }],
    });
    expect(run.place.read('a.txt')).toBe('one\n');
  });

  it.each([
    ['no tasks', { tasks: [] }],
    ['a task without words', { tasks: [{ worker: 'coder', task: '' }] }],
    ['something else altogether', { worker: 'coder' }],
  ])('that delegates %s is told what is wrong', async (_, args) => {
    const run = await play([calls('delegate', args), says('ok')], ['agent', 'x']);

    expect(lastResult(run)).toContain('tasks');
    expect(run.exitCode).toBe(0);
  });
});

describe('CHATCLI_AGENT_PARALLEL_MODE=false', () => {
  const off = { CHATCLI_AGENT_PARALLEL_MODE: 'false' };
  const one = (turns: readonly Turn[], args: readonly string[], env: PlayOptions['env'] = off) =>
    play(turns, ['agent', ...args, '--output-format', 'stream-json'], { env: env ?? {}, limitMs: 6_000 });

  it.each([
    ['a name', '{"worker": "planner"}', 'planner'],
    ['a name among other words', 'I think:\n```json\n{"worker": "File"}\n```', 'file'],
    ['a name that is none', '{"worker": "nobody"}', 'coder'],
    ['the lead', '{"worker": "agent"}', 'coder'],
    ['no JSON', 'planner, I guess', 'coder'],
    ['a list', '{"worker": ["planner"]}', 'coder'],
  ])('has one request without tools pick the worker; a reply of %s runs the right one', async (_, reply, worker) => {
    const run = await one([says(reply), calls('list_files'), says('done')], ['look around']);
    const { events, result } = streamOf(run);
    const [pick, first] = run.requests;

    expect(result).toMatchObject({ subtype: 'success', worker, result: 'done', num_turns: 2, usage: { requests: 3 } });
    expect(run.requests.map((request) => toolsIn(request).length > 0)).toEqual([false, true, true]);
    expect([taskIn(pick), taskIn(first)]).toEqual(['look around', 'look around']);
    for (const name of ['coder', 'file', 'planner', 'refiner', 'verifier'])
      expect(pick?.body.messages[0].content).toContain(name);
    expect(toolsIn(first)).not.toContain('delegate');
    expect(first?.body.messages).toHaveLength(2);
    expect(disorder(events)).toEqual([]);
    expect(runs(events)).toEqual([`worker-start ${worker} 1/1`, `worker-end ${worker} 1/1 done`]);
    expect(
      events.flatMap((event) => (event.type === 'notice' && event.code === 'worker-picked' ? event.text : [])),
    ).toEqual([expect.stringContaining(worker)]);
  });

  it.each([
    ['--worker', ['x', '--worker', 'file'], 'file'],
    ['--worker agent, which then has no delegate tool,', ['x', '--worker', 'agent'], 'agent'],
  ])('picks nothing where %s has named one', async (_, args, worker) => {
    const run = await one([says('done')], args);

    expect(streamOf(run).result).toMatchObject({ subtype: 'success', worker });
    expect(run.requests).toHaveLength(1);
    expect(toolsIn(run.requests[0])).not.toContain('delegate');
  });

  it('picks nothing for the coder command', async () => {
    const run = await play([says('done')], ['coder', 'x', '--output-format', 'json'], { env: off });

    expect({ worker: jsonOf(run).worker, requests: run.requests.length }).toEqual({ worker: 'coder', requests: 1 });
  });

  it('fails as any request does where the pick fails', async () => {
    const run = await one([{ status: 401, body: { error: { message: 'bad key' } } }], ['x']);

    expect(streamOf(run).result).toMatchObject({ subtype: 'error_provider', exit_code: 4 });
    expect(run.requests).toHaveLength(1);
  });

  it.each<[string, readonly string[], PlayOptions['env']]>([
    ['of the whole run', ['x', '--timeout', '1s'], off],
    ['of the workers', ['x'], { ...off, CHATCLI_AGENT_WORKER_TIMEOUT: '1s' }],
  ])('keeps the pick within the time limit %s', async (_, args, env) => {
    const run = await one([{ fault: { kind: 'hang' } }], args, env);

    expect(run.ms).toBeLessThan(4_000);
    expect(streamOf(run).result).toMatchObject({ subtype: 'error_timeout', exit_code: 5 });
  });
});

describe('--worker', () => {
  it.each(['agent', 'coder', 'file', 'planner', 'refiner', 'verifier'])(
    '%s runs that worker, with the tools of its page',
    async (worker) => {
      const run = await play([says('ok')], ['agent', 'x', '--worker', worker, '--output-format', 'json']);

      expect(jsonOf(run)).toMatchObject({ subtype: 'success', worker });
      const tools = toolsIn(run.requests[0]);
      expect(tools).toEqual(expect.arrayContaining(['read_file', 'list_files', 'search_files', 'shell']));
      expect([tools.includes('edit_file'), tools.includes('write_file'), tools.includes('delegate')]).toEqual([
        worker === 'coder',
        worker === 'coder',
        worker === 'agent',
      ]);
    },
  );
});
