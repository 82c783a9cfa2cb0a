"""How many clusters do three blobs have under the two rules for the hyperplane of a new cluster?

Nguyen et al. (2017) draw it from its prior, which leaves no joint distribution invariant ("paper"); drawn from the law of an empty
cluster's hyperplane it does ("exact"). Nothing but that rule differs here: no whole clusters are split or merged under either.
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
# An earlier trial with logistic hyperplanes, of four data sets and short chains: w = 0, 0.01, 1 and 100.
TRIAL = {
    ("right", "exact"): "6.3 5.1 3.0 3.0", ("right", "paper"): "6.4 5.9 4.6 6.7",
    ("too small", "exact"): "11.2 10.9 6.8 5.0", ("too small", "paper"): "11.1 11.0 11.6 8.4",
}  # fmt: skip


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
        found.append({"seed": seed, "mean_k": round(drawn.mean(), 3), "k": model.n_clusters_, "share_of_3": np.mean(drawn == 3)})
    return found


cases = [
    {"variance": variance, "factor": factor, "rule": rule, "w": w}
    for variance in VARIANCES for factor in ("logistic", "svm") for rule in ("exact", "paper") for w in SCALES
]  # fmt: skip
rows = experiment.runs(cases, run)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
for axis, variance in zip(axes, VARIANCES, strict=True):
    experiment.say(
        f"Variance of a cluster set {variance} ({VARIANCES[variance]:g}, true 1): mean number of clusters over the draws of "
        f"{SEEDS} data sets of 60 rows, and in brackets how many data sets have 3 in their answer."
    )
    table = []
    for (factor, rule), of_rule in group([r for r in rows if r["variance"] == variance], "factor", "rule").items():
        by_scale = [of_scale for _, of_scale in group(of_rule, "w").items()]
        means = [column(some, "mean_k").mean() for some in by_scale]
        right = [np.sum(column(some, "k") == 3) for some in by_scale]
        table.append([factor, rule, *(f"{m:.1f} ({r})" for m, r in zip(means, right, strict=True))])
        axis.plot(range(len(SCALES)), means, "-o" if rule == "exact" else "--s", color="C0" if factor == "svm" else "C1",
                  label=f"{factor}, {rule}")  # fmt: skip
    experiment.table(["factor", "rule", *(f"w = {w}" for w in SCALES)], table)
    experiment.say(
        "An earlier trial of four data sets of this kind, logistic, w = 0, 0.01, 1 and 100: "
        + ", ".join(f"{TRIAL[variance, rule]} ({rule})" for rule in ("exact", "paper")) + "."
    )  # fmt: skip
    axis.axhline(3, color="grey", linewidth=0.8)
    axis.set(xticks=range(len(SCALES)), xticklabels=SCALES, xlabel="w", title=f"variance {variance}")
axes[0].set_ylabel("mean number of clusters")
axes[0].legend()
experiment.picture(figure, "three_blobs", "Number of clusters against w")
experiment.finish()
