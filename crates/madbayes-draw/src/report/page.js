"use strict";
// Shared parts: elements whose text is always text, numbers as people read them, packed numbers, and the order of sections.
const data = JSON.parse(document.getElementById("data").textContent);
const group = data.group;

function put(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
const html = (name, attributes = {}, ...children) => put(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) => put(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

// About four digits; large and small numbers as powers of ten.
function number(x) {
  if (x === null || x === undefined) return "unknown";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e7 || size < 1e-4) return x.toExponential(3).replace("e+", "e");
  return String(Number(x.toFixed(Math.min(9, Math.max(0, 3 - Math.floor(Math.log10(size)))))));
}
const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
const plural = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
const percent = (share) => `${(100 * share).toFixed(1)}%`;
const signed = (x) => (x < 0 ? "\u2212" : "+") + number(Math.abs(x));

// Base64 of whole numbers of 1, 2 or 4 bytes, the lowest first.
function unpack(packed, bytes = packed.bytes) {
  const text = atob(packed.text), out = new Array(text.length / bytes);
  for (let i = 0; i < out.length; i++) {
    let value = 0;
    for (let b = bytes - 1; b >= 0; b--) value = value * 256 + text.charCodeAt(i * bytes + b);
    out[i] = value;
  }
  return out;
}
function unpackSteps({ low, high, text }) {
  const half = (high / 2 - low / 2) / 65535;
  return unpack({ text }, 2).map((step) => low + step * half * 2);
}

// A section of the page with a heading that names it.
function section(id, title, ...children) {
  const heading = html("h2", { id: `${id}-title` }, title);
  const node = html("section", { id, "aria-labelledby": `${id}-title` }, heading, ...children);
  document.getElementById("main").append(node);
  return node;
}
// A table that scrolls by itself where it is too wide.
function table(caption, head, rows) {
  const cell = (name, attributes) => (content) =>
    content instanceof Node && /^T[DH]$/.test(content.nodeName) ? content : html(name, attributes, content);
  // A heading in brackets stands at the left.
  const top = html("thead", {}, html("tr", {}, ...head.map((text, i) => html("th", { scope: "col", class: i && !Array.isArray(text) ? null : "name" }, ...[text].flat()))));
  const body = html("tbody", {}, ...rows.map(([first, ...rest]) =>
    html("tr", {}, cell("th", { scope: "row" })(first), ...rest.map(cell("td", {})))));
  // What it is of stands outside: it must not scroll with the table.
  return html("div", { class: "tabled" }, html("p", { class: "caption", "aria-hidden": "true" }, caption),
    html("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption }, html("table", { "aria-label": caption }, top, body)));
}
function note(text) { return html("p", { class: "note" }, text); }

// Ticks at 1, 2 or 5 times a power of ten, at most `wanted` of them and at least `least` apart.
function ticks(low, high, wanted = 6, least = 0) {
  if (!(high > low)) return [low];
  const rough = Math.max((high - low) / wanted, least), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const out = [];
  for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-12) && out.length < 20; i++) out.push(Number((i * step).toPrecision(12)));
  return out;
}

// Colour and shape of a group: ten colours, then ten more as squares, triangles, diamonds and wedges.
const colourClass = (i) => `c${i % 10}`;
const shapeOf = (i) => Math.floor(i / 10) % 5;
const OUTLINES = [null, null, [[0, -1.3], [1.2, 0.8], [-1.2, 0.8]], [[0, -1.35], [1.35, 0], [0, 1.35], [-1.35, 0]], [[0, 1.3], [1.2, -0.8], [-1.2, -0.8]]];
// All marks of a group, as one or two paths.
function marks(places, radius, colour) {
  const shape = shapeOf(colour), at = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  if (shape > 1) {
    const outline = OUTLINES[shape].map(([x, y], i, all) => {
      const [a, b] = i ? all[i - 1] : [0, 0];
      return `${i ? "l" : "m"}${((x - a) * radius).toFixed(2)} ${((y - b) * radius).toFixed(2)}`;
    }).join("") + "z";
    return [svg("path", { class: `dots shape ${colourClass(colour)}`, d: places.map((p) => `M${at(p)}${outline}`).join("") })];
  }
  const d = places.map((p) => `M${at(p)}h0`).join(""), cap = shape ? "square" : "round", width = 2 * radius * (shape ? 0.88 : 1);
  return [["rim", width + 1.2], ["fill", width]].map(([kind, w]) =>
    svg("path", { class: `dots ${kind} ${colourClass(colour)}`, d, "stroke-width": w.toFixed(2), "stroke-linecap": cap }));
}
function swatch(colour) {
  return svg("svg", { class: `swatch ${colourClass(colour)}`, viewBox: "-8 -8 16 16", "aria-hidden": "true", width: "16", height: "16" }, ...marks([[0, 0]], 5, colour));
}

// What the slider stands at, and who wants to know.
const listeners = [];
let current = 0;
function show(index, dragged = false) {
  current = index;
  for (const listener of listeners) listener(index, dragged);
}
function download(name, lines) {
  const link = html("a", { href: URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
