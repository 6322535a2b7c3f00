// A form made from a JSON Schema, for the arguments of tools and the questions of servers. Objects of plain values get a
// field for each; whatever is deeper is typed as JSON. The server checks the values; the form only helps.
import { element, replace, visible } from "./elements.js";
import { parse } from "./server.js";

/** More fields than this are no form: all of it is typed as JSON then. */
const MAX_FIELDS = 100;
/** A string that may be longer than this gets several lines. */
const LONG = 200;

const FORMATS = { date: "date", email: "email", uri: "url", "date-time": "text", time: "time" };

/** Types that the field itself shows. */
const OBVIOUS = ["string", "boolean", "array"];

let forms = 0;

/** The fields for a schema, in `node`; `read()` returns the values, or `undefined` after it has shown what is wrong. */
export class SchemaForm {
  constructor(schema) {
    this.id = `form${++forms}`;
    const properties = Object.entries(isObject(schema?.properties) ? schema.properties : {});
    const required = Array.isArray(schema?.required) ? schema.required : [];
    const isPlain = isObject(schema) && properties.length <= MAX_FIELDS && !["oneOf", "anyOf", "allOf", "$ref"].some(it => it in schema);
    this.fields = isPlain
      ? properties.map(([name, of], at) => new Field(`${this.id}-${at}`, name, isObject(of) ? of : {}, required.includes(name)))
      : [];
    this.whole = isPlain ? null : new Field(`${this.id}-all`, "All values, as JSON", { type: "object", default: {} }, true);
    this.node = element("div", { class: "fields" }, (this.whole ? [this.whole] : this.fields).map(field => field.node));
    if (isPlain && !properties.length) this.node.append(element("p", { class: "note" }, "Takes no values."));
  }

  read() {
    const fields = this.whole ? [this.whole] : this.fields;
    const values = fields.map(field => [field.name, field.read()]);
    const wrong = fields.find(field => field.isWrong);
    if (wrong) {
      wrong.focus();
      return undefined;
    }
    if (this.whole) return values[0][1];
    // `fromEntries` defines the members, so one that is named `__proto__` is like any other.
    return Object.fromEntries(values.filter(([, value]) => value !== undefined));
  }
}

const isObject = value => typeof value === "object" && value !== null && !Array.isArray(value);

/** The choices of a schema: `[value, title]`. */
function choicesOf(schema) {
  const of = Array.isArray(schema.oneOf) ? schema.oneOf : Array.isArray(schema.anyOf) ? schema.anyOf : null;
  if (of?.length && of.every(it => isObject(it) && "const" in it)) return of.map(it => [it.const, it.title ?? it.const]);
  const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
  return Array.isArray(schema.enum) ? schema.enum.map((value, at) => [value, names[at] ?? value]) : null;
}

const isPlainChoice = ([value]) => value === null || typeof value !== "object";

class Field {
  constructor(id, name, schema, isRequired) {
    Object.assign(this, { id, name, schema, isRequired, isWrong: false });
    const items = schema.type === "array" && isObject(schema.items) ? choicesOf(schema.items) : null;
    const choices = choicesOf(schema);
    if (items?.every(isPlainChoice) && items.length <= MAX_FIELDS) this.#several(items);
    else if (choices?.every(isPlainChoice)) this.#choice(choices);
    else if (schema.type === "boolean") this.#choice([[true, "yes"], [false, "no"]]);
    else if (schema.type === "string") this.#text();
    else if (schema.type === "number" || schema.type === "integer") this.#number();
    else this.#json();
    this.#place();
  }

  #several(choices) {
    const wanted = Array.isArray(this.schema.default) ? this.schema.default : [];
    const boxes = choices.map(([value], at) =>
      element("input", { type: "checkbox", id: `${this.id}-${at}`, checked: wanted.includes(value) }));
    const labels = choices.map(([, title], at) =>
      element("label", { class: "choice" }, boxes[at], String(title)));
    this.control = element("div", { role: "group", tabindex: -1 }, labels);
    this.value = () => {
      const chosen = choices.filter((_, at) => boxes[at].checked).map(([value]) => value);
      return chosen.length || this.isRequired ? chosen : undefined;
    };
  }

  #choice(choices) {
    const at = choices.findIndex(([value]) => value === this.schema.default);
    const options = choices.map(([, title], n) => element("option", { value: n, selected: n === at }, String(title)));
    this.control = element("select", { id: this.id }, element("option", { value: "", selected: at < 0 }, "–"), options);
    this.value = () => this.control.value === "" ? undefined : choices[Number(this.control.value)][0];
  }

  #text() {
    const { maxLength, format, default: given } = this.schema;
    const isLong = !(maxLength <= LONG) && !format && !choicesOf(this.schema);
    this.control = isLong
      ? element("textarea", { id: this.id, rows: 2 })
      : element("input", { id: this.id, type: FORMATS[format] ?? "text" });
    this.control.value = typeof given === "string" ? given : "";
    this.value = () => this.control.value === "" && !(this.isRequired && !this.schema.minLength) ? undefined : this.control.value;
  }

  #number() {
    const { minimum, maximum, default: given, type } = this.schema;
    this.control = element("input", { id: this.id, inputmode: type === "integer" ? "numeric" : "decimal" });
    this.control.value = given === undefined ? "" : String(given?.rawJSON ?? given);
    this.value = () => {
      const text = this.control.value.trim();
      if (text === "") return undefined;
      if (!/^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i.test(text)) throw new Error("This is not a number.");
      if (type === "integer" && !/^-?\d+$/.test(text)) throw new Error("This is not a whole number.");
      if (Number(text) < minimum) throw new Error(`The least is ${minimum}.`);
      if (Number(text) > maximum) throw new Error(`The most is ${maximum}.`);
      return parse(text);
    };
  }

  #json() {
    this.control = element("textarea", { id: this.id, rows: 3, spellcheck: "false", class: "code" });
    this.control.value = this.schema.default === undefined ? "" : JSON.stringify(this.schema.default);
    this.isJson = true;
    this.value = () => {
      if (this.control.value.trim() === "") return undefined;
      try {
        return parse(this.control.value);
      } catch (error) {
        throw new Error(`This is not JSON: ${error.message}`);
      }
    };
  }

  #place() {
    const { schema, id } = this;
    const isGroup = this.control.getAttribute("role") === "group";
    const title = typeof schema.title === "string" ? schema.title : this.name;
    const kind = this.isJson ? "JSON" : [schema.format, schema.type].find(it => typeof it === "string" && !OBVIOUS.includes(it));
    const hint = [schema.description, kind && `(${kind})`].filter(it => typeof it === "string").join(" ");
    this.error = element("p", { class: "error", id: `${id}-error` });
    this.control.setAttribute("aria-describedby", `${id}-hint ${id}-error`);
    const label = [title, title === this.name ? null : element("code", {}, this.name), this.isRequired ? element("span", { class: "required" }, "required") : null];
    if (isGroup) this.control.setAttribute("aria-labelledby", `${id}-label`);
    else if (this.isRequired) this.control.setAttribute("aria-required", "true");
    this.node = element("div", { class: "field" },
      element(isGroup ? "span" : "label", { id: `${id}-label`, for: isGroup ? undefined : id, class: "label" }, label.map(it => [it, " "])),
      element("p", { class: "hint", id: `${id}-hint` }, hint), this.control, this.error);
  }

  focus() {
    this.control.focus();
  }

  /** The value; `undefined` if there is none, or if it is wrong. */
  read() {
    let value;
    this.isWrong = false;
    replace(this.error);
    try {
      value = this.value();
      if (value === undefined && this.isRequired) throw new Error("This is required.");
    } catch (error) {
      this.isWrong = true;
      replace(this.error, visible(error.message));
    }
    this.control.toggleAttribute("aria-invalid", false);
    if (this.isWrong) this.control.setAttribute("aria-invalid", "true");
    return value;
  }
}
