import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadSkills, readSkillBody, type SkillFolder, skillFolders, skillIndex } from '../../src/context/skills.js';
import { createLoadSkillTool } from '../../src/tools/load-skill/tool.js';
import type { ToolContext } from '../../src/tools/types.js';

let top: string;

beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'chatcli-skills-')));
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const put = (path: string, text: string) => {
  mkdirSync(dirname(join(top, path)), { recursive: true });
  writeFileSync(join(top, path), text);
};
const page = (name: string, more = '', body = 'Do it so.') =>
  `---\nname: ${name}\ndescription: When to use ${name}.\n${more}---\n\n${body}\n`;
const skill = (folder: string, ...more: readonly string[]) => {
  const name = folder.split('/').at(-1) ?? '';
  put(`${folder}/SKILL.md`, page(name, ...more));
};
const project = (): readonly SkillFolder[] => [
  { path: join(top, 'ws/.agents/skills'), scope: 'project', within: join(top, 'ws') },
];
const load = async (folders = project()) => {
  const { skills, diagnostics } = await loadSkills(folders);
  return {
    names: skills.map(({ name }) => name),
    problems: diagnostics.map(({ type, severity }) => `${severity} ${type}`),
    skills,
    diagnostics,
  };
};

describe('the folders of skills', () => {
  it('are three of the project and three of the user, and never ~/.chatcli', () => {
    const folders = skillFolders({ root: '/ws', home: '/home/me', config: '/home/me/.config/chatcli' });
    expect(folders.map(({ path, scope }) => `${scope} ${path}`)).toEqual([
      'project /ws/.agents/skills',
      'project /ws/.chatcli/skills',
      'project /ws/.claude/skills',
      'user /home/me/.agents/skills',
      'user /home/me/.config/chatcli/skills',
      'user /home/me/.claude/skills',
    ]);
    const atHome = skillFolders({ root: '/home/me', home: '/home/me', config: '/c' });
    expect(atHome.map(({ path }) => path)).not.toContain('/home/me/.chatcli/skills');
  });

  it('are read only where they are trusted', async () => {
    skill('ws/.agents/skills/one');
    expect(await loadSkills([])).toEqual({ skills: [], diagnostics: [] });
    expect((await load()).names).toEqual(['one']);
  });

  it('may be missing', async () => {
    expect(await load()).toMatchObject({ names: [], problems: [] });
  });

  it('are looked through below, but not in .git, node_modules and a skill itself', async () => {
    skill('ws/.agents/skills/group/two');
    skill('ws/.agents/skills/.git/three');
    skill('ws/.agents/skills/node_modules/four');
    skill('ws/.agents/skills/one');
    skill('ws/.agents/skills/one/five');
    expect((await load()).names).toEqual(['one', 'two']);
  });

  it('are looked through six levels deep', async () => {
    skill('ws/.agents/skills/1/2/3/4/5/six');
    skill('ws/.agents/skills/1/2/3/4/5/6/seven');
    expect(await load()).toMatchObject({ names: ['six'], problems: ['medium scan-limit'] });
  });

  it('are looked through up to 2,000 folders each, so that a full one does not hide the next', async () => {
    for (let index = 0; index < 2_010; index += 1)
      mkdirSync(join(top, `ws/.agents/skills/f${index}`), { recursive: true });
    skill('home/.agents/skills/one');
    const { names, diagnostics } = await load([
      ...project(),
      { path: join(top, 'home/.agents/skills'), scope: 'user' },
    ]);
    expect(names).toEqual(['one']);
    expect(diagnostics).toMatchObject([{ file: join(top, 'ws/.agents/skills'), type: 'scan-limit' }]);
  });

  it('that somebody named and that are not there are told', async () => {
    const path = join(top, 'no-such-folder');
    expect(await load([{ path, scope: 'user', isNamed: true }])).toMatchObject({
      names: [],
      diagnostics: [{ file: path, type: 'missing-folder', severity: 'medium' }],
    });
  });

  it('bring in nothing by links that lead out, and end in circles', async () => {
    put('elsewhere/out/SKILL.md', page('out'));
    skill('ws/.agents/skills/one');
    symlinkSync(join(top, 'elsewhere/out'), join(top, 'ws/.agents/skills/out'));
    symlinkSync(join(top, 'ws/.agents/skills'), join(top, 'ws/.agents/skills/one/again'));
    mkdirSync(join(top, 'ws/.agents/skills/page'));
    symlinkSync(join(top, 'elsewhere/out/SKILL.md'), join(top, 'ws/.agents/skills/page/SKILL.md'));
    expect(await load()).toMatchObject({ names: ['one'], problems: ['medium leads-out', 'medium leads-out'] });
  });

  it('of a project may not be links out of the project', async () => {
    put('elsewhere/out/SKILL.md', page('out'));
    mkdirSync(join(top, 'ws/.agents'), { recursive: true });
    symlinkSync(join(top, 'elsewhere'), join(top, 'ws/.agents/skills'));
    expect(await load()).toMatchObject({ names: [], problems: ['medium leads-out'] });
    expect((await load([{ path: join(top, 'ws/.agents/skills'), scope: 'user' }])).names).toEqual(['out']);
  });

  it('that are one and the same are read once', async () => {
    skill('ws/.agents/skills/one');
    mkdirSync(join(top, 'ws/.claude'));
    symlinkSync('../.agents/skills', join(top, 'ws/.claude/skills'));
    const both = [
      ...project(),
      { path: join(top, 'ws/.claude/skills'), scope: 'project', within: join(top, 'ws') },
    ] as const;
    expect(await load(both)).toMatchObject({ names: ['one'], problems: [] });
  });

  it.runIf(process.platform !== 'win32')('do not hang on a FIFO', async () => {
    mkdirSync(join(top, 'ws/.agents/skills/pipe'), { recursive: true });
    execFileSync('mkfifo', [join(top, 'ws/.agents/skills/pipe/SKILL.md')]);
    expect(await load()).toMatchObject({ names: [], problems: ['high unreadable'] });
  });
});

describe('of two skills with one name', () => {
  it('the first counts, and the other is told', async () => {
    skill('ws/.agents/skills/one');
    skill('home/.agents/skills/one');
    const { skills, diagnostics } = await load([
      ...project(),
      { path: join(top, 'home/.agents/skills'), scope: 'user' },
    ]);
    expect(skills.map(({ scope }) => scope)).toEqual(['project']);
    expect(diagnostics).toEqual([
      {
        file: join(top, 'home/.agents/skills/one/SKILL.md'),
        type: 'shadowed',
        message: expect.stringContaining(join(top, 'ws/.agents/skills/one/SKILL.md')),
        severity: 'medium',
      },
    ]);
  });
});

describe('a page', () => {
  it.each([
    ['without front matter', 'Just text.', 'missing-front-matter'],
    ['with text before it', 'Text.\n---\nname: one\n---\n', 'missing-front-matter'],
    ['with front matter that has no end', '---\nname: one\ndescription: d\n', 'unclosed-front-matter'],
    ['with one line "---"', '---', 'unclosed-front-matter'],
    [
      'with front matter of more than 64 KiB',
      `---\nname: one\nmore: ${'x'.repeat(70_000)}\n---\n`,
      'front-matter-too-long',
    ],
    ['with empty front matter', '---\n---\nBody.\n', 'invalid-front-matter'],
    ['with broken YAML', '---\nname: [\n---\n', 'invalid-front-matter'],
    ['with a list for front matter', '---\n- a\n---\n', 'invalid-front-matter'],
    ['with aliases', '---\nname: &a one\ndescription: *a\n---\n', 'invalid-front-matter'],
    ['without a name', '---\ndescription: d\n---\n', 'missing-name'],
    ['with a number for a name', '---\nname: 1\ndescription: d\n---\n', 'invalid-name-type'],
    ['with a name in capitals', '---\nname: One\ndescription: d\n---\n', 'invalid-name-format'],
    ['with a name that is too long', `---\nname: ${'a'.repeat(65)}\ndescription: d\n---\n`, 'invalid-name-format'],
    ["with another name than its folder's", '---\nname: two\ndescription: d\n---\n', 'name-mismatch'],
    ['without a description', '---\nname: one\n---\n', 'missing-description'],
    ['with a list for a description', '---\nname: one\ndescription: [a]\n---\n', 'invalid-description-type'],
    ['with a blank description', '---\nname: one\ndescription: "  "\n---\n', 'blank-description'],
    ['with a long description', `---\nname: one\ndescription: ${'d'.repeat(1_025)}\n---\n`, 'description-too-long'],
  ])('%s is no skill, which is told, and the others are', async (_, text, type) => {
    put('ws/.agents/skills/one/SKILL.md', text);
    skill('ws/.agents/skills/good');
    const { names, diagnostics } = await load();
    expect(names).toEqual(['good']);
    expect(diagnostics).toEqual([
      { file: join(top, 'ws/.agents/skills/one/SKILL.md'), type, message: expect.any(String), severity: 'high' },
    ]);
  });

  it.each([
    ['compatibility-too-long', `compatibility: ${'c'.repeat(501)}\n`],
    ['invalid-metadata-type', 'metadata: text\n'],
    ['invalid-metadata-entries', 'metadata: { version: 1 }\n'],
    ['invalid-allowed-tools-type', 'allowed-tools: 7\n'],
  ])('with %s can be used all the same', async (type, more) => {
    skill('ws/.agents/skills/one', more);
    expect(await load()).toMatchObject({ names: ['one'], problems: [`low ${type}`] });
  });

  it('may have CRLF, a byte order mark and a long description on several lines', async () => {
    put('ws/.agents/skills/one/SKILL.md', '\uFEFF---\r\nname: one\r\ndescription: >\r\n  a\r\n  b\r\n---\r\nBody.\r\n');
    const [one] = (await load()).skills;
    expect(one).toMatchObject({ name: 'one', description: 'a b' });
    expect(one && (await readSkillBody(one))).toMatchObject({ text: 'Body.', isCut: false });
  });
});

describe('what the model gets', () => {
  it('is one line a skill, and bounded', async () => {
    skill('ws/.agents/skills/one');
    const { skills } = await load();
    expect(skillIndex(skills).split('\n')).toEqual([expect.stringContaining('load_skill'), '- one: When to use one.']);
    expect(skillIndex([])).toBe('');
    const [one] = skills;
    const many = Array.from({ length: 500 }, (_, index) => ({
      ...one!,
      name: `s${index}`,
      description: 'd'.repeat(1_000),
    }));
    expect(skillIndex(many).length).toBeLessThan(17_000);
    expect(skillIndex(many)).toContain('(484 more do not fit here.)');
  });

  it('is the body, on demand, as it is then', async () => {
    skill('ws/.agents/skills/one');
    const [one] = (await load()).skills;
    put('ws/.agents/skills/one/SKILL.md', page('one', '', 'Changed.'));
    expect(await readSkillBody(one!)).toEqual({
      text: 'Changed.',
      isCut: false,
      folder: join(top, 'ws/.agents/skills/one'),
    });
    put('ws/.agents/skills/one/SKILL.md', page('one', '', 'é'.repeat(40_000)));
    const body = await readSkillBody(one!);
    expect(body?.isCut).toBe(true);
    expect(Buffer.byteLength(body?.text ?? '')).toBe(28 * 1024);
    rmSync(join(top, 'ws/.agents/skills/one'), { recursive: true });
    expect(await readSkillBody(one!)).toBeUndefined();
  });

  it('comes through load_skill, which knows no other names', async () => {
    skill('ws/.agents/skills/one');
    const { skills } = await load();
    const byName = new Map(skills.map((each) => [each.name, each]));
    const tool = createLoadSkillTool({
      names: [...byName.keys()],
      read: async (name) => {
        const found = byName.get(name);
        return found && readSkillBody(found);
      },
    });
    const run = (name: string) => tool.run({ name }, {} as ToolContext);
    expect(await run('one')).toMatchObject({ ok: true, output: expect.stringContaining('Do it so.') });
    expect(await run('../one')).toMatchObject({
      ok: false,
      code: 'unknown-skill',
      output: expect.stringContaining('one.'),
    });
    rmSync(join(top, 'ws'), { recursive: true });
    expect(await run('one')).toMatchObject({ ok: false, code: 'unreadable' });
  });
});
