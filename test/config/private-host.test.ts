import { expect, it } from 'vitest';
import { isPrivateHost } from '../../src/config/private-host.js';

it.each([
  ['http://localhost:11434/v1', true],
  ['http://LOCALHOST', true],
  ['http://api.localhost', true],
  ['http://127.0.0.1:80', true],
  ['http://127.8.9.10', true],
  ['http://[::1]:8080/v1', true],
  ['http://0.0.0.0:8000', true],
  ['http://10.1.2.3', true],
  ['http://172.16.0.1', true],
  ['http://172.31.255.255', true],
  ['http://192.168.1.20:1234', true],
  ['http://169.254.1.1', true],
  ['http://100.64.0.1', true],
  ['http://[fd00::1]', true],
  ['http://[fe80::1]', true],
  ['http://ollama:11434', true],
  ['http://nas.local', true],
  ['http://host.docker.internal:11434', true],
  ['https://api.openai.com/v1', false],
  ['http://172.32.0.1', false],
  ['http://192.169.0.1', false],
  ['http://100.128.0.1', false],
  ['http://8.8.8.8', false],
  ['http://[2001:db8::1]', false],
  ['http://localhost.example.com', false],
  ['http://127.0.0.1.example.com', false],
  ['http://internal.example.com', false],
  ['http://2130706433', true],
])('%s: %s', (url, expected) => {
  expect(isPrivateHost(url)).toBe(expected);
});
