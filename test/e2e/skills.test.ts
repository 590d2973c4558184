import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makePlace } from './place.js';
import { chatcli } from './support.js';

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

  it('says so where there are none', async () => {
    expect(await chatcli(['skills'])).toMatchObject({ exitCode: 0, stdout: 'No skills.\n', stderr: '' });
  });
});
