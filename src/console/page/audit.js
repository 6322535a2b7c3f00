// The end of the audit log.
import { byId, element, json, preformatted, repeat, replace, say, time } from "./elements.js";
import { get } from "./server.js";

const SECONDS = 5;
const LIMIT = 200;

export class Audit {
  #stop = () => {};
  #last = "";

  constructor() {
    this.place = byId("audit-records");
    byId("audit-filter").addEventListener("input", () => this.#show());
  }

  enter() {
    this.#stop = repeat(SECONDS, () => this.#refresh());
  }

  leave() {
    this.#stop();
  }

  async #refresh() {
    try {
      const { mode, records } = await get("/audit/tail", { limit: LIMIT });
      const last = `${mode} ${records.at(-1)?.hash}`;
      if (last === this.#last) return;
      this.#last = last;
      this.records = records;
      replace(byId("audit-mode"), mode === "off" ? "The audit log is off." : `The last ${records.length} records, the newest first.`);
      this.#show();
    } catch (error) {
      this.#last = "";
      say(this.place, error);
      // The key may not read it: each further request would be a record.
      if (error.status === 403) this.#stop();
    }
  }

  #show() {
    const words = byId("audit-filter").value.toLowerCase();
    const found = (this.records ?? []).filter(record => JSON.stringify(record).toLowerCase().includes(words)).reverse();
    const head = ["Time", "Who", "What", "Outcome"].map(name => element("th", { scope: "col", role: "columnheader" }, name));
    replace(this.place, found.length
      // With roles, since a narrow screen shows the rows as blocks, which are no table otherwise.
      ? element("table", { role: "table" }, element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, head)),
        element("tbody", { role: "rowgroup" }, found.map(row)))
      : element("p", { class: "note" }, "No record."));
  }
}

function row(record) {
  const who = [record.front, record.key].filter(Boolean).join(" / ");
  const what = [record.kind, record.extension, record.subject].filter(Boolean).join(" ");
  const outcome = [record.decision, record.outcome].filter(Boolean).join(", ");
  const cell = (name, ...content) => element("td", { role: "cell", class: name }, content);
  return element("tr", { role: "row" },
    cell("when", time(record.time)), cell("who", who),
    cell("what", element("details", {}, element("summary", {}, what), preformatted(json(record), `Record ${record.seq}`))),
    cell(/denied|error|^[45]/.test(record.outcome ?? "") ? "outcome bad" : "outcome", outcome));
}
