// Connects to `gosling agent` over a WebSocket as Goose Desktop does from 1.41 on, with the SDK of Desktop, which
// parses every answer:
//   node goose_sdk.mjs --gosling PROGRAM --sdk FOLDER
// FOLDER has node_modules with @aaif/goose-sdk, or is the folder of its index.js. Node.js must have WebSocket.
// Prints a row for each step; exit status 1 if one fails.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const text = { type: 'string' };
const { values } = parseArgs({ options: { gosling: text, sdk: text } });
const folder = path.resolve(values.sdk);
const resolve = createRequire(path.join(folder, 'package.json')).resolve;
const own = path.join(folder, 'index.js');
const sdk = await import(pathToFileURL(fs.existsSync(own) ? own : resolve('@aaif/goose-sdk')));

const KEY = 'interop-key';
const SCRIPT = {
  turns: [
    {
      when: { user: 'edit' },
      steps: [
        { text: 'I edit. ' },
        { call: { name: 'developer__text_editor', arguments: { command: 'write', path: 'a.txt', file_text: 'one\n' } } },
        { call: { name: 'developer__shell', arguments: { command: 'cat a.txt' } } },
        { text: 'It has: {{last_result}}' },
      ],
      usage: { input: 100, output: 10 },
    },
    { when: { user: 'wait' }, steps: [{ text: 'waiting' }, { wait_ms: 60_000 }] },
    { steps: [{ text: 'Hello.' }], usage: { input: 10, output: 1 } },
  ],
  name: 'A chat',
};
const CONFIG = {
  GOOSE_PROVIDER: 'scripted',
  GOOSE_MODEL: 'scripted',
  extensions: { developer: { enabled: true, type: 'builtin', name: 'developer', description: 'Files' } },
};

const root = fs.mkdtempSync(path.join(os.tmpdir(), 'gosling-sdk-'));
for (const name of ['config', 'work', 'home']) fs.mkdirSync(path.join(root, name));
fs.writeFileSync(path.join(root, 'config/config.yaml'), JSON.stringify(CONFIG));
fs.writeFileSync(path.join(root, 'script.json'), JSON.stringify(SCRIPT));
const cwd = path.join(root, 'work');
const server = spawn(values.gosling, ['agent', '--port', '0'], {
  env: { ...process.env, HOME: path.join(root, 'home'), GOOSE_PATH_ROOT: root, GOOSE_SCRIPT: path.join(root, 'script.json'),
    GOOSE_MODE: 'approve', GOOSE_SERVER__SECRET_KEY: KEY },
  stdio: ['ignore', 'ignore', 'pipe'],
});
const address = await new Promise((found) => {
  let said = '';
  server.stderr.on('data', (data) => {
    said += data;
    const match = said.match(/listens on http:\/\/(\S+)/);
    if (match) found(match[1]);
  });
});

function assert(condition, what) {
  if (!condition) throw new Error(what);
}

let failed = false;
async function step(name, run) {
  const begin = Date.now();
  let result = 'ok';
  try {
    const deadline = new Promise((_, late) => { setTimeout(() => late(new Error('no answer')), 30_000).unref(); });
    result = `ok${await Promise.race([run(), deadline]).then((more) => (more ? `, ${more}` : ''))}`;
  } catch (error) {
    failed = true;
    result = `FAILED: ${error?.message ?? JSON.stringify(error)}`;
  }
  console.log(`${`goose: ${name}`.padEnd(36)} socket ${String(Date.now() - begin).padStart(6)} ms  ${result}`);
}

/** The messages of a WebSocket as the streams that the SDK takes. */
function connect() {
  const socket = new WebSocket(`ws://${address}/acp?token=${KEY}`);
  const open = new Promise((done, fail) => { socket.onopen = done; socket.onerror = () => fail(new Error('not connected')); });
  const readable = new ReadableStream({
    start(controller) {
      socket.onmessage = ({ data }) => controller.enqueue(JSON.parse(data));
      socket.onclose = () => controller.close();
    },
  });
  const writable = new WritableStream({ async write(message) { await open; socket.send(JSON.stringify(message)); } });
  const seen = { updates: [], goose: [], questions: [] };
  const client = new sdk.GooseClient(() => ({
    sessionUpdate: async ({ update }) => { seen.updates.push(update); },
    unstable_sessionUpdate: async ({ update }) => { seen.goose.push(update); },
    requestPermission: async ({ toolCall, options }) => {
      seen.questions.push(toolCall);
      return { outcome: { outcome: 'selected', optionId: options.find((it) => it.kind === 'allow_once').optionId } };
    },
  }), { readable, writable });
  return { client, seen, socket };
}

async function initialized() {
  const connection = connect();
  await connection.client.initialize({
    protocolVersion: 1,
    clientCapabilities: { elicitation: { form: {} }, _meta: { goose: { customNotifications: true } } },
    clientInfo: { name: 'goose-app', version: '1.41.0' },
  });
  return connection;
}

await step('probes', async () => {
  const get = async (url, headers) => (await fetch(`http://${address}${url}`, { headers })).status;
  assert(await get('/status', { 'X-Secret-Key': KEY }) === 200, '/status');
  assert(await get(`/acp?token=${KEY}`) === 406, '/acp with the token');
  assert(await get('/acp', { 'X-Secret-Key': KEY }) === 406, '/acp with the key');
  assert(await get('/acp') === 401 && await get('/acp?token=x') === 401, '/acp without the key');
});

let { client, seen, socket } = await initialized();
const { goose } = client;
const call = (method, params) => client.extMethod(`_goose/unstable/${method}`, params);
// A method that this version of the SDK does not have yet is called by its name.
const has = (name) => typeof goose[name] === 'function';

await step('start', async () => {
  const methods = [
    ['configReadAll_unstable', 'config/read-all', {}],
    ['providersList_unstable', 'providers/list', {}],
    ['configExtensionsList_unstable', 'config/extensions/list', {}],
    ['defaultsRead_unstable', 'defaults/read', {}],
    ['configRead_unstable', 'config/read', { key: 'GOOSE_PROVIDER', isSecret: false }],
    ['providersCanonicalModelInfo_unstable', 'providers/canonical-model-info', { provider: 'openai', model: 'gpt-4o' }],
    ['slashCommandsList_unstable', 'slash-commands/list', { cwd }],
  ];
  const results = {};
  for (const [name, method, params] of methods) {
    results[method] = await (has(name) ? goose[name](params) : call(method, params));
  }
  assert(results['config/read-all'].config.GOOSE_PROVIDER === 'scripted', 'the configuration');
  assert(results['defaults/read'].providerId === 'scripted', 'the defaults');
  assert(results['config/read'].value === 'scripted', 'a setting');
  assert(results['providers/canonical-model-info'].modelInfo.contextLimit > 0, 'a model');
  const extension = results['config/extensions/list'].extensions.find((it) => it.configKey === 'developer');
  assert(extension.enabled && extension.extension.type === 'builtin', 'the extensions');
  const { sessions } = await client.listSessions({ _meta: { types: ['user', 'scheduled'] } });
  assert(sessions.length === 0, 'no session yet');
  return `${methods.filter(([name]) => has(name)).length} of ${methods.length} parsed by the SDK`;
});

await step('extensions and settings', async () => {
  const extension = { type: 'mcp', server: { name: 'Own', command: 'own', args: [], env: [] }, envKeys: [], description: '' };
  await call('config/extensions/add', { extension, enabled: false });
  await call('config/extensions/set-enabled', { configKey: 'own', enabled: true });
  const listed = (await call('config/extensions/list', {})).extensions.find((it) => it.configKey === 'own');
  assert(listed.enabled && listed.extension.server.command === 'own', JSON.stringify(listed));
  await call('config/extensions/remove', { configKey: 'own' });
  await call('config/upsert', { key: 'OWN_SETTING', value: { a: 1 } });
  assert((await call('config/read', { key: 'OWN_SETTING' })).value.a === 1, 'a setting');
  await call('config/remove', { key: 'OWN_SETTING' });
  assert((await call('config/read', { key: 'OWN_SETTING' })).value === null, 'no setting');
});

let sessionId;
const info = async (id) => (has('sessionInfo_unstable') ? goose.sessionInfo_unstable({ sessionId: id }) : call('session/info', { sessionId: id }));
await step('new session', async () => {
  const enabledExtensions = [{ type: 'builtin', name: 'developer', description: 'Files' }];
  const opened = await client.newSession({ cwd, mcpServers: [], _meta: { client: 'goose-desktop', enabledExtensions } });
  sessionId = opened.sessionId;
  assert(opened._meta.extensionResults.length === 1 && opened._meta.extensionResults[0].success, 'the extensions');
  const { session } = await info(sessionId);
  assert(session.cwd === cwd && session._meta.providerId === 'scripted' && session._meta.messageCount === 0, JSON.stringify(session));
});

await step('turn with a question', async () => {
  const { stopReason } = await client.prompt({ sessionId, prompt: [{ type: 'text', text: 'edit' }] });
  assert(stopReason === 'end_turn', stopReason);
  assert(fs.readFileSync(path.join(cwd, 'a.txt'), 'utf8') === 'one\n', 'the file');
  assert(seen.questions.length === 2, 'questions');
  const tool = seen.updates.find((it) => it.sessionUpdate === 'tool_call')._meta.goose.toolCall;
  assert(tool.toolName === 'developer__text_editor' && tool.extensionName === 'developer', 'the name of the tool');
  const result = seen.updates.find((it) => it.sessionUpdate === 'tool_call_update' && it.status === 'completed');
  assert(result.content[0].type === 'content', 'a result that Desktop shows');
  const usage = seen.goose.findLast((it) => it.sessionUpdate === 'usage_update');
  assert(usage.used === 110 && usage.contextLimit > 0 && usage.accumulatedInputTokens > 0, JSON.stringify(usage));
});

await step('history, edit and copy', async () => {
  await client.prompt({ sessionId, prompt: [{ type: 'text', text: 'hi' }] });
  seen.updates.length = 0;
  await client.loadSession({ sessionId, cwd, mcpServers: [] });
  const users = seen.updates.filter((it) => it.sessionUpdate === 'user_message_chunk');
  assert(users.length === 2 && users[1]._meta.goose.created > 0, 'the messages of the user');
  const results = seen.updates.filter((it) => it.sessionUpdate === 'tool_call_update');
  assert(results.length === 2 && results.every((it) => it.status === 'completed'), 'the results of the calls');
  const before = (await info(sessionId)).session._meta.messageCount;
  const copied = await client.unstable_forkSession({ sessionId, cwd });
  assert(copied.sessionId !== sessionId, 'a copy');
  await call('session/conversation/truncate', { sessionId, truncateFrom: users[0]._meta.goose.created });
  assert((await info(sessionId)).session._meta.messageCount === 0, 'nothing is left');
  assert((await info(copied.sessionId)).session._meta.messageCount === before, 'the copy has all');
  await call('session/rename', { sessionId: copied.sessionId, title: 'Copied' });
  const { sessions } = await client.listSessions({ _meta: { types: ['user'], query: 'copi' } });
  assert(sessions.length === 1 && sessions[0].title === 'Copied', 'the list');
});

await step('cancel', async () => {
  let ended = false;
  const turn = client.prompt({ sessionId, prompt: [{ type: 'text', text: 'wait' }] }).finally(() => { ended = true; });
  while (!ended && !seen.updates.some((it) => it.content?.text === 'waiting')) await new Promise((done) => { setTimeout(done, 5); });
  const begin = Date.now();
  await client.cancel({ sessionId });
  assert((await turn).stopReason === 'cancelled', 'not cancelled');
  return `${Date.now() - begin} ms`;
});

await step('model', async () => {
  const { configOptions } = await client.setSessionConfigOption({ sessionId, configId: 'model', value: 'another' });
  assert(configOptions.find((it) => it.id === 'model').currentValue === 'another', 'the model');
});

await step('reconnect', async () => {
  socket.close();
  await client.closed;
  const again = await initialized();
  const { stopReason } = await again.client.prompt({ sessionId, prompt: [{ type: 'text', text: 'hi' }] });
  assert(stopReason === 'end_turn', stopReason);
  const { apps } = await again.client.extMethod('_goose/unstable/apps/list', {});
  assert(Array.isArray(apps), 'the list of apps');
  const unknown = await again.client.extMethod('_goose/unstable/no/such-method', {}).catch((error) => error);
  assert(unknown.code === -32601, 'a method that is not there');
  await again.client.extMethod('session/delete', { sessionId });
  again.socket.close();
});

server.kill('SIGTERM');
await new Promise((done) => { server.on('exit', done); });
fs.rmSync(root, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
