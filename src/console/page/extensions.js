// The extensions of a session: their states as the server tells them, the end of what they wrote, restarts, and new ones
// from links.
import { noSession } from "./chat.js";
import { announce, button, byId, doing, element, facts, json, preformatted, repeat, replace, say } from "./elements.js";
import { get, part, post } from "./server.js";

const SECONDS = 5;
const GOOD = ["active", "idle", "frontend"];

export class Extensions {
  #stop = () => {};
  /** The names whose log is shown, with the node of each: rows are made anew, logs stay. */
  #logs = new Map();
  #shown = "";

  constructor() {
    this.list = byId("extension-list");
    this.place = byId("extensions-error");
    byId("link-form").addEventListener("submit", event => {
      event.preventDefault();
      this.#judge(false);
    });
  }

  enter(session) {
    this.session = session;
    this.#shown = "";
    this.#logs.clear();
    replace(this.place);
    if (!session) return replace(this.list, noSession());
    this.#stop = repeat(SECONDS, () => this.refresh());
    return undefined;
  }

  leave() {
    this.#stop();
  }

  async refresh() {
    const { session } = this;
    try {
      const { extensions } = await get("/agent/extensions", { session_id: session });
      if (this.session !== session) return;
      this.#show(extensions);
      await Promise.all([...this.#logs].map(([name, node]) => this.#readLog(name, node)));
    } catch (error) {
      say(this.list, error);
      this.#shown = "";
    }
  }

  /** The rows are only made again if something has changed, so that the focus stays where it is. */
  #show(extensions) {
    const stable = extensions.map(({ uptime, ...rest }) => rest);
    const text = json(stable);
    if (text === this.#shown) return;
    this.#shown = text;
    const focused = document.activeElement?.dataset?.control;
    replace(this.list, extensions.length ? extensions.map(it => this.#row(it)) : element("p", { class: "note" }, "This session has no extensions."));
    if (focused) [...this.list.querySelectorAll("button")].find(it => it.dataset.control === focused)?.focus();
  }

  #row(extension) {
    const { name, state } = extension;
    const latency = extension.latency_ms;
    const log = this.#logs.get(name) ?? element("div", {});
    const error = element("div", {});
    const control = (text, action) => {
      const made = button(text, () => doing(made, error, action));
      made.dataset.control = `${text} ${name}`;
      made.setAttribute("aria-label", `${text}: ${name}`);
      return made;
    };
    return element("section", { class: "card", "aria-label": `Extension ${name}` },
      element("h3", {}, name, " ", element("span", { class: GOOD.includes(state) ? "state good" : "state bad" }, state)),
      extension.error ? element("p", { class: "error" }, extension.class ? `${extension.class}: ` : null, extension.error) : null,
      facts([
        ["Type", extension.type], ["Server", extension.server && `${extension.server.name} ${extension.server.version}`],
        ["Where", extension.url ?? (extension.pid && `process ${extension.pid}`)], ["Container", extension.container],
        ["Walls", extension.sandbox], ["Tools", extension.tools], ["Calls", extension.calls], ["Errors", extension.errors],
        ["Restarts", extension.restarts], ["Latency", latency && `median ${latency.p50.toFixed(1)} ms, 99 % within ${latency.p99.toFixed(1)} ms`],
        ["Screening", extension.screening && [extension.screening.decision, ...(extension.screening.reasons ?? [])].join(": ")],
        ["Changed tools", extension.pinning && json(extension.pinning)],
        ["Warnings", extension.warnings?.join(" ")],
      ]),
      element("div", { class: "actions" },
        control("Restart", () => this.#change(`${name} was restarted.`, "/agent/extensions/restart", { name })),
        control("Log", () => this.#toggleLog(name, log)),
        control("Remove from session", () => this.#change(`${name} was removed.`, "/agent/remove_extension", { name }))),
      error, log);
  }

  async #change(words, path, body) {
    try {
      await post(path, { session_id: this.session, ...body });
      announce(words);
    } finally {
      this.#shown = "";
      this.refresh();
    }
  }

  #toggleLog(name, node) {
    if (this.#logs.delete(name)) return replace(node);
    this.#logs.set(name, node);
    return this.#readLog(name, node);
  }

  async #readLog(name, node) {
    try {
      const { stderr } = await get(`/agent/extensions/${part(name)}/log`, { session_id: this.session });
      if (!this.#logs.has(name) || node.dataset.text === stderr) return;
      node.dataset.text = stderr;
      replace(node, stderr ? preformatted(stderr, `The end of what ${name} wrote`) : element("p", { class: "note" }, "It has written nothing to stderr."));
    } catch (error) {
      this.#logs.delete(name);
      say(node, error);
    }
  }

  /** What a link would install; what needs no confirmation is installed at once. */
  async #judge(confirm) {
    const place = byId("link-result");
    const link = byId("link").value.trim();
    await doing(byId("link-check"), place, async () => {
      const found = await post("/config/extensions/deeplink", { link, confirm });
      const needs = found.judgement === "EXTENSION_UNTRUSTED_CONFIRM_REQUIRED" && !found.installed;
      const words = found.installed ? "It is configured now." : needs ? "It needs your confirmation." : "It was not installed.";
      replace(place,
        element("p", { class: found.installed || needs ? "state" : "state bad", tabindex: -1 }, words),
        element("ul", {}, found.reasons.map(reason => element("li", {}, reason))),
        found.needs_configuration.length ? element("p", {}, `It needs these settings first: ${found.needs_configuration.join(", ")}`) : null,
        found.config ? preformatted(json(found.config), "What it would run", true) : null,
        needs ? button("Install it", () => this.#judge(true), { class: "main" }) : null,
        found.installed && this.session ? this.#addition(found.config, place) : null);
      place.firstElementChild.focus();
    });
  }

  #addition(config, place) {
    const error = element("div", {});
    const control = button("Add it to this session", () => doing(control, error, async () => {
      await this.#change("The extension was added.", "/agent/add_extension", { config });
      replace(place);
    }));
    return element("div", {}, control, error);
  }
}
