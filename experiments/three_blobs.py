"""How many clusters do three blobs have under the two rules for the hyperplane of a new cluster?

Nguyen et al. (2017) draw it from its prior, which leaves no joint distribution invariant ("paper"); drawn from the law
of an empty cluster's hyperplane it does ("exact"). Nothing but that rule differs here: no whole clusters are split or
merged under either.
"""

import matplotlib.pyplot as plt
import numpy as np
from common import Experiment, column, group
from madbayes import DPMixture
from madbayes.simulate import gaussian_mixture

experiment = Experiment(__file__, "Three blobs: the number of clusters under both rules for new clusters")
SCALES = [0, 0.01, 0.1, 1, 10, 100] if not experiment.quick else [0, 1]
SEEDS, SWEEPS = (20, 1000) if not experiment.quick else (2, 100)
# The blobs have variance 1.
VARIANCES = {"right": 1.0, "too small": 0.25}


def run(variance, factor, rule, w):
    found = []
    for seed in range(SEEDS):
        X, _, _ = gaussian_mixture(60, n_clusters=3, separation=5, random_state=seed)
        model = DPMixture(
            likelihood="spherical", variance=VARIANCES[variance], concentration=1.0, split_merge=False,
            discriminative=factor, discriminative_scale=w, new_cluster=rule,
            n_sweeps=SWEEPS, n_chains=1, init="random", random_state=seed, n_jobs=1,
        ).fit(X)  # fmt: skip
        drawn = model.n_clusters_trace_[0, model.burn_in_ :]
        shares = {"mean_k": round(drawn.mean(), 3), "share_of_3": np.mean(drawn == 3)}
        found.append({"seed": seed, "k": model.n_clusters_, **shares})
    return found


cases = [
    {"variance": variance, "factor": factor, "rule": rule, "w": w}
    for variance in VARIANCES for factor in ("logistic", "svm") for rule in ("exact", "paper") for w in SCALES
]  # fmt: skip
rows = experiment.runs(cases, run)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
for axis, variance in zip(axes, VARIANCES, strict=True):
    experiment.say(
        f"Variance of a cluster set {variance} ({VARIANCES[variance]:g}, true 1): mean number of clusters over the "
        f"draws of {SEEDS} data sets of 60 rows, and in brackets how many data sets have 3 in their answer."
    )
    table = []
    for (factor, rule), of_rule in group([r for r in rows if r["variance"] == variance], "factor", "rule").items():
        by_scale = group(of_rule, "w").values()
        means = [column(some, "mean_k").mean() for some in by_scale]
        right = [np.sum(column(some, "k") == 3) for some in by_scale]
        table.append([factor, rule, *(f"{m:.1f} ({r})" for m, r in zip(means, right, strict=True))])
        style, colour = "-o" if rule == "exact" else "--s", "C0" if factor == "svm" else "C1"
        axis.plot(range(len(SCALES)), means, style, color=colour, label=f"{factor}, {rule}")
    experiment.table(["factor", "rule", *(f"w = {w}" for w in SCALES)], table)
    axis.axhline(3, color="grey", linewidth=0.8)
    axis.set(xticks=range(len(SCALES)), xticklabels=SCALES, xlabel="w", title=f"variance {variance}")
axes[0].set_ylabel("mean number of clusters")
axes[0].legend()
experiment.picture(figure, "three_blobs", "Number of clusters against w")
experiment.finish()
