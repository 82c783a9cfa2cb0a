// Rows as points along two axes, with the centre of each group.
const MANY = 200, STYLES = 50;
const FRAME = { width: 720, height: 480, left: 70, right: 14, top: 12, bottom: 48 };

function scatterSection(clusters) {
  const { axes, views } = clusters, columns = axes.map((axis) => unpackSteps(axis.values));
  const choose = (label, chosen) => {
    const select = html("select", {}, ...axes.map((axis, i) => html("option", { value: i, selected: i === chosen ? "" : null }, axis.name)));
    return [html("label", {}, label, select), select];
  };
  const [xLabel, xSelect] = choose("across", 0), [ySpan, ySelect] = choose("up", Math.min(1, axes.length - 1));
  const picture = svg("svg", { viewBox: `0 0 ${FRAME.width} ${FRAME.height}`, role: "img", id: "scatter" });
  const said = note("");
  const node = section("rows", `The rows, by ${group}`, html("div", { class: "controls" }, xLabel, ySpan), picture, said);
  const draw = () => {
    const view = views[current], x = Number(xSelect.value), y = Number(ySelect.value), lines = view.centres.some((centre) => centre[x] === null || centre[y] === null);
    const means = view.largest.length < view.k ? `the means of the ${count(view.largest.length)} largest of ${plural(view.k, group)}` : `the mean of a ${group}`;
    drawScatter(picture, clusters, view, columns, x, y);
    said.textContent = `Each mark is a row, ${view.largest.length < view.k ? `the ${lines ? "lines" : "crosses"} are` : `each ${lines ? "line" : "cross"} is`} ${means}.`
      + (clusters.thinned ? ` ${count(columns[0].length)} of ${count(clusters.rows)} rows are shown, chosen at random (the seed repeats the choice); all numbers on this page are of all rows.` : "");
  };
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
  const labels = view.unpacked ??= unpack(view.labels), colours = coloursOf(view);
  // Very many groups are told apart by colour and shape alone.
  const many = view.k > MANY, places = Array.from({ length: many ? STYLES : view.k }, () => []);
  labels.forEach((label, i) => places[many ? colours[label] : label].push([across.at(columns[x][i]), up.at(columns[y][i])]));
  const radius = labels.length <= 1000 ? 3.4 : labels.length <= 5000 ? 2.5 : 1.7;
  // Small groups are drawn last: a large one would bury them.
  const order = places.map((_, k) => k).filter((k) => places[k].length).sort((a, b) => places[b].length - places[a].length);
  for (const k of order) {
    const title = many ? [] : [svg("title", {}, `${group} ${k}, ${plural(sizeOf(view, k), "row")}`)];
    parts.push(svg("g", { opacity: "0.85" }, ...title, ...marks(places[k], radius, many ? k : colours[k])));
  }
  // Where one axis is the number of the row, a mean is a line.
  const across2 = (a) => `M${across.at(a).toFixed(1)} ${top}V${height - bottom}`, up2 = (b) => `M${left} ${up.at(b).toFixed(1)}H${width - right}`;
  const centres = view.centres.map((centre) => [centre[x], centre[y]]);
  const crosses = centres.map(([a, b]) => (a !== null && b !== null ? `M${across.at(a).toFixed(1)} ${up.at(b).toFixed(1)}m-6 0h12m-6-6v12` : a !== null ? across2(a) : b !== null ? up2(b) : "")).join("");
  parts.push(svg("path", { class: "halo", d: crosses }), svg("path", { class: "cross", d: crosses }));
  if (view.k <= 40) centres.forEach(([a, b], i) => {
    if (a !== null || b !== null) parts.push(svg("text", { class: "tag", x: a === null ? left + 8 : across.at(a) + 8, y: b === null ? top + 14 : up.at(b) - 6 }, String(view.largest[i])));
  });
  picture.replaceChildren(...parts);
  picture.setAttribute("aria-label", `Scatter plot of ${plural(labels.length, "row")} in ${plural(view.k, group)}: ${name(x)} across, ${name(y)} up. Sizes and means are in the tables below.`);
}
