// A sampler: traces of its chains, the numbers of groups they visited, rows that go together, sequences of states.
function lines(title, yName, traces, chains, least) {
  const width = 460, height = 262, left = 66, right = 12, top = 24, bottom = 44, all = traces.flat().filter((x) => x !== null);
  let low = Math.min(...all), high = Math.max(...all);
  if (!(high > low)) { low -= 1; high += 1; }
  const spare = (high - low) * 0.05, sweeps = Math.max(1, ...traces.map((trace) => trace.length - 1)) * chains.every;
  low -= spare; high += spare;
  const x = (i) => left + ((i * chains.every) / sweeps) * (width - left - right), y = (v) => height - bottom - ((v - low) / (high - low)) * (height - top - bottom);
  const node = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${plural(traces.length, "chain")} of ${count(traces[0]?.length * chains.every)} sweeps, from ${number(Math.min(...all))} to ${number(Math.max(...all))}.` });
  // The word stands above the lines, where none is in its way.
  if (chains.burnIn > 0 && chains.burnIn < sweeps) {
    const at = x(chains.burnIn / chains.every);
    node.append(svg("rect", { class: "burnt", x: left, y: top, width: at - left, height: height - top - bottom }), svg("text", { class: "small", x: left, y: top - 8 }, "burn-in"));
  }
  for (const tick of ticks(low, high, 8, least)) node.append(svg("path", { class: "axis", d: `M${left} ${y(tick).toFixed(1)}H${width - right}` }), svg("text", { class: "small tick", x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
  for (const tick of ticks(0, sweeps, 7, 1)) node.append(svg("path", { class: "axis", d: `M${x(tick / chains.every).toFixed(1)} ${height - bottom}v4` }), svg("text", { class: "small", x: x(tick / chains.every), y: height - bottom + 18, "text-anchor": "middle" }, count(tick)));
  traces.forEach((trace, i) => node.append(svg("path", { class: `line ${colourClass(i)}`, "stroke-dasharray": i % 2 ? "5 2" : null, d: trace.map((v, j) => (v === null ? "" : `${j && trace[j - 1] !== null ? "L" : "M"}${x(j).toFixed(1)} ${y(v).toFixed(1)}`)).join("") }, svg("title", {}, `chain ${i + 1}`))));
  node.append(svg("text", { x: (left + width) / 2, y: height - 8, "text-anchor": "middle" }, "sweep"), svg("text", { transform: `translate(14 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, yName));
  return html("figure", { class: "plain" }, node, html("figcaption", {}, ...traces.map((_, i) => html("span", { class: "legend" }, swatch(i), `chain ${i + 1} `))));
}
function chainSections(chains) {
  const bars = chains.distribution, most = Math.max(...bars.map(([, share]) => share));
  if (bars.length) {
    section("histogram", `How many ${group}s the draws have`, table(`Share of sweeps after the burn-in with each number of ${group}s`, [`${group}s`, "share", ""], bars.map(([k, share]) => {
      const bar = html("span", { class: "bar", "aria-hidden": "true" });
      bar.style.width = `${(16 * share) / most}rem`;
      return [count(k), percent(share), html("td", { class: "name" }, bar)];
    })));
  }
  const hats = chains.rHat.filter(([, r]) => r !== null).map(([name, r]) => `${name} ${r.toFixed(2)}`).join(", ");
  const node = section("traces", "Traces of the chains", html("div", { class: "two" }, lines(`Number of ${group}s after each sweep`, `${group}s`, chains.numbers, chains, 1), lines("Log joint probability after each sweep", "log joint", chains.joints, chains)));
  if (hats) node.append(note(`R-hat: ${hats}. Near 1 the chains agree; above 1.1 more sweeps are needed.`));
  if (chains.together) togetherSection(chains.together);
}
function togetherSection(together) {
  const n = together.rows.length, shares = atob(together.shares), view = data.clusters?.views[data.clusters.fitted];
  const colour = (k) => (view ? coloursOf(view)[k] : k);
  const node = html("canvas", { width: n, height: n, role: "img", class: "matrix", "aria-label": `Matrix of ${count(n)} rows ordered by ${group}: how often any two are in one ${group}. Dark blocks on the diagonal are ${group}s that hold together.` });
  const context = node.getContext("2d"), image = context.createImageData(n, n);
  for (let i = 0; i < n * n; i++) {
    const share = shares.charCodeAt(i) / 255;
    [0, 114, 178].forEach((c, j) => (image.data[4 * i + j] = 255 + share * (c * 0.75 - 255)));
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  const edge = svg("svg", { viewBox: `0 0 ${n} 10`, preserveAspectRatio: "none", class: "edge", "aria-hidden": "true" });
  together.groups.forEach((k, i) => edge.append(svg("rect", { x: i, y: 0, width: 1.2, height: 10, class: `block ${colourClass(colour(k))}` })));
  const sure = table(`How sure each ${group} is: 1 where every draw has exactly it`, [group, "certainty"], together.certainty.map((c, k) => [html("span", {}, swatch(colour(k)), `${group} ${k}`), c === null ? "" : c.toFixed(2)]));
  const unsure = table(`Rows whose ${group} is least sure`, ["row", [group], "certainty"], together.unsure.map(([row, k, c]) => [row, html("td", { class: "name" }, swatch(colour(k)), `${group} ${k}`), c === null ? "" : c.toFixed(2)]));
  section("certainty", "Which rows go together", html("div", { class: "two" },
    html("figure", { class: "plain" }, html("div", { class: "matrix-box" }, edge, node), html("figcaption", {}, (n < together.all ? `${count(n)} of ${count(together.all)} rows, chosen at random,` : `${count(n)} rows`) + ` ordered by ${group}; the darker, the more draws have both rows in one ${group}.`)),
    html("div", {}, sure, together.certainty.length < together.nGroups ? note(`The first ${together.certainty.length} of ${plural(together.nGroups, group)}.`) : null, unsure)));
}
function sequenceSection({ svg: picture, description, transitions, states, all }) {
  const view = data.clusters.views[data.clusters.fitted], colour = (k) => coloursOf(view)[k];
  const rows = states.map((from, i) => [html("span", {}, swatch(colour(from)), `from ${from}`), ...transitions[i].map((p) => {
    const cell = html("td", { class: "shaded" }, percent(p ?? 0));
    cell.style.backgroundColor = `rgba(var(--below), ${(0.5 * (p ?? 0)).toFixed(2)})`;
    return cell;
  })]);
  section("sequences", "The sequences", html("img", { class: "paper", alt: description, src: `data:image/svg+xml;base64,${picture}` }), note(description),
    html("h3", {}, "What follows what"), table("Probability of the next state, given the state", ["", ...states.map((to) => `to ${to}`)], rows),
    states.length < all ? note(`The ${states.length} states with most rows, of ${count(all)}.`) : null);
}
