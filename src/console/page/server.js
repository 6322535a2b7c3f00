// The server: requests with the key. The key is in this module's memory only, and is gone with the page.

/** Where the server is; the page may stand below a path of a proxy. */
const BASE = new URL("..", import.meta.url);

let key = "";
let onRefusedKey = () => {};

/** Uses this key from now on; `refused` is called when the server does not take it any more. */
export function useKey(text, refused) {
  // A header field is a string of bytes: those of UTF-8, whatever the key is made of.
  key = String.fromCharCode(...new TextEncoder().encode(text));
  onRefusedKey = refused;
}

export function forgetKey() {
  key = "";
}

export const hasKey = () => key !== "";

export const address = path => new URL(path.replace(/^\//, ""), BASE);

/** What the server said in place of an answer. `status` is 0 if it could not be reached. */
export class Refusal extends Error {
  constructor(status, message, kind) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

/**
 * Parses JSON without rounding: a number that JavaScript cannot represent keeps its digits, so that what is shown and
 * sent back is what was there. (Browsers without `JSON.rawJSON` round, as everywhere.)
 */
export function parse(text) {
  if (!JSON.rawJSON) return JSON.parse(text);
  return JSON.parse(text, (_, value, context) => {
    const isRounded = typeof value === "number" && context?.source && String(value) !== context.source;
    return isRounded && isInexact(value, context.source) ? JSON.rawJSON(context.source) : value;
  });
}

/** Whether the digits of a number in JSON say something else than `value`: 1.0 and 1e2 do not, 2^53 + 1 does. */
function isInexact(value, source) {
  const digits = text => {
    const [, whole, fraction = "", exponent = "0"] = /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [, text];
    const all = (whole + fraction).replace(/^0+/, "");
    const significant = all.replace(/0+$/, "");
    return significant && `${significant}e${Number(exponent) - fraction.length + all.length - significant.length}`;
  };
  return digits(String(value)) !== digits(source);
}

/** A request; returns the response. Fails with a `Refusal`. */
export async function send(method, path, { query = {}, body, headers = {}, signal } = {}) {
  const url = address(path);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") url.searchParams.set(name, value);
  }
  const sent = { "X-Secret-Key": key, ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(url, {
      method, headers: sent, signal, body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "omit", cache: "no-store", redirect: "error", referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "The server cannot be reached.");
  }
  if (response.ok) return response;
  const text = await response.text();
  if (response.status === 401) onRefusedKey();
  throw new Refusal(response.status, ...reasonOf(text, response.status));
}

/** The message and the class of an error's body. */
function reasonOf(text, status) {
  try {
    const { message, class: kind } = JSON.parse(text);
    if (typeof message === "string") return [message, kind];
  } catch {
    // It is not JSON, for example from a proxy in between.
  }
  return [`The server answered ${status}: ${text.slice(0, 300)}`];
}

/** A request whose answer is JSON, or nothing. */
export async function ask(method, path, options) {
  const text = await (await send(method, path, options)).text();
  return text ? parse(text) : undefined;
}

export const get = (path, query) => ask("GET", path, { query });
export const post = (path, body) => ask("POST", path, { body });
/** A part of a path, such as an id. */
export const part = text => encodeURIComponent(text);
