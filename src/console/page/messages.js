// The messages of a session: text, reasoning, calls of tools with their results, notices and questions. The page keeps
// the newest; older ones are in the session.
import { add, button, element, json, preformatted, replace, visible } from "./elements.js";

/** How many messages are kept. */
const MAX_MESSAGES = 200;
/** How much of one streamed text is kept, in characters. */
const MAX_TEXT = 500_000;
/** How many text nodes a streamed text has. */
const MAX_NODES = 200;
/** How far from its end the log is still read at its end, in pixels. */
const NEAR_END = 80;

const IMAGES = /^image\/(png|jpeg|gif|webp)$/;

/** An image that is in the text of an answer; everything else about it is said in words. */
function image({ data, mimeType }, words) {
  const isShown = IMAGES.test(mimeType) && typeof data === "string" && /^[A-Za-z0-9+/=\s]*$/.test(data);
  if (!isShown) return element("p", { class: "note" }, `${words} of the type ${mimeType}, which is not shown here.`);
  return element("img", { src: `data:${mimeType};base64,${data}`, alt: words });
}

/** The parts of a tool's result (MCP, server/tools). */
export function resultNodes(result, label) {
  const content = Array.isArray(result?.content) ? result.content : [];
  const nodes = content.map(part => {
    switch (part?.type) {
      case "text": return preformatted(part.text, label);
      case "image": return image(part, "An image");
      case "audio": return element("p", { class: "note" }, `Audio of the type ${part.mimeType}.`);
      case "resource_link": return element("p", {}, "Resource ", element("code", {}, part.uri));
      case "resource": return [element("p", {}, "Resource ", element("code", {}, part.resource?.uri)),
        part.resource?.text === undefined ? null : preformatted(part.resource.text, label)];
      default: return preformatted(json(part), label);
    }
  });
  const structured = result?.structuredContent ?? result?.structured_content;
  if (structured !== undefined && !content.length) nodes.push(preformatted(json(structured), label));
  return nodes.length ? nodes : [element("p", { class: "note" }, "The result is empty.")];
}

/** A call of a tool: its arguments, what its server says while it runs, and its result. */
class ToolCard {
  constructor(request, openPage) {
    const call = request.toolCall?.value;
    this.name = call?.name ?? "a tool";
    this.call = call;
    this.state = element("span", { class: "state" }, "called");
    this.progress = element("p", { class: "note" });
    this.result = element("div", { class: "result" });
    const page = request._meta?.ui?.resourceUri;
    this.hasPage = typeof page === "string";
    this.node = element("section", { class: "card", "aria-label": `Call of ${visible(this.name)}` },
      element("p", { class: "title" }, element("code", {}, this.name), " ", this.state),
      element("details", {}, element("summary", {}, "Arguments"),
        preformatted(call ? json(call.arguments) : request.toolCall?.error, "Arguments")),
      this.progress, this.result,
      this.hasPage ? button("Show its page", () => openPage(this, page)) : null);
  }

  notify({ method, params }) {
    const text = method === "notifications/progress"
      ? [params?.message, params?.total ? `${params.progress} of ${params.total}` : params?.progress]
      : [typeof params?.data === "string" ? params.data : json(params?.data)];
    replace(this.progress, text.filter(it => it !== undefined).join(" ").slice(0, 1000));
  }

  end(outcome) {
    replace(this.progress);
    // Kept for the page only: it may be large.
    if (this.hasPage) this.value = outcome?.value;
    const failed = outcome?.status !== "success" || outcome.value?.isError;
    replace(this.state, failed ? "failed" : "done");
    this.state.className = failed ? "state bad" : "state good";
    const label = `Result of ${visible(this.name)}`;
    replace(this.result, outcome?.status === "success"
      ? resultNodes(outcome.value, label)
      : element("p", { class: "error" }, outcome?.error ?? "It failed."));
  }
}

export class MessageLog {
  #views = [];
  #byId = new Map();
  #cards = new Map();

  /** `questions` makes the parts that ask the user; `openPage` shows the page of a tool. */
  constructor(node, questions, openPage) {
    Object.assign(this, { node, questions, openPage });
  }

  clear() {
    this.#views = [];
    this.#byId.clear();
    this.#cards.clear();
    replace(this.node);
  }

  /** Shows the newest of these messages in place of all. */
  fill(messages) {
    this.clear();
    const newest = messages.slice(-MAX_MESSAGES);
    for (const message of newest) this.show(message);
    if (newest.length < messages.length) this.#tellOfOlder();
  }

  /** Shows a message, or more of one: parts of a message have its id. */
  show(message) {
    if (message.metadata?.userVisible === false) return;
    const parts = Array.isArray(message.content) ? message.content : [];
    const isAtEnd = this.node.scrollHeight - this.node.scrollTop - this.node.clientHeight < NEAR_END;
    for (const part of parts) {
      if (part.type === "toolResponse") this.#cards.get(part.id)?.end(part.toolResult);
      else this.#part(message, part);
    }
    if (isAtEnd) this.node.scrollTop = this.node.scrollHeight;
    // A question is read from its beginning.
    const question = this.node.lastElementChild?.querySelector(".question");
    if (isAtEnd && question) {
      const above = this.node.getBoundingClientRect().top + 8 - question.getBoundingClientRect().top;
      this.node.scrollTop -= Math.max(0, above);
    }
  }

  /** Takes back a message that was not sent after all. */
  remove(id) {
    const view = this.#byId.get(id);
    this.#byId.delete(id);
    this.#views = this.#views.filter(it => it !== view);
    view?.node.remove();
  }

  notify(request, message) {
    this.#cards.get(request)?.notify(message);
  }

  note(text, kind = "note") {
    this.#place({ node: element("p", { class: kind }, text) });
  }

  #part(message, part) {
    // An answer to a question is not a message to read.
    if (part.type === "actionRequired" && part.data?.actionType === "elicitationResponse") return;
    let view = this.#byId.get(message.id);
    if (!view) {
      view = { id: message.id, ids: [], node: element("article", { class: message.role === "user" ? "user" : "model" },
        element("h3", { class: "who" }, message.role === "user" ? "You" : "Model")) };
      if (message.id) this.#byId.set(message.id, view);
      this.#place(view);
    }
    if (part.type === "text" || part.type === "reasoning" || part.type === "thinking") {
      this.#text(view, part.type === "text" ? "text" : "reasoning", part.text ?? part.thinking ?? "");
    } else {
      view.last = null;
      view.node.append(this.#other(view, part));
    }
  }

  /** Text goes on where the last part of its kind ends. */
  #text(view, kind, text) {
    if (view.last?.kind !== kind) {
      const node = element("div", { class: "text", dir: "auto" });
      view.last = { kind, node, length: 0 };
      view.node.append(kind === "text" ? node : element("details", {}, element("summary", {}, "Reasoning"), node));
    }
    const { last } = view;
    const room = MAX_TEXT - last.length;
    if (room <= 0) return;
    last.length += text.length;
    add(last.node, text.slice(0, room));
    // Few text nodes, however many parts the text came in.
    if (last.node.childNodes.length > MAX_NODES) last.node.normalize();
    if (text.length > room) add(last.node, " (The rest of this text is not shown here.)");
  }

  #other(view, part) {
    switch (part.type) {
      case "toolRequest":
      case "frontendToolRequest": {
        const card = new ToolCard(part, this.openPage);
        view.ids.push(part.id);
        this.#cards.set(part.id, card);
        if (part.type === "frontendToolRequest") add(card.node, [element("p", { class: "note" }, "Another client has to run this tool.")]);
        return card.node;
      }
      case "actionRequired": return this.questions(part.data);
      case "image": return image(part, "An image");
      case "systemNotification": return element("p", { class: "note" }, part.msg);
      case "redactedThinking": return element("p", { class: "note" }, "Reasoning that only the provider can read.");
      default: return preformatted(json(part), "A part of the message");
    }
  }

  #place(view) {
    this.#views.push(view);
    this.node.append(view.node);
    if (this.#views.length <= MAX_MESSAGES) return;
    const { id, ids = [], node } = this.#views.shift();
    node.remove();
    this.#byId.delete(id);
    for (const card of ids) this.#cards.delete(card);
    this.#tellOfOlder();
  }

  #tellOfOlder() {
    if (this.node.firstElementChild?.classList.contains("older")) return;
    this.node.prepend(element("p", { class: "note older" }, "Older messages are not shown here."));
  }
}
