import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isProtectedPath } from '../../src/permissions/protected-paths.js';
import { nearestRealPath } from '../../src/permissions/real-path.js';
import { isSecretFile } from '../../src/permissions/secret-files.js';

describe('isSecretFile', () => {
  it.each([
    '.env',
    'sub/.env',
    './sub//.env',
    '.ENV',
    '.env.local',
    '.env.production',
    '.env~',
    '.env ',
    'server.pem~',
    'certs/server.pem',
    'server.PEM',
    'id_rsa',
    'id_ed25519',
    'id_ecdsa_sk',
    'id_rsa.bak',
    'keys/id_deploy',
    '/home/me/.ssh/config',
    '/home/me/.aws/credentials',
    '/home/me/.gnupg/pubring.kbx',
    '/home/me/.config/gh/hosts.yml',
    '/home/me/.netrc',
    '/home/me/.npmrc',
    '/proc/self/environ',
    '/proc/1/cmdline',
    '.e\u200bnv',
    'sub\\.env',
  ])('knows %j', (path) => {
    expect(isSecretFile(path)).toBe(true);
  });

  it.each([
    '.env.example',
    'env',
    'src/environment.ts',
    'id_rsa.pub',
    'src/id_map.py',
    'pem.ts',
    '.envrc',
    'proc/x',
    'src',
    '',
  ])('lets %j be', (path) => {
    expect(isSecretFile(path)).toBe(false);
  });
});

describe('isProtectedPath', () => {
  it.each([
    '.git/hooks/pre-commit',
    '.git',
    'sub/.git/config',
    '.GIT/config',
    '.g\u200cit/config',
    '.git./config',
    'git~1/config',
    '.chatcli/settings.json',
    '.claude/agents/x.md',
    '.agents/x',
    '.mcp.json',
    'sub/.mcp.json',
    '.vscode/tasks.json',
    '.idea/x.xml',
    '.husky/pre-push',
    '.envrc',
    '.npmrc',
    '.gitmodules',
    '.CURSOR/mcp.json',
    'sub/.devcontainer/devcontainer.json',
    '.yarnrc.yml',
    '.exrc',
    '.bashrc',
    '.zprofile',
  ])('knows %j', (path) => {
    expect(isProtectedPath(path)).toBe(true);
  });

  it.each(['.github/workflows/ci.yml', '.gitignore', 'src/git/config.ts', 'docs/.gitkeep', 'mcp.json', 'README.md'])(
    'lets %j be',
    (path) => {
      expect(isProtectedPath(path)).toBe(false);
    },
  );
});

describe('nearestRealPath', () => {
  it('follows links, also of a parent, as far as the path exists', () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'real-')));
    mkdirSync(join(folder, 'there'));
    writeFileSync(join(folder, 'there', 'file'), '');
    symlinkSync('there', join(folder, 'link'));
    try {
      expect(nearestRealPath(join(folder, 'link', 'file'))).toBe(join(folder, 'there', 'file'));
      expect(nearestRealPath(join(folder, 'link', 'new', 'deep'))).toBe(join(folder, 'there', 'new', 'deep'));
      expect(nearestRealPath(join(folder, 'absent'))).toBe(join(folder, 'absent'));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
