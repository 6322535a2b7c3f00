// Plots of `/metrics`: what has happened while this page was open, half an hour at most.
import { byId, element, repeat, replace, say, svg } from "./elements.js";
import { send } from "./server.js";

const SECONDS = 5;
const MAX_SAMPLES = 360;
const WIDTH = 600;
const HEIGHT = 120;

/** The numbers of a text in the format of Prometheus, by name and labels as they stand there. */
export function numbersOf(text) {
  const found = new Map();
  for (const line of text.split("\n")) {
    const match = /^([a-zA-Z_:][\w:]*(?:\{[^}]*\})?) (\S+)$/.exec(line);
    if (match) found.set(match[1], Number(match[2]));
  }
  return found;
}

const of = name => sample => sample.get(name) ?? 0;
const perMinute = read => (now, before, seconds) => Math.max(0, read(now) - read(before)) * 60 / seconds;
const CALLS = "gosling_tool_call_duration_seconds";

function meanLatency(now, before) {
  const calls = of(`${CALLS}_count`)(now) - of(`${CALLS}_count`)(before);
  const took = of(`${CALLS}_sum`)(now) - of(`${CALLS}_sum`)(before);
  return calls > 0 ? took * 1000 / calls : null;
}

/** Each plot: its lines compute a value from a sample and the one before it. `null` leaves a gap. */
const PLOTS = [
  { title: "Calls of tools per minute", lines: [["calls", perMinute(of(`${CALLS}_count`))], ["errors", perMinute(of("gosling_tool_call_errors_total"))]] },
  { title: "Latency of calls, milliseconds", lines: [["mean", meanLatency]] },
  { title: "Memory, MiB", lines: [["resident", now => of("process_resident_memory_bytes")(now) / 2 ** 20]] },
  { title: "Tokens per minute", lines: [
    ["input", perMinute(of('gosling_tokens_total{direction="input"}'))],
    ["output", perMinute(of('gosling_tokens_total{direction="output"}'))]] },
];

/** The numbers in words. */
const COUNTS = [
  ["Sessions", "gosling_sessions"], ["Extensions", "gosling_extensions"], ["Turns", "gosling_turns_total"],
  ["Calls of tools", `${CALLS}_count`], ["Connections", "gosling_http_connections"],
  ["Requests", "gosling_http_requests_total"], ["Threads", "process_threads"],
];

export class Numbers {
  #samples = [];
  #isShown = false;

  /** The samples begin with the page, whichever view is shown. */
  constructor() {
    this.place = byId("plots");
    repeat(SECONDS, () => this.#sample());
  }

  enter() {
    this.#isShown = true;
    if (this.#samples.length) this.#show();
  }

  leave() {
    this.#isShown = false;
  }

  async #sample() {
    try {
      const text = await (await send("GET", "/metrics")).text();
      this.#samples.push({ at: Date.now(), numbers: numbersOf(text) });
      if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
      if (this.#isShown) this.#show();
    } catch (error) {
      say(this.place, error);
    }
  }

  #show() {
    const last = this.#samples.at(-1).numbers;
    const counts = COUNTS.map(([name, key]) => element("div", {}, element("dt", {}, name), element("dd", {}, (last.get(key) ?? 0).toLocaleString())));
    replace(this.place, element("dl", { class: "counts" }, counts), element("div", { class: "plots" }, PLOTS.map(plot => this.#plot(plot))));
  }

  #plot({ title, lines }) {
    const series = lines.map(([name, value]) => [name, this.#samples.slice(1).map((sample, at) => {
      const before = this.#samples[at];
      return value(sample.numbers, before.numbers, (sample.at - before.at) / 1000);
    })]);
    const values = series.flatMap(([, all]) => all).filter(it => it !== null);
    const most = Math.max(1, ...values);
    const words = series.map(([name, all]) => `${name} ${shown(all.findLast(it => it !== null))}`).join(", ");
    const line = ([, all], n) => svg("path", { class: `line line${n}`, d: path(all, most) });
    return element("figure", {},
      element("figcaption", {}, element("strong", {}, title), " ", series.map(([name], n) => [element("span", { class: `key key${n}` }, name), " "])),
      svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", preserveAspectRatio: "none", "aria-label": `${title}: ${words}, at most ${shown(most)}` },
        svg("line", { class: "axis", x1: 0, y1: HEIGHT - 1, x2: WIDTH, y2: HEIGHT - 1 }), series.map(line)),
      element("p", { class: "hint" }, values.length ? `now ${words}; the top is ${shown(most)}` : "nothing yet"));
  }
}

const shown = value => value === undefined || value === null ? "–" : value.toLocaleString(undefined, { maximumFractionDigits: 1 });

function path(values, most) {
  const step = WIDTH / Math.max(1, MAX_SAMPLES / 6, values.length - 1);
  let pen = "M";
  return values.map((value, at) => {
    if (value === null) {
      pen = "M";
      return "";
    }
    const point = `${pen}${(at * step).toFixed(1)} ${(HEIGHT - 2 - value / most * (HEIGHT - 4)).toFixed(1)}`;
    pen = "L";
    // A single point is a short line.
    return values[at + 1] === null || at === values.length - 1 ? `${point}h${(step / 2).toFixed(1)}` : point;
  }).join("");
}
