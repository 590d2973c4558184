/**
 * The floor of the benchmark: what the job costs in Node alone, with nothing checked and nothing shown. It begins with
 * the request body in the file FLOOR_REQUEST, which the real program sent, and ends at the first reply without a tool
 * call. FLOOR_HTTP=1 takes node:http in place of fetch.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

const { OPENAI_BASE_URL, OPENAI_API_KEY, FLOOR_REQUEST, FLOOR_HTTP } = process.env;
const request = JSON.parse(readFileSync(FLOOR_REQUEST, 'utf8'));
const target = `${OPENAI_BASE_URL}/chat/completions`;
const headers = { 'content-type': 'application/json', authorization: `Bearer ${OPENAI_API_KEY}` };
const http = FLOOR_HTTP && (await import('node:http'));

async function send(body) {
  if (!http) return (await fetch(target, { method: 'POST', headers, body })).body;
  return new Promise((resolve, reject) => {
    http.request(target, { method: 'POST', headers }, resolve).once('error', reject).end(body);
  });
}

async function ask() {
  const message = { role: 'assistant', content: '', tool_calls: [] };
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of await send(JSON.stringify(request))) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue;
      const delta = JSON.parse(line.slice(6)).choices[0]?.delta ?? {};
      message.content += delta.content ?? '';
      for (const { index, id, function: piece } of delta.tool_calls ?? []) {
        if (id) message.tool_calls[index] = { id, type: 'function', function: { name: piece.name, arguments: '' } };
        message.tool_calls[index].function.arguments += piece.arguments ?? '';
      }
    }
  }
  return message;
}

async function shell(command) {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  }
  await new Promise((resolve) => child.once('close', resolve));
  return output;
}

let message = await ask();
for (; message.tool_calls.length > 0; message = await ask()) {
  request.messages.push(message);
  for (const { id, function: call } of message.tool_calls) {
    request.messages.push({ role: 'tool', tool_call_id: id, content: await shell(JSON.parse(call.arguments).command) });
  }
}
console.log(message.content);
