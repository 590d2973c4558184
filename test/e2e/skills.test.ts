import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { calls, says } from '../fixtures/model-server.js';
import { makePlace } from './place.js';
import { lastResult, toolsIn } from './reading.js';
import { chatcli, play } from './support.js';

const page = (name: string) => `---\nname: ${name}\ndescription: When to use ${name}.\n---\nBody.\n`;

describe('chatcli skills', () => {
  it("lists the user's skills with what is wrong, and names folders of the project without reading them", async () => {
    const place = makePlace({ '.agents/skills/theirs/SKILL.md': page('theirs') });
    const put = (path: string, text: string) => {
      mkdirSync(dirname(join(place.home, path)), { recursive: true });
      writeFileSync(join(place.home, path), text);
    };
    put('.agents/skills/mine/SKILL.md', page('mine'));
    put('.claude/skills/bad/SKILL.md', page('other'));
    put('.chatcli/skills/foreign/SKILL.md', page('foreign'));

    const { exitCode, stdout, stderr } = await chatcli(['skills'], { place });

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout.split('\n')).toEqual([
      'mine',
      '  When to use mine.',
      `  ${join(place.home, '.agents/skills/mine/SKILL.md')}`,
      '',
      `${join(place.root, '.agents/skills')}: not trusted, not loaded`,
      '',
      'Problems:',
      `  high name-mismatch: ${join(place.home, '.claude/skills/bad/SKILL.md')}`,
      '    Its name is "other", but its folder is called "bad".',
      '',
    ]);
  });

  it.skipIf(process.platform === 'win32')(
    'prints a name with line breaks and control characters on one line',
    async () => {
      const place = makePlace({});
      const folder = join(place.home, '.agents/skills/a\n  high forged: /etc/passwd\u001b[2J\n    By nobody.');
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'SKILL.md'), page('other'));

      const { stdout } = await chatcli(['skills'], { place });

      expect(stdout).not.toContain('\u001b');
      expect(stdout.split('\n').filter((line) => line.startsWith('  '))).toHaveLength(2);
      expect(stdout).toContain('\\u{a}  high forged');
    },
  );

  it('takes no words', async () => {
    const { exitCode, stdout, stderr } = await chatcli(['skills', 'mine']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain("too many arguments for 'skills'");
  });

  it('says so where there are none', async () => {
    expect(await chatcli(['skills'])).toMatchObject({ exitCode: 0, stdout: 'No skills.\n', stderr: '' });
  });

  it("offers the user's skills to every run by name, hands over a body on demand, and none of the project's", async () => {
    const place = makePlace({ '.agents/skills/theirs/SKILL.md': page('theirs') });
    const file = join(place.home, '.agents/skills/mine/SKILL.md');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, page('mine'));

    const run = await play([calls('load_skill', { name: 'mine' }), says('ok')], ['coder', 'x'], { place });

    const [first] = run.requests;
    expect(first?.body.messages[0].content).toContain('- mine: When to use mine.');
    expect(JSON.stringify(first?.body)).not.toContain('theirs');
    expect(toolsIn(first)).toContain('load_skill');
    expect(lastResult(run)).toContain('Body.');
  });
});
