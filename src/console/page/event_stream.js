// The events of a session: read with fetch, since an EventSource cannot send the key. A stream that ends is opened again
// after the last event that was read (Last-Event-ID), later and later while that fails, and not while the page is
// hidden.
import { whenVisible } from "./elements.js";
import { parse, part, send } from "./server.js";

/** The longest event, in characters: longer than any that the server keeps. */
const MAX_EVENT = 68_000_000;
const FIRST_DELAY = 500;
const LAST_DELAY = 30_000;

export class EventStream {
  #closed = new AbortController();
  #lastId = "";

  /**
   * Follows the session. `event` gets each event, `behind` is called when events were lost (the session has to be read
   * again), `state` gets "connected", "waiting" or "ended", and why.
   */
  constructor(session, { event, behind, state }) {
    this.path = `/sessions/${part(session)}/events`;
    this.handlers = { event, behind, state };
    this.#follow();
  }

  close() {
    this.#closed.abort();
  }

  async #follow() {
    const { signal } = this.#closed;
    let delay = FIRST_DELAY;
    while (!signal.aborted) {
      try {
        const headers = this.#lastId ? { "Last-Event-ID": this.#lastId } : {};
        const response = await send("GET", this.path, { headers, signal });
        this.handlers.state("connected");
        delay = FIRST_DELAY;
        await this.#read(response.body.pipeThrough(new TextDecoderStream()).getReader());
        this.handlers.state("waiting");
      } catch (error) {
        if (signal.aborted) return;
        // The session is gone, or the key may not read it.
        if (error.status >= 400 && error.status < 500 && error.status !== 429) {
          return this.handlers.state("ended", error.message);
        }
        this.handlers.state("waiting", error.message);
      }
      await new Promise(resume => setTimeout(resume, delay));
      await whenVisible();
      delay = Math.min(delay * 2, LAST_DELAY);
    }
  }

  /** Reads lines until the stream ends (HTML, section 9.2.6; gosling ends them with LF). */
  async #read(reader) {
    let pieces = [];
    let id = "";
    let data = [];
    let length = 0;
    for (;;) {
      const { value, done } = await reader.read();
      if (done || this.#closed.signal.aborted) return;
      pieces.push(value);
      length += value.length;
      if (length > MAX_EVENT) throw new Error("The server sent an event that is too long.");
      // A long line is put together once, at its end.
      if (!value.includes("\n")) continue;
      const lines = pieces.join("").split("\n");
      pieces = [lines.pop()];
      for (const line of lines) {
        if (line === "") {
          if (data.length) this.#dispatch(id, data.join("\n"));
          [id, data, length] = ["", [], 0];
        } else if (line.startsWith("data:")) {
          data.push(line.slice(line[5] === " " ? 6 : 5));
        } else if (line.startsWith("id:")) {
          id = line.slice(3).trim();
        }
      }
    }
  }

  #dispatch(id, data) {
    const event = parse(data);
    if (event.type === "Error" && event.error?.startsWith("Client too far behind")) {
      this.#lastId = "";
      return this.handlers.behind();
    }
    if (id) this.#lastId = id;
    this.handlers.event(event);
  }
}
