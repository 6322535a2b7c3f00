// node host.mjs QUESTION: a turn of gosling with a tool of this program.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

const self = fileURLToPath(import.meta.url);
const fail = (why) => (console.error(why), process.exit(1));

if (process.argv[2] === "mcp") { // gosling has started this: an MCP server
  const city = { type: "string" };
  const inputSchema = { type: "object", properties: { city } };
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line);
    const result = {
      initialize: () => ({
        protocolVersion: params.protocolVersion, capabilities: { tools: {} },
        serverInfo: { name: "host", version: "1" } }),
      "tools/list": () => ({ tools: [{ name: "weather", inputSchema }] }),
      "tools/call": () => ({ content: [{
        type: "text", text: `${params.arguments.city ?? "here"}: sunny` }] }),
    }[method] ?? (() => ({}));
    if (id !== undefined && method)
      console.log(JSON.stringify({ jsonrpc: "2.0", id, result: result() }));
  }
  process.exit();
}

const key = randomBytes(16).toString("hex");
const options = ["--port", "0", "--ready", "json", "--end-with-stdin"];
const gosling = spawn("gosling", ["agent", ...options], {
  stdio: ["pipe", "pipe", "inherit"],
  env: { ...process.env, GOOSE_SERVER__SECRET_KEY: key, GOOSE_MODE: "approve" },
}).on("error", (error) => fail(error.message));
const ended = new Promise((resolve) => gosling.on("exit", resolve));
const told = createInterface({ input: gosling.stdout })[Symbol.asyncIterator]();
const ready = await told.next();
const { url } = JSON.parse(ready.value ?? fail("gosling did not start"));

async function post(path, body) {
  const headers = { "X-Secret-Key": key, "Content-Type": "application/json" };
  const answer = await fetch(url + path,
    { method: "POST", headers, body: JSON.stringify(body) });
  return answer.ok ? answer : fail(`${path}: ${await answer.text()}`);
}

const tool = { type: "stdio", name: "host", description: "",
  cmd: process.execPath, args: [self, "mcp"] };
const begin = { working_dir: process.cwd(), extension_overrides: [tool] };
const { id } = await (await post("/agent/start", begin)).json();
const wait = { session_id: id, load_model_and_extensions: true };
const { extension_results } = await (await post("/agent/resume", wait)).json();
for (const { success, error } of extension_results) success || fail(error);
const user_message = { role: "user", created: Math.floor(Date.now() / 1000),
  content: [{ type: "text", text: process.argv.slice(2).join(" ") }],
  metadata: { userVisible: true, agentVisible: true } };
const turn = await post("/reply", { session_id: id, user_message });
const body = Readable.fromWeb(turn.body);
for await (const line of createInterface({ input: body })) {
  const event = line.startsWith("data: ") ? JSON.parse(line.slice(6)) : {};
  if (event.error) fail(event.error);
  for (const part of event.message?.content ?? []) {
    if (part.type === "text") process.stdout.write(part.text);
    if (part.type !== "actionRequired") continue;
    const call = part.data;
    console.log("allowed:", call.toolName, JSON.stringify(call.arguments));
    await post("/action-required/tool-confirmation",
      { sessionId: id, id: call.id, action: "allow_once" });
  }
}
gosling.stdin.end(); // gosling ends, and its children with it
process.exit(await ended);
