/**
 * The agent as a library has it, and as the interactive session is built on it: one conversation, one run at a time.
 * This file only puts together what stands in files of its own.
 */
import { randomUUID } from 'node:crypto';
import type * as z from 'zod';
import { fullMemory, windowMemory } from '../context/memory.js';
import { RejectedError, RunEndedError } from '../errors.js';
import { createEmitter } from '../events/emitter.js';
import { createTraces } from '../events/trace.js';
import { closeTools } from '../tools/close.js';
import type { Tool } from '../tools/types.js';
import { costOfAgent } from './agent-cost.js';
import { type AgentParts, type AgentSurroundings, type RunStart, runAgent } from './agent-run.js';
import { AGENT_WORKER } from './agent-tree.js';
import type { Agent, AgentOptions, AskOptions, RunHandle } from './agent-types.js';
import { checkAgentOptions, checkAskOptions } from './check-options.js';
import { createCheckpoints } from './checkpoint.js';
import { chunksOf, lastChunk, type StreamChunk } from './chunks.js';
import { type ContextOp, createConversation } from './lanes.js';
import { notStarted } from './not-started.js';
import { createRunSlot } from './run-slot.js';
import { createTelemetry } from './telemetry.js';
import { createToolbox } from './toolbox.js';
import { type AnswerForm, answerCheckOf, typedValue } from './typed.js';
import { createWorkerHost } from './worker-host.js';

export function createAgentIn(surroundings: AgentSurroundings, given: AgentOptions): Agent {
  checkAgentOptions(given);
  const memory = given.memory ?? (given.contextWindow === undefined ? windowMemory() : fullMemory());
  const options: AgentOptions = { ...given, memory };
  const { now = Date.now, state = new Map<string, unknown>() } = options;
  const newId = () => randomUUID().slice(0, 8);
  const slot = createRunSlot(newId, () => conversation.flushDeferred());
  const toolbox = createToolbox(options.tools, { hasSkills: (options.skillFolders ?? []).length > 0 });
  const traces = createTraces();
  const telemetry = options.observability && createTelemetry(options.observability);
  const host = createWorkerHost(options);
  let values = options.toolContext ?? {};
  let checkpoint: string | undefined;

  const emitter = createEmitter({
    now,
    redactor: surroundings.redactor,
    sinks: [
      traces.sink,
      slot.sink,
      ...(telemetry ? [telemetry.sink] : []),
      ...(options.onEvent ? [options.onEvent] : []),
    ],
  });
  const conversation = createConversation({
    ...(options.memory && { memory: options.memory }),
    ...(options.systemPrompt !== undefined && { systemPrompt: options.systemPrompt }),
    isLoadedSkill: host.isLoadedSkill,
    onContext: emitter.forRun({ runId: 'session', worker: 'agent' }),
  });
  const parts: AgentParts = {
    options,
    surroundings,
    conversation,
    host,
    emitter,
    checkpoints: options.checkpoints && createCheckpoints({ ...options.checkpoints, now }),
    state,
    costOf: costOfAgent(options, surroundings.costOf),
    sessionRules: [],
    newId,
    now,
    onCheckpoint: (token) => {
      checkpoint = token;
    },
  };

  async function endTools(tools: readonly Tool[]): Promise<void> {
    const tell = emitter.forRun({ runId: 'session', worker: AGENT_WORKER });
    for (const text of await closeTools(tools)) tell({ type: 'notice', level: 'info', code: 'tool-ended', text });
  }

  function begin(task: string, ask: AskOptions, typed?: AnswerForm): RunHandle {
    checkAskOptions(task, ask);
    if (slot.active() !== undefined) throw new RejectedError('busy', 'A run is under way. Wait for it, or cancel it.');
    if (task.trim() === '' && ask.checkpoint === undefined) throw new RejectedError('no-task', 'There is no task.');
    const start: Omit<RunStart, 'form'> = {
      task,
      ask,
      systemPrompt: conversation.systemPrompt(),
      ...toolbox.select(ask),
      values: { ...values, ...ask.toolContext },
    };
    return slot.start(newId(), ask.signal, async (run) => {
      try {
        const form = typed ?? (ask.raw === true ? undefined : await formOf(options.output));
        return await runAgent(parts, { ...start, form }, run);
      } catch (thrown) {
        // It could not start: a folder, a schema or a checkpoint of no use.
        return notStarted(parts, start, run, thrown);
      } finally {
        // Nothing of what a run brought along outlives it.
        if (ask.tools !== undefined) await endTools(ask.tools.filter((tool) => !toolbox.list().includes(tool)));
      }
    });
  }

  async function* stream(task: string, ask: AskOptions = {}): AsyncGenerator<StreamChunk, void, undefined> {
    const handle = begin(task, ask);
    for await (const event of handle.events) yield* chunksOf(event);
    yield lastChunk(await handle.result);
  }

  async function runTyped<Schema extends z.core.$ZodType>(
    schema: Schema,
    task: string,
    ask: AskOptions = {},
  ): Promise<z.output<Schema>> {
    const form = await answerCheckOf(schema);
    const outcome = await begin(task, ask, form).result;
    const typed = await typedValue(outcome, form, options.limits?.maxOutputRetries);
    if (typed === undefined) throw new RunEndedError(outcome);
    return typed.value;
  }

  return {
    ask: (task, ask = {}) => begin(task, ask),
    run: async (task, ask = {}) => begin(task, ask).result,
    stream,
    runTyped,
    steer: (text, steerOptions) => slot.push('steer', text, steerOptions),
    inject: (text, steerOptions) => slot.push('inject', text, steerOptions),
    cancel: slot.cancel,
    registerTool: toolbox.register,
    unregisterTool: toolbox.unregister,
    listTools: toolbox.list,
    setSystemPrompt: conversation.setSystemPrompt,
    setToolContext: (replacement) => {
      values = replacement;
    },
    contextOp: (op: ContextOp) => (slot.active() === undefined ? conversation.apply(op) : conversation.defer(op)),
    messages: conversation.messages,
    state,
    checkpoint: () => checkpoint,
    skillDiagnostics: host.diagnostics,
    destroyWorker: (reason) => {
      host.destroy();
      slot.fail(reason);
    },
    workerStarts: host.starts,
    close: async () => {
      slot.cancel({ reason: 'closed' });
      await slot.idle();
      await endTools(toolbox.list());
    },
    traces: traces.of,
    runs: traces.runs,
  };
}

async function formOf(output: AgentOptions['output']): Promise<AnswerForm | undefined> {
  if (output === undefined) return undefined;
  return '_zod' in output ? answerCheckOf(output as z.core.$ZodType) : answerCheckOf(output);
}
