// The tools of a session's extensions, each with a form made from its schema.
import { noSession } from "./chat.js";
import { add, button, byId, doing, element, facts, json, preformatted, replace, say, visible } from "./elements.js";
import { resultNodes } from "./messages.js";
import { SchemaForm } from "./schema_form.js";
import { get, parse, part, post } from "./server.js";

/** How many are listed at once; the filter finds the others. */
const MAX_LISTED = 200;

export class Tools {
  #all = [];

  /** `openPage` shows the page of a tool. */
  constructor(openPage) {
    this.openPage = openPage;
    this.list = byId("tool-list");
    this.place = byId("tool");
    byId("tool-filter").addEventListener("input", () => this.#show());
    byId("tools-refresh").addEventListener("click", () => this.enter(this.session));
  }

  async enter(session) {
    this.session = session;
    replace(this.place);
    if (!session) return replace(this.list, noSession());
    try {
      this.#all = await get("/agent/tools", { session_id: session });
      this.#show();
    } catch (error) {
      say(this.list, error);
    }
    return undefined;
  }

  leave() {}

  #show() {
    const words = byId("tool-filter").value.toLowerCase().split(/\s+/);
    const fits = ({ name, description }) => words.every(word => `${name} ${description}`.toLowerCase().includes(word));
    const found = this.#all.filter(fits);
    const rows = found.slice(0, MAX_LISTED).map(tool => element("li", {},
      button([element("code", {}, tool.name)], () => this.#choose(tool.name)),
      element("span", { class: "hint", dir: "auto" }, tool.description.slice(0, 120))));
    replace(this.list, rows.length ? element("ul", { class: "rows" }, rows) : element("p", { class: "note" }, "No such tool."),
      found.length > MAX_LISTED ? element("p", { class: "note" }, `${found.length - MAX_LISTED} more: use the filter.`) : null);
  }

  async #choose(name) {
    const { session } = this;
    try {
      const tool = await get(`/agent/tools/${part(name)}`, { session_id: session });
      if (this.session === session) this.#open(tool);
    } catch (error) {
      say(this.place, error);
    }
  }

  #open(tool) {
    const form = new SchemaForm(tool.input_schema);
    const result = element("div", { "aria-live": "polite" });
    const hints = Object.entries(tool.annotations ?? {}).filter(([name]) => name.endsWith("Hint")).map(([name, value]) => `${name}: ${value}`);
    const title = element("h3", { tabindex: -1 }, element("code", {}, tool.name));
    const text = element("textarea", { rows: 6, class: "code", "aria-label": "Arguments as JSON", spellcheck: "false" });
    const raw = element("details", {}, element("summary", {}, "Type the arguments as JSON instead"), text);
    const submit = element("button", { class: "main" }, "Call");
    const call = async () => {
      const values = raw.open && text.value.trim() ? this.#parsed(text.value, result) : form.read();
      if (values === undefined) return;
      await doing(submit, result, async () => {
        replace(result, element("p", { class: "note" }, "It runs…"));
        const answer = await post("/agent/call_tool", { session_id: this.session, name: tool.name, arguments: values });
        this.#result(tool, values, answer, result);
      });
    };
    replace(this.place, title,
      element("p", { class: "text", dir: "auto" }, tool.description ?? ""),
      facts([["Permission", tool.permission], ["The server says", hints.join(", ")]]),
      element("form", { novalidate: true, onsubmit: event => { event.preventDefault(); call(); } }, form.node, raw, submit),
      result,
      element("details", {}, element("summary", {}, "Schema"), preformatted(json(tool.input_schema), "Schema")));
    title.focus();
  }

  #parsed(text, place) {
    try {
      return parse(text);
    } catch (error) {
      say(place, `The arguments are not JSON: ${error.message}`);
      return undefined;
    }
  }

  #result(tool, values, answer, place) {
    const page = tool._meta?.ui?.resourceUri;
    const state = answer.is_error ? "The tool failed" : "Done";
    replace(place, element("p", { class: answer.is_error ? "state bad" : "state good" }, state),
      resultNodes(answer, `Result of ${visible(tool.name)}`));
    if (typeof page !== "string") return;
    const call = { name: tool.name, call: { arguments: values }, value: answer };
    add(place, [button("Show its page", () => this.openPage(call, page))]);
  }
}
