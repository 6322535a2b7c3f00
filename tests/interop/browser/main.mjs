// Tries gosling's proxy page for UIs of MCP servers, and its console, in a real browser.
//
//   node tests/interop/browser/main.mjs --gosling PROGRAM --playwright FOLDER --chromium PROGRAM
//       [--apps FOLDER] [--pictures FOLDER]
//
// FOLDERs are where playwright-core, axe-core and cesium, and the servers of MCP Apps, are installed (node_modules inside).
// Pictures of the apps are only taken for people to look at. `--only SUITE` runs one suite. Exit status 1 if a
// check failed.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { apps, startInternet } from "./apps.mjs";
import { consoleSuite } from "./console.mjs";
import { startGosling, startSite, summary } from "./harness.mjs";
import { hostile } from "./hostile.mjs";
import { relay } from "./relay.mjs";

const options = parseArgs({ options: Object.fromEntries(
  ["gosling", "playwright", "chromium", "apps", "pictures", "only"].map(name => [name, { type: "string" }])) }).values;
const { chromium } = createRequire(resolve(options.playwright, "node_modules/"))("playwright-core");

const html = name => ["text/html", readFileSync(new URL(name, import.meta.url), "utf8")];
const site = await startSite({
  "/host": html("host.html"),
  "/echo": ["text/html", `<!doctype html><script>
    addEventListener("message", ({ data }) => parent.postMessage({ echo: data }, "*"));
    parent.postMessage({ origin: location.origin }, "*");
  </script>`],
  "/script.js": ["text/javascript", "window.scriptRan = true;"],
  "/worker.js": ["text/javascript", "postMessage('imported')"],
  "/data": ["application/json", "{}"],
  "/pixel.svg": ["image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'],
});
const internet = await startInternet(options);
const gosling = await startGosling(resolve(options.gosling));
const browser = await chromium.launch({
  executablePath: options.chromium,
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--enable-unsafe-swiftshader", "--use-angle=swiftshader",
    `--host-resolver-rules=MAP * 127.0.0.1:${internet.port}, EXCLUDE 127.0.0.1`, "--ignore-certificate-errors"],
});
const elsewhere = await startSite({ "/stranger": html("stranger.html") });
try {
  for (const [name, suite] of Object.entries({ relay, hostile, apps })) {
    if (options.only && options.only !== name) continue;
    const page = await browser.newPage({ viewport: { width: 920, height: 640 } });
    await page.goto(site.url + "/host");
    await suite(page, { gosling, site, elsewhere, options });
    await page.close();
  }
  if (!options.only || options.only === "console") await consoleSuite(browser, options);
} finally {
  await browser.close();
  await gosling.stop();
  internet.stop();
  site.stop();
  elsewhere.stop();
}
process.exit(summary());
