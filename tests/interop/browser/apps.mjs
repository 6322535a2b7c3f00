// Real MCP Apps: their servers run as extensions of gosling, and a host shows them through the proxy page, with
// nothing but gosling's API.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { extname, join, resolve } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { check, until } from "./harness.mjs";
import { appPage, mount, resource, send } from "./relay.mjs";

/**
 * Each app: the tool that has it, words that it shows, how many colours and what share of bright pixels its picture
 * has at least, and tools that it calls.
 */
const APPS = [
  { name: "budget-allocator", tool: "get-budget-data", shows: /Marketing[^]*Allocated: \$100,000/, colours: 50 },
  { name: "system-monitor", tool: "get-system-info", shows: /CPU Usage[^]*Memory[^]*\d GB[^]*linux/i, colours: 20,
    calls: ["poll-system-stats"] },
  { name: "threejs", tool: "show_threejs_scene", colours: 20 },
  { name: "map", tool: "show-map", args: { west: 2.2, south: 48.8, east: 2.5, north: 48.95, label: "Paris" }, colours: 5,
    // The tiles on the globe; the sky around it is dark.
    bright: 0.5 },
];

/** Where the map loads its code from, and its tiles. */
const CESIUM = "https://cesium.com/downloads/cesiumjs/releases/1.123/Build/Cesium/";
const TILES = "https://tile.openstreetmap.org/";

export async function apps(page, world) {
  const { options } = world;
  if (!options.apps) return console.log("no servers of MCP Apps: not tried");
  if (options.pictures) mkdirSync(options.pictures, { recursive: true });
  let host = null;
  await page.exposeFunction("askHost", message => host?.(message));
  for (const app of APPS) {
    if (app.name === "map" && !existsSync(cesiumOf(options))) {
      console.log("       map: not tried, there is no cesium");
      continue;
    }
    const shown = new App(world, app);
    host = message => shown.answer(message);
    await shown.run(page);
  }
}

const cesiumOf = options => join(resolve(options.playwright), "node_modules/cesium/Build/Cesium");

/** The internet: what the map loads from it. The browser resolves every other name to its address. */
export async function startInternet(options) {
  const certificate = name => readFileSync(new URL(`../../support/tls/${name}`, import.meta.url));
  const server = createServer({ key: certificate("server-key.pem"), cert: certificate("server.pem") }, (request, response) => {
    const url = `https://${request.headers.host}${request.url}`.split("?")[0];
    const path = url.startsWith(CESIUM) && join(cesiumOf(options), url.slice(CESIUM.length));
    const body = path && existsSync(path) ? readFileSync(path) : url.startsWith(TILES) ? tile(url) : undefined;
    if (!body && url.startsWith(CESIUM)) console.log(`       not there: ${url}`);
    const type = TYPES[extname(url)] ?? "application/octet-stream";
    response.writeHead(body ? 200 : 404, { "Access-Control-Allow-Origin": "*", "Content-Type": type }).end(body);
  });
  await new Promise(resume => server.listen(0, "127.0.0.1", resume));
  return { port: server.address().port, stop: () => { server.close(); server.closeAllConnections(); } };
}

const TYPES = { ".js": "text/javascript", ".json": "application/json", ".css": "text/css", ".png": "image/png",
  ".jpg": "image/jpeg", ".wasm": "application/wasm" };

/** A picture of one colour, which depends on the address. */
function tile(url) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const number = value => { const bytes = Buffer.alloc(4); bytes.writeUInt32BE(value); return bytes; };
    return Buffer.concat([number(data.length), body, number(crc32(body))]);
  };
  const size = 256;
  const hash = crc32(url);
  const pixel = Buffer.from([hash & 255, (hash >> 8) & 255, (hash >> 16) & 255]);
  const row = Buffer.concat([Buffer.from([0]), ...Array(size).fill(pixel)]);
  const head = Buffer.from([0, 0, size >> 8, size & 255, 0, 0, size >> 8, size & 255, 8, 2, 0, 0, 0]);
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", head),
    chunk("IDAT", deflateSync(Buffer.concat(Array(size).fill(row)))), chunk("IEND", Buffer.alloc(0))]);
}

/** How many colours a picture has, and the share of its pixels that are bright. */
function look(page, picture) {
  return page.evaluate(async data => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    context.drawImage(image, 0, 0);
    const { data: bytes } = context.getImageData(0, 0, image.width, image.height);
    const isBright = (_, at) => at % 4 === 0 && Math.max(bytes[at], bytes[at + 1], bytes[at + 2]) > 80;
    return { colours: new Set(new Uint32Array(bytes.buffer)).size, bright: bytes.filter(isBright).length * 4 / bytes.length };
  }, picture.toString("base64"));
}

class App {
  constructor(world, app) {
    Object.assign(this, { ...world, args: {}, calls: [], shows: /^/, bright: 0, ...app, heard: [], called: [] });
  }

  check(what, ok, seen) {
    check(`${this.name}: ${what}`, ok, seen);
  }

  async run(page) {
    const app = await this.find();
    if (!app) return;
    const csp = app._meta?.ui?.csp;
    const list = (name, domains) => domains?.length ? `&${name}=${encodeURIComponent(domains.join(","))}` : "";
    const address = appPage(this.gosling, list("connect_domains", csp?.connectDomains) +
      list("resource_domains", csp?.resourceDomains) + list("frame_domains", csp?.frameDomains));
    this.page = page;
    this.check("the page is ready", await mount(page, address, "sandbox-proxy-ready"));
    await page.evaluate(() => { answer = askHost; });
    await send(page, resource({ html: app.text, csp, permissions: app._meta?.ui?.permissions }));
    this.check("the app initializes itself", await until(() => this.heard.includes("ui/notifications/initialized")), this.heard);
    const view = page.frames().find(frame => frame.parentFrame()?.url().startsWith(this.gosling.url));
    const text = () => view.evaluate(() => document.body.innerText);
    this.check("the app shows the tool's result, and no error",
      await until(async () => this.shows.test(await text())) && !/error/i.test(await text()), await text());
    let picture;
    const rich = await until(async () => {
      picture = await page.screenshot();
      const { colours, bright } = await look(page, picture);
      return colours >= this.colours && bright >= this.bright;
    });
    this.check("the app draws", rich && !/error/i.test(await text()), [await look(page, picture), await text()]);
    this.check("the app asks for a size", await until(() => this.heard.includes("ui/notifications/size-changed")), this.heard);
    this.check("its own calls reach the server", await until(() => this.calls.every(tool => this.called.includes(tool))), this.called);
    if (this.options.pictures) writeFileSync(join(this.options.pictures, `${this.name}.png`), picture);
    await this.gosling.api("/agent/stop", { session_id: this.session });
  }

  /** Starts the server in a session, calls the tool and finds its app. */
  async find() {
    const { api } = this.gosling;
    const script = resolve(this.options.apps, "node_modules/.bin", `mcp-${this.name}-server`);
    const extension = { type: "stdio", name: "app", cmd: process.execPath, args: [script, "--stdio"], timeout: 60 };
    const started = await api("/agent/start", { working_dir: "/", extension_overrides: [extension] });
    this.session = started.id;
    const resumed = await api("/agent/resume", { session_id: this.session, load_model_and_extensions: true });
    this.check("its server starts", resumed.extension_results.every(({ success }) => success), resumed.extension_results);
    this.result = await this.call(this.tool, this.args);
    const { apps } = await api(`/agent/list_apps?session_id=${this.session}`);
    this.check("its app is listed, with its HTML", apps.length === 1 && apps[0].text.length > 100_000,
      apps.map(({ uri, name, text }) => [uri, name, text.length]));
    const read = await api("/agent/read_resource", { session_id: this.session, extension_name: "app", uri: apps[0].uri });
    this.check("the resource that is read is the same", read.text === apps[0].text && read.mimeType === "text/html;profile=mcp-app");
    return apps[0];
  }

  async call(tool, args) {
    const result = await this.gosling.api("/agent/call_tool", { session_id: this.session, name: `app__${tool}`, arguments: args ?? {} });
    return { content: result.content, structuredContent: result.structured_content, isError: result.is_error, _meta: result._meta };
  }

  /** Answers the app as a host does. */
  async answer({ id, method, params }) {
    this.heard.push(method);
    const reply = result => ({ jsonrpc: "2.0", id, result });
    switch (method) {
      case "ui/initialize":
        return reply({
          protocolVersion: params.protocolVersion, hostInfo: { name: "host", version: "1" },
          hostCapabilities: { serverTools: {}, serverResources: {}, logging: {}, openLinks: {} },
          hostContext: { theme: "light", displayMode: "inline", containerDimensions: { width: 900, maxHeight: 600 } },
        });
      case "ui/notifications/initialized":
        await send(this.page, { jsonrpc: "2.0", method: "ui/notifications/tool-input", params: { arguments: this.args } });
        return { jsonrpc: "2.0", method: "ui/notifications/tool-result", params: this.result };
      case "tools/call":
        this.called.push(params.name);
        return reply(await this.call(params.name, params.arguments));
      case "resources/read": {
        const read = await this.gosling.api("/agent/read_resource", { session_id: this.session, extension_name: "app", uri: params.uri });
        return reply({ contents: [read] });
      }
      default:
        return id === undefined ? undefined : reply({});
    }
  }
}
