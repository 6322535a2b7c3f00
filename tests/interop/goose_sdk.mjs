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
    {
      when: { user: 'list' },
      steps: [{ call: { name: 'developer__shell', arguments: { command: 'ls' } } }, { text: 'Listed.' }],
    },
    { when: { user: 'and then' }, steps: [{ text: 'I heard {{last_user}}' }] },
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
  const seen = { updates: [], goose: [], questions: [], permit: Promise.resolve() };
  const client = new sdk.GooseClient(() => ({
    sessionUpdate: async ({ update }) => { seen.updates.push(update); },
    unstable_sessionUpdate: async ({ update }) => { seen.goose.push(update); },
    requestPermission: async ({ toolCall, options }) => {
      seen.questions.push(toolCall);
      await seen.permit;
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
const parsed = new Set();
/** Calls a method, with the parser of the SDK if it has one for it. */
function ask(method, params, by = goose) {
  const words = method.split(/[/-]/);
  const name = `${words[0]}${words.slice(1).map((word) => word[0].toUpperCase() + word.slice(1)).join('')}_unstable`;
  if (typeof by[name] !== 'function') return call(method, params);
  parsed.add(method);
  return by[name](params);
}
async function until(what, happens) {
  for (let left = 2_000; !happens(); left -= 1) {
    assert(left > 0, what);
    await new Promise((done) => { setTimeout(done, 5); });
  }
}

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

await step('first start', async () => {
  const provider = { providerId: 'openai' };
  const { fields } = await ask('providers/config/read', provider);
  assert(fields.some((it) => it.key === 'OPENAI_API_KEY' && it.isSecret && !it.isSet), 'the settings of a provider');
  await ask('providers/config/save', { ...provider, fields: [{ key: 'OPENAI_API_KEY', value: 'a key' }] });
  const { statuses } = await ask('providers/config/status', { providerIds: ['openai'] });
  assert(statuses[0].isConfigured, 'the provider');
  const { secrets } = await call('providers/secrets/list', {});
  assert(JSON.stringify(secrets).includes('OPENAI_API_KEY') && !JSON.stringify(secrets).includes('a key'), 'the secret');
  await ask('defaults/save', { providerId: 'openai', modelId: 'gpt-4o' });
  assert((await ask('defaults/read', {})).modelId === 'gpt-4o', 'the defaults');
  await ask('defaults/save', { providerId: 'scripted', modelId: 'scripted' });
  await ask('providers/config/delete', provider);
  const custom = { engine: 'openai', displayName: 'Own', apiUrl: 'http://localhost:1/v1', apiKey: 'k', models: ['m'], supportsStreaming: true };
  const { providerId } = await ask('providers/custom/create', custom);
  const read = await ask('providers/custom/read', { providerId });
  assert(JSON.stringify(read).includes('http://localhost:1/v1'), 'a provider of the user');
  await ask('providers/custom/delete', { providerId });
});

await step('pages', async () => {
  const pages = [
    ['providers/list', {}], ['providers/catalog/list', {}], ['providers/setup/catalog/list', {}], ['extensions/available', {}],
    ['preferences/read', { keys: ['autoCompactThreshold'] }], ['config/prompts/list', {}], ['recipes/list', {}], ['schedules/list', {}],
    ['sources/list', {}], ['agent-mentions/list', {}], ['apps/list', {}], ['dictation/config', {}], ['onboarding/import/scan', {}],
    ['slash-commands/list', {}],
  ];
  for (const [method, params] of pages) await ask(method, params);
  return `${pages.length} pages`;
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

await step('add to a running turn', async () => {
  let permit;
  seen.permit = new Promise((done) => { permit = done; });
  seen.updates.length = 0;
  const turn = client.prompt({ sessionId, prompt: [{ type: 'text', text: 'list' }] });
  const run = () => seen.updates.map((it) => it._meta?.goose?.activeRunId).find((id) => typeof id === 'string');
  await until('no run', () => run() && seen.updates.some((it) => it.sessionUpdate === 'tool_call'));
  const prompt = [{ type: 'text', text: 'and then rest' }];
  const { messageId, runId } = await ask('session/steer', { sessionId, expectedRunId: run(), prompt });
  assert(runId === run(), 'the run');
  permit();
  assert((await turn).stopReason === 'end_turn', 'the turn');
  const order = seen.updates.map((it) => (it._meta?.goose?.queuedSteer ? 'queued' : it._meta?.goose?.steer ? 'taken'
    : it.status === 'completed' ? 'called' : it.content?.text?.startsWith('I heard') ? 'answered' : '')).filter(Boolean);
  assert(order.join() === 'queued,called,taken,answered', order.join());
  const taken = seen.updates.find((it) => it._meta?.goose?.steer);
  assert(taken.messageId === messageId && taken.content.text === 'and then rest', JSON.stringify(taken));
});

await step('two windows and a reload', async () => {
  let permit;
  seen.permit = new Promise((done) => { permit = done; });
  const two = await initialized();
  await two.client.loadSession({ sessionId, cwd, mcpServers: [] });
  two.seen.updates.length = 0;
  two.seen.permit = seen.permit;
  const turn = client.prompt({ sessionId, prompt: [{ type: 'text', text: 'list' }] });
  await until('no question in the second window', () => two.seen.questions.length === 1);
  two.socket.close();
  await two.client.closed;
  const three = await initialized();
  await three.client.loadSession({ sessionId, cwd, mcpServers: [] });
  await until('the question is not asked again', () => three.seen.questions.length === 1);
  seen.permit = Promise.resolve();
  permit();
  assert((await turn).stopReason === 'end_turn', 'the turn');
  await until('the answer', () => three.seen.updates.some((it) => it.content?.text === 'Listed.'));
  three.socket.close();
});

await step('recipes and schedules', async () => {
  const recipe = { version: '1.0.0', title: 'Greeting', description: 'Greets', prompt: 'Greet {{ name }}',
    parameters: [{ key: 'name', input_type: 'string', requirement: 'required', description: 'Who' }] };
  const { deeplink } = await ask('recipes/encode', { recipe });
  assert((await ask('recipes/decode', { deeplink })).recipe.title === 'Greeting', 'a link');
  const { id } = await ask('recipes/save', { recipe });
  assert((await ask('recipes/list', {})).recipes.some((it) => it.id === id), 'the list');
  const plain = { version: '1.0.0', title: 'Daily', description: 'Daily', prompt: 'hi' };
  await ask('schedules/create', { id: 'daily', recipe: plain, cron: '0 0 1 1 *' });
  const { sessionId: ran } = await ask('schedules/run-now', { scheduleId: 'daily' });
  assert(ran, 'a run');
  const sessions = await ask('schedules/sessions/list', { scheduleId: 'daily', limit: 10 });
  assert(JSON.stringify(sessions).includes(ran), 'the sessions of the schedule');
  await ask('schedules/delete', { scheduleId: 'daily' });
  await ask('recipes/delete', { id });
});

await step('export, import and archive', async () => {
  const exported = await ask('session/export', { sessionId });
  const text = typeof exported.data === 'string' ? exported.data : JSON.stringify(exported);
  const imported = await ask('session/import', { input: text, source: 'json' }).catch(() => call('session/import', { input: text }));
  assert(imported.messageCount > 0, JSON.stringify(imported));
  await ask('session/archive', { sessionId: imported.sessionId });
  assert((await info(imported.sessionId)).session._meta.archivedAt, 'the archive');
  await ask('session/unarchive', { sessionId: imported.sessionId });
  assert(!(await info(imported.sessionId)).session._meta.archivedAt, 'no archive');
  await client.extMethod('session/delete', { sessionId: imported.sessionId });
  return `${parsed.size} methods parsed by the SDK`;
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
