// The slider over the penalty path: from small penalties and many groups on the left to large ones and few on the right.
function interval(view) {
  if (!view.optimal) return "no penalty makes this number optimal";
  if (view.low !== null && view.low === view.high) return `optimal just below penalty ${number(view.high)}; smaller penalties were not looked at`;
  if (view.high === null) return view.low === null ? "optimal for any penalty" : `optimal for penalties above ${number(view.low)}`;
  return `optimal for penalties from ${number(view.low)} to ${number(view.high)}`;
}
function standing(view) {
  const said = [];
  if (view.place === 0) said.push(`\u2605 chosen by the data${data.confidence === null ? "" : `, confidence ${data.confidence.toFixed(2)} of 1`}`);
  else if (view.place) said.push(`#${view.place + 1} of the automatic choice`);
  if (view.fitted) said.push("this run's answer");
  return said;
}
// Every number on the path with its part of a logarithmic axis of penalties, from 0 to 1; `index` of its view, or -1.
function fieldsOf(points, views) {
  const ends = points.flatMap(([, low, high]) => [low, high]).filter((x) => x !== null && x > 0).map(Math.log);
  const least = Math.min(...ends), most = Math.max(...ends), spare = Math.max((most - least) * 0.06, 0.4);
  const start = least - spare, end = most + spare, share = (x) => (Math.log(x) - start) / (end - start);
  const fields = points.map(([k, low, high]) => ({
    k, low, high, index: views.findIndex((view) => view.k === k),
    // Below the last number of a path that goes on nothing is known.
    open: low !== null && low === high, from: low === null || low <= 0 || low === high ? 0 : share(low), to: high === null ? 1 : share(high),
  }));
  return { fields, start, end, share };
}
function sliderSection(shown) {
  const { views, fitted, points } = shown, last = views.length - 1;
  if (last < 1) {
    if (data.noSlider) section("slider-missing", `Other numbers of ${group}s`, html("p", {}, data.noSlider));
    return;
  }
  const axis = fieldsOf(points, views), { fields, start, end } = axis, held = fields.filter((field) => field.index >= 0);
  const input = html("input", { type: "range", id: "penalty", min: start, max: end, step: "any", "aria-describedby": "penalty-range" });
  const now = html("p", { class: "now", id: "now" }), range = html("p", { class: "range", id: "penalty-range" });
  const live = html("div", { "aria-live": "polite", "aria-atomic": "true" }, now, range);
  const chosen = views.findIndex((view) => view.place === 0);
  const back = html("button", { type: "button" }, chosen >= 0 ? "Back to the automatic choice" : "Back to this run's answer");
  const strip = stripOf(views, axis, show);
  section("slider", `How many ${group}s at which penalty?`, live,
    html("label", { for: "penalty", class: "note" }, `Move the penalty, what one more ${group} costs, to see other answers everywhere on this page.`),
    input, strip.node,
    html("div", { class: "ends" }, html("span", {}, `\u2190 smaller penalty, more ${group}s`), back, html("span", {}, `larger penalty, fewer ${group}s \u2192`)));
  const shareOf = () => (Number(input.value) - start) / (end - start);
  const inside = (field, at) => at >= field.from && at <= field.to;
  const away = (field, at) => Math.max(field.from - at, at - field.to, 0);
  const indexAt = (at) => held.reduce((best, field) => (away(field, at) < away(best, at) ? field : best)).index;
  // The middle of its penalties; a number without any stands between those beside it.
  const middle = (index) => {
    const field = held.find((other) => other.index === index), below = fields.filter((other) => other.k < views[index].k).pop();
    return field ? (field.from + field.to) / 2 : below ? below.from : 1;
  };
  const settle = () => {
    const field = held.find((other) => other.index === current), at = shareOf();
    if (!field || !inside(field, at)) input.value = String(start + middle(current) * (end - start));
  };
  input.addEventListener("input", () => show(indexAt(shareOf()), true));
  input.addEventListener("change", settle);
  // Keys go from number to number; the thumb goes with them.
  const steps = { ArrowRight: -1, ArrowUp: -1, ArrowLeft: 1, ArrowDown: 1, PageUp: -5, PageDown: 5, Home: last, End: -last };
  input.addEventListener("keydown", (event) => {
    if (!(event.key in steps)) return;
    event.preventDefault();
    show(Math.min(last, Math.max(0, current + steps[event.key])));
  });
  back.addEventListener("click", () => show(chosen >= 0 ? chosen : fitted));
  listeners.push((index, dragged) => {
    const view = views[index], said = standing(view);
    if (!dragged) settle();
    now.replaceChildren(plural(view.k, group), html("span", { class: "said" }, ` ${said.join(", ")}`));
    range.textContent = `${interval(view)}; loss ${number(view.loss)}`;
    input.setAttribute("aria-valuetext", `${plural(view.k, group)}, ${interval(view)}`);
    strip.mark(index);
  });
}

// The penalties of every number on the axis of the slider.
function stripOf(views, { fields, start, end, share }, move) {
  // As wide as there is room, so that its text keeps its size.
  const width = Math.max(264, Math.min(984, document.getElementById("main").clientWidth - 56));
  const node = svg("svg", { class: "strip", viewBox: `0 0 ${width} 76`, role: "img", "aria-label": `Which penalties make which number of ${group}s optimal, on a logarithmic axis. The table below the picture has the numbers.` });
  const outline = svg("rect", { class: "current", y: 20, height: 30 }), marked = [];
  for (const field of fields) {
    const view = views[field.index], x = field.from * width, wide = (field.to - field.from) * width;
    const kind = !view ? "unheld" : view.place === 0 ? "first" : view.place ? "place" : "";
    const bar = svg("rect", { x, y: 20, width: Math.max(wide, 1.5), height: 30, class: `field ${kind}${field.open ? " open" : ""}`, "data-k": field.k },
      svg("title", {}, view ? `${plural(field.k, group)}, ${interval(view)}` : `${plural(field.k, group)}: not on this page`));
    if (view) bar.addEventListener("click", () => move(field.index));
    node.append(bar);
    const text = count(field.k), fits = wide > 8 * text.length + 6;
    if (fits) node.append(svg("text", { x: x + wide / 2, y: 40, class: kind === "first" ? "onfirst" : "" }, text));
    if (view && view.place !== null) marked.push({ at: x + wide / 2, k: field.k, text: (view.place === 0 ? (wide > 70 ? "\u2605 chosen" : "\u2605") : `#${view.place + 1}`) + (fits ? "" : `: ${text}`) });
  }
  // Marks stand above their fields, side by side where those are narrow.
  marked.sort((a, b) => a.at - b.at);
  marked.forEach((mark, i) => {
    mark.half = 3.8 * mark.text.length + 4;
    mark.x = Math.max(mark.at, mark.half, i ? marked[i - 1].x + marked[i - 1].half + mark.half : 0);
  });
  marked.reduceRight((right, mark) => {
    mark.x = Math.min(mark.x, right - mark.half);
    return mark.x - mark.half;
  }, width);
  for (const mark of marked) node.append(svg("path", { class: "axis", d: `M${mark.x.toFixed(1)} 14L${mark.at.toFixed(1)} 20` }), svg("text", { x: mark.x.toFixed(1), y: 11, class: "small mark", "data-k": mark.k }, mark.text));
  const decades = (end - start) / Math.LN10, few = decades < 2.5;
  let free = -1e9;
  for (let power = Math.floor(start / Math.LN10); power <= end / Math.LN10; power += Math.ceil(decades / 8)) {
    for (const m of few ? [1, 2, 5] : [1]) {
      const x = share(m * 10 ** power) * width;
      if (x < 20 || x > width - 20 || x - free < 60) continue;
      free = x;
      node.append(svg("path", { class: "axis", d: `M${x.toFixed(1)} 50v6` }), svg("text", { x, y: 70, class: "small" }, number(m * 10 ** power)));
    }
  }
  node.append(outline);
  const mark = (index) => {
    const field = fields.find((other) => other.index === index);
    outline.setAttribute("visibility", field ? "visible" : "hidden");
    if (!field) return;
    outline.setAttribute("x", field.from * width);
    outline.setAttribute("width", Math.max((field.to - field.from) * width, 3));
  };
  return { node, mark };
}

// The same numbers as a table.
function pathSection({ views, points, sampled, rows: nRows }) {
  if (views.length < 2) return null;
  const held = points.filter(([k]) => views.some((view) => view.k === k)).length, notes = [];
  if (sampled) notes.push(`The path was sought on a random sample of ${count(sampled)} of ${plural(nRows, "row")}, and what was found there refined on all.`);
  if (held < points.length) notes.push(`The page holds ${count(held)} of the ${count(points.length)} numbers on the path: pale fields are left out.`);
  const rows = views.map((view) => [
    count(view.k),
    !view.optimal ? "none" : view.low === view.high && view.low !== null ? "unknown" : number(view.low ?? 0),
    !view.optimal ? "none" : view.high === null ? "any" : number(view.high),
    number(view.loss), html("td", { class: "text" }, standing(view).join(", ")),
  ]);
  return html("section", { id: "path", "aria-label": "The path as a table" }, ...(notes.length ? [note(notes.join(" "))] : []),
    html("details", {}, html("summary", {}, "The numbers of the path as a table"),
      table(`Penalties for which each number of ${group}s is optimal`, [`${group}s`, "penalty from", "to", "loss", [""]], rows)));
}
