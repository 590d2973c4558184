import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findSandbox } from '../../src/tools/shell/sandbox.js';
import { bubblewrapArguments } from '../../src/tools/shell/sandbox-bubblewrap.js';
import { seatbeltProfile } from '../../src/tools/shell/sandbox-macos.js';
import { scanForSandbox } from '../../src/tools/shell/sandbox-scan.js';
import { EMPTY_POLICY, joined, type SandboxPolicy } from '../../src/tools/shell/sandbox-types.js';
import { sandboxAdvice, sandboxHint } from '../../src/tools/shell/sandbox-words.js';
import { tempFolder } from './bench.js';

const POLICY: SandboxPolicy = joined({
  writable: ['/w'],
  hidden: ['/home/u'],
  readable: ['/home/u/.nvm'],
  anchored: ['/w/.git/modules', '/w/.git'],
  readOnly: ['/w/.git/hooks', '/w/.git/config'],
  masked: ['/w/.env'],
  maskedFolders: ['/w/.aws'],
  missing: [{ path: '/w/.chatcli', kind: 'folder' }],
  links: [{ path: '/w/.idea', target: 'x' }],
  shown: ['/w/.env.public'],
});

describe('the arguments for bubblewrap', () => {
  it('cover from the whole to the part: root, hidden, readable, workspace, what stays, what is masked, where to start', () => {
    expect(bubblewrapArguments({ policy: POLICY, network: false, cwd: '/w/in' }).join(' ')).toBe(
      [
        '--unshare-all --unshare-user --disable-userns --cap-drop ALL --die-with-parent --new-session',
        '--ro-bind / / --dev /dev --proc /proc',
        '--tmpfs /home/u --tmpfs /run --tmpfs /tmp --tmpfs /var/tmp',
        '--ro-bind /home/u/.nvm /home/u/.nvm',
        '--bind /w /w --bind /w/.git /w/.git --bind /w/.git/modules /w/.git/modules',
        '--ro-bind /w/.chatcli /w/.chatcli --ro-bind /w/.git/config /w/.git/config --ro-bind /w/.git/hooks /w/.git/hooks',
        '--tmpfs /w/.aws --remount-ro /w/.aws',
        '--ro-bind /dev/null /w/.env',
        '--ro-bind /w/.env.public /w/.env.public',
        '--chdir /w/in --',
      ].join(' '),
    );
  });

  it('differ with the network in one word', () => {
    const [without, having] = [false, true].map((network) =>
      bubblewrapArguments({ policy: POLICY, network, cwd: '/' }),
    );
    expect(having?.filter((word) => !without?.includes(word))).toEqual(['--share-net']);
  });
});

/** Only the text: there is no macOS here to run it on. */
describe('the profile for sandbox-exec', () => {
  it('holds the same policy, from the whole to the part', () => {
    const lines = seatbeltProfile({ policy: POLICY, network: false }).split('\n');
    expect(lines).toEqual([
      '(version 1)',
      '(allow default)',
      '(deny file-write*)',
      expect.stringMatching(/^\(allow file-write\* \(literal "\/dev\/null"\).*\(subpath "\/private\/tmp"\)/),
      '(deny file-read* file-write* (subpath "/home/u"))',
      '(allow file-read-metadata (subpath "/home/u"))',
      '(allow file-read* (subpath "/home/u/.nvm"))',
      '(allow file-read* file-write* (subpath "/w"))',
      '(deny file-write-unlink (literal "/w/.git/modules") (literal "/w/.git"))',
      '(deny file-write* (subpath "/w/.git/hooks") (subpath "/w/.git/config") (subpath "/w/.chatcli") (subpath "/w/.idea"))',
      '(deny file-read* file-write* (subpath "/w/.env") (subpath "/w/.aws"))',
      '(allow file-read* (subpath "/w/.env.public"))',
      '(deny network*)',
      '(deny process-info* (target others))',
      '(deny mach-register)',
      '(deny appleevent-send)',
    ]);
  });

  it('leaves the network where the user does, and quotes what would end a text', () => {
    const policy = joined(EMPTY_POLICY, { writable: ['/a "b"\\c'] });
    const profile = seatbeltProfile({ policy, network: true });
    expect(profile).not.toContain('network');
    expect(profile).toContain('(subpath "/a \\"b\\"\\\\c")');
  });
});

describe('looking through a workspace', () => {
  it('finds files and folders of secrets, but not in node_modules and .git, and stops at its limit', async () => {
    const root = await tempFolder();
    const files = [
      '.env',
      'a/.env.local',
      'a/key.pem',
      '.env.example',
      'id_map.py',
      '.aws/config',
      'node_modules/p/.env',
      '.git/x.pem',
      '.vscode/x',
      'a/.git/HEAD',
      'a/.git/y/.vscode/x',
      'b/.envrc',
      'b/.vscode/.npmrc',
      'node_modules/p/.vscode/x',
      ...['HEAD', 'objects/x', 'refs/x'].map((name) => `c/${name}`),
    ];
    for (const file of files) {
      mkdirSync(join(root, file, '..'), { recursive: true });
      writeFileSync(join(root, file), '');
    }
    const scan = await scanForSandbox([root]);
    const below = (paths: readonly string[]) => paths.map((path) => path.slice(root.length + 1)).toSorted();
    const { secrets, nested, bare } = scan;
    expect({ ...scan, secrets: below(secrets), nested: below(nested), bare: below(bare) }).toEqual({
      hardLinks: [],
      secrets: ['.aws', '.env', 'a/.env.local', 'a/key.pem', 'b/.vscode/.npmrc'],
      nested: ['a/.git', 'b/.envrc', 'b/.vscode'],
      bare: ['c'],
      isWhole: true,
      areNestedWhole: true,
    });
    expect((await scanForSandbox([root], 3)).isWhole).toBe(false);
  });

  it('comes to what the project itself holds before what was installed', async () => {
    const root = await tempFolder();
    for (let n = 0; n < 20; n++) mkdirSync(join(root, 'node_modules', `p${n}`), { recursive: true });
    mkdirSync(join(root, 'packages/one/deep/.git'), { recursive: true });
    const scan = await scanForSandbox([root], 10);
    expect([scan.isWhole, scan.nested]).toEqual([false, [join(root, 'packages/one/deep/.git')]]);
  });
});

const BOX = { name: 'bubblewrap', hasNetwork: false, enter: () => Promise.reject(new Error('not run')) };

describe('the words for a failure', () => {
  it.each([
    ['curl: (6) Could not resolve host: example.com', 'no network'],
    ['npm error getaddrinfo EAI_AGAIN registry.npmjs.org', 'no network'],
    ['connect: Network is unreachable', 'no network'],
    ["touch: cannot touch '/etc/x': Read-only file system", 'only the workspace can be written'],
    ["mv: cannot move '.git' to 'x': Device or resource busy", 'only the workspace can be written'],
    ['cat: .env: Permission denied', 'hold secrets'],
    ['make: *** No rule to make target', undefined],
    ['cat: other: Permission denied', undefined],
  ])('%s: %s', (output, expected) => {
    const hint = sandboxHint(BOX, { output, exitCode: 1 });
    expect(hint).toEqual(expected === undefined ? undefined : expect.stringContaining(expected));
    expect(sandboxHint(BOX, { output, exitCode: 0 })).toBeUndefined();
  });

  it('do not speak of the network where there is one', () => {
    const open = { ...BOX, hasNetwork: true };
    expect(sandboxHint(open, { output: 'Could not resolve host: x', exitCode: 6 })).toBeUndefined();
    expect([sandboxAdvice(open), sandboxAdvice(BOX)].map((text) => text.includes('network'))).toEqual([false, true]);
  });
});

it('is said to be missing on a system that has none', async () => {
  expect(await findSandbox(undefined, 'win32')).toMatchObject({ file: undefined, problem: 'there is none for win32' });
});
