// Pages of MCP servers (MCP Apps, SEP-1865) in the frames that gosling isolates them with. A ticket stands in the address
// of the frame, not the key; the page gets neither. It may call the tools of its own server that the user allows it.
import { noSession } from "./chat.js";
import { button, byId, element, json, preformatted, replace, say, visible } from "./elements.js";
import { address, get, part, post } from "./server.js";

const PROXY = "/mcp-app-proxy";
const MIN_HEIGHT = 100;
const MAX_HEIGHT = 2000;
/** How many calls of a page run or wait at once. */
const MAX_CALLS = 16;

export class Apps {
  #shown = null;

  /** `propose` takes a text that a page would like its user to send. */
  constructor(propose) {
    this.propose = propose;
    this.list = byId("app-list");
    this.place = byId("app");
  }

  async enter(session) {
    if (this.session !== session) this.#close();
    this.session = session;
    if (!session) return replace(this.list, noSession());
    try {
      const { apps } = await get("/agent/list_apps", { session_id: session });
      const rows = apps.map(app => element("li", {},
        button(app.name, () => this.#open({ app, extension: app.mcpServers[0] })),
        element("span", { class: "hint" }, app.description ?? app.uri)));
      replace(this.list, rows.length ? element("ul", { class: "rows" }, rows) : element("p", { class: "note" }, "The extensions of this session have no pages."));
    } catch (error) {
      say(this.list, error);
    }
    return undefined;
  }

  leave() {}

  /** Shows the page of a tool that was called, with its arguments and its result. */
  async openOfTool(session, { name, call, value }, uri) {
    this.session = session;
    try {
      const { extension } = await get(`/agent/tools/${part(name)}`, { session_id: session });
      const app = await post("/agent/read_resource", { session_id: session, extension_name: extension, uri });
      await this.#open({ app: { ...app, name }, extension, input: call?.arguments, result: value });
    } catch (error) {
      say(this.place, error);
    }
  }

  #close() {
    this.#shown?.close();
    this.#shown = null;
    replace(this.place);
  }

  async #open(of) {
    this.#close();
    try {
      const { ticket } = await post("/ticket", { path: PROXY });
      const frame = new AppFrame(this, of, ticket);
      this.#shown = frame;
      replace(this.place, frame.node);
      frame.title.focus();
    } catch (error) {
      say(this.place, error);
    }
  }
}

class AppFrame {
  #allowed = new Map();
  #calls = 0;

  constructor(apps, { app, extension, input, result }, ticket) {
    Object.assign(this, { apps, app, extension, input, result, session: apps.session });
    const ui = app._meta?.ui ?? {};
    const url = address(PROXY);
    url.searchParams.set("secret", ticket);
    if (ui.csp) url.searchParams.set("csp", json(ui.csp));
    this.title = element("h3", { tabindex: -1 }, app.name);
    this.frame = element("iframe", { src: url.href, title: `Page of the extension ${visible(extension)}`, referrerpolicy: "no-referrer" });
    this.questions = element("div", { "aria-live": "polite" });
    this.node = element("div", {}, this.title,
      element("p", { class: "note" }, "This page comes from the extension ", element("code", {}, extension), ", not from gosling."),
      this.questions, this.frame, button("Close the page", () => { this.close(); this.node.remove(); }));
    this.listener = ({ source, origin, data }) => {
      if (source === this.frame.contentWindow && origin === url.origin) this.#message(data);
    };
    window.addEventListener("message", this.listener);
    this.origin = url.origin;
  }

  close() {
    window.removeEventListener("message", this.listener);
  }

  #send(message) {
    this.frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, this.origin);
  }

  async #message(data) {
    if (typeof data !== "object" || data === null || typeof data.method !== "string") return;
    const { id, method, params } = data;
    if (id === undefined) return this.#notified(method, params);
    try {
      this.#send({ id, result: await this.#answer(method, params) });
    } catch (error) {
      this.#send({ id, error: { code: error.code ?? -32000, message: error.message } });
    }
  }

  #notified(method, params) {
    if (method === "ui/notifications/sandbox-proxy-ready") {
      const { csp, permissions } = this.app._meta?.ui ?? {};
      this.#send({ method: "ui/notifications/sandbox-resource-ready", params: { html: this.app.text, csp, permissions } });
    } else if (method === "ui/notifications/initialized" && this.input !== undefined) {
      this.#send({ method: "ui/notifications/tool-input", params: { arguments: this.input } });
      if (this.result) this.#send({ method: "ui/notifications/tool-result", params: plainResult(this.result) });
    } else if (method === "ui/notifications/size-changed" && Number.isFinite(params?.height)) {
      this.frame.style.height = `${Math.min(Math.max(params.height, MIN_HEIGHT), MAX_HEIGHT)}px`;
    }
  }

  async #answer(method, params) {
    switch (method) {
      case "ui/initialize": return {
        protocolVersion: params?.protocolVersion, hostInfo: { name: "gosling console", version: "1" },
        hostCapabilities: { serverTools: {}, serverResources: {} },
        hostContext: { theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light", displayMode: "inline" },
      };
      case "ping": return {};
      case "tools/call": return this.#call(String(params?.name), params?.arguments ?? {});
      case "resources/read": return { contents: [await post("/agent/read_resource",
        { session_id: this.session, extension_name: this.extension, uri: String(params?.uri) })] };
      case "ui/message":
        this.apps.propose((params?.content ?? []).map(part => part?.text ?? "").join("\n").slice(0, 10_000));
        return {};
      default: throw Object.assign(new Error(`The host has no ${method}`), { code: -32601 });
    }
  }

  async #call(name, values) {
    if (this.#calls >= MAX_CALLS) throw new Error("Too many calls at once");
    this.#calls += 1;
    try {
      if (!await this.#permission(name, values)) throw new Error("The user does not allow this call");
      const answer = await post("/agent/call_tool", { session_id: this.session, name: `${this.extension}__${name}`, arguments: values });
      return plainResult(answer);
    } finally {
      this.#calls -= 1;
    }
  }

  /** The user's decision about a tool, asked for once for each page and tool. */
  #permission(name, values) {
    if (!this.#allowed.has(name)) {
      this.#allowed.set(name, new Promise(resume => {
        const decide = (text, isAllowed) => button(text, () => { card.remove(); resume(isAllowed); }, { class: isAllowed ? "main" : undefined });
        const title = `May this page call the tool ${visible(name)}, now and later?`;
        const card = element("section", { class: "card question", "aria-label": title },
          element("p", { class: "title" }, title), preformatted(json(values), "Arguments of the first call", true),
          element("div", { class: "actions" }, decide("Allow", true), decide("Deny", false)));
        this.questions.append(card);
      }));
    }
    return this.#allowed.get(name);
  }
}

/** A result as MCP has it. */
function plainResult(answer) {
  return {
    content: answer.content, structuredContent: answer.structuredContent ?? answer.structured_content,
    isError: answer.isError ?? answer.is_error, _meta: answer._meta,
  };
}
