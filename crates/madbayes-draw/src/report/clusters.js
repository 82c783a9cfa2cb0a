// Tables of the groups at the slider: sizes, profiles, rows that fit worst, agreement with labels, and the labels as CSV.
function coloursOf(view) { return (view.unpackedColours ??= unpack(view.colours)); }
const placeOf = (view, k) => (view.places ??= new Map(view.largest.map((other, i) => [other, i]))).get(k);
const sizeOf = (view, k) => view.sizes[placeOf(view, k)];
function named(view, k) { return html("span", {}, swatch(coloursOf(view)[k]), `${group} ${k}`); }
function more(view) {
  const rest = (view.k > MANY ? view.k : view.largest.length) - view.profiles.length;
  return rest > 0 ? note(`The ${count(view.profiles.length)} largest ${group}s are listed, and there are ${count(rest)} more.`) : null;
}
function sizeTable(clusters, view) {
  const largest = Math.max(...view.sizes);
  const rows = view.profiles.map(({ group: k, most }) => {
    const bar = html("span", { class: `bar ${colourClass(coloursOf(view)[k])}`, "aria-hidden": "true" });
    bar.style.width = `${(6 * sizeOf(view, k)) / largest}rem`;
    const telling = most.filter(([, above]) => Math.abs(above) >= 0.25).map(([column, above]) =>
      `${clusters.columns[column][0]} ${Math.abs(above).toFixed(1)} sd ${above < 0 ? "below" : "above"}`);
    return [named(view, k), count(sizeOf(view, k)), percent(sizeOf(view, k) / clusters.rows), html("td", { class: "name" }, bar),
      number(view.spreads[placeOf(view, k)]), html("td", { class: "text" }, telling.length ? telling.join("; ") : "near the mean in every column")];
  });
  return table(`Size of every ${group}, its spread (the root mean square distance of its rows to its mean), and what tells it from all rows`, [group, "rows", "share", "", "spread", ["most telling columns"]], rows);
}
function profileTable(clusters, view) {
  const rows = view.profiles.map((profile) => [named(view, profile.group), ...profile.means.map((mean, i) => {
    const above = profile.above[i] ?? 0, cell = html("td", { class: "shaded" }, number(mean), html("span", { class: "small-cell" }, `${signed(Number(above.toFixed(1)))} sd`));
    cell.style.backgroundColor = `rgba(var(--${above < 0 ? "below" : "above"}), ${Math.min(0.55, Math.abs(above) * 0.25).toFixed(2)})`;
    return cell;
  })]);
  rows.push(["all rows", ...view.telling.map((column) => number(clusters.columns[column][1]))]);
  return table(`Means by column; below each, how many standard deviations that is above (+) or below (\u2212) the mean of all rows`,
    [group, ...view.telling.map((column) => clusters.columns[column][0])], rows);
}
function misfitTable(clusters, view) {
  if (!view.misfits.length) return html("p", {}, `Every row is at the mean of its ${group}.`);
  const measure = (view.fitted && clusters.measure) || "distance";
  const rows = view.misfits.map((misfit) => [misfit.row, html("td", { class: "name" }, named(view, misfit.group)), number(misfit.measure), misfit.spreads ? `${misfit.spreads.toFixed(1)} x` : "",
    html("td", { class: "text" }, `${clusters.columns[misfit.column][0]} is ${number(misfit.value)}, the mean of its ${group} ${number(misfit.mean)}`)]);
  const caption = measure === "distance" ? `Rows farthest from the mean of their ${group}` + (data.chains ? " in plain distance; the model itself weighs them by its likelihood" : "") : `Rows with the largest ${measure} from their ${group}, as the model measures it`;
  return table(caption, ["row", [group], measure, measure === "distance" ? "by its spread" : "distance by spread", [measure === "distance" ? "mostly because" : "farthest column"]], rows);
}
function agreementTable(clusters, view) {
  const found = view.agreement;
  const rows = view.profiles.map(({ group: k }, i) => [named(view, k), ...found.counts[i].map(count)]);
  return html("div", {}, html("p", {}, `Adjusted Rand index ${number(found.ari)} (1: the same groups, about 0: by chance), normalised mutual information ${number(found.nmi)}, purity ${number(found.purity)}.`),
    table(`Rows of every ${group} by ${clusters.truth}`, [group, ...found.labels], rows),
    found.labels.length < found.all ? note(`The ${found.labels.length} most frequent of ${count(found.all)} labels.`) : null);
}
function fill(node, index, views, build) {
  const body = node.querySelector(".body");
  body.replaceChildren(...[build(views[index])].flat().filter(Boolean));
}
function clusterSections(clusters) {
  const { views } = clusters;
  clusters.thinned = clusters.shown !== null;
  const parts = [
    ["sizes", `The ${group}s`, (view) => [sizeTable(clusters, view), more(view)]],
    ["profiles", `What the ${group}s look like`, (view) => [profileTable(clusters, view), view.telling.length < clusters.nColumns ? note(`The ${view.telling.length} columns that tell the ${group}s apart best, of ${count(clusters.nColumns)}.`) : null]],
    ["misfits", "Rows that fit worst", (view) => [misfitTable(clusters, view)]],
  ];
  if (clusters.truth !== null) parts.push(["agreement", `Agreement with ${clusters.truth}`, (view) => [agreementTable(clusters, view)]]);
  scatterSection(clusters);
  for (const [id, title, build] of parts) {
    const node = section(id, title, html("div", { class: "body" }));
    listeners.push((index) => fill(node, index, views, build));
  }
  labelButton(clusters);
}
function labelButton(clusters) {
  const button = html("button", { type: "button", class: "main", id: "download" }, "Download labels (CSV)"), said = note("");
  section("labels", `The ${group} of every row`, html("p", {}, button), said);
  const whole = (view) => !clusters.thinned || (view.fitted && clusters.labels !== null);
  button.addEventListener("click", () => {
    const view = clusters.views[current], all = clusters.thinned && whole(view);
    const labels = all ? unpack(clusters.labels) : view.unpacked ??= unpack(view.labels);
    const packed = all ? clusters.allNames : clusters.names, rows = !all && clusters.thinned ? unpack(clusters.shown) : null;
    const names = packed === null ? null : Array.isArray(packed) ? packed : unpack(packed);
    const name = (i) => names ? quoted(String(names[i])) : (rows ? rows[i] : i) + 1;
    download(`labels-${view.k}-${group}s.csv`, [`row,${group}`, ...labels.map((label, i) => `${name(i)},${label}`)]);
  });
  listeners.push((index) => {
    const view = clusters.views[index];
    said.textContent = `${plural(view.k, group)}, ` + (whole(view) ? `all ${count(clusters.rows)} rows.` : `only the ${count((view.unpacked ??= unpack(view.labels)).length)} rows of the picture, with their row numbers: the page would be too large with all. ${data.allRows}`) + (clusters.names === null ? " Rows count from 1." : "");
  });
}
const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
