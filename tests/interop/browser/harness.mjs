// What the suites share: gosling in a folder of its own, web servers that log what reaches them, and the list
// of checks.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** How long anything may take. */
export const DEADLINE = 30_000;

/** Would show up in any address, header or message that it leaks into. */
export const SECRET = "the-secret-that-nothing-framed-may-see";

const checks = [];

/** Records one assertion; `seen` explains a failure. */
export function check(name, ok, seen) {
  checks.push({ name, ok: Boolean(ok) });
  console.log(`${ok ? "ok    " : "FAILED"} ${name}${ok || seen === undefined ? "" : `: ${shown(seen)}`}`);
}

function shown(value) {
  return (typeof value === "string" ? value : JSON.stringify(value))?.slice(0, 500);
}

/** Prints the count; the exit status. */
export function summary() {
  const failed = checks.filter(({ ok }) => !ok);
  console.log(`${checks.length} checks, ${failed.length} failed`);
  return failed.length || !checks.length ? 1 : 0;
}

/** Waits until `condition` gives something true, and returns that; what it gave last after the deadline. */
export async function until(condition, deadline = DEADLINE) {
  const end = Date.now() + deadline;
  for (;;) {
    const value = await condition();
    if (value || Date.now() > end) return value;
    await pause(50);
  }
}

export function pause(milliseconds) {
  return new Promise(resume => setTimeout(resume, milliseconds));
}

/** A running `gosling agent` with further variables: `url`, `log()`, `api(path, body)`, `stop()`. */
export async function startGosling(program, variables = {}) {
  const root = mkdtempSync(join(tmpdir(), "gosling-browser-"));
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(GOOSE|GOSLING)/.test(name)));
  Object.assign(env, { GOOSE_PATH_ROOT: root, GOOSE_SERVER__SECRET_KEY: SECRET, GOOSE_LOG: "debug", ...variables });
  const child = spawn(program, ["agent", "--port", "0"], { env, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  child.stderr.on("data", text => (log += text));
  const ended = new Promise(resume => child.on("exit", resume));
  const url = await until(() => log.match(/ listens on (http:\/\/\S+)/)?.[1]);
  if (!url) throw new Error(`gosling did not start: ${log}`);
  const api = async (path, body) => {
    const response = await fetch(url + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { "X-Secret-Key": SECRET, "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  };
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
    rmSync(root, { recursive: true, force: true });
  };
  return { url, api, stop, root, log: () => log };
}

/**
 * A web server on a port of its own. `pages` maps a path to `[content type, body]`; everything else is an empty
 * page. `requests` has what arrived, as text: address and header fields.
 */
export async function startSite(pages) {
  const requests = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    const [type, body] = pages[new URL(request.url, "http://site").pathname] ?? ["text/html", "<!doctype html>"];
    response.writeHead(200, { "Content-Type": type, "Access-Control-Allow-Origin": "*" }).end(body);
  });
  await new Promise(resume => server.listen(0, "127.0.0.1", resume));
  const url = `http://127.0.0.1:${server.address().port}`;
  const got = path => requests.some(request => request.split(" ")[1].startsWith(path));
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url, requests, got, stop };
}
