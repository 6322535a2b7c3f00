// Elements made from text. Whatever comes from a model, a server or a file becomes text nodes: nothing here parses
// markup, and the policy of the page forbids it (Trusted Types).

/** How much of a long text is shown before the user asks for the rest, in characters. */
const MAX_SHOWN = 20_000;

/** Characters that change how others are shown, or that cannot be seen. */
const UNSEEN = new RegExp("[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b\\u200e" +
  "\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]|\\udb40[\\udc00-\\udc7f]", "g");

/** The text with what cannot be seen in words: a name that is turned around by a control character shows it. */
export function visible(text) {
  return String(text).replace(UNSEEN, found => `⟨U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/**
 * An element. Properties are attributes, but `on…` are handlers and `class` may be a list; children are elements, texts,
 * or lists of them, and nothing for `null`.
 */
export function element(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** The same for a picture. */
export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function fill(made, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  add(made, children);
  return made;
}

export function add(to, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    to.append(child instanceof Node ? child : visible(child));
  }
}

/** Puts these in place of all children. */
export function replace(parent, ...children) {
  parent.replaceChildren();
  add(parent, children);
}

export const byId = id => document.getElementById(id);

export const button = (text, onclick, properties = {}) => element("button", { type: "button", onclick, ...properties }, text);

/** Any value as JSON, indented. */
export const json = value => JSON.stringify(value, null, 2) ?? "";

/** Preformatted text, which can be scrolled with the keyboard. Of a long one, the beginning and a button for the rest. */
export function preformatted(text, label, isWhole = false) {
  const block = element("pre", { tabindex: 0, role: "region", "aria-label": label, dir: "auto" });
  const shown = String(text);
  if (isWhole || shown.length <= MAX_SHOWN) {
    add(block, shown);
    return block;
  }
  add(block, shown.slice(0, MAX_SHOWN));
  const rest = button(`Show all ${shown.length} characters`, () => {
    replace(block, shown);
    rest.remove();
    block.focus();
  });
  return element("div", {}, block, rest);
}

/** A list of names and values; those without a value are left out. */
export function facts(entries) {
  const rows = entries.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return element("dl", {}, rows.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

/** Runs an action with its button disabled; what goes wrong is said in `place`. */
export async function doing(control, place, action) {
  control.disabled = true;
  replace(place);
  try {
    return await action();
  } catch (error) {
    say(place, error);
    return undefined;
  } finally {
    control.disabled = false;
  }
}

/** Says an error where it belongs. */
export function say(place, error) {
  const text = visible(error.message ?? error);
  // Said once, also if it goes wrong again and again.
  if (place.textContent === text) return;
  replace(place, element("p", { class: "error", role: "alert" }, text));
}

/** Says something to screen readers, and at the top of the page. */
export function announce(text) {
  replace(byId("status"), text);
}

/** Ends when the page can be seen. */
export function whenVisible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise(resume => document.addEventListener("visibilitychange", resume, { once: true }));
}

/** Runs `work` now and again after so many seconds, never twice at once and not while the page is hidden. */
export function repeat(seconds, work) {
  let stopped = false;
  const run = async () => {
    while (!stopped) {
      await work();
      await new Promise(resume => setTimeout(resume, seconds * 1000));
      await whenVisible();
    }
  };
  run();
  return () => { stopped = true; };
}

/** A time of the server in local words. */
export function time(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : date.toLocaleString();
}
