"""Features of pictures of a table: Gibbs sampling, collapsed BP-means, BP-means, stepwise K-features, and ours.

Broderick et al. (2013), Figure 1. Algorithms as published are without polishing, from many of the paper's random
starts, bits looked at once; but the collapsed one alternates before it sweeps. The penalty is 20, as in the authors'
code for these units (pixels in [0, 1], divided by sqrt(N - 1)); the units of the paper's 1 are not known.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from common import Experiment, column, group, principal_components, tabletop_pictures
from madbayes import BPMeans, IndianBuffet, KFeatures

experiment = Experiment(__file__, "MAD-Bayes, Figure 1: features of pictures of a table")
STARTS, STEPS, CHAINS, SWEEPS = (1000, 300, 5, 1000) if not experiment.quick else (10, 5, 1, 20)
PENALTY = 20.0 if not experiment.quick else 0.3
X, _ = principal_components(tabletop_pictures(experiment)[0])
PUBLISHED = {"init": "++", "row_solver": "paper", "polish": False, "n_init": 1, "n_jobs": 1}
# Time of a run and of all, and features, as printed there.
PAPER = {
    "Gibbs, one feature": ("8500", "", "10"), "collapsed BP-means": ("11", "11000", "5"),
    "BP-means": ("0.36", "360", "6"), "stepwise K-features": ("0.10", "155", "5"),
}  # fmt: skip
# Starts and masses of chains; None: drawn. A random start has mass (1 + 1/2 + ... + 1/N) features on average: about 5
# and 10 for masses 1 and 2, the paper's two random starts.
STARTS_OF_CHAINS = {
    "one feature": ("one", (None, 0.01, 0.1, 1.0)), "random features": ("random", (None, 1.0, 2.0)),
    "from BP-means": ("bp-means", (None, 0.01, 0.1, 1.0)),
}  # fmt: skip
GIBBS = {
    f"Gibbs, {name}{'' if mass is None else f', mass {mass:g}'}": {"init": init, "mass": mass}
    for name, (init, masses) in STARTS_OF_CHAINS.items() for mass in (masses if not experiment.quick else masses[:1])
}  # fmt: skip
ONE = {"ours, penalty 20": {"penalty": PENALTY}, "ours, penalty chosen": {}, "ours, penalty 1": {"penalty": 1.0}}
HARD = ["collapsed BP-means", "BP-means", "stepwise K-features", "stepwise K-features, exact rows"]


def fit(model):
    """The row of a fit: features, sum of squares and seconds of a processor."""
    begin = time.process_time()
    model.fit(X)
    found = {"k": model.n_components_, "seconds": round(time.process_time() - begin, 5)}
    return {**found, "loss": round(getattr(model, "reconstruction_err_", np.nan), 4), "draws": "", "joint": ""}


def chains(options):
    """How many of the last 100 draws of each chain have how many features, and their mean log joint."""
    model = IndianBuffet(n_sweeps=SWEEPS, n_chains=CHAINS, n_jobs=1, **options)
    found = fit(model)
    found["seconds"] /= CHAINS
    for i, (trace, joint) in enumerate(zip(model.n_components_trace_, model.log_joint_trace_, strict=True)):
        for k, draws in zip(*np.unique(trace[-100:], return_counts=True), strict=True):
            yield {"start": i, **found, "k": k, "draws": draws, "joint": round(joint[-100:].mean(), 1)}


def run(algorithm):
    if algorithm in GIBBS:
        return list(chains(GIBBS[algorithm]))
    if algorithm in ONE:
        return [{"start": 0, **fit(BPMeans(n_jobs=1, **ONE[algorithm]))}]
    if not algorithm.startswith("stepwise"):
        name = "collapsed" if algorithm.startswith("collapsed") else "alternating"
        published = {"penalty": PENALTY, "algorithm": name, **PUBLISHED}
        return [{"start": i, **fit(BPMeans(random_state=i, **published))} for i in range(STARTS)]
    options = {**PUBLISHED, "row_solver": "exact" if algorithm.endswith("exact rows") else "paper"}
    found, best = [], []
    while len(best) < 2 or best[-1] < best[-2]:
        k = len(best) + 1
        found += [{"start": i, **fit(KFeatures(n_components=k, random_state=i, **options))} for i in range(STEPS)]
        best.append(min(row["loss"] for row in found[-STEPS:]) + k * PENALTY)
    return found


rows = experiment.runs([{"algorithm": name} for name in [*HARD, *ONE, *GIBBS]], run)
by_algorithm = {name: some for (name,), some in group(rows, "algorithm").items()}
optimum = min(row["loss"] + PENALTY * row["k"] for name in [*HARD, *ONE] for row in by_algorithm[name])
table, drawn = [], {}
for name, some in by_algorithm.items():
    if name in GIBBS:
        drawn.setdefault(name.split(",")[1].strip(), []).extend(np.repeat(column(some, "k"), column(some, "draws")))
        features, joint = (f"{column(some, c).min():.0f} to {column(some, c).max():.0f}" for c in ("k", "joint"))
        best = max(some, key=lambda row: (row["joint"], row["draws"]))["k"]
        line = [f"{some[0]['seconds']:.2g}", "", f"{features}, {best}", f"log joint {joint}"]
    else:
        values = column(some, "loss") + PENALTY * column(some, "k")
        best = some[int(np.argmin(values))]
        reached = "" if name == "ours, penalty 1" else f"{np.sum(values <= optimum + 1e-3)} of {len(some)}, "
        seconds = column(some, "seconds")
        line = [f"{seconds.mean():.2g}", f"{seconds.sum():.2g}", best["k"], f"{reached}loss {best['loss']:.1f}"]
    table.append([name, *line, *PAPER.get(name, ("", "", ""))])
experiment.say(
    f"{X.shape[0]} pictures in {X.shape[1]} principal components, penalty {PENALTY:g}. Seconds of one processor for a "
    f"run and for all ({STARTS} of BP-means, {STEPS} of K-features for each K), the features of the best, how many "
    "runs reach the lowest objective that any has at this penalty, and the best's sum of squares. Collapsed BP-means "
    f"alternates before it sweeps, other than published. Of {CHAINS} Gibbs chains of {SWEEPS} sweeps each the last 100 "
    "are shown: their features, then what the chain with the highest mean log joint has most often, and these means "
    "from the worst chain to the best (the log joint of a drawn mass and that of a fixed one do not compare). The "
    "paper's chain has mass 1 and mean-noise 0.5 at the start, which it redraws; its histogram is over four starts "
    "(one feature, 5 and 10 random ones, BP-means), masses from 0.01 to 1 and mean-noises from 0.1 to 10 at the "
    "start, which are not varied here: noise and the variance of features are always drawn. Its seconds are of Matlab "
    "on another machine."
)
head = ["algorithm", "seconds", "all", "features", "at the optimum", "paper: seconds", "paper: all", "paper: features"]
experiment.table(head, table)
figure, axis = plt.subplots(figsize=(6, 2.8))
edges = np.arange(min(map(min, drawn.values())), max(map(max, drawn.values())) + 2) - 0.5
axis.hist(list(drawn.values()), edges, stacked=True, rwidth=0.8, label=list(drawn))
axis.legend(fontsize="small")
axis.set(xlabel="features", ylabel="draws", title=f"last 100 draws of {CHAINS * len(GIBBS)} Gibbs chains")
experiment.picture(figure, "madbayes_figure1", "How many features Gibbs chains have")
experiment.finish()
