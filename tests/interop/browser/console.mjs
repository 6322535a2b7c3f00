// The console in a real browser: a chat with all its questions, by keyboard alone; tools, extensions, frames, plots;
// hostile text, long lists, lost connections; and axe-core on every view, in light and dark, wide and narrow.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { check, pause, SECRET, startGosling, until } from "./harness.mjs";
import { HOSTILE } from "./console_extension.mjs";

const HUGE = 100_000;
const EXACT = "12345678901234567890";
const calls = (name, more = "") => [{ raw_call: { name: `test__${name}`, arguments_text: more || "{}" } }, { text: "It says {{last_result}}" }];
const SCRIPT = { repeat: true, name: "A chat", turns: [
  { when: { user: "stream" }, steps: [{ reasoning: "I think." }, { text: "abcdefghij".repeat(3), chunks: 30, delay_ms: 30 }], usage: { input: 10, output: 5 } },
  { when: { user: "soon" }, steps: [{ text: "0123456789".repeat(4), chunks: 40, delay_ms: 50 }] },
  { when: { user: "slow" }, steps: [{ text: "0123456789".repeat(40), chunks: 400, delay_ms: 100 }] },
  { when: { user: "sum" }, steps: calls("add", `{"a": 1, "b": 2, "exact": ${EXACT}, "text": ${JSON.stringify(HOSTILE)}}`) },
  { when: { user: "table" }, steps: calls("ask") },
  { when: { user: "huge" }, steps: calls("echo", JSON.stringify({ text: "x".repeat(HUGE) + "THE-END" })) },
  { when: { user: "page" }, steps: calls("show", '{"word": "hi"}') },
  { when: { user: "hostile" }, steps: [{ text: HOSTILE }] },
  { steps: [{ text: "I heard: {{last_user}}" }] },
] };

/** A proxy between the browser and gosling that can cut all connections; `seen` has the heads of requests. */
async function startCutter(target) {
  const sockets = new Set();
  const seen = [];
  const server = createServer(client => {
    const upstream = connect(Number(new URL(target).port), "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => { sockets.delete(socket); client.destroy(); upstream.destroy(); });
    }
    client.on("data", bytes => seen.push(bytes.toString("latin1").slice(0, 2000)));
    client.pipe(upstream).pipe(client);
  });
  await new Promise(ready => server.listen(0, "127.0.0.1", ready));
  const cut = () => { for (const socket of sockets) socket.destroy(); };
  return { url: `http://127.0.0.1:${server.address().port}`, seen, cut, stop: () => { server.close(); cut(); } };
}

export async function consoleSuite(browser, options) {
  const script = join(tmpdir(), `gosling-console-${process.pid}.json`);
  writeFileSync(script, JSON.stringify(SCRIPT));
  const gosling = await startGosling(resolve(options.gosling),
    { GOOSE_PROVIDER: "scripted", GOOSE_MODEL: "script", GOOSE_SCRIPT: script, GOOSE_LOG: "info" });
  const cutter = await startCutter(gosling.url);
  const config = { type: "stdio", name: "test", cmd: process.execPath, timeout: 60,
    args: [new URL("console_extension.mjs", import.meta.url).pathname] };
  await gosling.api("/config/extensions", { name: "test", enabled: true, config });
  if (options.pictures) mkdirSync(options.pictures, { recursive: true });
  try {
    await new Tour(browser, gosling, cutter, options).run();
  } finally {
    cutter.stop();
    await gosling.stop();
  }
}

class Tour {
  constructor(browser, gosling, cutter, options) {
    Object.assign(this, { browser, gosling, cutter, options, faults: [] });
    this.axe = readFileSync(join(resolve(options.playwright), "node_modules/axe-core/axe.min.js"), "utf8");
  }

  async open(width = 1280, scheme = "light") {
    const context = await this.browser.newContext({ viewport: { width, height: 800 }, colorScheme: scheme, reducedMotion: "reduce" });
    const page = await context.newPage();
    page.on("console", message => {
      // A refused request is one, too, and the markup that `hostile` tries to make.
      const isExpected = /Failed to load resource|'TrustedHTML' assignment/.test(message.text());
      if (message.type() === "error" && !isExpected) this.faults.push(message.text());
    });
    page.on("pageerror", error => this.faults.push(String(error)));
    await page.goto(this.cutter.url + "/console");
    return page;
  }

  async run() {
    this.page = await this.open();
    await this.signIn();
    await this.chat();
    await this.hostile();
    await this.tools();
    await this.apps();
    await this.extensions();
    await this.numbersAndAudit();
    await this.connections();
    await this.lists();
    await this.modules();
    await this.hidden();
    await this.page.context().close();
    await this.roles();
    await this.looks();
    check("console: the browser reports no fault and no breach of the policy", this.faults.length === 0, this.faults);
  }

  text(selector = "body") {
    return this.page.locator(selector).first().innerText();
  }

  shows(pattern, selector) {
    return until(async () => pattern.test(await this.text(selector).catch(() => "")));
  }

  /** Presses Tab until the focus is on a control with this name; false after a whole round. */
  async tabTo(name) {
    for (let n = 0; n < 150; n++) {
      await this.page.keyboard.press("Tab");
      const at = await this.page.evaluate(() => {
        const { activeElement: it } = document;
        return it.getAttribute("aria-label") ?? it.labels?.[0]?.textContent ?? it.textContent;
      });
      if (at?.trim().startsWith(name)) return true;
    }
    return false;
  }

  /** Waits until no turn runs. */
  rests() {
    return until(async () => await this.page.locator("#messages").getAttribute("aria-busy") === "false");
  }

  async type(text) {
    await this.page.keyboard.type(text);
  }

  async press(...keys) {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  async signIn(key = SECRET) {
    const { page } = this;
    await until(() => page.evaluate(() => document.activeElement?.id === "key"));
    if (key === SECRET) {
      await this.type("a wrong kéy \u{1f511}");
      await this.press("Enter");
      check("console: a wrong key is refused in words", await this.shows(/key/i, "#sign-in-error"), await this.text());
      await page.fill("#key", "");
    }
    await page.focus("#key");
    await this.type(key);
    await this.press("Enter");
    check("console: a key signs in", await this.shows(/Sessions/, "#sessions-title"), await this.text());
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state, document.documentElement.outerHTML]));
    check("console: the key is in no store, address or element", !kept.includes(key), kept.slice(0, 300));
  }

  /** Everything here is done with the keyboard. */
  async chat() {
    const { page } = this;
    check("keyboard: the folder of a new session is reached", await this.tabTo("Folder"));
    await page.keyboard.press("Control+A");
    await this.type("/tmp");
    await this.press("Enter");
    check("keyboard: a session begins, and the focus is in the message",
      await until(() => page.evaluate(() => document.activeElement?.id === "message")), await this.text());
    await this.type("please stream");
    await this.press("Enter");
    const partial = await until(async () => {
      const said = (await this.text("#messages article.model > .text").catch(() => "")).length;
      return said > 0 && said < 30 ? said : said === 30 ? -1 : 0;
    });
    check("chat: the answer is shown while it is written", partial > 0, partial);
    check("chat: and whole at its end", await this.shows(/(abcdefghij){3}/, "#messages"));
    check("chat: the end is announced", await this.shows(/complete/, "#status"), await this.text("#status"));
    check("chat: the tokens are told", await this.shows(/15 tokens/, "#chat-tokens"), await this.text("#chat-tokens"));
    check("chat: the user's message is there once", (await page.locator("article.user").count()) === 1);

    await page.selectOption("#mode", "approve");
    await until(async () => !(await page.locator("#mode").isDisabled()));
    await page.focus("#message");
    await this.type("a sum");
    await this.press("Enter");
    check("approval: it is asked for", await this.shows(/May the tool test__add be called/, ".question"));
    const asked = await this.text(".question pre");
    check("approval: all arguments are shown, with all digits", asked.includes(EXACT) && asked.includes("<img src=x"), asked);
    check("approval: what turns text around is shown", asked.includes("⟨U+202E⟩"), asked);
    await page.evaluate(() => document.getElementById("messages").focus());
    check("keyboard: the answer is reached", await this.tabTo("Allow once"));
    await this.press("Enter");
    check("approval: the call runs after it", await this.shows(/It says 3/, "#messages"), await this.text("#messages"));
    check("approval: the answer is noted", await this.shows(/Answered: Allow once/, "#messages"));
    await page.focus("#message");
    await this.type("another sum");
    await this.press("Enter");
    await until(async () => (await page.locator(".question").count()) === 1);
    await page.evaluate(() => document.getElementById("messages").focus());
    await this.tabTo("Deny");
    await this.press("Enter");
    check("approval: a denial is told to the model", await this.shows(/It says (?!3)/, "#messages article:last-child"), await this.text("#messages"));
    await page.focus("#message");
    await this.type("huge");
    await this.press("Enter");
    await until(async () => (await page.locator(".question").count()) === 1);
    const huge = await page.locator(".question pre").evaluate(it => [it.textContent.length, it.textContent.includes("THE-END"), it.clientHeight]);
    check("approval: huge arguments are all there, and do not push the answers away", huge[0] > HUGE && huge[1] && huge[2] < 500, huge);
    check("approval: the title of the page tells of it", (await page.title()).startsWith("(question)"));
    await page.locator(".question").getByRole("button", { name: "Deny", exact: true }).click();
    await this.rests();
    check("approval: and no more when it is answered", await page.title() === "gosling console");
    await page.selectOption("#mode", "auto");
    await until(async () => !(await page.locator("#mode").isDisabled()));

    await page.focus("#message");
    await this.type("a table");
    await this.press("Enter");
    check("elicitation: the server's form is shown", await this.shows(/asks for data/, ".question"));
    await page.evaluate(() => document.getElementById("messages").focus());
    await this.tabTo("seats");
    await this.type("9");
    await this.tabTo("Send");
    await this.press("Enter");
    check("elicitation: what does not fit is said at its field, which has the focus",
      await until(() => page.evaluate(() => document.activeElement?.getAttribute("aria-invalid") === "true")) && /The most is 8/.test(await this.text(".question")), await this.text(".question"));
    await page.keyboard.press("Control+A");
    await this.type("2");
    await this.tabTo("Your name");
    await this.type("Ada");
    await this.tabTo("smoking");
    await this.press("ArrowDown");
    await this.tabTo("Send");
    await this.press("Enter");
    check("elicitation: the server gets the values",
      await this.shows(/answered \{"action":"accept","content":\{"seats":2,"name":"Ada","smoking":true\}\}/, "#messages"), await this.text("#messages"));
    await page.focus("#message");
    await this.type("a table");
    await this.press("Enter");
    await page.locator(".question").getByRole("button", { name: "Decline" }).click();
    check("elicitation: it can be declined", await this.shows(/answered \{"action":"(decline|cancel)"/, "#messages article:last-child"), await this.text("#messages"));

    await page.focus("#message");
    await this.type("slow");
    await this.press("Enter");
    await this.shows(/012/, "#messages article:last-child");
    await this.tabTo("Stop");
    await this.press("Enter");
    check("chat: a turn is stopped", await this.rests() && await this.shows(/complete/, "#status"));
    await page.fill("#message", "soon");
    await page.keyboard.press("Enter");
    await this.shows(/01/, "#messages article:last-child");
    const before = await page.locator("article.user").count();
    await page.fill("#message", "meanwhile");
    await page.keyboard.press("Enter");
    await this.rests();
    check("chat: what was added to a turn is shown once, and answered",
      await this.shows(/I heard: meanwhile/, "#messages") && await page.locator("article.user").count() === before + 1, await this.text("#messages"));
  }

  async hostile() {
    const { page } = this;
    await page.fill("#message", "hostile");
    await page.keyboard.press("Enter");
    check("hostile: a model's markup is text", await this.shows(/<img src=x onerror="window\.stolen=1"><script>/, "#messages article:last-child"));
    check("hostile: characters that turn text around are shown", await this.shows(/⟨U\+202E⟩evil/, "#messages article:last-child"), await this.text("#messages article:last-child"));
    const state = () => page.evaluate(() => [window.stolen, document.querySelectorAll("#page img, #page script").length]);
    check("hostile: nothing of it ran or became an element", JSON.stringify(await state()) === "[null,0]", await state());
    const refused = await page.evaluate(() => {
      try {
        document.body.innerHTML = "<p>x</p>";
        return "taken";
      } catch (error) {
        return error.name;
      }
    });
    check("hostile: the page itself cannot make markup from text", refused === "TypeError", refused);
  }

  async view(name) {
    await this.page.locator("#views").getByRole("button", { name }).click();
  }

  async tools() {
    const { page } = this;
    const tool = page.locator("#tool");
    await this.view("Tools");
    await page.getByRole("button", { name: "test__add" }).click();
    await page.getByRole("button", { name: "Call", exact: true }).click();
    check("tools: what is required is said", await this.shows(/This is required/, "#tool"));
    await tool.getByLabel(/^a /).fill("1");
    await tool.getByLabel(/^b /).fill("2");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    check("tools: a call has its result", await this.shows(/Done\s+3\b/, "#tool"), await this.text("#tool"));
    await page.getByRole("button", { name: "test__echo" }).click();
    await this.shows(/Takes|several/, "#tool");
    check("tools: a hostile description is text", (await this.text("#tool")).includes("<script>"), await this.text("#tool"));
    await tool.getByLabel("count", { exact: true }).fill(EXACT);
    await tool.getByLabel("on", { exact: true }).selectOption({ label: "no" });
    await tool.getByLabel("y", { exact: true }).check();
    await tool.getByLabel("deep", { exact: true }).fill('{"n": 1.10}');
    await tool.getByLabel("kind", { exact: true }).selectOption({ index: 3 });
    await page.getByRole("button", { name: "Call", exact: true }).click();
    check("tools: the server gets what was typed, with all digits",
      await this.shows(new RegExp(`"on":false,"several":\\["y"\\],"deep":\\{"n":1\\.10?\\},"count":${EXACT}`), "#tool .result, #tool pre"), await this.text("#tool"));
    await page.getByRole("button", { name: "test__odd" }).click();
    check("tools: a schema without plain fields is typed as JSON", await this.shows(/All values, as JSON/, "#tool"));
    await page.fill("#tool-filter", "nothing of this name");
    check("tools: the filter", await this.shows(/No such tool/, "#tool-list"));
    await page.fill("#tool-filter", "");
  }

  async apps() {
    const { page } = this;
    await this.view("Chat");
    await page.fill("#message", "a page");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Show its page" }).last().click();
    const inner = () => page.frames().find(frame => frame.url().includes("/mcp-app-view"));
    const said = () => inner()?.evaluate(() => document.getElementById("said")?.textContent).catch(() => "");
    check("apps: the page of a tool gets its arguments", await until(async () => /input \{"word":"hi"\}/.test(await said())), await said());
    check("apps: its call waits for the user", await this.shows(/May this page call the tool add/, "#app"));
    await page.locator("#app").getByRole("button", { name: "Allow" }).click();
    check("apps: and then has its result", await until(async () => await said() === "sum 42"), await said());
    const height = await page.locator("#app iframe").evaluate(it => it.clientHeight);
    check("apps: a page cannot be as high as it likes", height <= 2000, height);
    const addresses = page.frames().map(frame => frame.url());
    check("apps: no frame has the key in its address", !addresses.some(it => it.includes(SECRET)), addresses);
    check("apps: the frame has another origin", await inner().evaluate(() => {
      try { return String(parent.parent.document.title); } catch (error) { return error.name; }
    }) === "SecurityError");
    await page.getByRole("button", { name: "Close the page" }).click();
    await this.view("Chat");
    await this.view("Apps");
    check("apps: the extension's page is listed", await this.shows(/page/, "#app-list"));
  }

  async extensions() {
    const { page } = this;
    await this.view("Extensions");
    check("extensions: the state is told", await this.shows(/test\s+active/, "#extension-list"), await this.text("#extension-list"));
    const before = (await this.text("#extension-list")).match(/process (\d+)/)?.[1];
    await page.getByRole("button", { name: "Log: test" }).click();
    check("extensions: the end of its log is shown", await this.shows(/called add/, "#extension-list"), await this.text("#extension-list"));
    await page.getByRole("button", { name: "Restart: test" }).click();
    check("extensions: it is restarted", await until(async () => {
      const process = (await this.text("#extension-list")).match(/process (\d+)/)?.[1];
      return process && process !== before;
    }), await this.text("#extension-list"));
    check("extensions: the log is that of the new server", await this.shows(/nothing to stderr/, "#extension-list"));
    const look = async link => {
      await page.fill("#link", link);
      await page.getByRole("button", { name: "Add", exact: true }).click();
    };
    await look("goose://extension?name=Shell&cmd=bash&arg=-c&arg=id");
    check("extensions: a link that is blocked says why", await this.shows(/not installed/, "#link-result"), await this.text("#link-result"));
    await look("goose://extension?name=Other%20demo&url=http://192.0.2.1/mcp");
    check("extensions: a link that needs a confirmation shows why, and what it would run",
      await this.shows(/not encrypted[^]*"http:\/\/192\.0\.2\.1\/mcp"/, "#link-result"), await this.text("#link-result"));
    await page.getByRole("button", { name: "Install it" }).click();
    check("extensions: and is installed when it is confirmed", await this.shows(/configured now/, "#link-result"), await this.text("#link-result"));
    const { extensions } = await this.gosling.api("/config/extensions");
    check("extensions: the configuration has it", extensions.some(({ name }) => name === "Other demo"), extensions);
  }

  async numbersAndAudit() {
    const { page } = this;
    await this.view("Numbers");
    check("numbers: there are plots", await until(async () => (await page.locator("#plots path").evaluateAll(all => all.filter(it => it.getAttribute("d")).length)) >= 4), await this.text("#plots"));
    check("numbers: each plot says its values in words", await page.locator("#plots svg[role=img]").evaluateAll(all => all.length === 4 && all.every(it => /: .*at most/.test(it.getAttribute("aria-label")))));
    await this.view("Audit");
    check("audit: the last records are shown", await this.shows(/tool_call test add/, "#audit-records"), (await this.text("#audit-records")).slice(0, 300));
    await page.fill("#audit-filter", "goose_mode");
    check("audit: the filter", await until(async () => /setting goose_mode/.test(await this.text("#audit-records"))
      && !/tool_call/.test(await this.text("#audit-records"))));
  }

  /** A cut connection goes on after the last event; a server that has forgotten the events is read again. */
  async connections() {
    const { page, cutter } = this;
    await this.view("Chat");
    await page.fill("#message", "slow again");
    await page.keyboard.press("Enter");
    await this.shows(/0123/, "#messages article:last-child");
    cutter.seen.length = 0;
    cutter.cut();
    check("connections: one that is cut is made again after the last event",
      await until(() => cutter.seen.some(head => /\/events /.test(head) && /last-event-id: \d+/i.test(head))), cutter.seen.slice(0, 2));
    await this.shows(/(0123456789){3}/, "#messages article:last-child");
    const said = (await this.text("#messages article:last-child .text")).trim();
    check("connections: nothing is missing or doubled", "0123456789".repeat(40).startsWith(said), said);
    // An event that the server has never sent: it says that the page is too far behind.
    let renamed = 0;
    await page.route("**/events", route => renamed++ ? route.continue()
      : route.continue({ headers: { ...route.request().headers(), "last-event-id": "9000000000000000" } }));
    const read = page.waitForRequest("**/agent/resume");
    cutter.cut();
    check("connections: a page that is too far behind reads the session again", await read.then(() => true, () => false));
    await page.unroute("**/events");
    const begun = (await this.text("#messages article:last-child .text")).length;
    check("connections: and goes on", await until(async () => (await this.text("#messages article:last-child .text")).length > begun), await this.text("#messages"));
    const all = await page.locator("#messages article:last-child .text").allInnerTexts();
    check("connections: nothing is doubled by that", "0123456789".repeat(40).startsWith(all.join("")) && (await page.locator("article.user").last().innerText()).includes("slow again"), all);
    await page.getByRole("button", { name: "Stop the turn" }).click();
    await this.rests();
  }

  async lists() {
    const { page, gosling } = this;
    const message = (n, role) => ({ role, created: 1_700_000_000 + n, content: [{ type: "text", text: `message ${n}` }],
      metadata: { userVisible: true, agentVisible: true }, id: `m${n}` });
    const session = (name, count) => ({ json: JSON.stringify({ id: "20200101_1", working_dir: "/tmp", name, created_at: "2020-01-01T00:00:00Z",
      updated_at: "2020-01-01T00:00:00Z", extension_data: {}, message_count: count, user_set_name: true,
      conversation: Array.from({ length: count }, (_, n) => message(n, n % 2 ? "assistant" : "user")) }) });
    for (let n = 0; n < 120; n++) await gosling.api("/sessions/import", session(`Imported ${n} ${HOSTILE}`, 1));
    await gosling.api("/sessions/import", session("A long one", 1000));
    await page.getByRole("button", { name: "Search" }).click();
    const rows = () => page.locator("#session-list li").count();
    check("lists: a page has fifty sessions", await until(async () => await rows() === 50), await rows());
    await page.getByRole("button", { name: "Older" }).click();
    check("lists: the next page replaces it", await this.shows(/51 to 100/, "#session-range") && await rows() === 50);
    await page.getByRole("button", { name: "Newer" }).click();
    await this.shows(/1 to 50/, "#session-range");
    await page.getByRole("button", { name: /^A long one/ }).click();
    check("lists: of a long conversation the newest messages are shown", await this.shows(/message 999/, "#messages"));
    const shown = await page.locator("#messages article").count();
    check("lists: and no more than two hundred", shown <= 200 && (await this.text("#messages")).includes("Older messages are not shown"), shown);
    await page.fill("#message", "one more");
    await page.keyboard.press("Enter");
    await this.shows(/I heard: one more/, "#messages");
    check("lists: older ones leave when new ones come", await page.locator("#messages article").count() <= 200);
    await page.locator("#session-list").getByRole("button", { name: "Delete" }).click();
    check("lists: a session is not deleted at the first click", await this.shows(/Really delete/, "#session-list") && await this.shows(/A long one/, "#session-list"));
    await page.getByRole("button", { name: "Really delete?" }).click();
    check("lists: but at the second", await until(async () => !/A long one/.test(await this.text("#session-list"))));
    check("lists: and its messages leave the page", await page.locator("#messages article").count() === 0);
    await gosling.api("/sessions/import", session("A long one", 1000));
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("button", { name: /^A long one/ }).click();
    check("hostile: names of sessions are text", await page.evaluate(() => window.stolen === undefined && !document.querySelector("#session-list img")));
  }

  /** Numbers and texts as the modules of the page read them. */
  async modules() {
    const read = await this.page.evaluate(async () => {
      const { parse } = await import("/console/server.js");
      const { visible } = await import("/console/elements.js");
      const { numbersOf } = await import("/console/numbers.js");
      const same = ["0", "-0", "1", "-1.5", "1e400", "9007199254740993", "0.1", "0.30000000000000001", "123456789012345678901234567890", "1e-7", "-12e+3"];
      return {
        numbers: same.map(text => [text, JSON.stringify(parse(`[${text}]`))]),
        plain: [parse("1.0"), parse("1e2"), parse("100"), parse("0.5"), parse("-3")].map(value => typeof value),
        texts: ["a\u202eb", "\u2066", "\u0000", "\u{e0041}", "tab\tline\n", "zw\u200b", "e\u0301 \u{1f600} \u05d0\u05d1"].map(visible),
        metrics: [...numbersOf('# HELP a b\na 1\nb{c="d e"} 2.5\nno number here\nx NaN')],
      };
    });
    const odd = read.numbers.filter(([text, out]) => Number(out.slice(1, -1)) !== Number(text)
      || /\d{16}/.test(text) && out !== `[${text}]`);
    check("modules: numbers keep their digits", odd.length === 0 && read.plain.every(it => it === "number"), read);
    check("modules: what cannot be seen is said, and what can stays", JSON.stringify(read.texts) === JSON.stringify(
      ["a⟨U+202E⟩b", "⟨U+2066⟩", "⟨U+0000⟩", "⟨U+E0041⟩", "tab\tline\n", "zw⟨U+200B⟩", "e\u0301 \u{1f600} \u05d0\u05d1"]), read.texts);
    check("modules: numbers of Prometheus", JSON.stringify(read.metrics) === '[["a",1],["b{c=\\"d e\\"}",2.5],["x",null]]', read.metrics);
  }

  /** What a key may not do, the page says. */
  async roles() {
    const added = spawnSync(resolve(this.options.gosling), ["keys", "add", "reader", "--role", "read"],
      { env: { ...process.env, GOOSE_PATH_ROOT: this.gosling.root }, encoding: "utf8" });
    const page = this.page = await this.open();
    await this.signIn(added.stdout.trim().split(/\s+/).at(-1));
    await page.getByRole("button", { name: /^A long one/ }).click();
    check("roles: a key that only reads shows a session", await this.shows(/message 999/, "#messages"), await this.text("#view-chat"));
    await page.fill("#message", "hello");
    await page.keyboard.press("Enter");
    check("roles: what it may not do is said", await this.shows(/has the role read/, "#chat-error"), await this.text("#view-chat"));
    check("roles: and the message is still there to be sent", await page.inputValue("#message") === "hello");
    await this.view("Audit");
    const asked = [];
    page.on("request", request => request.url().includes("/audit/") && asked.push(request.url()));
    check("roles: nor does it see the audit log", await this.shows(/needs admin/, "#audit-records"));
    await pause(5500);
    check("roles: and is not asked for again and again", asked.length === 0, asked);
    await page.context().close();
  }

  /** A page that nobody sees asks for nothing. */
  async hidden() {
    const { page } = this;
    await this.view("Numbers");
    await this.shows(/now/, "#plots");
    const hide = hidden => page.evaluate(value => {
      Object.defineProperty(document, "hidden", { value, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
    await hide(true);
    await pause(5500);
    const asked = [];
    page.on("request", request => asked.push(request.url()));
    await pause(6000);
    check("hidden: a page that is not seen asks for nothing", asked.length === 0, asked);
    await hide(false);
    check("hidden: and goes on when it is seen", await until(() => asked.some(url => url.endsWith("/metrics"))));
    await this.look("1280-light-9-plots");
  }

  /** Every view in light and dark, wide and narrow: axe-core, no sideways scrolling, pictures for people. */
  async looks() {
    for (const width of [1280, 360]) {
      for (const scheme of ["light", "dark"]) {
        const page = this.page = await this.open(width, scheme);
        await this.look(`${width}-${scheme}-0-sign-in`);
        await page.fill("#key", SECRET);
        await page.keyboard.press("Enter");
        await until(async () => (await page.locator("#session-list li").count()) > 0);
        await this.look(`${width}-${scheme}-1-sessions`);
        await page.fill("#new-folder", "/tmp");
        await page.getByRole("button", { name: "Start" }).click();
        await this.shows(/New Chat/, "#chat-title");
        for (const words of ["please stream", "hostile"]) {
          await page.fill("#message", words);
          await page.keyboard.press("Enter");
          await this.shows(words === "hostile" ? /evil/ : /j{1}/, "#messages article:last-child");
          await this.rests();
        }
        await page.selectOption("#mode", "approve");
        await until(async () => !(await page.locator("#mode").isDisabled()));
        await page.fill("#message", "a sum");
        await page.keyboard.press("Enter");
        await this.shows(/May the tool/, ".question");
        await this.look(`${width}-${scheme}-2-approval`);
        await page.getByRole("button", { name: "Allow once" }).click();
        await this.shows(/It says 3/, "#messages");
        await page.selectOption("#mode", "auto");
        await until(async () => !(await page.locator("#mode").isDisabled()));
        await page.fill("#message", "a table");
        await page.keyboard.press("Enter");
        await this.shows(/asks for data/, ".question");
        await this.look(`${width}-${scheme}-3-elicitation`);
        await page.getByRole("button", { name: "Decline" }).click();
        await this.view("Tools");
        await page.getByRole("button", { name: "test__echo" }).click();
        await page.getByRole("button", { name: "Call", exact: true }).click();
        await this.shows(/Done/, "#tool");
        await this.look(`${width}-${scheme}-4-tools`);
        await this.view("Extensions");
        await page.getByRole("button", { name: "Log: test" }).click();
        await this.shows(/called/, "#extension-list");
        await page.fill("#link", "goose://extension?name=Far&url=http://192.0.2.2/mcp");
        await page.getByRole("button", { name: "Add", exact: true }).click();
        await this.shows(/needs your confirmation/, "#link-result");
        await this.look(`${width}-${scheme}-5-extensions`);
        await this.view("Apps");
        await page.locator("#app-list").getByRole("button").first().click();
        await until(() => page.frames().some(frame => frame.url().includes("/mcp-app-view")));
        await this.look(`${width}-${scheme}-6-apps`);
        await this.view("Numbers");
        await this.shows(/now/, "#plots");
        await this.look(`${width}-${scheme}-7-numbers`);
        await this.view("Audit");
        await this.shows(/tool_call/, "#audit-records");
        await this.look(`${width}-${scheme}-8-audit`);
        await page.context().close();
      }
    }
  }

  async look(name) {
    const { page, options } = this;
    if (options.pictures) await page.screenshot({ path: join(options.pictures, `console-${name}.png`), fullPage: true });
    const width = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(`${name}: nothing is wider than the screen`, width <= 0, width);
    await page.evaluate(this.axe);
    // What is in the frame is the extension's.
    const found = await page.evaluate(async () => {
      const { violations } = await axe.run({ exclude: [["iframe"]] }, { iframes: false });
      return violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 120)} ${failureSummary.slice(0, 200)}`)]);
    });
    check(`${name}: axe-core finds nothing`, found.length === 0, found);
  }
}
