"""The derivations as a picture: -2 s2 log P, less N D s2 log(2 pi s2), goes to the objective as s2, the variance, to 0.

Broderick et al. (2013), Sup. A, B, D and E, with theta or gamma = exp(-penalty / (2 s2)), means and features ~ N(0, I),
covariances of clusters s2 S with S ~ inverse Wishart(c / s2, Phi / s2). Priors of the structure are those of
madbayes.priors; likelihoods are computed here, from the formulas.
"""

import matplotlib.pyplot as plt
import numpy as np
from common import Experiment, column, group
from madbayes import DPMeans, FullCovarianceMeans, KFeatures
from madbayes.priors import CRP, IBP
from madbayes.simulate import feature_mixture, gaussian_mixture
from scipy.stats import invwishart, multivariate_normal, norm

experiment = Experiment(__file__, "The limit of small variance")
N, C, PHI = 24, 40.0, 2.5 * np.eye(2)
# s2 in units of the penalty; below 1 / 1480 theta is no longer a number.
VARIANCES = np.logspace(0, -3, 13 if not experiment.quick else 3)
points = 0.25 * gaussian_mixture(N, n_clusters=3, separation=6, random_state=experiment.seed)[0]
sums = feature_mixture(N, n_features=4, n_components=3, noise=0.15, random_state=experiment.seed)[0]


def gaussian(X, mean, s2):
    return norm.logpdf(X, mean, np.sqrt(s2)).sum()


def clusters(k):
    fit = DPMeans(n_clusters=k).fit(points)
    mu, z = fit.cluster_centers_, fit.labels_
    return fit.inertia_, k - 1, lambda s2, theta: (
        CRP(concentration=theta).log_prob(z) + gaussian(points, mu[z], s2) + gaussian(mu, 0, 1)
    )


def features(k):
    fit = KFeatures(n_components=k).fit(sums)
    Z, A = fit.allocation_, fit.components_
    return fit.reconstruction_err_, k, lambda s2, gamma: (
        IBP(mass=gamma).log_prob(Z) + gaussian(sums, Z @ A, s2) + gaussian(A, 0, 1)
    )


def collapsed(k):
    """Features integrated out: every column of X is N(0, Z Z' + s2 I)."""
    fit = KFeatures(n_components=k).fit(sums)
    Z = fit.allocation_.astype(float)
    return fit.reconstruction_err_, k, lambda s2, gamma: (
        IBP(mass=gamma).log_prob(Z) + multivariate_normal(np.zeros(N), Z @ Z.T + s2 * np.eye(N)).logpdf(sums.T).sum()
    )


def covariances(k):
    fit = FullCovarianceMeans(n_clusters=k, covariance_penalty=C, covariance_prior=PHI).fit(points)
    mu, S, z = fit.cluster_centers_, fit.covariances_, fit.labels_
    return fit.inertia_, k - 1, lambda s2, theta: (
        CRP(concentration=theta).log_prob(z) + gaussian(mu, 0, 1)
        + sum(multivariate_normal(mu[i], s2 * S[i]).logpdf(points[z == i]).sum() for i in range(k))
        + sum(invwishart(C / s2, PHI / s2).logpdf(S[i]) for i in range(k))
    )  # fmt: skip


# With their penalties, for which three are best.
MODELS = {
    "clusters": (clusters, 1.0), "features": (features, 1.0), "features, collapsed": (collapsed, 1.0),
    "full covariance": (covariances, 16.0),
}  # fmt: skip


def run(model, k):
    of_model, penalty = MODELS[model]
    loss, paid, log_joint = of_model(k)
    cells = sums.size if "features" in model else points.size
    return [
        {"objective": loss + paid * penalty, "s2": s2,
         "value": -2 * s2 * log_joint(s2, np.exp(-penalty / (2 * s2))) - cells * s2 * np.log(2 * np.pi * s2)}
        for s2 in penalty * VARIANCES
    ]  # fmt: skip


rows = experiment.runs([{"model": model, "k": k} for model in MODELS for k in (1, 2, 3, 5)], run)
shown = slice(0, None, 4 if not experiment.quick else 1)
experiment.say(
    f"-2 s2 log P, less N D s2 log(2 pi s2), for {N} rows with three clusters or three features in them, at the best "
    "clusters or features of given number K. Its difference from the objective, as a share of it, by s2 in units of "
    "the penalty; *falls* is by how many times it falls from each to the next:"
)
table = []
figure, grid = plt.subplots(1, 4, figsize=(13, 3.4))
for axis, (model, of_model) in zip(grid, group(rows, "model").items(), strict=True):
    for (k,), some in group(of_model, "k").items():
        objective, value = some[0]["objective"], column(some, "value")
        left = value[shown] / objective - 1
        falls = " ".join(f"{before / after:.1f}" for before, after in zip(left[:-1], left[1:], strict=True))
        table.append([*model, k, f"{objective:.3f}", *(f"{share:+.2g}" for share in left), falls])
        axis.semilogx(VARIANCES, value, "o-", markersize=3, label=f"K = {k}")
        axis.axhline(objective, color=axis.lines[-1].get_color(), linewidth=0.8, linestyle=":")
    highest = max(column(of_model, "objective"))
    # Covariances come from below, and far.
    lowest = 0 if column(of_model, "value").min() > 0 else -2 * highest
    axis.set(title=model[0], xlabel="s2 / penalty", ylim=(lowest, 1.4 * highest))
grid[0].set_ylabel("-2 s2 log P, less the constant")
grid[-1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
experiment.table(["model", "K", "objective", *(f"{s2:.2g}" for s2 in VARIANCES[shown]), "falls"], table)
experiment.picture(figure, "the_limit", "-2 s2 log P against s2, and the objectives as dotted lines")
experiment.finish()
