// An MCP server for the suite of the console: a sum, a question to the user, a tool with a page, hostile text.
import { createInterface } from "node:readline";

export const HOSTILE = `<img src=x onerror="window.stolen=1"><script>window.stolen=1</script>\u202eevil\u202c`;

const PAGE = `<!doctype html><title>A page</title><body><p id="said">waiting</p><script>
  const send = message => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const said = text => { document.getElementById("said").textContent = text; };
  addEventListener("message", ({ data }) => {
    if (data.id === 1) send({ method: "ui/notifications/initialized", params: {} });
    if (data.method === "ui/notifications/tool-input") {
      said("input " + JSON.stringify(data.params.arguments));
      send({ id: 2, method: "tools/call", params: { name: "add", arguments: { a: 20, b: 22 } } });
    }
    if (data.id === 2) said(data.error ? "refused: " + data.error.message : "sum " + data.result.content[0].text);
    if (data.id === 3) said("message " + JSON.stringify(data.result ?? data.error));
  });
  send({ id: 1, method: "ui/initialize", params: { protocolVersion: "2026-01-26", appInfo: {}, appCapabilities: {} } });
  send({ method: "ui/notifications/size-changed", params: { height: 100000, width: 10 } });
</script>`;

const number = { type: "number" };
const TOOLS = [
  { name: "add", description: "Adds two numbers.", annotations: { readOnlyHint: true, title: "A sum" },
    inputSchema: { type: "object", required: ["a", "b"], properties: { a: { ...number, description: "The first" }, b: number } } },
  { name: "ask", description: "Asks the user for a table.", inputSchema: { type: "object", properties: {} } },
  { name: "show", description: "Has a page.", _meta: { ui: { resourceUri: "ui://test/page" } },
    inputSchema: { type: "object", properties: { word: { type: "string", default: "hello" } } } },
  { name: "echo", description: HOSTILE, inputSchema: { type: "object", properties: {
    text: { type: "string", title: HOSTILE, description: HOSTILE, maxLength: 50 }, kind: { enum: ["one", "two", HOSTILE] },
    on: { type: "boolean" }, several: { type: "array", items: { enum: ["x", "y"] } }, deep: { type: "object" },
    count: { type: "integer", minimum: 1, maximum: 20000000000000000000 }, __proto__x: { type: "string" } } } },
  { name: "odd", description: "A schema that is not one.", inputSchema: { type: "object", oneOf: [{}] } },
];
const FORM = { type: "object", required: ["seats", "name"], properties: {
  seats: { type: "integer", minimum: 1, maximum: 8, description: "How many" }, name: { type: "string", title: "Your name" },
  smoking: { type: "boolean" }, place: { type: "string", enum: ["in", "out"], enumNames: ["inside", "outside"] } } };

const write = message => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const text = value => ({ content: [{ type: "text", text: value }] });
let asked = null;

function answer({ id, method, params }, line) {
  switch (method) {
    case "initialize": return { protocolVersion: params.protocolVersion, serverInfo: { name: "test", version: "1" },
      capabilities: { tools: {}, resources: {} } };
    case "tools/list": return { tools: TOOLS };
    case "resources/list": return { resources: [{ uri: "ui://test/page", name: "page", mimeType: "text/html;profile=mcp-app" }] };
    case "resources/read": return { contents: [{ uri: params.uri, mimeType: "text/html;profile=mcp-app", text: PAGE }] };
    case "tools/call":
      console.error(`called ${params.name}`);
      switch (params.name) {
        case "add": return text(String(params.arguments.a + params.arguments.b));
        case "show": return text("shown");
        case "ask":
          asked = id;
          write({ id: "q", method: "elicitation/create", params: { message: HOSTILE, requestedSchema: FORM } });
          return undefined;
        // The arguments as they came: another parser might change them.
        default: return text(line.slice(line.indexOf('"arguments"')));
      }
    default: return {};
  }
}

createInterface({ input: process.stdin }).on("line", line => {
  const message = JSON.parse(line);
  if (message.id === "q" && !message.method) return write({ id: asked, result: text(`answered ${JSON.stringify(message.result)}`) });
  if (message.id === undefined) return undefined;
  const result = answer(message, line);
  return result && write({ id: message.id, result });
});
