"""Tables of a Chinese restaurant, colours of a Polya urn, and the menu of a real one, clustered by its nutrition facts.

Anand, Gautam & Lee, "Bayesian non-parametrics and Dirichlet process clustering techniques": Figures 1 to 4. Their menu
has 325 items, ours 260.
"""

import matplotlib.pyplot as plt
import numpy as np
from common import Experiment, column, group, read_rows
from madbayes import DPMeans, DPMixture
from madbayes.priors import CRP, PolyaUrn
from scipy.stats import gaussian_kde, norm
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

experiment = Experiment(__file__, "The menu: tables, urns and clusters of food")
RUNS, CUSTOMERS, BALLS, SWEEPS = (50, 1000, 500, 2000) if not experiment.quick else (3, 100, 100, 40)
if file := experiment.data("mcdonalds/mcdonalds_14.csv", "the wines of scikit-learn"):
    cells = np.array([list(row.values()) for row in read_rows(file)])
    section, item, values = cells[:, 0], cells[:, 1], cells[:, 2:].astype(float)
    facts = list(read_rows(file)[0])[2:]
else:
    wine = load_wine()
    section, values, facts = wine.target_names[wine.target], wine.data, wine.feature_names
    item = np.array([f"wine {i}" for i in range(len(values))])
X = StandardScaler().fit_transform(values)
ALPHAS, URNS = [0.5, 1, 2, 5, 10, 20, 50], [1, 5, 50]
MODELS = {
    "DP-means": DPMeans(n_jobs=1), "DP-means, K = 11": DPMeans(n_clusters=11, n_jobs=1),
    "DP mixture": DPMixture(likelihood="diagonal", n_sweeps=SWEEPS, n_jobs=1),
}  # fmt: skip


def run(what, of):
    """Tables of each run, colours of the balls of each urn, or clusters of the items."""
    if what == "tables":
        drawn = [len(set(CRP(concentration=of).sample(CUSTOMERS, random_state=i))) for i in range(RUNS)]
        return [{"run": i, "section": "", "item": "", "value": k, "certainty": ""} for i, k in enumerate(drawn)]
    if what == "urn":
        return [
            {"run": i, "section": "", "item": ball, "value": round(colour, 4), "certainty": ""}
            for i in range(6)
            for ball, colour in enumerate(PolyaUrn(concentration=float(of)).sample(BALLS, random_state=i))
        ]
    model = MODELS[of].fit(X)
    sure = getattr(model, "certainty_", [""] * len(X))
    return [
        {"run": 0, "section": a, "item": b, "value": z, "certainty": c}
        for a, b, z, c in zip(section, item, model.labels_, sure, strict=True)
    ]  # fmt: skip


parts = {"tables": ALPHAS, "urn": URNS, "clusters": MODELS}
rows = experiment.runs([{"what": what, "of": of} for what, cases in parts.items() for of in cases], run)
found = {case: column(some, "value") for case, some in group(rows, "what", "of").items()}

figure, axes = plt.subplots(1, 4, figsize=(13, 3))
tables = [found["tables", alpha] for alpha in ALPHAS]
expected = [CRP(concentration=alpha).expected_groups(CUSTOMERS) for alpha in ALPHAS]
axes[0].errorbar(ALPHAS, np.mean(tables, axis=1), np.std(tables, axis=1), fmt="o", capsize=3, label="drawn")
axes[0].plot(ALPHAS, expected, label="expected")
axes[0].set(xlabel="alpha", ylabel="tables", title=f"{CUSTOMERS} customers")
axes[0].legend()
across = np.linspace(-3.5, 3.5, 200)
for axis, alpha in zip(axes[1:], URNS, strict=True):
    for colours in found["urn", alpha].reshape(-1, BALLS):
        axis.plot(across, gaussian_kde(colours, 0.25 / max(colours.std(), 0.25))(across), linewidth=0.8)
    axis.plot(across, norm.pdf(across), "k--")
    axis.set(title=f"colours, alpha = {alpha}", xlabel="colour")
axes[1].set_ylabel("density")
figure.tight_layout()
experiment.say("## Tables and urns (Figures 1 and 2)\n\nThe report prints curves, no numbers: more tables with alpha.")
experiment.table(
    ["alpha", "mean tables", "standard deviation", "expected"],
    [[a, f"{t.mean():.1f}", f"{t.std():.1f}", f"{e:.1f}"] for a, t, e in zip(ALPHAS, tables, expected, strict=True)],
)
experiment.picture(figure, "mcdonalds", "Tables against alpha, and colours of urns with their base, dashed")

labels = {method: found["clusters", method] for method in MODELS}
experiment.say(
    f"## Clusters\n\n{len(X)} items, {X.shape[1]} columns, each divided by its standard deviation. The report has 325 "
    "items, about 11 clusters by both methods, among them burgers, lowfat drinks, breakfast items, desserts, salads "
    "and desserty drinks; which items are in them it does not print."
)
experiment.table(
    ["", "clusters", "agreement with the sections of the menu", *(f"with {method}" for method in labels)],
    [
        [method, len(set(z)), *(f"{adjusted_rand_score(other, z):.2f}" for other in [section, *labels.values()])]
        for method, z in labels.items()
    ],
)


def nearest(inside, most):
    """The items of a cluster that are nearest to its middle."""
    return np.argsort(((X - X[inside].mean(axis=0)) ** 2).sum(axis=1) + 1e9 * ~inside)[: min(most, inside.sum())]


for method, z in labels.items():
    table = []
    for k in np.argsort(-np.bincount(z)):
        inside = z == k
        sections = ", ".join(f"{name} {np.sum(section[inside] == name)}" for name in dict.fromkeys(section[inside]))
        table.append([inside.sum(), sections, "; ".join(item[nearest(inside, 5)])])
    experiment.say(f"{method}: items of each section, and the five nearest to the middle.")
    experiment.table(["items", "sections", "such as"], table)

figure, grid = plt.subplots(2, 3, figsize=(13, 6), sharex=True, sharey=True)
for line, method in zip(grid, ("DP mixture", "DP-means"), strict=True):
    z = labels[method]
    for axis, k in zip(line, np.argsort(-np.bincount(z))[:3], strict=False):
        for n in nearest(z == k, 4):
            axis.plot(X[n], "o-", markersize=3, linewidth=0.8, label=item[n])
        axis.legend(fontsize="xx-small", loc="upper left")
        axis.set(title=f"{method}: {np.sum(z == k)} items", xticks=range(len(facts)), ylim=(-1.6, 3.4))
        axis.set_xticklabels([fact.replace("_", " ") for fact in facts], rotation=90, fontsize="small")
    line[0].set_ylabel("standard deviations\nfrom the mean")
figure.tight_layout()
experiment.say(
    "## Nutrition profiles (Figures 3 and 4)\n\nFour items in the middle of each of the three largest clusters, "
    "by both methods; which three the report shows is not known."
)
experiment.picture(figure, "mcdonalds_profiles", "Nutrition profiles of items of three clusters")
experiment.finish()
