// Rows as points along two axes, with the centre of each group.
const FRAME = { width: 720, height: 480, left: 70, right: 14, top: 12, bottom: 48 };

function scatterSection(clusters) {
  const { axes, views } = clusters, columns = axes.map((axis) => unpackSteps(axis.values));
  const choose = (label, chosen) => {
    const select = html("select", {}, ...axes.map((axis, i) => html("option", { value: i, selected: i === chosen ? "" : null }, axis.name)));
    return [html("label", {}, label, select), select];
  };
  const [xLabel, xSelect] = choose("across", 0), [ySpan, ySelect] = choose("up", Math.min(1, axes.length - 1));
  const picture = svg("svg", { viewBox: `0 0 ${FRAME.width} ${FRAME.height}`, role: "img", id: "scatter" });
  const shown = clusters.shown ? clusters.shown.length : clusters.rows;
  const node = section("rows", `The rows, by ${group}`, html("div", { class: "controls" }, xLabel, ySpan), picture,
    note(`Each mark is a row, each cross the mean of a ${group}.` + (clusters.thinned ? ` ${count(columns[0].length)} of ${count(clusters.rows)} rows are shown, chosen at random (the seed repeats the choice); all numbers on this page are of all rows.` : "")));
  const draw = () => drawScatter(picture, clusters, views[current], columns, Number(xSelect.value), Number(ySelect.value));
  xSelect.addEventListener("change", draw);
  ySelect.addEventListener("change", draw);
  listeners.push(draw);
  return node;
}

function drawScatter(picture, clusters, view, columns, x, y) {
  const { width, height, left, right, top, bottom } = FRAME;
  const scale = (axis, from, to) => {
    let low = Infinity, high = -Infinity;
    const see = (v) => { if (v !== null) { low = Math.min(low, v); high = Math.max(high, v); } };
    columns[axis].forEach(see);
    if (low > high) [low, high] = [0, 1];
    const spare = high > low ? (high - low) * 0.03 : Math.abs(high) || 1;
    low -= spare; high += spare;
    return { low, high, at: (v) => from + ((v - low) / (high - low)) * (to - from) };
  };
  const across = scale(x, left, width - right), up = scale(y, height - bottom, top);
  const parts = [];
  for (const tick of ticks(across.low, across.high)) {
    const at = across.at(tick);
    parts.push(svg("path", { class: "axis", d: `M${at.toFixed(1)} ${top}V${height - bottom}` }),
      svg("text", { class: "small", x: at, y: height - bottom + 18, "text-anchor": "middle" }, number(tick)));
  }
  for (const tick of ticks(up.low, up.high)) {
    const at = up.at(tick);
    parts.push(svg("path", { class: "axis", d: `M${left} ${at.toFixed(1)}H${width - right}` }),
      svg("text", { class: "small", x: left - 6, y: at + 4, "text-anchor": "end" }, number(tick)));
  }
  const name = (axis) => { const text = clusters.axes[axis].name; return text.length > 60 ? text.slice(0, 59) + "\u2026" : text; };
  parts.push(svg("text", { x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, name(x)),
    svg("text", { transform: `translate(16 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, name(y)));
  const places = view.sizes.map(() => []), labels = view.unpacked ??= unpack(view.labels);
  labels.forEach((label, i) => places[label].push([across.at(columns[x][i]), up.at(columns[y][i])]));
  const radius = labels.length <= 1000 ? 3.4 : labels.length <= 5000 ? 2.5 : 1.7;
  // Small groups are drawn last: a large one would bury them.
  const order = view.sizes.map((_, k) => k).sort((a, b) => places[b].length - places[a].length);
  for (const k of order) {
    parts.push(svg("g", { opacity: "0.85" }, svg("title", {}, `${group} ${k}, ${plural(view.sizes[k], "row")}`), ...marks(places[k], radius, view.colours[k])));
  }
  const centres = view.centres.map((centre) => [centre[x], centre[y]]);
  const crosses = centres.filter(([a, b]) => a !== null && b !== null).map(([a, b]) => `M${across.at(a).toFixed(1)} ${up.at(b).toFixed(1)}m-6 0h12m-6-6v12`).join("");
  parts.push(svg("path", { class: "halo", d: crosses }), svg("path", { class: "cross", d: crosses }));
  if (view.k <= 40) centres.forEach(([a, b], k) => {
    if (a !== null && b !== null) parts.push(svg("text", { class: "tag", x: across.at(a) + 8, y: up.at(b) - 6 }, String(k)));
  });
  picture.replaceChildren(...parts);
  picture.setAttribute("aria-label", `Scatter plot of ${plural(labels.length, "row")} in ${plural(view.k, group)}: ${name(x)} across, ${name(y)} up. Sizes and means are in the tables below.`);
}
