// The console: signs in with a key, and shows one view at a time.
import { Apps } from "./apps.js";
import { Audit } from "./audit.js";
import { Chat } from "./chat.js";
import { announce, byId, doing, replace } from "./elements.js";
import { Extensions } from "./extensions.js";
import { Numbers } from "./numbers.js";
import { forgetKey, get, hasKey, useKey } from "./server.js";
import { Sessions } from "./sessions.js";
import { Tools } from "./tools.js";

const WIDE = matchMedia("(min-width: 60rem)");

class Console {
  #session = null;
  #shown = "chat";

  constructor() {
    const openPage = (call, uri) => {
      this.show("apps");
      this.apps.openOfTool(this.#session, call, uri);
    };
    this.apps = new Apps(text => {
      byId("message").value = text;
      announce("The page has written a message for you; it is not sent.");
    });
    this.sessions = new Sessions(id => this.#open(id));
    this.chat = new Chat({ openPage, changed: () => this.sessions.refresh() });
    const still = { enter() {}, leave() {} };
    this.views = { chat: still, tools: new Tools(openPage), extensions: new Extensions(), apps: this.apps, numbers: new Numbers(), audit: new Audit() };
    for (const control of byId("views").querySelectorAll("button")) {
      control.addEventListener("click", () => this.show(control.dataset.view));
    }
    const fold = () => { byId("side").open = WIDE.matches || !this.#session; };
    WIDE.addEventListener("change", fold);
    fold();
  }

  async #open(id) {
    this.#session = id;
    byId("chat-open").hidden = !id;
    byId("chat-none").hidden = Boolean(id);
    if (!WIDE.matches && id) byId("side").open = false;
    this.show("chat");
    if (!id) return this.chat.close();
    await this.chat.open(id);
    return byId("message").focus();
  }

  show(name) {
    this.views[this.#shown].leave();
    this.#shown = name;
    for (const control of byId("views").querySelectorAll("button")) {
      if (control.dataset.view === name) control.setAttribute("aria-current", "page");
      else control.removeAttribute("aria-current");
    }
    for (const view of document.querySelectorAll("main > section")) view.hidden = view.id !== `view-${name}`;
    this.views[name].enter(this.#session);
  }
}

let started = false;

/** The server does not take the key any more: the page begins anew, and nothing of it is left. */
function signOut() {
  if (!hasKey()) return;
  forgetKey();
  if (started) location.reload();
}

// A page that comes back from the history of the browser would still have the key.
window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload();
});

async function signIn() {
  const field = byId("key");
  const key = field.value.trim();
  await doing(byId("sign-in"), byId("sign-in-error"), async () => {
    useKey(key, signOut);
    try {
      await get("/sessions", { limit: 1 });
    } catch (error) {
      // A key that may only read numbers is a key, too.
      if (error.status !== 403) throw error;
    }
    field.value = "";
    started = true;
    byId("sign-in-page").remove();
    byId("page").hidden = false;
    byId("sign-out").addEventListener("click", signOut);
    const page = new Console();
    page.show("chat");
    replace(byId("status"), "Signed in.");
    await page.sessions.refresh();
    byId("sessions-title").focus();
  });
}

byId("sign-in-form").addEventListener("submit", event => {
  event.preventDefault();
  signIn();
});
