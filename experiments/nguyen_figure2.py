"""Two lines of chained Gaussians: a Dirichlet process mixture with a round prior splits them, hyperplanes hold them.

Nguyen et al. (2017), Figure 2, which gives the data as a picture only: here each of two parallel lines is a chain of
Gaussians, and the prior of a cluster's covariance is that of one link, round, worth more or fewer rows (`prior_dof`).
"""

import matplotlib.pyplot as plt
import numpy as np
from common import MIXTURES, Experiment, column, group
from madbayes import DPMixture
from sklearn.metrics import adjusted_rand_score

experiment = Experiment(__file__, "Nguyen et al. 2017, Figure 2: two lines of chained Gaussians")
SEEDS, CHAINS, SWEEPS = (20, 3, 300) if not experiment.quick else (1, 2, 30)
LINKS, ROWS, STEP, GAP, DEVIATION = 8, 15, 1.2, 4.0, 0.5
PRIORS = (4, 8) if not experiment.quick else (8,)
PAPER = {"DPM": "not 2", "DDPM-S paper": "2", "DDPM-L paper": "2"}


def two_lines(seed):
    """Rows about the links of two chains, and the chain of each row."""
    line, link = np.divmod(np.arange(2 * LINKS * ROWS) // ROWS, LINKS)
    return np.random.default_rng(seed).normal(np.column_stack([STEP * link, GAP * line]), DEVIATION), line


def mixture(dof, method, seed):
    """With the covariance DEVIATION^2 I expected within a cluster."""
    scale = (dof - 3) * DEVIATION**2 * np.eye(2)
    schedule = {"n_sweeps": SWEEPS, "n_chains": CHAINS, "init": "random", "random_state": seed, "n_jobs": 1}
    return DPMixture(prior_dof=dof, prior_scale=scale, **schedule, **MIXTURES[method])


def run(dof, method):
    found = []
    for seed in range(SEEDS):
        X, line = two_lines(seed)
        model = mixture(dof, method, seed).fit(X)
        for chain in range(CHAINS):
            k, joint = (trace[chain, model.burn_in_ :] for trace in (model.n_clusters_trace_, model.log_joint_trace_))
            of_draws = {"k": np.bincount(k).argmax(), "mean_k": round(k.mean(), 3), "log_joint": round(joint.mean(), 3)}
            ari = adjusted_rand_score(line, model.draws_[chain, -1])
            found.append({"seed": seed, "chain": chain, **of_draws, "ari": round(ari, 4)})
    return found


rows = experiment.runs([{"dof": dof, "method": method} for dof in PRIORS for method in MIXTURES], run)
experiment.say(
    f"{SEEDS} data sets of {2 * LINKS} links of {ROWS} rows and standard deviation {DEVIATION}, {STEP} apart, in two "
    f"lines {GAP} apart; w = 1. The prior of a cluster's covariance is that of a link and worth `prior_dof` rows. "
    f"{CHAINS} chains of {SWEEPS} sweeps from random clusters: the share of chains whose most frequent number of "
    "clusters is 2, then the same of the chain of each data set with the highest log joint; in brackets the mean "
    "number of clusters of these, and the mean adjusted Rand index of their last draws with the two lines. The paper "
    "shows one run of each on data of its own: two clusters with hyperplanes, others without."
)
by_case = group(rows, "method", "dof")


def cell(some):
    best = [max(of_seed, key=lambda row: row["log_joint"]) for of_seed in group(some, "seed").values()]
    shares = [np.mean(column(chains, "k") == 2) for chains in (some, best)]
    return f"{shares[0]:.0%}, {shares[1]:.0%} ({column(best, 'mean_k').mean():.1f}, {column(best, 'ari').mean():.2f})"


table = [[method, *(cell(by_case[method, dof]) for dof in PRIORS), PAPER.get(method, "")] for method in MIXTURES]
experiment.table(["method", *(f"dof {dof}" for dof in PRIORS), "paper: clusters"], table)
figure, axes = plt.subplots(1, len(MIXTURES), figsize=(15, 2.6), sharey=True)
X, _ = two_lines(0)
across = np.array([-2, LINKS * STEP + 1])
for axis, method in zip(axes, MIXTURES, strict=True):
    model = mixture(8, method, 0).fit(X)
    axis.scatter(*X.T, c=model.labels_, cmap="tab10", s=8)
    axis.set_title(f"{method}: {model.n_clusters_} clusters", fontsize="medium")
    axis.set(xlim=across, ylim=(-2, GAP + 2), xlabel="first column")
    for (a, b), c in zip(getattr(model, "hyperplanes_", []), getattr(model, "intercepts_", []), strict=True):
        axis.plot(across, -(a * across + c) / b, color="grey", linewidth=0.8)
axes[0].set_ylabel("second column")
experiment.picture(figure, "nguyen_figure2", "Answers for the first data set (dof 8), with the clusters' hyperplanes")
experiment.finish()
