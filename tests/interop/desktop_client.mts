// A client that uses the HTTP API as Goose Desktop does: node desktop_client.mts --gosling PROGRAM [--everything COMMAND]
//
// It starts the server, sets it up, chats, approves tool calls, reads the history after a restart, adds and
// removes an extension, saves and runs a recipe, makes a schedule and runs it, and ends the server. It reads
// the fields that Goose Desktop reads, and demands of them what Desktop's pages need. The model is a server
// in this process. Prints a row for each step; exit status 1 if one failed.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

// What the client sends and reads. Fields that Desktop does not read are absent.

interface Content {
  type: string;
  text?: string;
  id?: string;
  toolCall?: { status: string; value?: { name: string; arguments?: unknown }; error?: string };
  toolResult?: { status: string; value?: { content: { type: string; text?: string }[]; isError?: boolean }; error?: string };
  data?: { actionType: string; id: string; toolName?: string; arguments?: unknown };
  notificationType?: string;
  msg?: string;
}
interface Message {
  id?: string | null;
  role: string;
  created: number;
  content: Content[];
  metadata: { userVisible: boolean; agentVisible: boolean };
}
interface Session {
  id: string;
  name: string;
  created_at: string;
  updated_at: string;
  message_count: number;
  working_dir: string;
  conversation?: Message[] | null;
  recipe?: Recipe | null;
  provider_name?: string | null;
  total_tokens?: number | null;
}
interface Recipe {
  version?: string;
  title: string;
  description: string;
  instructions?: string | null;
  prompt?: string | null;
  parameters?: unknown[] | null;
}
interface TokenState {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  accumulatedTotalTokens: number;
}
type StreamEvent =
  | { type: "Message"; message: Message; token_state: TokenState }
  | { type: "Finish"; reason: string; token_state: TokenState }
  | { type: "Error"; error: string }
  | { type: "UpdateConversation"; conversation: Message[] }
  | { type: "Notification"; request_id: string; message: { method: string } }
  | { type: "Ping" | "ModelChange" };

// The model: an OpenAI-compatible server. The last message of the user decides what it answers:
// `shell COMMAND` calls developer's tool, `call TOOL JSON` another one, anything else is echoed.

class Model {
  readonly server: http.Server;
  requests = 0;

  constructor() {
    this.server = http.createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (part: string) => (body += part));
      request.on("end", () => this.answer(request.url ?? "", body, response));
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  private answer(url: string, body: string, response: http.ServerResponse): void {
    if (url.endsWith("/models")) {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ object: "list", data: [{ id: "gpt-4o" }, { id: "gpt-4o-mini" }] }));
      return;
    }
    this.requests += 1;
    const request = JSON.parse(body) as {
      stream?: boolean;
      messages: { role: string; content: unknown }[];
      tools?: { function: { name: string } }[];
    };
    const delta = this.decide(request);
    const usage = { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 };
    const finish = "tool_calls" in delta ? "tool_calls" : "stop";
    if (!request.stream) {
      const message = { role: "assistant", content: null, ...delta };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ id: "c", choices: [{ index: 0, message, finish_reason: finish }], usage }));
      return;
    }
    response.setHeader("content-type", "text/event-stream");
    const send = (event: unknown) => response.write(`data: ${JSON.stringify(event)}\n\n`);
    const text = "content" in delta ? delta.content : undefined;
    if (text !== undefined) {
      // Words one by one, so that the client has something to merge.
      for (const word of text.split(/(?<= )/)) send({ id: "c", choices: [{ index: 0, delta: { content: word } }] });
    } else {
      send({ id: "c", choices: [{ index: 0, delta }] });
    }
    send({ id: "c", choices: [{ index: 0, delta: {}, finish_reason: finish }] });
    send({ id: "c", choices: [], usage });
    response.end("data: [DONE]\n\n");
  }

  private decide(request: { messages: { role: string; content: unknown }[]; tools?: { function: { name: string } }[] }):
    | { content: string }
    | { tool_calls: unknown[] } {
    const last = request.messages.at(-1);
    const text = textOf(last?.content);
    if (last?.role === "tool") return { content: `The tool said: ${text.slice(0, 200)}` };
    const all = request.messages.map((message) => textOf(message.content)).join("\n");
    if (/recipe/i.test(all) && /json/i.test(all) && !request.tools?.length) {
      return {
        content: JSON.stringify({
          title: "Greeting",
          description: "Greets",
          instructions: "Greet the user.",
          activities: ["Greet"],
        }),
      };
    }
    const shell = /^shell (.*)$/m.exec(text);
    const other = /^call (\S+) (.*)$/m.exec(text);
    const called = shell
      ? ["developer__shell", JSON.stringify({ command: shell[1] })]
      : other && [other[1], other[2]];
    if (called && request.tools?.some((tool) => tool.function.name === called[0])) {
      const [name, args] = called;
      return { tool_calls: [{ index: 0, id: `call_${this.requests}`, type: "function", function: { name, arguments: args } }] };
    }
    return { content: `You said: ${text.slice(0, 200)}` };
  }
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: string }) => part.text ?? "").join("\n");
}

// The server, started as Desktop starts it.

class Server {
  private child: ChildProcess | undefined;
  stderr = "";
  private readonly program: string;
  private readonly root: string;
  private readonly port: number;
  private readonly key: string;

  constructor(program: string, root: string, port: number, key: string) {
    this.program = program;
    this.root = root;
    this.port = port;
    this.key = key;
  }

  async start(): Promise<void> {
    const own = Object.entries(process.env).filter(([name]) => !/^(GOOSE|GOSLING|OPENAI)/.test(name));
    const env = {
      ...Object.fromEntries(own),
      GOOSE_PORT: String(this.port),
      GOOSE_SERVER__SECRET_KEY: this.key,
      GOOSE_PATH_ROOT: this.root,
      NO_PROXY: "127.0.0.1,localhost",
    };
    this.child = spawn(this.program, ["agent"], { env, stdio: ["ignore", "ignore", "pipe"] });
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    for (let attempt = 0; attempt < 100; attempt++) {
      if (await this.isReady()) return;
      await sleep(100);
    }
    throw new Error(`the server did not start: ${this.stderr}`);
  }

  private async isReady(): Promise<boolean> {
    try {
      return (await fetch(`http://127.0.0.1:${this.port}/status`)).ok;
    } catch {
      return false;
    }
  }

  async stop(): Promise<void> {
    const child = this.child;
    if (!child || child.exitCode !== null) return;
    const ended = new Promise<void>((done) => child.once("exit", () => done()));
    const begin = Date.now();
    child.kill("SIGTERM");
    const killer = setTimeout(() => child.kill("SIGKILL"), 10_000);
    await ended;
    clearTimeout(killer);
    assert.equal(child.signalCode, null, "SIGTERM ends the server");
    assert.ok(Date.now() - begin < 10_000);
    assert.doesNotMatch(this.stderr, /panicked at|RUST_BACKTRACE|fatal error/);
  }
}

// The calls.

class HttpError extends Error {
  readonly status: number;
  constructor(what: string, status: number, body: string) {
    super(`${what}: ${status} ${body.slice(0, 300)}`);
    this.status = status;
  }
}

class Client {
  private readonly base: string;
  private readonly key: string;

  constructor(base: string, key: string) {
    this.base = base;
    this.key = key;
  }

  async raw(method: string, route: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = { "X-Secret-Key": this.key };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const init: RequestInit = { method, headers, body: body === undefined ? null : JSON.stringify(body) };
    if (signal) init.signal = signal;
    const response = await fetch(this.base + route, init);
    if (!response.ok) throw new HttpError(`${method} ${route}`, response.status, await response.text());
    return response;
  }

  /** The body, read as the content type says; an empty JSON body is `{}`. */
  async call<T>(method: string, route: string, body?: unknown): Promise<T> {
    const response = await this.raw(method, route, body);
    const text = await response.text();
    const kind = response.headers.get("content-type") ?? "";
    if (!kind.includes("application/json")) return text as T;
    return (text === "" ? {} : JSON.parse(text)) as T;
  }

  /** Sends a message and collects the turn. `decide` answers each approval. */
  async reply(session: string, text: string, decide?: (tool: string) => string): Promise<Turn> {
    const user_message: Message = {
      id: `user-${Date.now()}-${Math.floor(Math.random() * 1e9)}`,
      role: "user",
      created: Math.floor(Date.now() / 1000),
      content: [{ type: "text", text }],
      metadata: { userVisible: true, agentVisible: true },
    };
    const signal = AbortSignal.timeout(60_000);
    const response = await this.raw("POST", "/reply", { session_id: session, user_message }, signal);
    assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/);
    const turn = new Turn();
    let buffer = "";
    assert.ok(response.body);
    for await (const bytes of response.body.pipeThrough(new TextDecoderStream())) {
      buffer += bytes;
      let end: number;
      while ((end = buffer.indexOf("\n\n")) >= 0) {
        const frame = buffer.slice(0, end);
        buffer = buffer.slice(end + 2);
        if (!frame.startsWith("data: ")) continue;
        const event = JSON.parse(frame.slice(6)) as StreamEvent;
        turn.add(event);
        for (const question of questionsOf(event)) {
          assert.ok(decide, `approval of ${question.toolName} asked for`);
          const action = decide(question.toolName ?? "");
          const answer = { sessionId: session, id: question.id, action, principalType: "Tool" };
          await this.call("POST", "/action-required/tool-confirmation", answer);
        }
      }
    }
    assert.ok(turn.ended, "Finish or Error ends a turn");
    return turn;
  }
}

function questionsOf(event: StreamEvent): { id: string; toolName?: string }[] {
  if (event.type !== "Message") return [];
  const parts = event.message.content.filter((part) => part.type === "actionRequired");
  return parts.flatMap((part) => (part.data?.actionType === "toolConfirmation" ? [part.data] : []));
}

/** The messages of a turn, merged as the chat page merges them. */
class Turn {
  messages: Message[] = [];
  error: string | undefined;
  finish: string | undefined;
  tokens: TokenState | undefined;

  get ended(): boolean {
    return this.error !== undefined || this.finish !== undefined;
  }

  add(event: StreamEvent): void {
    if (event.type === "Error") this.error = event.error;
    if (event.type === "Finish") {
      this.finish = event.reason;
      this.tokens = event.token_state;
    }
    if (event.type === "UpdateConversation") this.messages = event.conversation;
    if (event.type !== "Message") return;
    const { message } = event;
    assert.equal(typeof message.metadata.userVisible, "boolean", "a message without metadata crashes the page");
    assert.equal(typeof message.metadata.agentVisible, "boolean");
    assert.equal(typeof message.created, "number");
    const last = this.messages.at(-1);
    if (!last || !message.id || last.id !== message.id) {
      this.messages.push(structuredClone(message));
      return;
    }
    for (const part of message.content) {
      const end = last.content.at(-1);
      if (part.type === "text" && end?.type === "text") end.text = (end.text ?? "") + (part.text ?? "");
      else last.content.push(part);
    }
  }

  get text(): string {
    const spoken = this.messages.filter((message) => message.role === "assistant");
    return spoken.flatMap((message) => message.content.map((part) => part.text ?? "")).join("");
  }

  parts(type: string): Content[] {
    return this.messages.flatMap((message) => message.content.filter((part) => part.type === type));
  }
}

const sleep = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds));

async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`${what} did not happen`);
    await sleep(100);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

// The pages.

interface World {
  client: Client;
  server: Server;
  model: string;
  root: string;
  work: string;
  everything: string[];
  /** The session of the chat, once there is one. */
  chat: string;
}

/** Starts a session as the chat page does. */
async function start(world: World, body: Record<string, unknown> = {}): Promise<Session> {
  const { client } = world;
  const session = await client.call<Session>("POST", "/agent/start", { working_dir: world.work, ...body });
  const resumed = await resume(client, session.id);
  assert.equal(resumed.message_count, 0, "otherwise the page does not send the first message");
  await client.call("POST", "/agent/update_from_session", { session_id: session.id });
  return session;
}

async function resume(client: Client, id: string): Promise<Session> {
  const body = { session_id: id, load_model_and_extensions: true };
  const answer = await client.call<{ session: Session; extension_results?: { name: string; success: boolean; error?: string | null }[] }>(
    "POST", "/agent/resume", body,
  );
  for (const result of answer.extension_results ?? []) {
    assert.ok(result.success, `${result.name}: ${result.error}`);
  }
  return answer.session;
}

const read = (client: Client, key: string, is_secret = false) =>
  client.call<unknown>("POST", "/config/read", { key, is_secret });
const write = (client: Client, key: string, value: unknown, is_secret = false) =>
  client.call("POST", "/config/upsert", { key, value, is_secret });

const BUNDLED = ["developer", "computercontroller", "autovisualiser", "memory", "tutorial"];

async function setUp({ client, model }: World): Promise<void> {
  assert.equal(await read(client, "GOOSE_PROVIDER"), null, "a missing key is null, which starts the set-up");
  const providers = await client.call<Record<string, any>[]>("GET", "/config/providers");
  const openai = providers.find((provider) => provider.name === "openai");
  assert.ok(openai);
  for (const provider of providers) {
    assert.equal(typeof provider.is_configured, "boolean");
    assert.equal(typeof provider.provider_type, "string");
    assert.equal(typeof provider.metadata.display_name, "string");
    assert.ok(Array.isArray(provider.metadata.known_models) && Array.isArray(provider.metadata.config_keys));
  }
  assert.ok(openai.metadata.config_keys.some((key: { name: string; secret: boolean }) => key.name === "OPENAI_API_KEY" && key.secret));
  await write(client, "OPENAI_API_KEY", "sk-of-the-client-0123456789", true);
  await write(client, "OPENAI_HOST", model);
  const masked = (await read(client, "OPENAI_API_KEY", true)) as { maskedValue: string };
  assert.doesNotMatch(JSON.stringify(masked), /client-0123456/);
  const models = await client.call<string[]>("GET", "/config/providers/openai/models");
  assert.ok(models.includes("gpt-4o"));
  await client.call("POST", "/config/set_provider", { provider: "openai", model: "gpt-4o" });
  assert.equal(await read(client, "GOOSE_PROVIDER"), "openai");
  assert.equal(await read(client, "GOOSE_MODEL"), "gpt-4o");
}

async function home({ client }: World): Promise<void> {
  assert.equal(typeof (await client.call<{ config: object }>("GET", "/config")).config, "object");
  for (const key of ["GOOSE_TELEMETRY_ENABLED", "GOOSE_LEAD_MODEL", "GOOSE_MODE", "GOOSE_MAX_TURNS", "voice_dictation_provider"]) {
    await read(client, key);
  }
  const before = await client.call<{ extensions: { name: string }[] }>("GET", "/config/extensions");
  for (const name of BUNDLED) {
    if (before.extensions.some((extension) => extension.name === name)) continue;
    const config = { type: "builtin", name, description: name, display_name: name, timeout: 300, bundled: true };
    await client.call("POST", "/config/extensions", { name, config, enabled: name === "developer" });
  }
  const after = await client.call<{ extensions: { name: string; enabled: boolean }[]; warnings?: unknown[] }>("GET", "/config/extensions");
  assert.ok(BUNDLED.every((name) => after.extensions.some((extension) => extension.name === name)));
  const { sessions } = await client.call<{ sessions: Session[] }>("GET", "/sessions");
  assert.deepEqual(sessions, []);
  assert.deepEqual(await client.call("GET", "/sessions/insights"), { totalSessions: 0, totalTokens: 0 });
  const info = await client.call<{ model_info: { context_limit: number } }>(
    "POST", "/config/canonical-model-info", { provider: "openai", model: "gpt-4o" },
  );
  assert.ok(info.model_info.context_limit > 1000);
  const { commands } = await client.call<{ commands: { command: string; help: string; command_type: string }[] }>("GET", "/config/slash_commands");
  assert.ok(commands.every((command) => command.command && command.command_type));
  const system = await client.call<Record<string, unknown>>("GET", "/system_info");
  for (const field of ["os", "os_version", "architecture", "app_version"]) assert.equal(typeof system[field], "string", field);
  assert.equal(system.provider, "openai");
  assert.ok((system.enabled_extensions as unknown[]).includes("developer"));
}

async function chat(world: World): Promise<void> {
  const { client } = world;
  const session = await start(world);
  world.chat = session.id;
  const tools = await client.call<{ name: string; permission?: string }[]>("GET", `/agent/tools?session_id=${session.id}`);
  assert.ok(tools.some((tool) => tool.name === "developer__shell"));
  const { extensions } = await client.call<{ extensions: { name: string }[] }>("GET", `/sessions/${session.id}/extensions`);
  assert.ok(extensions.some((extension) => extension.name === "developer"));
  const turn = await client.reply(session.id, "Good morning to you");
  assert.equal(turn.error, undefined);
  assert.match(turn.text, /^You said: .*Good morning to you/s);
  assert.equal(turn.messages.filter((message) => message.role === "assistant").length, 1, "one bubble");
  assert.ok(turn.tokens && turn.tokens.totalTokens > 0 && turn.tokens.accumulatedTotalTokens >= turn.tokens.totalTokens);
  await until("a name for the session", async () => {
    const { name } = await client.call<Session>("GET", `/sessions/${session.id}`);
    return name !== "" && name !== session.name;
  });
}

async function approve(world: World): Promise<void> {
  const { client } = world;
  await write(client, "GOOSE_MODE", "approve");
  const session = await start(world);
  const file = path.join(world.work, "approved");
  const allowed = await client.reply(session.id, `shell echo approved > ${file}; echo done`, () => "allow_once");
  assert.equal(allowed.error, undefined);
  const [request] = allowed.parts("toolRequest");
  assert.equal(request?.toolCall?.status, "success");
  assert.equal(request?.toolCall?.value?.name, "developer__shell");
  const [response] = allowed.parts("toolResponse");
  assert.equal(response?.id, request?.id);
  assert.match(response?.toolResult?.value?.content[0]?.text ?? "", /done/);
  assert.match(allowed.text, /The tool said: .*done/s);
  assert.equal(readFileSync(file, "utf8"), "approved\n");
  const denied = await client.reply(session.id, `shell touch ${file}-not`, () => "deny_once");
  assert.equal(denied.error, undefined);
  assert.ok(!existsSync(`${file}-not`), "what the user denies does not run");
  const always = await client.reply(session.id, "shell echo one", () => "always_allow");
  assert.equal(always.error, undefined);
  const unasked = await client.reply(session.id, "shell echo two");
  assert.match(unasked.text, /two/);
  await client.call("POST", "/config/permissions", { tool_permissions: [{ tool_name: "developer__shell", permission: "ask_before" }] });
  let asked = 0;
  await client.reply(session.id, "shell echo three", () => (asked++, "allow_once"));
  assert.equal(asked, 1);
  await write(client, "GOOSE_MODE", "auto");
}

async function history(world: World): Promise<void> {
  const { client, server } = world;
  await server.stop();
  await server.start();
  const { sessions } = await client.call<{ sessions: Session[] }>("GET", "/sessions");
  const listed = sessions.find((session) => session.id === world.chat);
  assert.ok(listed && listed.updated_at && listed.created_at);
  assert.ok(listed.message_count >= 2);
  const session = await resume(client, world.chat);
  const texts = (session.conversation ?? []).flatMap((message) => message.content.map((part) => part.text ?? ""));
  assert.ok(texts.some((text) => text.includes("Good morning")), "the history comes back");
  const again = await client.reply(world.chat, "Good evening");
  assert.match(again.text, /Good evening/);
  const found = await client.call<{ id: string }[]>("GET", "/sessions/search?query=Good+morning");
  assert.ok(found.some((hit) => hit.id === world.chat));
  await client.call("PUT", `/sessions/${world.chat}/name`, { name: "Greetings" });
  assert.equal((await client.call<Session>("GET", `/sessions/${world.chat}`)).name, "Greetings");
  const fork = await client.call<{ sessionId: string }>("POST", `/sessions/${world.chat}/fork`, { truncate: false, copy: true });
  assert.equal((await resume(client, fork.sessionId)).message_count, 4);
  const exported = await client.call<string>("GET", `/sessions/${world.chat}/export`);
  assert.equal(typeof exported, "string", "an export is a string with JSON in it");
  const imported = await client.call<Session>("POST", "/sessions/import", { json: exported });
  assert.notEqual(imported.id, world.chat);
  assert.equal((await client.call<Session>("GET", `/sessions/${imported.id}`)).message_count, 4);
  for (const id of [fork.sessionId, imported.id]) await client.call("DELETE", `/sessions/${id}`);
  const gone = await client.call<Session>("GET", `/sessions/${imported.id}`).catch((error: unknown) => error);
  assert.ok(gone instanceof HttpError && gone.status === 404);
  const lost = await client.reply("20010101_1", "hello").catch((error: unknown) => error);
  assert.ok(lost instanceof Turn && lost.error, "a lost session is an event, or the page sends without end");
  const zip = Buffer.from(await (await client.raw("GET", `/diagnostics/${world.chat}`)).arrayBuffer());
  assert.equal(zip.subarray(0, 4).toString("latin1"), "PK\x03\x04");
  assert.ok(!zip.includes("client-0123456"), "diagnostics without secrets");
  const insights = await client.call<{ totalSessions: number; totalTokens: number }>("GET", "/sessions/insights");
  assert.ok(insights.totalSessions >= 2 && insights.totalTokens > 0);
}

async function extension(world: World): Promise<void> {
  const { client, everything } = world;
  const [cmd, ...args] = everything;
  if (!cmd) return;
  const config = { type: "stdio", name: "everything", description: "", cmd, args, envs: {}, env_keys: [], timeout: 60 };
  await client.call("POST", "/config/extensions", { name: "everything", config, enabled: false });
  const session = await start(world);
  await client.call("POST", "/agent/add_extension", { session_id: session.id, config });
  const tools = await client.call<{ name: string }[]>("GET", `/agent/tools?session_id=${session.id}`);
  assert.ok(tools.some((tool) => tool.name === "everything__echo"));
  const turn = await client.reply(session.id, 'call everything__echo {"message":"around the world"}');
  assert.match(turn.text, /around the world/);
  const direct = await client.call<{ content: { text: string }[]; is_error: boolean }>("POST", "/agent/call_tool", {
    session_id: session.id, name: "everything__get-sum", arguments: { a: 17, b: 25 },
  });
  assert.match(direct.content[0]?.text ?? "", /42/);
  await client.call("POST", "/agent/remove_extension", { session_id: session.id, name: "everything" });
  const left = await client.call<{ name: string }[]>("GET", `/agent/tools?session_id=${session.id}`);
  assert.ok(!left.some((tool) => tool.name.startsWith("everything__")));
  await client.call("DELETE", "/config/extensions/everything");
  const bad = { ...config, name: "absent", cmd: "/does/not/exist" };
  const refused = await client.call("POST", "/agent/add_extension", { session_id: session.id, config: bad }).catch((error: unknown) => error);
  assert.ok(refused instanceof HttpError && /absent|not exist|No such file/.test(refused.message));
}

async function recipe(world: World): Promise<void> {
  const { client } = world;
  const made = await client.call<{ recipe?: Recipe | null; error?: string | null }>("POST", "/recipes/create", { session_id: world.chat });
  assert.equal(made.error ?? null, null);
  assert.ok(made.recipe?.title);
  const recipe: Recipe = {
    version: "1.0.0",
    title: "Morning greeting",
    description: "Greets a person",
    instructions: "Be polite.",
    prompt: "Greet {{ person }}",
    parameters: [{ key: "person", input_type: "string", requirement: "required", description: "Who" }],
  };
  const yaml = await client.call<{ yaml: string }>("POST", "/recipes/to-yaml", { recipe });
  const parsed = await client.call<{ recipe: Recipe }>("POST", "/recipes/parse", { content: yaml.yaml });
  assert.equal(parsed.recipe.prompt, recipe.prompt);
  const { deeplink } = await client.call<{ deeplink: string }>("POST", "/recipes/encode", { recipe });
  assert.deepEqual((await client.call<{ recipe: Recipe }>("POST", "/recipes/decode", { deeplink })).recipe.title, recipe.title);
  const hidden = { ...recipe, instructions: "Be polite.\u{E0041}" };
  assert.deepEqual(await client.call("POST", "/recipes/scan", { recipe }), { has_security_warnings: false });
  assert.deepEqual(await client.call("POST", "/recipes/scan", { recipe: hidden }), { has_security_warnings: true });
  const { id } = await client.call<{ id: string }>("POST", "/recipes/save", { recipe });
  await client.call("POST", "/recipes/slash-command", { id, slash_command: "greet" });
  const { manifests } = await client.call<{ manifests: { id: string; recipe: Recipe; last_modified: string; slash_command?: string | null }[] }>("GET", "/recipes/list");
  const listed = manifests.find((manifest) => manifest.id === id);
  assert.equal(listed?.recipe.title, recipe.title);
  assert.equal(listed?.slash_command, "greet");
  assert.ok(!Number.isNaN(Date.parse(listed?.last_modified ?? "")));
  const { commands } = await client.call<{ commands: { command: string; command_type: string }[] }>("GET", "/config/slash_commands");
  assert.ok(commands.some((command) => command.command === "greet"));

  const session = await client.call<Session>("POST", "/agent/start", { working_dir: "", recipe_id: id });
  assert.equal(session.recipe?.prompt, recipe.prompt);
  await client.call("PUT", `/sessions/${session.id}/user_recipe_values`, { userRecipeValues: { person: "Ada" } });
  await client.call("POST", "/agent/update_from_session", { session_id: session.id });
  const turn = await client.reply(session.id, "Greet Ada");
  assert.match(turn.text, /Greet Ada/);
  await client.call("POST", "/recipes/slash-command", { id, slash_command: null });
  await client.call("POST", "/recipes/delete", { id });
  const gone = await client.call("POST", "/recipes/delete", { id }).catch((error: unknown) => error);
  assert.ok(gone instanceof HttpError && gone.status === 404);
}

interface Job {
  id: string;
  source: string;
  cron: string;
  last_run?: string | null;
  paused?: boolean;
  currently_running?: boolean;
}

async function schedule(world: World): Promise<void> {
  const { client } = world;
  const recipe = { version: "1.0.0", title: "Nightly", description: "Runs at night", prompt: "Count the sheep" };
  const jobs = async () => (await client.call<{ jobs: Job[] }>("GET", "/schedule/list")).jobs;
  assert.deepEqual(await jobs(), []);
  const created = await client.call<Job>("POST", "/schedule/create", { id: "nightly", recipe, cron: "0 0 3 * * *" });
  assert.equal(created.id, "nightly");
  const twice = await client.call("POST", "/schedule/create", { id: "nightly", recipe, cron: "0 0 3 * * *" }).catch((error: unknown) => error);
  assert.ok(twice instanceof HttpError && twice.status === 409);
  const { session_id } = await client.call<{ session_id: string }>("POST", "/schedule/nightly/run_now");
  const done = await until("the run", async () => {
    const runs = await client.call<{ id: string; name: string; createdAt: string; workingDir: string; messageCount: number }[]>(
      "GET", "/schedule/nightly/sessions?limit=10",
    );
    return runs.find((run) => run.id === session_id && run.messageCount >= 2);
  });
  assert.ok(done.createdAt && done.workingDir);
  const session = await client.call<Session>("GET", `/sessions/${session_id}`);
  assert.match(JSON.stringify(session.conversation), /Count the sheep/);
  await until("the end of the run", async () => (await jobs()).every((job) => !job.currently_running));
  await client.call("POST", "/schedule/nightly/pause");
  assert.equal((await jobs())[0]?.paused, true);
  await client.call("POST", "/schedule/nightly/unpause");
  assert.equal((await jobs())[0]?.paused, false);
  const changed = await client.call<Job>("PUT", "/schedule/nightly", { cron: "0 30 4 * * *" });
  assert.equal(changed.cron, "0 30 4 * * *");
  const bad = await client.call("PUT", "/schedule/nightly", { cron: "61 * * * *" }).catch((error: unknown) => error);
  assert.ok(bad instanceof HttpError && bad.status === 400);
  await client.call("GET", "/schedule/nightly/inspect");
  await world.server.stop();
  await world.server.start();
  const [kept] = await jobs();
  assert.equal(kept?.cron, "0 30 4 * * *", "schedules survive a restart");
  assert.ok(kept?.last_run);
  await client.call("DELETE", "/schedule/delete/nightly");
  assert.deepEqual(await jobs(), []);
}

async function settings({ client }: World): Promise<void> {
  const tunnel = await client.call<{ state: string }>("GET", "/tunnel/status");
  assert.equal(tunnel.state, "disabled");
  const { prompts } = await client.call<{ prompts: { name: string; is_customized: boolean }[] }>("GET", "/config/prompts");
  const prompt = prompts[0];
  assert.ok(prompt && !prompt.is_customized);
  const shown = await client.call<{ content: string; default_content: string }>("GET", `/config/prompts/${prompt.name}`);
  await client.call("PUT", `/config/prompts/${prompt.name}`, { content: `${shown.default_content}\nBe brief.` });
  const changed = await client.call<{ content: string; is_customized: boolean }>("GET", `/config/prompts/${prompt.name}`);
  assert.ok(changed.is_customized && changed.content.endsWith("Be brief."));
  await client.call("DELETE", `/config/prompts/${prompt.name}`);
  await write(client, "SOME_SETTING", { nested: [1, 2] });
  assert.deepEqual(await read(client, "SOME_SETTING"), { nested: [1, 2] });
  await client.call("POST", "/config/remove", { key: "SOME_SETTING", is_secret: false });
  assert.equal(await read(client, "SOME_SETTING"), null);
  const provider = {
    engine: "openai_compatible", display_name: "House model", api_url: "http://127.0.0.1:9/v1", api_key: "house-key-0123456789", models: ["house-1"],
  };
  await client.call("POST", "/config/custom-providers", provider);
  const providers = await client.call<{ name: string; provider_type: string; metadata: { display_name: string } }[]>("GET", "/config/providers");
  const house = providers.find((one) => one.metadata.display_name === "House model");
  assert.ok(house);
  assert.doesNotMatch(JSON.stringify(await client.call("GET", `/config/custom-providers/${house.name}`)), /house-key/);
  await client.call("DELETE", `/config/custom-providers/${house.name}`);
}

async function main(): Promise<number> {
  const argument = (name: string) => {
    const at = process.argv.indexOf(name);
    return at < 0 ? undefined : process.argv[at + 1];
  };
  const program = argument("--gosling");
  if (!program) throw new Error("--gosling is missing");
  const root = mkdtempSync(path.join(tmpdir(), "desktop-client-"));
  const work = path.join(root, "work");
  mkdirSync(work);
  const model = new Model();
  const key = "key-of-the-desktop";
  const port = await freePort();
  const server = new Server(program, path.join(root, "goose"), port, key);
  const client = new Client(`http://127.0.0.1:${port}`, key);
  const everything = (argument("--everything") ?? "").split(" ").filter((word) => word !== "");
  const world: World = { client, server, model: await model.listen(), root, work, everything, chat: "" };
  const only = argument("--only")?.split(",");
  let failed = 0;
  try {
    const begin = Date.now();
    await server.start();
    row("boot", Date.now() - begin, "ok");
    for (const page of [setUp, home, chat, approve, history, extension, recipe, schedule, settings]) {
      if (only && !only.includes(page.name) && page !== setUp && page !== home && page !== chat) continue;
      const begin = Date.now();
      try {
        await page(world);
        row(page.name, Date.now() - begin, "ok");
      } catch (error) {
        failed += 1;
        row(page.name, Date.now() - begin, `FAILED: ${error instanceof Error ? error.stack : String(error)}`);
      }
    }
    await server.stop();
  } catch (error) {
    failed += 1;
    row("server", 0, `FAILED: ${String(error)}`);
    await server.stop().catch(() => undefined);
  } finally {
    model.server.closeAllConnections();
    model.server.close();
    rmSync(root, { recursive: true, force: true });
  }
  return failed;
}

function row(name: string, milliseconds: number, result: string): void {
  console.log(`${`desktop ${name}`.padEnd(36)} http   ${String(milliseconds).padStart(6)} ms  ${result}`);
}

process.exitCode = (await main()) > 0 ? 1 : 0;
