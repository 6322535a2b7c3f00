// What a turn asks its user: may this tool be called, and the forms of MCP servers. An answer to a question that is no
// longer open is ignored by the server.
import { announce, button, doing, element, json, preformatted, replace, visible } from "./elements.js";
import { SchemaForm } from "./schema_form.js";
import { part, post } from "./server.js";

const ANSWERS = [
  ["allow_once", "Allow once"],
  ["always_allow", "Always allow"],
  ["deny_once", "Deny"],
  ["always_deny", "Always deny"],
];

/** A random UUID; `crypto.randomUUID` is missing where the page does not come over https. */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = [...bytes].map(byte => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** A message of the user, as Goose's API has it. */
export const userMessage = content => ({
  role: "user",
  created: Math.floor(Date.now() / 1000),
  content,
  metadata: { userVisible: true, agentVisible: true },
});

export class Questions {
  #open = new Set();

  constructor(session) {
    this.session = session;
  }

  /** The node of a question. */
  ask(data) {
    if (data?.actionType === "toolConfirmation") return this.#approval(data);
    if (data?.actionType === "elicitation") return this.#elicitation(data);
    return preformatted(json(data), "A question of a kind that is not known here");
  }

  /** The turn is over: nothing is open any more. */
  close() {
    for (const question of this.#open) question.settle("No longer open");
  }

  /** The title of the page tells of open questions, for those who look at another one. */
  #title() {
    document.title = this.#open.size ? "(question) gosling console" : "gosling console";
  }

  #card(title, ...content) {
    const state = element("p", { class: "state", tabindex: -1 });
    const actions = element("div", { class: "actions" });
    const node = element("section", { class: "card question", "aria-label": title },
      element("p", { class: "title" }, title), content, actions, state);
    const question = {
      node, actions, state,
      settle: text => {
        const hadFocus = actions.contains(document.activeElement);
        actions.remove();
        for (const control of node.querySelectorAll("input, select, textarea")) control.disabled = true;
        replace(state, text);
        if (hadFocus) state.focus();
        node.classList.remove("question");
        this.#open.delete(question);
        this.#title();
      },
    };
    this.#open.add(question);
    this.#title();
    announce(title);
    return question;
  }

  /** Everything that the call would be made with is shown, however long it is. */
  #approval({ id, toolName, arguments: given, prompt }) {
    const card = this.#card(`May the tool ${visible(toolName)} be called?`,
      prompt ? element("p", {}, prompt) : null,
      preformatted(json(given), `Arguments of ${visible(toolName)}`, true));
    for (const [action, text] of ANSWERS) {
      const control = button(text, () => doing(control, card.state, async () => {
        await post("/action-required/tool-confirmation", { id, action, sessionId: this.session });
        card.settle(`Answered: ${text}`);
      }), { class: action === "allow_once" ? "main" : undefined });
      card.actions.append(control);
    }
    return card.node;
  }

  #elicitation({ id, message, requested_schema: schema }) {
    const form = new SchemaForm(schema);
    const card = this.#card("An extension asks for data", element("p", { class: "text", dir: "auto" }, message), form.node);
    const answer = (control, values, text) => doing(control, card.state, async () => {
      const data = { actionType: "elicitationResponse", id, user_data: values };
      const content = [{ type: "actionRequired", data }];
      await post(`/sessions/${part(this.session)}/reply`, { request_id: uuid(), user_message: userMessage(content) });
      card.settle(text);
    });
    const submit = button("Send", () => {
      const values = form.read();
      if (values !== undefined) answer(submit, values, "Sent");
    }, { class: "main" });
    const decline = button("Decline", () => answer(decline, null, "Declined"));
    card.actions.append(submit, decline);
    return card.node;
  }
}
