"""Tables of a Chinese restaurant, colours of a Polya urn, and the menu of a real one, clustered by its nutrition facts.

Anand, Gautam & Lee, "Bayesian non-parametrics and Dirichlet process clustering techniques": Figures 1 to 4. Their menu has 325 items, ours 260.
"""

import matplotlib.pyplot as plt
import numpy as np
from common import Experiment, group, read_rows
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
else:
    wine = load_wine()
    section, values = wine.target_names[wine.target], wine.data
    item = np.array([f"wine {i}" for i in range(len(values))])
X = StandardScaler().fit_transform(values)
MODELS = {
    "DP-means": DPMeans(n_jobs=1), "DP-means, K = 11": DPMeans(n_clusters=11, n_jobs=1),
    "DP mixture": DPMixture(likelihood="diagonal", n_sweeps=SWEEPS, n_jobs=1),
}  # fmt: skip


def run(method):
    model = MODELS[method].fit(X)
    sure = getattr(model, "certainty_", [""] * len(X))
    return [
        {"section": a, "item": b, "cluster": z, "certainty": c}
        for a, b, z, c in zip(section, item, model.labels_, sure, strict=True)
    ]  # fmt: skip


figure, axes = plt.subplots(1, 4, figsize=(13, 3))
alphas = [0.5, 1, 2, 5, 10, 20, 50]
tables = [[len(set(CRP(concentration=a).sample(CUSTOMERS, random_state=i))) for i in range(RUNS)] for a in alphas]
axes[0].errorbar(alphas, np.mean(tables, axis=1), np.std(tables, axis=1), fmt="o", capsize=3, label="drawn")
axes[0].plot(alphas, [CRP(concentration=a).expected_groups(CUSTOMERS) for a in alphas], label="expected")
axes[0].set(xlabel="alpha", ylabel="tables", title=f"{CUSTOMERS} customers")
axes[0].legend()
across = np.linspace(-3.5, 3.5, 200)
for axis, alpha in zip(axes[1:], (1, 5, 50), strict=True):
    for i in range(6):
        colours = PolyaUrn(concentration=float(alpha)).sample(BALLS, random_state=i)
        axis.plot(across, gaussian_kde(colours, 0.25 / max(colours.std(), 0.25))(across), linewidth=0.8)
    axis.plot(across, norm.pdf(across), "k--")
    axis.set(title=f"colours, alpha = {alpha}", xlabel="colour", yticks=[])
experiment.say("## Tables and urns")
experiment.table(
    ["alpha", "mean tables", "standard deviation", "expected"],
    [
        [a, f"{np.mean(t):.1f}", f"{np.std(t):.1f}", f"{CRP(concentration=a).expected_groups(CUSTOMERS):.1f}"]
        for a, t in zip(alphas, tables, strict=True)
    ],
)
experiment.picture(figure, "mcdonalds", "Tables against alpha, and colours of urns with their base, dashed")
rows = experiment.runs([{"method": method} for method in MODELS], run)
labels = {method: np.array([row["cluster"] for row in some]) for (method,), some in group(rows, "method").items()}
experiment.say(f"## Clusters\n\n{len(X)} items, {X.shape[1]} columns, each divided by its standard deviation.")
experiment.table(
    ["", "clusters", "agreement with the sections of the menu", *(f"with {method}" for method in labels)],
    [
        [method, len(set(z)), *(f"{adjusted_rand_score(other, z):.2f}" for other in [section, *labels.values()])]
        for method, z in labels.items()
    ],
)
for method, z in list(labels.items())[1:]:
    table = []
    for k in np.argsort(-np.bincount(z)):
        inside = z == k
        near = np.argsort(((X - X[inside].mean(axis=0)) ** 2).sum(axis=1) + 1e9 * ~inside)[: min(5, inside.sum())]
        sections = ", ".join(f"{name} {np.sum(section[inside] == name)}" for name in dict.fromkeys(section[inside]))
        table.append([inside.sum(), sections, "; ".join(item[near])])
    experiment.say(f"{method}: items of each section, and the five nearest to the middle.")
    experiment.table(["items", "sections", "such as"], table)
experiment.finish()
