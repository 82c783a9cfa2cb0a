// The order of the page: the slider, what it moves, the sampler, and where it stands at first.
const shown = data.clusters ?? data.features;
if (shown) {
  current = shown.fitted;
  sliderSection(shown);
}
if (data.chains && data.clusters) chainSections(data.chains);
if (data.sequences) sequenceSection(data.sequences);
if (data.clusters) clusterSections(data.clusters);
if (data.features) featureSections(data.features);
if (data.chains && !data.clusters) chainSections(data.chains);
if (shown) {
  const path = pathSection(shown);
  if (path) document.getElementById("slider").after(path);
}
show(current);
// What is reached by keys must not be hidden by a slider that stays on top.
const sticky = document.getElementById("slider");
if (sticky) {
  const clear = () => (document.documentElement.style.scrollPaddingTop = getComputedStyle(sticky).position === "sticky" ? `${sticky.offsetHeight + 12}px` : "");
  new ResizeObserver(clear).observe(sticky);
  addEventListener("resize", clear);
}
// Paper has no key to open a table.
addEventListener("beforeprint", () => document.querySelectorAll("details:not([open])").forEach((node) => { node.open = true; node.dataset.printed = ""; }));
addEventListener("afterprint", () => document.querySelectorAll("details[data-printed]").forEach((node) => { node.open = false; delete node.dataset.printed; }));
