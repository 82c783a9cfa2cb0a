// Features at the slider: what each adds or takes away, rows taken apart, and how often features occur together.
const ADDS = [213, 94, 0], TAKES = [0, 114, 178], HUE = [102, 34, 170];

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
// As it is, from black to white.
const natural = ([low, high]) => (pixel) => (pixel.length === 3 ? pixel : [pixel[0], pixel[0], pixel[0]]).map((x) => (255 * (x - low)) / (high - low));
// How much a pixel changes: its brightness, or its colour alone where the channels cancel out.
function change(pixel) {
  const mean = pixel.reduce((a, b) => a + b, 0) / pixel.length, most = Math.max(...pixel.map(Math.abs));
  return 3 * Math.abs(mean) >= most ? [mean, mean < 0 ? TAKES : ADDS] : [most, HUE];
}
// What is added in one colour, what is taken away in another, nothing white.
const parts = (largest) => (pixel) => {
  const [size, full] = change(pixel), share = Math.min(1, (1.25 * Math.abs(size)) / (largest || 1));
  return full.map((c) => 255 + share * (c - 255));
};
const baseOf = (features) => (features.base ??= unpackLevels(features.offset));
const hasMean = (features) => baseOf(features).some((x) => x !== 0);
// A feature that nearly every row has is a picture of its own, unless it is added to a mean; others are changes.
const isBase = (features, view, k) => view.counts[k] >= 0.95 * features.rows && !hasMean(features);
function pixelsOf(values, channels) {
  return Array.from({ length: values.length / channels }, (_, i) => values.slice(i * channels, (i + 1) * channels));
}
const strongest = (features, values) => Math.max(...pixelsOf(values, features.picture[2]).map((pixel) => Math.abs(change(pixel)[0])));
const changePicture = (features, values, label) => canvas(features.picture, values, label, parts(strongest(features, values)));
function featurePicture(features, view, k) {
  if (isBase(features, view, k)) return canvas(features.picture, view.levels[k], `Feature ${k}, which nearly all rows have, as a picture`, natural(features.tones));
  return changePicture(features, view.levels[k], `Feature ${k}: what it adds and takes away`);
}
const key = (coloured) => html("p", { class: "note" }, html("span", { class: "key above" }), "adds", html("span", { class: "key below" }), "takes away", ...(coloured ? [html("span", { class: "key hue" }), "changes the colour alone"] : []));
const rowsWith = (features, view, k) => `in ${count(view.counts[k])} of ${plural(features.rows, "row")} (${percent(view.counts[k] / features.rows)})`;

const frame = (node, ...text) => html("figure", {}, node, html("figcaption", {}, ...text));
const meanPicture = (features) => canvas(features.picture, baseOf(features), "The mean of all pictures", natural(features.tones));
function pictureGallery(features, view) {
  view.levels ??= view.components.map(unpackLevels);
  const figures = view.levels.map((values, k) => frame(featurePicture(features, view, k), html("strong", {}, `feature ${k}`), ` ${rowsWith(features, view, k)}, `,
    isBase(features, view, k) ? "shown as it is" : `strongest change ${number(strongest(features, values))}`));
  if (hasMean(features)) figures.unshift(frame(meanPicture(features), html("strong", {}, "mean"), " of all pictures, to which features are added"));
  const [low, high] = features.tones;
  return [key(features.picture[2] > 1), html("div", { class: "pictures" }, ...figures),
    note(`The strongest change of a feature has the full colour, whatever its size. In pictures as they are black is ${number(low)} and white is ${number(high)}.`)];
}
// A bar to the right for what is added, to the left for what is taken away.
function signedBar(value, largest) {
  const share = Math.min(1, Math.abs(value) / (largest || 1)) * 48;
  return svg("svg", { viewBox: "0 0 100 12", width: "100", height: "12", "aria-hidden": "true", class: "change" },
    svg("path", { class: "axis", d: "M50 0V12" }), svg("rect", { x: value < 0 ? 50 - share : 50, y: 1, width: share, height: 10, class: value < 0 ? "below" : "above" }));
}
function barGallery(features, view) {
  const deviation = (column) => features.columns[column][2] || 0, inDeviations = (x, column) => (deviation(column) ? x / deviation(column) : 0);
  const largest = Math.max(...view.components.flatMap((component) => component.map((x, j) => Math.abs(inDeviations(x, view.telling[j])))));
  const rows = view.telling.map((column, j) => [features.columns[column][0], ...view.components.map((component) => {
    const sd = inDeviations(component[j], column);
    return html("td", {}, signedBar(sd, largest), html("span", { class: "small-cell" }, component[j] === 0 ? "0" : `${signed(component[j])} (${signed(Number(sd.toFixed(1)))} sd)`));
  })]);
  return [key(), table("What each feature adds to a row that has it, by column: bars in standard deviations of the column", ["column", ...view.components.map((_, k) => `feature ${k}`)], rows),
    view.telling.length < features.nColumns ? note(`The ${view.telling.length} columns that features change most, of ${count(features.nColumns)}.`) : null,
    table("Rows with each feature", ["feature", "rows", "share"], view.components.map((_, k) => [`feature ${k}`, count(view.counts[k]), percent(view.counts[k] / features.rows)]))];
}
function gallery(features, view) {
  if (view.k === 0) return [html("p", {}, "No feature at all: every row is taken as it is.")];
  const rest = view.k - view.components.length;
  return [...(features.picture ? pictureGallery(features, view) : barGallery(features, view)), rest > 0 ? note(`The first ${count(view.components.length)} of ${plural(view.k, group)} are shown.`) : null];
}
// One row taken apart; features beyond those shown are one part together.
function apart(features, view, index) {
  const all = view.examples[index], mine = all.filter((k) => k < view.components.length), others = all.filter((k) => k >= view.components.length);
  const said = all.length ? `feature${all.length === 1 ? "" : "s"} ${all.join(", ")}` : "no feature", rest = view.rest[index];
  const together = others.length === 1 ? `feature ${others[0]}` : `features ${others.join(", ")} together`;
  if (!features.picture) {
    const offset = view.telling.some((column) => features.columns[column][1]);
    const rows = view.telling.map((column, j) => {
      const start = features.columns[column][1] ?? 0, sum = mine.reduce((total, k) => total + view.components[k][j], start + (rest ? rest[j] : 0));
      return [features.columns[column][0], number(view.originals[index][j]), ...(offset ? [number(start)] : []), ...mine.map((k) => signed(view.components[k][j])), ...(rest ? [signed(rest[j])] : []), number(sum)];
    });
    return [html("p", {}, `It has ${said}.`), table("The row, its parts and their sum", ["column", "row", ...(offset ? ["mean"] : []), ...mine.map((k) => `feature ${k}`), ...(rest ? [together] : []), "sum"], rows)];
  }
  view.levels ??= view.components.map(unpackLevels);
  const sum = baseOf(features).slice(), left = rest && unpackLevels(rest);
  for (const part of [...mine.map((k) => view.levels[k]), ...(rest ? [left] : [])]) part.forEach((x, i) => (sum[i] += x));
  const sign = (text) => html("span", { class: "sign", "aria-hidden": "true" }, text), asItIs = natural(features.tones);
  const terms = mine.map((k) => frame(featurePicture(features, view, k), `feature ${k}`));
  if (hasMean(features)) terms.unshift(frame(meanPicture(features), "mean"));
  if (rest) terms.push(frame(changePicture(features, left, `What ${together} add and take away`), together));
  const line = html("div", { class: "sum" }, frame(canvas(features.picture, unpackLevels(features.originals[index]), "The original picture", asItIs), "original"), sign("\u2248"),
    frame(canvas(features.picture, sum, "The sum of its features", asItIs), "sum"), ...(terms.length ? [sign("=")] : []));
  terms.forEach((term, i) => line.append(...(i ? [sign("+")] : []), term));
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
    view.together.length < view.k ? note(`The first ${count(view.together.length)} of ${plural(view.k, group)}.`) : null,
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
  const whole = (view) => features.shown === null || (view.fitted && features.bits !== null);
  button.addEventListener("click", () => {
    const view = features.views[current], all = features.shown !== null && whole(view), packed = all ? features.bits : view.bits;
    const bytes = atob(packed.text), per = packed.bytes, given = all ? features.allNames : features.names;
    const rows = all || features.shown === null ? null : unpack(features.shown);
    const names = given === null ? null : Array.isArray(given) ? given : unpack(given);
    const total = rows ? rows.length : features.rows, lines = [["row", ...view.counts.map((_, k) => `feature_${k}`)].join(",")];
    for (let i = 0; i < total; i++) {
      const bit = (k) => (bytes.charCodeAt(i * per + (k >> 3)) >> (k & 7)) & 1;
      lines.push([names ? quoted(String(names[i])) : (rows ? rows[i] : i) + 1, ...view.counts.map((_, k) => bit(k))].join(","));
    }
    download(`features-${view.k}.csv`, lines);
  });
  listeners.push((index) => {
    const view = features.views[index];
    said.textContent = `${plural(view.k, group)}, ` + (whole(view) ? `all ${count(features.rows)} rows.` : `only ${count(unpack(features.shown).length)} of ${count(features.rows)} rows, chosen at random, with their row numbers: the page would be too large with all. ${data.allRows}`) + (features.names === null ? " Rows count from 1." : "");
  });
}
