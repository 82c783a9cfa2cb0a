"""Two lines of chained Gaussians: a Dirichlet process mixture with a round prior splits them, hyperplanes hold them together.

Nguyen et al. (2017), Figure 2, which gives the data as a picture only: here each of two parallel lines is a chain of Gaussians, and the prior
of a cluster's covariance is that of one link, round, and worth more or fewer rows (`prior_dof`).
"""

import matplotlib.pyplot as plt
import numpy as np
from common import MIXTURES, Experiment, column, group
from madbayes import DPMixture
from sklearn.metrics import adjusted_rand_score

experiment = Experiment(__file__, "Nguyen et al. 2017, Figure 2: two lines of chained Gaussians")
SEEDS, CHAINS, SWEEPS = (20, 3, 300) if not experiment.quick else (2, 2, 60)
LINKS, ROWS, STEP, GAP, DEVIATION = 8, 15, 1.2, 4.0, 0.5
PRIORS = (4, 8) if not experiment.quick else (8,)


def two_lines(seed):
    """Rows about the links of two chains, and the chain of each row."""
    line, link = np.divmod(np.arange(2 * LINKS * ROWS) // ROWS, LINKS)
    return np.random.default_rng(seed).normal(np.column_stack([STEP * link, GAP * line]), DEVIATION), line


def mixture(dof, method, seed):
    """With the covariance DEVIATION^2 I expected within a cluster."""
    return DPMixture(
        prior_dof=dof, prior_scale=(dof - 3) * DEVIATION**2 * np.eye(2), n_sweeps=SWEEPS, n_chains=CHAINS, init="random",
        random_state=seed, n_jobs=1, **MIXTURES[method],
    )  # fmt: skip


def run(dof, method):
    found = []
    for seed in range(SEEDS):
        X, line = two_lines(seed)
        model = mixture(dof, method, seed).fit(X)
        for chain in range(CHAINS):
            k, joint = model.n_clusters_trace_[chain, model.burn_in_ :], model.log_joint_trace_[chain, model.burn_in_ :].mean()
            ari = adjusted_rand_score(line, model.draws_[chain, -1])
            found.append({"seed": seed, "chain": chain, "k": np.bincount(k).argmax(), "mean_k": k.mean(), "log_joint": joint, "ari": ari})
    return found


rows = experiment.runs([{"dof": dof, "method": method} for dof in PRIORS for method in MIXTURES], run)
experiment.say(
    f"{SEEDS} data sets of {2 * LINKS} links of {ROWS} rows and standard deviation {DEVIATION}, {STEP} apart, in two lines {GAP} apart; "
    f"w = 1. The prior of a cluster's covariance is that of a link and worth `prior_dof` rows. "
    f"{CHAINS} chains of {SWEEPS} sweeps from random clusters: the share of chains whose most frequent number of "
    "clusters is 2, then the same of the chain of each data set with the highest log joint; in brackets the mean number of clusters of "
    "these, and the mean adjusted Rand index of their last draws with the two lines."
)
by_case = group(rows, "method", "dof")


def cell(some):
    best = [max(of_seed, key=lambda row: row["log_joint"]) for of_seed in group(some, "seed").values()]
    shares = [np.mean(column(chains, "k") == 2) for chains in (some, best)]
    return f"{shares[0]:.0%}, {shares[1]:.0%} ({column(best, 'mean_k').mean():.1f}, {column(best, 'ari').mean():.2f})"


table = [[method, *(cell(by_case[method, dof]) for dof in PRIORS)] for method in MIXTURES]
experiment.table(["method", *(f"dof {dof}" for dof in PRIORS)], table)
figure, axes = plt.subplots(1, 3, figsize=(11, 2.6), sharey=True)
X, _ = two_lines(0)
for axis, method in zip(axes, MIXTURES, strict=False):
    model = mixture(8, method, 0).fit(X)
    axis.scatter(*X.T, c=model.labels_, cmap="tab10", s=8)
    axis.set(title=f"{method}: {model.n_clusters_} clusters", xlim=(-2, LINKS * STEP + 1), ylim=(-2, GAP + 2))
    for (a, b), c in zip(getattr(model, "hyperplanes_", []), getattr(model, "intercepts_", []), strict=True):
        across = np.linspace(-2, LINKS * STEP + 1, 2)
        axis.plot(across, -(a * across + c) / b, color="grey", linewidth=0.8)
experiment.picture(figure, "nguyen_figure2", "The answers of three methods for the first data set, with the clusters' hyperplanes")
experiment.finish()
