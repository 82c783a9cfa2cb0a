// The slider over the penalty path: from small penalties and many groups on the left to large ones and few on the right.
function interval(view) {
  if (!view.optimal) return "no penalty makes this number optimal";
  if (view.low !== null && view.low === view.high) return `optimal just below penalty ${number(view.high)}; smaller penalties were not looked at`;
  if (view.high === null) return view.low === null ? "optimal for any penalty" : `optimal for penalties above ${number(view.low)}`;
  return `optimal for penalties from ${number(view.low)} to ${number(view.high)}`;
}
function standing(view) {
  const said = [];
  if (view.place === 0) said.push(`chosen by the data${data.confidence === null ? "" : `, confidence ${data.confidence.toFixed(2)} of 1`}`);
  else if (view.place) said.push(`runner-up ${view.place} of the automatic choice`);
  if (view.fitted) said.push("this run's answer");
  return said;
}
function sliderSection(views, fitted) {
  const last = views.length - 1;
  if (last < 1) {
    if (data.noSlider) section("slider-missing", `Other numbers of ${group}s`, html("p", {}, data.noSlider));
    return;
  }
  const input = html("input", { type: "range", id: "penalty", min: 0, max: last, step: 1, "aria-describedby": "penalty-range" });
  const now = html("p", { class: "now", id: "now" }), range = html("p", { class: "range", id: "penalty-range" });
  const live = html("div", { "aria-live": "polite", "aria-atomic": "true" }, now, range);
  const chosen = views.findIndex((view) => view.place === 0);
  const back = html("button", { type: "button" }, chosen >= 0 ? "Back to the automatic choice" : "Back to this run's answer");
  const strip = stripOf(views, (index) => show(index));
  section("slider", `How many ${group}s at which penalty?`, live,
    html("label", { for: "penalty", class: "note" }, `Penalty: what one more ${group} costs. Move it to see other answers, everywhere on this page.`),
    input, html("div", { class: "ends" }, html("span", {}, `\u2190 smaller penalty, more ${group}s`), back, html("span", {}, `larger penalty, fewer ${group}s \u2192`)),
    strip.node);
  input.addEventListener("input", () => show(last - Number(input.value)));
  back.addEventListener("click", () => show(chosen >= 0 ? chosen : fitted));
  listeners.push((index) => {
    const view = views[index], said = standing(view);
    input.value = String(last - index);
    now.replaceChildren(plural(view.k, group), html("span", { class: "said" }, ` ${said.join(", ")}`));
    range.textContent = `${interval(view)}; loss ${number(view.loss)}`;
    input.setAttribute("aria-valuetext", `${plural(view.k, group)}, ${interval(view)}`);
    strip.mark(index);
  });
}

// The penalties of every number on a logarithmic axis.
function stripOf(views, move) {
  const ends = views.filter((view) => view.optimal).flatMap((view) => [view.low, view.high]).filter((x) => x !== null && x > 0).map(Math.log);
  const least = Math.min(...ends), most = Math.max(...ends), spare = Math.max((most - least) * 0.06, 0.4);
  const low = least - spare, high = most + spare, bars = [];
  // As wide as there is room, so that its text keeps its size.
  const width = Math.max(280, Math.min(1000, document.getElementById("main").clientWidth - 40));
  const place = (x, open) => (x === null || x <= 0 ? open : ((Math.log(x) - low) / (high - low)) * width);
  const node = svg("svg", { class: "strip", viewBox: `0 0 ${width} 78`, role: "img", "aria-label": `Which penalties make which number of ${group}s optimal, on a logarithmic axis. The table below the picture has the numbers.` });
  views.forEach((view, index) => {
    if (!view.optimal || (view.low !== null && view.low === view.high)) return;
    const from = place(view.low, 0), to = place(view.high, width);
    const kind = view.place === 0 ? "first" : view.place ? "place" : "";
    const bar = svg("rect", { x: from, y: 18, width: Math.max(to - from, 1.5), height: 30, class: kind }, svg("title", {}, `${plural(view.k, group)}, ${interval(view)}`));
    bar.addEventListener("click", () => move(index));
    bars[index] = bar;
    node.append(bar);
    if (to - from > 18) node.append(svg("text", { x: (from + to) / 2, y: 38, class: kind === "first" ? "onfirst" : "" }, count(view.k)));
    if (view.place !== null && to - from > 18) node.append(svg("text", { x: (from + to) / 2, y: 12, class: "small" }, view.place === 0 ? "\u2605 chosen" : `#${view.place + 1}`));
  });
  const decades = (high - low) / Math.LN10, few = decades < 2.5;
  let free = -1e9;
  for (let power = Math.floor(low / Math.LN10); power <= high / Math.LN10; power += Math.ceil(decades / 8)) {
    for (const m of few ? [1, 2, 5] : [1]) {
      const x = place(m * 10 ** power, 0);
      if (x < 20 || x > width - 20 || x - free < 60) continue;
      free = x;
      node.append(svg("path", { class: "axis", d: `M${x.toFixed(1)} 48v6` }), svg("text", { x, y: 70, class: "small" }, number(m * 10 ** power)));
    }
  }
  const mark = (index) => bars.forEach((bar, i) => {
    bar.classList.toggle("current", i === index);
    if (i === index) node.insertBefore(bar, node.querySelector("text"));
  });
  return { node, mark };
}

// The same numbers as a table.
function pathTable(views) {
  if (views.length < 2) return null;
  const rows = views.map((view) => [
    count(view.k),
    !view.optimal ? "none" : view.low === view.high && view.low !== null ? "unknown" : number(view.low ?? 0),
    !view.optimal ? "none" : view.high === null ? "any" : number(view.high),
    number(view.loss), html("td", { class: "text" }, standing(view).join(", ")),
  ]);
  return html("details", {}, html("summary", {}, "The numbers of the path as a table"),
    table(`Penalties for which each number of ${group}s is optimal`, [`${group}s`, "penalty from", "to", "loss", [""]], rows));
}
