"""Faces as sums of features, and as clusters: how they fall into groups under three features, three and four clusters.

Broderick et al. (2013), Figure 3, which has the FEI faces (front view, smiling or not), whose owner does not let them
be passed on: here Olivetti.
"""

import matplotlib.pyplot as plt
import numpy as np
from common import Experiment, faces, principal_components
from madbayes import KFeatures, KMeans

experiment = Experiment(__file__, "MAD-Bayes, Figure 3: faces as features and as clusters")
MOST, STARTS, PENALTY = (5, 300, 5.0) if not experiment.quick else (4, 5, 5.0)
pictures = faces(experiment)
# The base that all faces of the paper have is their mean: of centred faces it would be nothing.
X, axes = principal_components(pictures, centred=False)
PUBLISHED = {"init": "++", "row_solver": "paper", "polish": False, "n_init": STARTS}
ESTIMATORS = {
    "features": lambda k: KFeatures(n_components=k, n_jobs=1).fit(X),
    "features, as published": lambda k: KFeatures(n_components=k, n_jobs=1, **PUBLISHED).fit(X),
    "features, centred": lambda k: KFeatures(n_components=k, n_jobs=1).fit(X - X.mean(axis=0)),
    "clusters": lambda k: KMeans(n_clusters=k, n_init=20, n_jobs=1).fit(X),
}
fits = {(method, k): fit(k) for method, fit in ESTIMATORS.items() for k in range(1, MOST + 1)}


def combinations(model):
    """The features of each face: "has 0, 2"."""
    return ["has " + (", ".join(map(str, np.flatnonzero(row))) or "none") for row in model.allocation_]


def run(method, k):
    """How many faces have each combination of features, or are in each cluster."""
    model = fits[method, k]
    loss = model.inertia_ if method == "clusters" else model.reconstruction_err_
    groups = [f"cluster {z}" for z in model.labels_] if method == "clusters" else combinations(model)
    sizes = zip(*np.unique(groups, return_counts=True), strict=True)
    return [{"loss": loss, "group": name, "faces": size} for name, size in sizes]


rows = experiment.runs([{"method": method, "k": k} for method, k in fits], run)
losses = {(row["method"], row["k"]): row["loss"] for row in rows}
experiment.say(
    f"{len(X)} faces of {pictures.shape[1]} x {pictures.shape[2]} pixels in {X.shape[1]} principal components, divided "
    f"by sqrt(N - 1). Sum of squares left over by K features (one start of ours; the best of {STARTS} runs as "
    "published; one start of ours, the faces less their mean) and by K clusters; in brackets with the penalty of "
    f"{PENALTY:g} for each feature, whose least is the answer of stepwise K-features:"
)


def cell(method, k):
    return f"{losses[method, k]:.2f}" + ("" if method == "clusters" else f" ({losses[method, k] + k * PENALTY:.2f})")


experiment.table(["K", *ESTIMATORS], [[k, *(cell(method, k) for method in ESTIMATORS)] for k in range(1, MOST + 1)])


def counts(method, k):
    return "; ".join(f"{row['group']}: {row['faces']}" for row in rows if (row["method"], row["k"]) == (method, k))


experiment.say("Faces by combination of features and by cluster; the paper's are of other faces.")
PAPER = {
    ("features", 3): "base: 139; base, second: 106; base, third: 80; all: 75", ("features, centred", 3): "",
    ("clusters", 3): "154, 151, 95", ("clusters", 4): "121, 150, 74, 55",
}  # fmt: skip
table = [[f"{k} {method}", counts(method, k), paper] for (method, k), paper in PAPER.items()]
experiment.table(["", "ours", "paper"], table)


def draw(line, rows, titles):
    """Rows as pictures."""
    shown = (rows @ axes * np.sqrt(len(X) - 1)).reshape(-1, *pictures.shape[1:])
    for axis, picture, title in zip(line, shown, titles, strict=False):
        axis.imshow(picture, cmap="grey", vmin=0, vmax=1)
        axis.set_title(title, fontsize="small")


figure, grid = plt.subplots(4, 4, figsize=(8, 9.2))
for axis in grid.flat:
    axis.set_axis_off()
features, *clusters = (fits[case] for case in (("features", 3), ("clusters", 3), ("clusters", 4)))
base = int(features.allocation_.sum(axis=0).argmax())
bits = np.array(combinations(features))
# A face of each of the commonest combinations.
names, sizes = np.unique(bits, return_counts=True)
chosen = [np.flatnonzero(bits == name)[sizes.min() // 2] for name in names[np.argsort(-sizes)[:4]]]
draw(grid[0], X[chosen], [f"{bits[n]}\nclusters {clusters[0].labels_[n]}, {clusters[1].labels_[n]}" for n in chosen])
sums = features.components_ + (np.arange(3) != base)[:, None] * features.components_[base]
draw(grid[1], sums, [f"feature {k}" if k == base else f"features {base}, {k}" for k in range(3)])
for line, model in zip(grid[2:], clusters, strict=True):
    draw(line, model.cluster_centers_, [f"cluster {k} of {len(model.cluster_centers_)}" for k in range(4)])
experiment.say(
    "Four faces with their features and clusters; the base and its sums with the two other features; three and four "
    "clusters."
)
experiment.picture(figure, "madbayes_figure3", "Faces, their features and their clusters")
experiment.finish()
