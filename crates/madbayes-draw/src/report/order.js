// The order of the page: the slider, what it moves, the sampler, and where it stands at first.
const shown = data.clusters ?? data.features;
if (shown) {
  current = shown.fitted;
  sliderSection(shown.views, shown.fitted);
}
if (data.chains && data.clusters) chainSections(data.chains);
if (data.sequences) sequenceSection(data.sequences);
if (data.clusters) clusterSections(data.clusters);
if (data.features) featureSections(data.features);
if (data.chains && !data.clusters) chainSections(data.chains);
if (shown) {
  const numbers = pathTable(shown.views);
  if (numbers) document.getElementById("slider").after(html("section", { "aria-label": "The path as a table" }, numbers));
}
show(current);
