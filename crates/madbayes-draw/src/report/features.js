// Features at the slider: what each adds or takes away, rows taken apart, and how often features occur together.
const ADDS = [213, 94, 0], TAKES = [0, 114, 178];

function unpackLevels({ largest, text }) {
  return Array.from(atob(text), (c) => ((c.charCodeAt(0) - 128) / 127) * largest);
}
// A canvas of a picture whose pixels `colour` turns from their channels into red, green and blue.
function canvas(shape, values, label, colour) {
  const [height, width, channels] = shape, node = html("canvas", { width, height, role: "img", "aria-label": label });
  const context = node.getContext("2d"), image = context.createImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    const rgb = colour(values.slice(i * channels, (i + 1) * channels));
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = rgb[c];
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  node.style.width = `min(${Math.max(width, Math.min(150, 4 * width))}px, 38vw)`;
  return node;
}
// As it is: dark at 0, bright at 1.
const natural = (pixel) => (pixel.length === 3 ? pixel : [pixel[0], pixel[0], pixel[0]]).map((x) => 255 * x);
// What is added in one colour, what is taken away in another, nothing white.
const parts = (largest) => (pixel) => {
  const mean = pixel.reduce((a, b) => a + b, 0) / pixel.length, share = Math.min(1, (1.25 * Math.abs(mean)) / (largest || 1));
  return (mean < 0 ? TAKES : ADDS).map((c) => 255 + share * (c - 255));
};
// A feature that nearly every row has is a picture of its own, unless it is added to a mean; others are changes.
const isBase = (features, view, k) => view.counts[k] >= 0.95 * features.rows && (features.base ??= unpackLevels(features.offset)).every((x) => x === 0);
function featurePicture(features, view, k) {
  const values = view.levels[k], base = isBase(features, view, k);
  const strongest = Math.max(...pixelMeans(values, features.picture[2]).map(Math.abs));
  const label = base ? `Feature ${k}, which nearly all rows have, as a picture` : `Feature ${k}: what it adds and takes away`;
  return canvas(features.picture, values, label, base ? natural : parts(strongest));
}
function pixelMeans(values, channels) {
  const out = [];
  for (let i = 0; i < values.length; i += channels) {
    let sum = 0;
    for (let c = 0; c < channels; c++) sum += values[i + c];
    out.push(sum / channels);
  }
  return out;
}
const key = () => html("p", { class: "note" }, html("span", { class: "key above" }), "adds", html("span", { class: "key below" }), "takes away");
const rowsWith = (features, view, k) => `in ${count(view.counts[k])} of ${plural(features.rows, "row")} (${percent(view.counts[k] / features.rows)})`;

function pictureGallery(features, view) {
  view.levels ??= view.components.map(unpackLevels);
  const figures = view.levels.map((_, k) => html("figure", {}, featurePicture(features, view, k),
    html("figcaption", {}, html("strong", {}, `feature ${k}`), ` ${rowsWith(features, view, k)}${isBase(features, view, k) ? ", shown as it is" : ""}`)));
  return [key(), html("div", { class: "pictures" }, ...figures)];
}
// A bar to the right for what is added, to the left for what is taken away.
function signedBar(value, largest) {
  const share = Math.min(1, Math.abs(value) / (largest || 1)) * 48;
  return svg("svg", { viewBox: "0 0 100 12", width: "100", height: "12", "aria-hidden": "true", class: "change" },
    svg("path", { class: "axis", d: "M50 0V12" }), svg("rect", { x: value < 0 ? 50 - share : 50, y: 1, width: share, height: 10, class: value < 0 ? "below" : "above" }));
}
function barGallery(features, view) {
  const largest = Math.max(...view.components.flat().map(Math.abs));
  const rows = view.telling.map((column, j) => [features.columns[column][0], ...view.components.map((component) =>
    html("td", {}, signedBar(component[j], largest), html("span", { class: "small-cell" }, component[j] === 0 ? "0" : signed(component[j]))))]);
  return [key(), table("What each feature adds to a row that has it, by column", ["column", ...view.components.map((_, k) => `feature ${k}`)], rows),
    view.telling.length < features.nColumns ? note(`The ${view.telling.length} columns that features change most, of ${count(features.nColumns)}.`) : null,
    table("Rows with each feature", ["feature", "rows", "share"], view.components.map((_, k) => [`feature ${k}`, count(view.counts[k]), percent(view.counts[k] / features.rows)]))];
}
function gallery(features, view) {
  if (view.k === 0) return [html("p", {}, "No feature at all: every row is taken as it is.")];
  const rest = view.k - view.components.length;
  return [...(features.picture ? pictureGallery(features, view) : barGallery(features, view)), rest > 0 ? note(`And ${count(rest)} more.`) : null];
}
// One row taken apart.
function apart(features, view, index) {
  const mine = view.examples[index].filter((k) => k < view.components.length);
  const said = mine.length ? `features ${mine.join(", ")}` : "no feature";
  if (!features.picture) {
    const offset = view.telling.some((column) => features.columns[column][1]);
    const rows = view.telling.map((column, j) => {
      const start = features.columns[column][1] ?? 0, sum = mine.reduce((total, k) => total + view.components[k][j], start);
      return [features.columns[column][0], number(view.originals[index][j]), ...(offset ? [number(start)] : []), ...mine.map((k) => signed(view.components[k][j])), number(sum)];
    });
    return [html("p", {}, `It has ${said}.`), table("The row, its parts and their sum", ["column", "row", ...(offset ? ["mean"] : []), ...mine.map((k) => `feature ${k}`), "sum"], rows)];
  }
  view.levels ??= view.components.map(unpackLevels);
  const sum = (features.base ??= unpackLevels(features.offset)).slice();
  for (const k of mine) view.levels[k].forEach((x, i) => (sum[i] += x));
  const frame = (node, text) => html("figure", {}, node, html("figcaption", {}, text)), sign = (text) => html("span", { class: "sign", "aria-hidden": "true" }, text);
  const line = html("div", { class: "sum" }, frame(canvas(features.picture, unpackLevels(features.originals[index]), "The original picture", natural), "original"), sign("\u2248"),
    frame(canvas(features.picture, sum, "The sum of its features", natural), "sum"), sign("="));
  if (features.base.some((x) => x !== 0)) line.append(frame(canvas(features.picture, features.base, "The mean of all pictures", natural), "mean"), ...(mine.length ? [sign("+")] : []));
  mine.forEach((k, i) => line.append(...(i ? [sign("+")] : []), frame(featurePicture(features, view, k), `feature ${k}`)));
  return [html("p", {}, `It has ${said}.`), line];
}
function togetherTable(features, view) {
  const shade = (n, k) => {
    const share = view.counts[k] ? n / view.counts[k] : 0, cell = html("td", { class: "shaded" }, count(n), html("span", { class: "small-cell" }, percent(share)));
    cell.style.backgroundColor = `rgba(var(--below), ${(0.5 * share).toFixed(2)})`;
    return cell;
  };
  const rows = view.together.map((line, k) => [`feature ${k}`, ...line.map((n) => shade(n, k))]);
  const combinations = view.combinations.map(([mine, n]) => [mine.length ? mine.join(" + ") : "none", count(n), percent(n / features.rows)]);
  return [view.k ? table("Rows that have both features; below, the share of rows with the feature on the left", ["", ...view.together.map((_, k) => `feature ${k}`)], rows) : null,
    html("h3", {}, "Most frequent combinations"), table("Rows with exactly these features", ["features", "rows", "share"], combinations)];
}
function featureSections(features) {
  const { views } = features;
  const add = (id, title, build, ...controls) => {
    const node = section(id, title, ...controls, html("div", { class: "body" }));
    listeners.push((index) => fill(node, index, views, build));
    return node;
  };
  add("features", "The features", (view) => gallery(features, view));
  const select = html("select", { id: "example" }, ...features.examples.map((name, i) =>
    html("option", { value: i }, `${name} (${i < features.typical ? "typical of a combination" : "fits badly"})`)));
  const node = add("apart", "Rows taken apart", (view) => apart(features, view, Number(select.value)), html("div", { class: "controls" }, html("label", {}, "Row", select)));
  select.addEventListener("change", () => fill(node, current, views, (view) => apart(features, view, Number(select.value))));
  add("together", "Features that occur together", (view) => togetherTable(features, view));
  allocationButton(features);
}
function allocationButton(features) {
  const button = html("button", { type: "button", class: "main", id: "download" }, "Download features of rows (CSV)"), said = note("");
  section("labels", "The features of every row", html("p", {}, button), said);
  button.addEventListener("click", () => {
    const view = features.views[current], bytes = atob(view.bits.text), per = view.bits.bytes;
    const rows = features.shown === null ? null : unpack(features.shown);
    const names = features.names === null ? null : Array.isArray(features.names) ? features.names : unpack(features.names);
    const total = rows ? rows.length : features.rows, lines = [["row", ...view.counts.map((_, k) => `feature_${k}`)].join(",")];
    for (let i = 0; i < total; i++) {
      const bit = (k) => (bytes.charCodeAt(i * per + (k >> 3)) >> (k & 7)) & 1;
      lines.push([names ? quoted(String(names[i])) : (rows ? rows[i] : i) + 1, ...view.counts.map((_, k) => bit(k))].join(","));
    }
    download(`features-${view.k}.csv`, lines);
  });
  listeners.push((index) => {
    said.textContent = `${plural(features.views[index].k, group)}, ` + (features.shown === null ? `all ${count(features.rows)} rows.` : "only some rows, chosen at random, with their row numbers: the page would be too large with all. Option --out writes all of them.");
  });
}
