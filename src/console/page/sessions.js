// The list of sessions, a page at a time: however many there are, the browser has fifty of them.
import { announce, button, byId, doing, element, replace, say, time } from "./elements.js";
import { ask, get, part, post } from "./server.js";

const PAGE = 50;

export class Sessions {
  #offset = 0;
  #query = "";

  /** `open` is called with the id of a session to show, and with `null` when that one was deleted. */
  constructor(open) {
    this.open = open;
    this.current = null;
    this.place = byId("sessions-error");
    byId("newer").addEventListener("click", () => this.#turnTo(this.#offset - PAGE));
    byId("older").addEventListener("click", () => this.#turnTo(this.#offset + PAGE));
    byId("search-form").addEventListener("submit", event => {
      event.preventDefault();
      this.#query = byId("search").value.trim();
      this.#turnTo(0);
    });
    byId("new-form").addEventListener("submit", event => {
      event.preventDefault();
      this.#start();
    });
  }

  #turnTo(offset) {
    this.#offset = Math.max(0, offset);
    return this.refresh();
  }

  async refresh() {
    try {
      // One more than is shown tells whether there are more.
      const found = this.#query
        ? await get("/sessions/search", { query: this.#query, limit: PAGE })
        : (await get("/sessions", { limit: PAGE + 1, offset: this.#offset })).sessions;
      replace(this.place);
      this.#show(found);
    } catch (error) {
      say(this.place, error);
    }
  }

  #show(found) {
    const shown = found.slice(0, PAGE);
    replace(byId("session-list"), shown.map(session => this.#row(session)));
    byId("newer").disabled = this.#offset === 0;
    byId("older").disabled = found.length <= PAGE;
    const words = shown.length ? `${this.#offset + 1} to ${this.#offset + shown.length}` : "none";
    replace(byId("session-range"), this.#query ? `${shown.length} found` : words);
    const folder = byId("new-folder");
    if (!folder.value && shown.length) folder.value = shown[0].working_dir;
  }

  #row(session) {
    const isCurrent = session.id === this.current;
    const choose = button([], () => this.choose(session.id), { class: "session", "aria-current": isCurrent ? "true" : undefined });
    choose.append(element("span", { class: "name", dir: "auto" }, session.name),
      element("span", { class: "hint" }, `${time(session.updated_at)} · ${session.message_count} ${session.message_count === 1 ? "message" : "messages"}`));
    return element("li", {}, choose, isCurrent ? this.#deletion(session.id) : null);
  }

  /** Deletes at the second click. */
  #deletion(id) {
    let isSure = false;
    const control = button("Delete", () => {
      if (!isSure) {
        isSure = true;
        return replace(control, "Really delete?");
      }
      return doing(control, this.place, async () => {
        await ask("DELETE", `/sessions/${part(id)}`);
        this.current = null;
        this.open(null);
        announce("The session was deleted.");
        await this.refresh();
      });
    }, { class: "small" });
    return control;
  }

  async choose(id) {
    this.current = id;
    const opened = this.open(id);
    await this.refresh();
    await opened;
  }

  #start() {
    return doing(byId("new"), this.place, async () => {
      const { id } = await post("/agent/start", { working_dir: byId("new-folder").value });
      await this.choose(id);
    });
  }
}
