// A session's conversation: reads it, follows its events, sends messages, stops turns.
import { announce, byId, doing, element, replace, say } from "./elements.js";
import { EventStream } from "./event_stream.js";
import { MessageLog } from "./messages.js";
import { Questions, userMessage, uuid } from "./questions.js";
import { get, part, post } from "./server.js";

export class Chat {
  #stream = null;
  /** The request whose turn runs, if one does. */
  #running = null;
  /** The requests of this page; the turns of others are read again at their end. */
  #own = new Set();
  /** The ids of the messages that were read: events that repeat them are skipped. */
  #read = new Set();
  /** Of other requests: whether their turn was over when the session was read. Their events are sent all the same. */
  #isOver = new Map();

  /** `openPage` shows the page of a tool; `changed` is called when the session may have changed. */
  constructor({ openPage, changed }) {
    this.session = null;
    this.changed = changed;
    this.log = new MessageLog(byId("messages"), data => this.questions.ask(data), openPage);
    this.text = byId("message");
    this.place = byId("chat-error");
    byId("send-form").addEventListener("submit", event => {
      event.preventDefault();
      this.#send();
    });
    this.text.addEventListener("keydown", event => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#send();
    });
    byId("stop").addEventListener("click", () => this.#stop());
    byId("mode").addEventListener("change", ({ target }) => this.#setMode(target));
  }

  close() {
    this.#stream?.close();
    this.#stream = null;
    this.session = null;
    this.log.clear();
  }

  /** Opens a session: starts its extensions if the key may do that, else only reads. */
  async open(id) {
    this.close();
    this.session = id;
    replace(this.place);
    replace(byId("chat-title"), "Opening the session…");
    announce("The session is being opened; its extensions start.");
    await this.#reload();
    if (this.session !== id) return;
    this.#stream = new EventStream(id, {
      event: event => this.session === id && this.#event(event),
      behind: () => this.#reload(),
      state: (state, reason) => this.#connection(state, reason),
    });
    announce("The session is open.");
  }

  async #reload() {
    const id = this.session;
    try {
      const { session, extension_results: results } = await this.#resume(id);
      if (this.session !== id) return;
      this.questions?.close();
      this.questions = new Questions(id);
      this.#own.clear();
      replace(byId("chat-title"), session.name);
      replace(byId("chat-facts"), `${session.working_dir} · ${[session.provider_name, session.model_config?.model_name].filter(Boolean).join(" ") || "no model chosen yet"}`);
      byId("mode").value = session.goose_mode ?? "";
      this.#fill(session.conversation ?? []);
      const failed = (results ?? []).filter(({ success }) => !success);
      for (const { name, error } of failed) this.log.note(`The extension ${name} did not start: ${error}`, "error");
      this.#turn(null);
    } catch (error) {
      say(this.place, error);
    }
  }

  async #resume(id) {
    try {
      return await post("/agent/resume", { session_id: id, load_model_and_extensions: true });
    } catch (error) {
      if (error.status !== 403) throw error;
      return { session: await get(`/sessions/${part(id)}`) };
    }
  }

  #fill(messages) {
    this.#isOver.clear();
    this.#read = new Set(messages.map(({ id }) => id).filter(Boolean));
    this.log.fill(messages);
    this.questions.close();
  }

  /** Whether an event is of a turn that is over, and so in what was read. Its first event tells. */
  #isOld(event) {
    const request = event.chat_request_id;
    if (!request || this.#own.has(request) || request === this.#running) return false;
    if (!this.#isOver.has(request)) {
      const isOver = event.type === "Message" ? this.#read.has(event.message.id) : event.type !== "Notification";
      this.#isOver.set(request, isOver);
      if (!isOver) this.#turn(request);
    }
    return this.#isOver.get(request);
  }

  #event(event) {
    if (this.#isOld(event)) return undefined;
    switch (event.type) {
      case "ActiveRequests": return this.#turn(event.request_ids[0]);
      case "Message":
        if (!this.#read.has(event.message.id)) this.log.show(event.message);
        return this.#tokens(event.token_state);
      case "Notification": return this.log.notify(event.request_id, event.message);
      case "UpdateConversation": return this.#fill(event.conversation);
      case "ModelChange": return this.log.note(`The model ${event.model} answers from now on.`);
      case "Error":
      case "Finish": return this.#end(event);
      default: return undefined;
    }
  }

  #end(event) {
    const isOwn = this.#own.delete(event.chat_request_id);
    this.questions.close();
    this.#turn(null);
    if (event.type === "Error") this.log.note(event.error, "error");
    else this.#tokens(event.token_state);
    announce(event.type === "Error" ? "The turn has failed." : "The answer is complete.");
    this.changed();
    // The message of another client's user is in the session, not in the events.
    if (!isOwn) this.#reload();
  }

  #tokens(state) {
    const all = state?.accumulatedTotalTokens ?? state?.totalTokens;
    if (all) replace(byId("chat-tokens"), `${all} tokens`);
  }

  #connection(state, reason) {
    byId("connection").className = `connection ${state}`;
    const words = { connected: "connected", waiting: "reconnecting…", ended: "not connected" };
    replace(byId("connection"), words[state]);
    if (state === "ended") say(this.place, reason);
  }

  #turn(request) {
    this.#running = request ?? null;
    byId("stop").disabled = !request;
    byId("messages").setAttribute("aria-busy", String(Boolean(request)));
  }

  async #send() {
    const text = this.text.value;
    if (!text.trim() || !this.session) return;
    const path = `/sessions/${part(this.session)}`;
    const message = userMessage([{ type: "text", text }]);
    const request = uuid();
    const running = this.#running;
    // Shown at once, since events of the turn may come before the answer to the request. A message for a turn that
    // runs comes back as an event, when the turn takes it.
    if (!running) this.log.show({ ...message, id: request });
    this.text.value = "";
    await doing(byId("send"), this.place, async () => {
      try {
        if (running) {
          await post(`${path}/steer`, { user_message: message });
          announce("The message was added to the turn that runs.");
        } else {
          this.#own.add(request);
          this.#turn(request);
          await post(`${path}/reply`, { request_id: request, user_message: message });
        }
      } catch (error) {
        this.log.remove(request);
        this.text.value = text;
        if (this.#own.delete(request)) this.#turn(null);
        throw error;
      }
    });
    this.text.focus();
  }

  #stop() {
    const request = this.#running;
    if (!request) return;
    doing(byId("stop"), this.place, () => post(`/sessions/${part(this.session)}/cancel`, { request_id: request }))
      .then(() => { byId("stop").disabled = !this.#running; });
  }

  #setMode(control) {
    if (!this.session || !control.value) return;
    doing(control, this.place, () => post("/agent/update_session", { session_id: this.session, goose_mode: control.value }));
  }
}

/** What is shown where a view needs a session and none is open. */
export const noSession = () => element("p", { class: "note" }, "Open a session first, or start one.");
