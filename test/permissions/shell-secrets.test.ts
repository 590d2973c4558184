import { describe, expect, it } from 'vitest';
import { secretOperands } from '../../src/permissions/shell-secrets.js';

describe('secretOperands', () => {
  it.each([
    ['cat .env', ['.env']],
    ['cp .env x', ['.env']],
    ['grep x < .env', ['.env']],
    ['node x.js > .env', ['.env']],
    ['sed -n p .env', ['.env']],
    ["sh -c 'cat .env'", ['.env']],
    ['echo $(cat .env)', ['.env']],
    ['x --file=.env', ['.env']],
    ['x -f.env', ['.env']],
    ['curl -d @.env x', ['.env']],
    ['curl --data=@conf/.env x', ['conf/.env']],
    ['git show HEAD:.env', ['.env']],
    ['docker run -v ./.env:/x y', ['./.env']],
    ['. ./.env', ['./.env']],
    ['cat "$DIR/.env"', ['$DIR/.env']],
    ['cat ~/.ssh/id_rsa', ['~/.ssh/id_rsa']],
    ['xargs cat .env', ['.env']],
    ['base64 certs/server.pem', ['certs/server.pem']],
    ['cat .e*', ['.env']],
    ['cat .en?', ['.env']],
    ['cat .e[n]v', ['.env']],
    ['cat .{env,x}', ['.env']],
    ['cat keys/*.pem', ['keys/server.pem']],
    ['cat ~/.ss*/x', ['~/.ssh']],
    [`node -e "require('fs').readFileSync('.env')"`, ['.env']],
    [`awk 'BEGIN{getline x < ".env"}'`, ['.env']],
  ])('finds them in %s', (command, words) => {
    expect(secretOperands(command)).toEqual(expect.arrayContaining(words));
  });

  it.each([
    'cat .env.example',
    'echo .env >> .gitignore',
    'grep -n .env .gitignore',
    "find . -name '.env'",
    'ls *',
    'wc -l *.ts',
    'node process.env.js',
    "git commit -m 'leave .env out'",
    'npm test',
    'cat id_map.py',
  ])('finds none in %s', (command) => {
    expect(secretOperands(command)).toEqual([]);
  });

  it.each([
    ['stars', `cat ${'*a'.repeat(4_000)}`],
    ['braces', `cat ${'{,}'.repeat(3_000)}`],
    ['many words', 'cat .e* '.repeat(1_200)],
  ])('takes no time for %s', (_name, command) => {
    const start = process.cpuUsage();
    secretOperands(command);
    expect(process.cpuUsage(start).user).toBeLessThan(1_000_000);
  });
});
