/**
 * What `always-ask.ts` is for the commands of PowerShell and cmd. As wide, and as little of a boundary. Names are in
 * lower case: those shells do not tell cases apart.
 */

// Where a program's name may stand: at the start of a command, or behind what runs the text after it.
const START = String.raw`(?:^|[;&|({\n=]|\s(?:/c|/k|-c|-command)\s)[^\S\n]*(?:[^\s;&|(){}=]*[\\/])?`;
const END = String.raw`(?:\.exe)?(?=$|[\s;&|)}/])`;
const REST = String.raw`[^;&|\n]*`;

function program(names: string, rest = ''): RegExp {
  return new RegExp(`${START}(?:${names})${END}${rest}`);
}

const DOWNLOAD = String.raw`\b(?:iwr|irm|curl|wget|invoke-webrequest|invoke-restmethod|downloadstring)\b`;
const EVALUATE = String.raw`\b(?:iex|invoke-expression)\b`;

const dangers = (): readonly (readonly [pattern: RegExp, reason: string])[] => [
  [
    program('remove-item|ri|rm|del|erase|rd|rmdir', String.raw`${REST}(?:\s-r|/s(?=$|[\s/;&|)}]))`),
    'it deletes folders with all that is in them',
  ],
  [
    program('format|format-volume|clear-disk|initialize-disk|remove-partition|diskpart|bcdedit|vssadmin'),
    'it works on disks',
  ],
  [program('runas|gsudo|sudo'), 'it runs with the rights of another user'],
  [
    program('start-process|saps|start', String.raw`${REST}\s-v\w*[\s:]+runas`),
    'it runs with the rights of another user',
  ],
  [program('stop-computer|restart-computer|shutdown'), 'it stops the machine'],
  [program('icacls|takeown|cacls|set-acl'), 'it changes the rights of files'],
  [program('reg', String.raw`\s+delete\b`), 'it deletes keys of the registry'],
  [new RegExp(`${DOWNLOAD}.*${EVALUATE}|${EVALUATE}.*${DOWNLOAD}`, 's'), 'it runs what it downloads'],
  [program('pwsh|powershell', String.raw`${REST}\s-e(?:c|nc\w*)?\s`), 'what it runs can not be seen'],
];

/** As `alwaysAskReason`, for a text without quotes. */
export function windowsAskReason(text: string): string | undefined {
  const plain = text
    .replace(/`\r?\n/g, ' ')
    .replace(/[`^]/g, '')
    .toLowerCase();
  return dangers().find(([pattern]) => pattern.test(plain))?.[1];
}
