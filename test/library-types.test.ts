import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const INDEX = resolve('src/index.ts');
const isOurs = (file: string) => file.startsWith(resolve('src'));

/** Names of our types that stand in a public signature, and that nobody outside can write down. */
function unnamed(): readonly string[] {
  const { config } = ts.readConfigFile('tsconfig.json', ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, resolve('.'));
  const program = ts.createProgram([INDEX, resolve('src/markdown.d.ts')], options);
  const checker = program.getTypeChecker();
  const real = (symbol: ts.Symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol);
  const source = program.getSourceFile(INDEX);
  const module = source && checker.getSymbolAtLocation(source);
  if (module === undefined) throw new Error('src/index.ts is no module');
  const direct = checker.getExportsOfModule(module).map(real);
  const within = direct.filter(({ flags }) => flags & ts.SymbolFlags.ValueModule);
  const exported = new Set([...direct, ...within.flatMap((each) => checker.getExportsOfModule(each).map(real))]);

  const missing = new Set<string>();
  const seen = new Set<ts.Symbol>();
  function see(symbol: ts.Symbol): void {
    if (seen.has(symbol)) return;
    seen.add(symbol);
    for (const declaration of symbol.declarations ?? []) {
      if (isOurs(declaration.getSourceFile().fileName) && !ts.isSourceFile(declaration)) walk(declaration);
    }
  }
  /** Looks at what a declaration file would say: no bodies, no values, nothing private. */
  function walk(node: ts.Node): void {
    const isHidden =
      ts.canHaveModifiers(node) && node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword);
    if (isHidden || ts.isBlock(node)) return;
    if (ts.isVariableDeclaration(node)) {
      if (node.type) walk(node.type);
      return;
    }
    if (ts.isTypeReferenceNode(node)) {
      const found = checker.getSymbolAtLocation(node.typeName);
      const symbol = found && real(found);
      const [declaration] = symbol?.declarations ?? [];
      if (
        symbol &&
        declaration &&
        isOurs(declaration.getSourceFile().fileName) &&
        !ts.isTypeParameterDeclaration(declaration)
      ) {
        if (!exported.has(symbol)) missing.add(symbol.name);
        see(symbol);
      }
    }
    ts.forEachChild(node, walk);
  }
  for (const symbol of exported) see(symbol);
  return [...missing].sort();
}

/** Exports what it gets without saying its types, as code with declarations does. */
const CONSUMER = `
import { answerCheckOf, createAgent, createTelemetry, createTools, defineTool, FakeProvider, observe, openaiChat, start, windowMemory, withRetry } from 'chatcli';
import type { AgentOptions, ApprovalAnswer, ApprovalQuestion, BudgetLimits, CheckpointProblem, RoundExecutor, Subject, Trace } from 'chatcli';
import * as z from 'zod';

const name: string | undefined = process.env.NAME;
export const provider = withRetry(openaiChat({ name: 'openai', baseUrl: 'http://127.0.0.1/v1', apiKey: name }), {});
export const clock = defineTool({
  name: 'clock',
  doc: 'd',
  permission: 'read',
  concurrency: 'parallel',
  schema: z.object({ city: z.string() }),
  subjects: ({ city }): readonly Subject[] => [{ kind: 'path', path: city }],
  run: async ({ city }, { callId, workspace }) => ({ ok: true, output: city + callId + workspace.root, code: name }),
});
export const limits: BudgetLimits = { maxTokens: undefined };
export const approve = async (question: ApprovalQuestion): Promise<ApprovalAnswer> => (question.rule ? 'session' : 'no');
export const options: AgentOptions = { provider, model: name, systemPrompt: name, limits: { ...limits, maxTurns: 3 }, approve, memory: undefined };
export const agent = createAgent({ ...options, tools: [clock, ...createTools().values()], output: z.object({ a: z.string() }) });
export const { ask, runTyped, skillDiagnostics, traces } = agent;
export const handle = () => agent.ask('x', { signal: undefined, maxTokens: undefined });
export const diagnostics = () => agent.skillDiagnostics();
export const trace = (id: string): Trace | undefined => agent.traces(id);
export const form = () => answerCheckOf(z.object({ a: z.string() }));
export const telemetry = createTelemetry(() => undefined);
export const step = start([{ role: 'user', content: 'x' }], { maxTurns: 3 });
export const next = () => observe(step.state, { kind: 'stop', reason: 'failed' });
export const memory = windowMemory({ maxTokens: undefined });
export const script = FakeProvider([{ text: 'x' }]);
export const executor: RoundExecutor = async function* (calls, run) { for (const call of calls) yield run(call); };
export const problem: CheckpointProblem = 'expired';
export const value = async (): Promise<string> => (await agent.runTyped(z.object({ a: z.string() }), 'x')).a;
agent.contextOp({ opId: '1', type: 'switch', lane: name });
`;

const RESOLUTIONS: readonly (readonly [string, ts.CompilerOptions])[] = [
  ['node16', { module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16 }],
  ['bundler', { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler }],
];

// The compiler has much to read, and may have to share the machine.
describe('the types of the library', { timeout: 120_000 }, () => {
  let project: string;
  beforeAll(() => {
    project = mkdtempSync(join(tmpdir(), 'chatcli-consumer-'));
    mkdirSync(join(project, 'node_modules/@types'), { recursive: true });
    symlinkSync(resolve('.'), join(project, 'node_modules/chatcli'));
    for (const each of ['zod', '@types/node'])
      symlinkSync(resolve('node_modules', each), join(project, 'node_modules', each));
    writeFileSync(join(project, 'package.json'), '{"type":"module"}');
    writeFileSync(join(project, 'consumer.ts'), CONSUMER);
  });
  afterAll(() => rmSync(project, { recursive: true, force: true }));

  it('that stand in its signatures are all exported', () => {
    expect(unnamed()).toEqual([]);
  });

  it.each(RESOLUTIONS)(
    'compile, with declarations and the strictest checks, in a project with %s resolution',
    (_, resolution) => {
      const program = ts.createProgram([join(project, 'consumer.ts')], {
        ...resolution,
        target: ts.ScriptTarget.ES2022,
        lib: ['lib.es2023.d.ts'],
        types: ['node'],
        typeRoots: [join(project, 'node_modules/@types')],
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        allowJs: true,
        checkJs: true,
        declaration: true,
        outDir: join(project, 'out'),
      });
      const emitted = program.emit(undefined, () => undefined, undefined, true);
      // The consumer and our declarations; those of Node and zod are others' business.
      const checked = program
        .getSourceFiles()
        .filter(({ fileName }) => fileName.startsWith(project) || fileName.startsWith(resolve('dist/types')));
      expect(checked.length).toBeGreaterThan(20);
      const faults = checked.flatMap((file) => program.getSemanticDiagnostics(file));
      const found = [...program.getOptionsDiagnostics(), ...faults, ...emitted.diagnostics];
      const lines = found.map(
        ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
      );
      expect(lines).toEqual([]);
    },
  );
});
