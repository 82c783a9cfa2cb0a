"""How near is the answer of DP-means to the posterior, and what is it worth as the start of a sampler?

DP-means is the limit of the spherical mixture; beside it mixtures with covariances, with and without moves of whole
clusters. All priors are the package's own.
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
    f"{k} blobs, {gap} apart": gaussian_mixture(500, n_features=4, n_clusters=k, separation=gap, random_state=0)[0]
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
    schedule = {"n_chains": CHAINS, "n_sweeps": SWEEPS, "n_jobs": 1, "random_state": experiment.seed}
    fit = DPMixture(init=start, **schedule, **MODELS[model]).fit(X)
    end = time.process_time()
    draws = fit.draws_.reshape(-1, len(X))[:: max(1, fit.draws_[..., 0].size // 100)]
    far = [np.mean([variation_of_information(answer, draw) for draw in draws]) for answer in (hard, fit.labels_)]
    found = {
        "hard_k": len(set(hard)), "k": fit.n_clusters_, "mean_k": fit.n_clusters_trace_[:, fit.burn_in_ :].mean(),
        "ari": adjusted_rand_score(hard, fit.labels_), "hard_distance": far[0], "distance": far[1],
        "hard_seconds": middle - begin, "seconds": end - middle,
    }  # fmt: skip
    found = {name: round(value, 4) for name, value in found.items()}
    return [
        {"chain": i, "sweep": sweep, "log_joint": round(trace[sweep - 1], 2), **found}
        for i, trace in enumerate(fit.log_joint_trace_) for sweep in KEPT
    ]  # fmt: skip


cases = [{"data": data, "model": model, "start": start} for data in SETS for model in MODELS for start in STARTS]
rows = experiment.runs(cases, run)
experiment.say(
    f"`DPMeans()` and `DPMixture()` of {CHAINS} chains of {SWEEPS} sweeps, begun at the hard answer. *Distance*: the "
    "mean variation of information, in nats, of the posterior's draws from the hard answer, and from the posterior's "
    "own answer, which is about the least that any answer has."
)
table, of_starts, arrivals = [], [], []
figure, grid = plt.subplots(len(MODELS), len(SETS), figsize=(3.6 * len(SETS), 2.6 * len(MODELS)), squeeze=False)
for axis, ((data, model), some) in zip(grid.T.flat, group(rows, "data", "model").items(), strict=True):
    row, by_start = some[0], {start: of_start for (start,), of_start in group(some, "start").items()}
    distances = [f"{row['ari']:.2f}", f"{row['hard_distance']:.2f}", f"{row['distance']:.2f}"]
    ratio = f"{row['seconds'] / row['hard_seconds']:.0f}"
    table.append([data, model, row["hard_k"], row["k"], f"{row['mean_k']:.1f}", *distances, ratio])
    of_starts.append([data, model, *(f"{by_start[s][0]['k']} ({by_start[s][0]['mean_k']:.1f})" for s in STARTS)])
    late = group([row for row in some if row["sweep"] > SWEEPS // 2], "start")
    level = max(np.median(column(of_start, "log_joint")) for of_start in late.values())
    line = []
    for start, of_start in by_start.items():
        hard = of_start[0]["hard_seconds"]
        # Every start fits DP-means for the prior; only one needs it for its chains.
        each = (of_start[0]["seconds"] - hard) / CHAINS / SWEEPS
        traces = column(of_start, "log_joint").reshape(CHAINS, len(KEPT))
        arrived = [KEPT[np.argmax(trace >= level - 5)] for trace in traces if (trace >= level - 5).any()]
        sweeps = np.median(arrived) if arrived else np.nan
        line.append(f"{sweeps:.0f} ({len(arrived)}), {sweeps * each / hard:.2g}" if arrived else "(0)")
        colour, seconds = f"C{STARTS.index(start)}", KEPT * each + hard * (start == "dp-means")
        for trace in traces:
            axis.semilogx(seconds, trace - level, color=colour, linewidth=0.8, label=start)
    axis.axvline(hard, color="grey", linewidth=0.8, linestyle=":")
    axis.set(ylim=(-200, 60), title=data if model == "spherical" else "")
    arrivals.append([data, model, *line])
names = ["data", "model"]
columns = ["K hard", "K posterior", "mean K of draws", "agreement", "distance hard", "distance own"]
experiment.table([*names, *columns, "time of sampler / hard"], table)
experiment.say("Clusters of the posterior's answer by where the chains began, and in brackets the mean of the draws.")
experiment.table([*names, *(f"from {start}" for start in STARTS)], of_starts)
experiment.say(
    "Sweeps until a chain's log joint first comes within 5 of its level (the median of the last half of all chains "
    "from the best start), median of the chains and in brackets how many get there; then the time of these sweeps in "
    "units of the fit of DP-means, with which the first column begins. Sweeps count as equally long."
)
experiment.table([*names, *(f"from {start}" for start in STARTS)], arrivals)
handles, starts = grid[0, 0].get_legend_handles_labels()
grid[0, -1].legend(dict(zip(starts, handles, strict=True)).values(), STARTS, loc="center left", bbox_to_anchor=(1, 0.5))
for axis, model in zip(grid[:, 0], MODELS, strict=True):
    axis.set_ylabel(f"{model}:\nlog joint less its level")
for axis in grid[-1]:
    axis.set_xlabel("seconds of a processor")
figure.tight_layout()
caption = "Log joint, less its level, over the seconds of a chain, by start; dotted: the fit of DP-means"
experiment.picture(figure, "hard_and_posterior", caption)
experiment.finish()
