"""How near is the answer of DP-means to the posterior, and what is it worth as the start of a sampler?

DP-means is the limit of the spherical mixture; beside it mixtures with covariances, with and without moves of whole clusters. All priors are the
package's own.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from common import Experiment, column, group
from madbayes import DPMeans, DPMixture
from madbayes.metrics import variation_of_information
from madbayes.simulate import gaussian_mixture
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

experiment = Experiment(__file__, "Hard answers and the posterior")
CHAINS, SWEEPS = (4, 1000) if not experiment.quick else (2, 30)
STARTS = ("dp-means", "one", "random")
MODELS = {
    "spherical": {"likelihood": "spherical"}, "covariances": {"likelihood": "gaussian"},
    "covariances, row by row": {"likelihood": "gaussian", "split_merge": False},
}  # fmt: skip
SETS = {
    f"{k} blobs, {gap} apart": gaussian_mixture(500, n_features=4, n_clusters=k, separation=gap, random_state=experiment.seed)[0]
    for k, gap in ((5, 4), (15, 5))
}
SETS |= {"iris": load_iris().data, "wine": StandardScaler().fit_transform(load_wine().data)}
experiment.sources.append("simulated blobs, iris and wine of scikit-learn")
if experiment.quick:
    SETS = {"iris": SETS["iris"]}
# The sweeps that are kept of every chain.
KEPT = np.unique(np.logspace(0, np.log10(SWEEPS), 60).round().astype(int))


def run(data, model, start):
    X = SETS[data]
    begin = time.process_time()
    hard = DPMeans(n_jobs=1).fit(X).labels_
    middle = time.process_time()
    fit = DPMixture(init=start, n_chains=CHAINS, n_sweeps=SWEEPS, n_jobs=1, random_state=experiment.seed, **MODELS[model]).fit(X)
    seconds = middle - begin, time.process_time() - middle
    draws = fit.draws_.reshape(-1, len(X))[:: max(1, fit.draws_[..., 0].size // 100)]
    distances = [np.mean([variation_of_information(answer, draw) for draw in draws]) for answer in (hard, fit.labels_)]
    found = {
        "hard_k": len(set(hard)), "k": fit.n_clusters_, "mean_k": round(fit.n_clusters_trace_[:, fit.burn_in_ :].mean(), 3),
        "ari": round(adjusted_rand_score(hard, fit.labels_), 3), "hard_distance": round(distances[0], 3), "distance": round(distances[1], 3),
        "hard_seconds": round(seconds[0], 4), "seconds": round(seconds[1], 3),
    }  # fmt: skip
    return [
        {"chain": i, "sweep": sweep, "log_joint": round(trace[sweep - 1], 2), **found}
        for i, trace in enumerate(fit.log_joint_trace_) for sweep in KEPT
    ]  # fmt: skip


rows = experiment.runs([{"data": data, "model": model, "start": start} for data in SETS for model in MODELS for start in STARTS], run)
experiment.say(
    f"`DPMeans()` and `DPMixture()` of {CHAINS} chains of {SWEEPS} sweeps, begun at the hard answer. *Distance*: the mean variation of information, in nats, of the "
    "posterior's draws from the hard answer, and from the posterior's own answer, which is about the least that any answer has."
)
table = []
for (data, model), some in group(rows, "data", "model").items():
    row = some[0]
    distances = [f"{row[name]:.2f}" for name in ("hard_distance", "distance")]
    table.append([data, model, row["hard_k"], row["k"], f"{row['mean_k']:.1f}", f"{row['ari']:.2f}", *distances, f"{row['seconds'] / row['hard_seconds']:.0f}"])
head = ["data", "model", "K hard", "K posterior", "mean K of draws", "agreement", "distance hard", "distance own", "time of sampler / hard"]
experiment.table(head, table)
experiment.say(
    "Sweeps until a chain's log joint first comes within 5 of its level (the median of the last half of all chains from the best start), median of the chains "
    "and in brackets how many get there; then the time of these sweeps in units of the fit of DP-means, with which the first column begins."
)
table = []
figure, grid = plt.subplots(len(MODELS), len(SETS), figsize=(3.4 * len(SETS), 2.5 * len(MODELS)), squeeze=False)
for axis, ((data, model), some) in zip(grid.T.flat, group(rows, "data", "model").items(), strict=True):
    late = group([row for row in some if row["sweep"] > SWEEPS // 2], "start")
    level = max(np.median(column(of_start, "log_joint")) for of_start in late.values())
    line = []
    for (start,), of_start in group(some, "start").items():
        traces = column(of_start, "log_joint").reshape(CHAINS, len(KEPT))
        arrived = [KEPT[np.argmax(trace >= level - 5)] for trace in traces if (trace >= level - 5).any()]
        each = of_start[0]["seconds"] / CHAINS / SWEEPS / of_start[0]["hard_seconds"]
        line.append(f"{np.median(arrived):.0f} ({len(arrived)}), {np.median(arrived) * each:.2g}" if arrived else "(0)")
        for trace in traces:
            axis.semilogx(KEPT, trace - level, color=f"C{STARTS.index(start)}", linewidth=0.8, label=start)
    table.append([data, model, *line])
    axis.set(ylim=(-200, 60))
    if model == list(MODELS)[0]:
        axis.set_title(data)
    if data == list(SETS)[0]:
        axis.set_ylabel(model)
experiment.table(["data", "model", *(f"from {start}" for start in STARTS)], table)
handles, names = grid[0, 0].get_legend_handles_labels()
grid[0, -1].legend(dict(zip(names, handles, strict=True)).values(), STARTS, loc="center left", bbox_to_anchor=(1, 0.5))
for axis in grid[-1]:
    axis.set_xlabel("sweeps")
figure.tight_layout()
experiment.picture(figure, "hard_and_posterior", "Log joint, less its level, over sweeps, by start")
experiment.finish()
