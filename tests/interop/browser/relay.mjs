// The proxy page between a host and a UI: both protocols, both ways, and what the page refuses.
import { check, SECRET, until } from "./harness.mjs";

const ECHO = `<!doctype html><title>echo</title><script>
  addEventListener("message", ({ data }) => parent.postMessage({ echo: data }, "*"));
  parent.postMessage({ hello: "view" }, "*");
</script>`;

/** Opens the page at `address` in a host, and waits for the message `ready`, if there is to be one. */
export async function mount(page, address, ready, sandbox) {
  await page.evaluate(([address, sandbox]) => mount(address, sandbox), [address, sandbox]);
  if (!ready) return;
  return await until(() => page.evaluate(ready => messages.some(({ data }) => JSON.stringify(data).includes(ready)), ready));
}

export const send = (page, message) => page.evaluate(message => send(message), message);

/** Waits for a message of the view in which `field` is, and returns the field. */
export async function received(page, field, deadline) {
  const found = await until(() => page.evaluate(field => {
    const message = messages.find(({ data }) => data && typeof data === "object" && field in data);
    return message && { value: message.data[field] };
  }, field), deadline);
  return found?.value;
}

export const rawHtml = (html, sandbox) => ({ type: "ui-html-content", payload: { html, sandbox } });
export const resource = params => ({ jsonrpc: "2.0", method: "ui/notifications/sandbox-resource-ready", params });
export const uiPage = (gosling, query) => `${gosling.url}/mcp-ui-proxy?secret=${SECRET}&${query}`;
export const appPage = (gosling, query = "") => `${gosling.url}/mcp-app-proxy?secret=${SECRET}${query}`;

export async function relay(page, { gosling, site }) {
  await mcpUi(page, gosling);
  await sites(page, gosling, site);
  await mcpApps(page, gosling, site);
  await hosts(page, gosling);
}

async function mcpUi(page, gosling) {
  check("MCP-UI: the page says that it is ready",
    await mount(page, uiPage(gosling, "contentType=rawhtml"), "ui-proxy-iframe-ready"));
  await send(page, rawHtml(ECHO));
  check("MCP-UI: the view reaches the host", await received(page, "hello") === "view");
  await send(page, { type: "tool", deep: { list: [1, "two", null] } });
  check("MCP-UI: the host reaches the view, and its answer comes back",
    JSON.stringify(await received(page, "echo")) === '{"type":"tool","deep":{"list":[1,"two",null]}}');
  await send(page, rawHtml(`<script>parent.postMessage({ second: 2 }, "*")</script>`));
  check("MCP-UI: further HTML replaces the view", await received(page, "second") === 2);
  check("MCP-UI: what the page sends comes from the server's origin",
    await page.evaluate(origin => messages.every(message => message.origin === origin), gosling.url));
  await mount(page, uiPage(gosling, "contentType=rawhtml"), "ui-proxy-iframe-ready");
  await send(page, rawHtml(`<script>parent.postMessage({ ran: true }, "*")</script>`, "allow-forms"));
  check("MCP-UI: without `allow-scripts` the host gets a view without scripts",
    !(await received(page, "ran", 1000)));
}

async function sites(page, gosling, site) {
  const show = url => mount(page, uiPage(gosling, `url=${encodeURIComponent(url)}`));
  await show(`${site.url}/echo`);
  check("a site's page: it reaches the host, with an origin of its own",
    await received(page, "origin") === site.url);
  await send(page, "a text");
  check("a site's page: the host reaches it", await received(page, "echo") === "a text");
  for (const refused of [
    "javascript:parent.parent.postMessage({ origin: 1 }, '*')",
    "data:text/html,<script>parent.postMessage({ origin: 1 }, '*')</script>",
    "file:///etc/passwd",
    "blob:x",
    "not an address",
    `${gosling.url}/status`,
    "/status",
  ]) {
    await show(refused);
    const text = await until(async () => {
      const frame = page.frames().find(frame => frame.url().startsWith(gosling.url));
      return await frame?.evaluate(() => document.body.innerText).catch(() => "");
    });
    const framed = page.frames().length;
    check(`a site's page: \`${refused.slice(0, 30).replace(gosling.url, "SERVER")}\` is refused`,
      text.includes("not http(s)") && framed === 2, { text, framed });
  }
}

async function mcpApps(page, gosling, site) {
  check("MCP Apps: the page says that it is ready",
    await mount(page, appPage(gosling), "ui/notifications/sandbox-proxy-ready"));
  await send(page, resource({ html: ECHO }));
  check("MCP Apps: the view reaches the host", await received(page, "hello") === "view");
  await send(page, { jsonrpc: "2.0", method: "ui/notifications/tool-input", params: { arguments: { a: 1 } } });
  check("MCP Apps: the host reaches the view",
    (await received(page, "echo"))?.method === "ui/notifications/tool-input");
  const spoof = ["proxy-ready", "resource-ready", "anything"].map(name => `ui/notifications/sandbox-${name}`);
  await mount(page, appPage(gosling), "sandbox-proxy-ready");
  await send(page, resource({ html: `<script>
    for (const method of ${JSON.stringify(spoof)}) parent.postMessage({ jsonrpc: "2.0", method, params: { html: "x" } }, "*");
    parent.postMessage({ last: 1 }, "*");
    addEventListener("message", ({ data }) => parent.postMessage({ got: data.method }, "*"));
  </script>` }));
  await received(page, "last");
  check("MCP Apps: the view cannot send the messages that are reserved for the page", await page.evaluate(() =>
    messages.filter(({ data }) => data.method?.startsWith("ui/notifications/sandbox-")).length === 1));
  await send(page, { jsonrpc: "2.0", method: "ui/notifications/sandbox-anything" });
  await send(page, { jsonrpc: "2.0", method: "ui/notifications/after" });
  check("MCP Apps: nor does it get them", await received(page, "got") === "ui/notifications/after");
  await policies(page, gosling, site);
}

/** Which of two sites a view may load scripts from and send requests to. */
async function policies(page, gosling, site) {
  const probe = `<script>
    const run = (name, source) => new Promise(resolve => {
      const script = document.createElement("script");
      Object.assign(script, { src: source, onload: () => resolve(true), onerror: () => resolve(false) });
      document.head.append(script);
    });
    const get = url => fetch(url).then(() => true, () => false);
    const image = src => new Promise(resolve => Object.assign(new Image(), { src, onload: () => resolve(true), onerror: () => resolve(false) }));
    const frame = src => new Promise(resolve => {
      addEventListener("securitypolicyviolation", event => event.blockedURI.startsWith(src.slice(0, 20)) && resolve(false));
      const inner = Object.assign(document.createElement("iframe"), { src, onload: () => setTimeout(resolve, 300, true) });
      document.documentElement.append(inner);
    });
    (async () => parent.postMessage({ probed: {
      script: await run("a", "${site.url}/script.js"),
      fetched: await get("${site.url}/data"),
      pixel: await image("${site.url}/pixel.svg"),
      framed: await frame("${site.url}/echo"),
    } }, "*"))();
  </script>`;
  const probed = async (query, csp) => {
    await mount(page, appPage(gosling, query), "sandbox-proxy-ready");
    await send(page, resource({ html: probe, csp }));
    return JSON.stringify(await received(page, "probed"));
  };
  const all = { connectDomains: [site.url], resourceDomains: [site.url], frameDomains: [site.url] };
  const lists = `&connect_domains=${site.url}&resource_domains=https://a.b,${site.url}&frame_domains=${site.url}`;
  const none = JSON.stringify({ script: false, fetched: false, pixel: false, framed: false });
  const every = none.replaceAll("false", "true");
  const is = (name, seen, expected) => check(`MCP Apps: ${name}`, seen === expected, seen);
  is("without domains nothing is loaded", await probed("", undefined), none);
  is("the resource cannot widen what the address allows", await probed("", all), none);
  is("the domains of the address are allowed", await probed(lists, undefined), every);
  is("those of address and resource are allowed", await probed(lists, all), every);
  is("a resource that declares nothing gets nothing", await probed(lists, {}), none);
  is("the domains of a `csp` in the address are allowed",
    await probed(`&csp=${encodeURIComponent(JSON.stringify(all))}`, all), every);
  is("each list allows its own", await probed(lists, { connectDomains: [site.url] }),
    none.replace('"fetched":false', '"fetched":true'));
  const hostile = [`${site.url}; script-src *; connect-src *; img-src *; frame-src *`, "*", "http:", "'self'",
    `${site.url}"><script>parent.postMessage({ injected: 1 }, "*")</script>`];
  is("a hostile domain in the resource adds no directive", await probed(lists, {
    connectDomains: hostile, resourceDomains: hostile, frameDomains: hostile, baseUriDomains: hostile }), none);
  check("MCP Apps: nor does it add HTML", !(await received(page, "injected", 300)));
  const sent = encodeURIComponent(hostile.join(","));
  is("a hostile domain in the address adds no directive",
    await probed(`&connect_domains=${sent}&resource_domains=${sent}&frame_domains=${sent}`, all), none);
  await permissions(page, gosling);
  await workers(page, gosling, site);
}

/** Bundlers put workers into blobs. */
async function workers(page, gosling, site) {
  await mount(page, appPage(gosling, `&resource_domains=${site.url}`), "sandbox-proxy-ready");
  await send(page, resource({ csp: { resourceDomains: [site.url] }, html: `<script>
    const run = (code, options) => new Promise(resolve => {
      const worker = new Worker(URL.createObjectURL(new Blob([code])), options);
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = () => resolve("failed");
    });
    (async () => parent.postMessage({ workers: [
      await run("postMessage('classic é')"),
      await run("postMessage('module é')", { type: "module" }),
      await run("import '${site.url}/worker.js'", { type: "module" }),
    ] }, "*"))();
  </script>` }));
  const ran = await received(page, "workers");
  check("MCP Apps: workers run, and load from declared domains", String(ran) === "classic é,module é,imported", ran);
}

async function permissions(page, gosling) {
  const allowed = async permissions => {
    await mount(page, appPage(gosling), "sandbox-proxy-ready");
    await send(page, resource({ permissions, html: `<script>parent.postMessage({ features:
      ["camera", "microphone", "geolocation", "clipboard-write", "midi"].filter(f => document.featurePolicy.allowsFeature(f)) }, "*")</script>` }));
    return (await received(page, "features")).join();
  };
  check("MCP Apps: without permissions a view has none", await allowed(undefined) === "");
  const some = await allowed({ camera: {}, clipboardWrite: {}, midi: {}, "microphone; midi": {} });
  check("MCP Apps: a view has the permissions that its resource declares", some === "camera,clipboard-write", some);
}

async function hosts(page, gosling) {
  check("a host whose frames have opaque origins is served, too",
    await mount(page, uiPage(gosling, "contentType=rawhtml"), "ui-proxy-iframe-ready", "allow-scripts"));
  await send(page, rawHtml(ECHO));
  check("there, too, the view reaches the host", await received(page, "hello") === "view");
  await page.goto(new URL("./host.html", import.meta.url).href);
  check("a host that is a file is served, too",
    await mount(page, appPage(gosling), "sandbox-proxy-ready"));
  await send(page, resource({ html: ECHO }));
  check("there, too, the view reaches the host", await received(page, "hello") === "view");
  await send(page, { ping: 1 });
  check("and the host reaches the view", (await received(page, "echo"))?.ping === 1);
  await page.goto(uiPage(gosling, "contentType=rawhtml"));
  check("on its own the page shows nothing but a sentence",
    (await page.innerText("body")).includes("nothing to see") && page.frames().length === 1);
  check("and its address does not have the secret", !page.url().includes(SECRET), page.url());
}
