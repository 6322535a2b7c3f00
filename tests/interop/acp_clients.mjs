// Has third-party clients of the Agent Client Protocol drive `gosling acp`, with a scripted model that edits a file
// and runs a command:
//   node acp_clients.mjs --gosling PROGRAM --sdk FOLDER [--acpx FOLDER] [--python PROGRAM]
// FOLDER has node_modules: with @agentclientprotocol/sdk, whose client serves files and terminals and approves; with
// acpx, a command-line client. PROGRAM is a Python with the package agent-client-protocol. Prints a row for each
// client; exit status 1 if one fails.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const text = { type: 'string' };
const { values } = parseArgs({ options: { gosling: text, sdk: text, acpx: text, python: text } });
const gosling = path.resolve(values.gosling);
const here = path.dirname(new URL(import.meta.url).pathname);

const SCRIPT = {
  turns: [{
    steps: [
      { text: 'I edit. ' },
      { call: { name: 'developer__text_editor', arguments: { command: 'write', path: 'a.txt', file_text: 'one\n' } } },
      { call: { name: 'developer__text_editor', arguments: { command: 'str_replace', path: 'a.txt', old_str: 'one', new_str: 'two' } } },
      { call: { name: 'developer__shell', arguments: { command: 'cat a.txt' } } },
      { text: 'It has: {{last_result}}' },
    ],
    usage: { input: 100, output: 10 },
  }],
  name: 'An edit',
};
const CONFIG = { extensions: { developer: { enabled: true, type: 'builtin', name: 'developer' } } };

/** A folder of its own for one client: the agent's files, and a folder to work in. */
function setup() {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'gosling-acp-'));
  for (const folder of ['config', 'work', 'home']) fs.mkdirSync(path.join(root, folder));
  fs.writeFileSync(path.join(root, 'config/config.yaml'), JSON.stringify(CONFIG));
  fs.writeFileSync(path.join(root, 'script.json'), JSON.stringify(SCRIPT));
  const env = { ...process.env, HOME: path.join(root, 'home'), GOOSE_PATH_ROOT: root, GOOSE_PROVIDER: 'scripted',
    GOOSE_SCRIPT: path.join(root, 'script.json'), GOOSE_MODE: 'approve' };
  return { root, env, work: path.join(root, 'work') };
}

function assert(condition, what) {
  if (!condition) throw new Error(what);
}

function assertEdited({ work }) {
  assert(fs.readFileSync(path.join(work, 'a.txt'), 'utf8') === 'two\n', 'the file was not edited');
}

/** The client of the official SDK, which offers files and terminals, approves, and goes on with the session. */
async function withSdk(place) {
  const require = createRequire(path.join(path.resolve(values.sdk), 'package.json'));
  const acp = await import(pathToFileURL(require.resolve('@agentclientprotocol/sdk')));
  const process_ = spawn(gosling, ['acp'], { env: place.env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((done) => { process_.on('exit', done); });
  const updates = [];
  const questions = [];
  const terminals = new Map();
  const client = acp.client({ name: 'interop' })
    .onNotification('session/update', ({ params }) => { updates.push(params.update); })
    .onRequest('session/request_permission', ({ params }) => {
      questions.push(params.toolCall);
      return { outcome: { outcome: 'selected', optionId: params.options.find((it) => it.kind === 'allow_once').optionId } };
    })
    .onRequest('fs/read_text_file', ({ params }) => ({ content: fs.readFileSync(params.path, 'utf8') }))
    .onRequest('fs/write_text_file', ({ params }) => { fs.writeFileSync(params.path, params.content); return {}; })
    .onRequest('terminal/create', ({ params }) => {
      const child = spawn(params.command, params.args, { cwd: params.cwd });
      const terminal = { output: '' };
      child.stdout.on('data', (data) => { terminal.output += data; });
      terminal.ended = new Promise((done) => { child.on('close', (exitCode, signal) => done({ exitCode, signal })); });
      const terminalId = `terminal ${terminals.size}`;
      terminals.set(terminalId, terminal);
      return { terminalId };
    })
    .onRequest('terminal/wait_for_exit', ({ params }) => terminals.get(params.terminalId).ended)
    .onRequest('terminal/output', ({ params }) => ({ output: terminals.get(params.terminalId).output, truncated: false }))
    .onRequest('terminal/release', () => ({}));
  const { agent } = client.connect(acp.ndJsonStream(Writable.toWeb(process_.stdin), Readable.toWeb(process_.stdout)));
  await agent.request('initialize', { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true } });
  const { sessionId } = await agent.request('session/new', { cwd: place.work, mcpServers: [] });
  const { stopReason } = await agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'go' }] });
  assert(stopReason === 'end_turn', `it stopped with ${stopReason}`);
  assertEdited(place);
  assert(questions.length === 3 && questions[1].content[0].newText === 'two\n', 'no diff was asked about');
  assert(terminals.size === 1, 'the command ran in no terminal');
  const said = updates.filter((it) => it.sessionUpdate === 'agent_message_chunk').map((it) => it.content.text).join('');
  assert(said === 'I edit. It has: two\n', `it said ${JSON.stringify(said)}`);
  updates.length = 0;
  await agent.request('session/load', { sessionId, cwd: place.work, mcpServers: [] });
  const calls = updates.filter((it) => it.sessionUpdate === 'tool_call');
  assert(calls.length === 3 && calls.every((it) => it.status === 'completed'), 'the history has not all calls');
  process_.stdin.end();
  assert(await ended === 0, 'the agent failed at its end');
  return `${updates.length} updates of history`;
}

function run(program, args, place) {
  const done = spawnSync(program, args, { env: place.env, cwd: place.work, encoding: 'utf8', timeout: 60_000 });
  assert(done.status === 0, `status ${done.status}: ${done.stderr || done.stdout}`);
  assert(done.stdout.includes('It has: two'), `it said ${done.stdout}`);
  assertEdited(place);
  return `${done.stdout.split('\n').length} lines`;
}

const clients = { 'official SDK, TypeScript': withSdk };
if (values.acpx) {
  const acpx = path.join(values.acpx, 'node_modules/.bin/acpx');
  clients.acpx = (place) => run(process.execPath, [acpx, '--approve-all', '--cwd', place.work, '--agent', `${gosling} acp`, 'exec', 'go'], place);
}
if (values.python) {
  clients['official SDK, Python'] = (place) => run(values.python, [path.join(here, 'acp_client.py'), gosling], place);
}
let failed = false;
for (const [name, drive] of Object.entries(clients)) {
  const place = setup();
  const begin = Date.now();
  let result;
  try {
    result = `ok, ${await drive(place)}`;
  } catch (error) {
    failed = true;
    result = `FAILED: ${error.message}`;
  }
  fs.rmSync(place.root, { recursive: true, force: true });
  console.log(`${`acp: ${name}`.padEnd(36)} stdio  ${String(Date.now() - begin).padStart(6)} ms  ${result}`);
}
process.exit(failed ? 1 : 0);
