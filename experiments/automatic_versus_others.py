"""How often is the number of clusters right? The automatic choice beside silhouette, BIC, Bayesian mixtures and HDBSCAN.

Of labelled sets only the number of classes and the agreement with them are used. UCI sets but for iris are standardised. Every method runs with its
defaults but for what is said here, in one thread; nothing is tuned to the sets.
"""

import time
import warnings

import numpy as np
from common import Experiment, column, group
from madbayes import DPMeans
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import BayesianGaussianMixture
from sklearn.preprocessing import StandardScaler

experiment = Experiment(__file__, "The automatic choice and others")
warnings.simplefilter("ignore")
STANDARDISED = {"ionosphere", "sonar", "statlog", "wdbc", "wine", "yeast"}
# Silhouettes are quadratic in the rows: beyond this many a random sample of them is scored.
SILHOUETTE_ROWS = 1000
# The others than madbayes see at most this many rows, drawn at random; what can label new rows then labels all of them.
MOST_ROWS = 20_000


def data_sets():
    """Name, rows and labels of every labelled set; those of scikit-learn where the sets are not here."""
    folder = experiment.data("clustering", "three sets of scikit-learn")
    if not folder:
        for name, load in {"iris": load_iris, "wine": load_wine, "wdbc": load_breast_cancer}.items():
            yield name, *load(return_X_y=True)
        return
    for path in sorted(folder.iterdir()):
        if path.suffix == ".npz":
            with np.load(path) as arrays:
                yield path.stem, arrays["X"].astype(float), arrays["y"]
        elif path.suffix == ".csv" and "label" in (names := path.open().readline().strip().split(",")):
            values = np.loadtxt(path, delimiter=",", skiprows=1)
            at = names.index("label")
            yield path.stem, np.ascontiguousarray(np.delete(values, at, axis=1)), values[:, at]


SETS = {
    name: (StandardScaler().fit_transform(X) if name in STANDARDISED else X, y)
    for name, X, y in data_sets()
    if not experiment.quick or name in ("hepta", "iris", "wine")
}


def largest(X):
    """The largest number of clusters that is tried: that of madbayes' own path."""
    return min(int(np.clip(1.5 * np.sqrt(len(X)), 12, 120)), len(X) - 1)


def sampled(X):
    """At most MOST_ROWS rows."""
    if len(X) <= MOST_ROWS:
        return X
    return X[np.random.default_rng(0).choice(len(X), MOST_ROWS, replace=False)]


def automatic(X):
    return DPMeans(n_jobs=1).fit(X).labels_


def k_means(X):
    """K-means for K = 1, 2, ..."""
    rows = sampled(X)
    n_init = 10 if len(rows) <= 1000 else 3
    return rows, [KMeans(k, n_init=n_init, random_state=0).fit(rows) for k in range(1, largest(X) + 1)]


def by_silhouette(X, rows, fits):
    size = SILHOUETTE_ROWS if len(rows) > SILHOUETTE_ROWS else None
    best = max(fits[1:], key=lambda fit: silhouette_score(rows, fit.labels_, sample_size=size, random_state=0))
    return best.predict(X)


def by_bic(X, rows, fits):
    """BIC of spherical Gaussians of one variance, as in x-means (Pelleg & Moore 2000)."""
    n, d = rows.shape

    def bic(fit):
        k = fit.n_clusters
        variance = max(fit.inertia_ / (d * max(n - k, 1)), 1e-300)
        sizes = np.bincount(fit.labels_, minlength=k)
        likelihood = (sizes * np.log(np.maximum(sizes, 1) / n)).sum() - n * d / 2 * np.log(2 * np.pi * variance)
        return likelihood - d * (n - k) / 2 - ((k - 1) + d * k + 1) / 2 * np.log(n)

    return max(fits, key=bic).predict(X)


def bayesian_mixture(X):
    kind = "full" if X.shape[1] <= 10 else "diag"
    mixture = BayesianGaussianMixture(n_components=largest(X), covariance_type=kind, max_iter=300, random_state=0)
    return mixture.fit(sampled(X)).predict(X)


def hdbscan(X):
    return HDBSCAN(copy=True).fit_predict(sampled(X))


def hdbscan_large(X):
    return HDBSCAN(min_cluster_size=max(5, len(sampled(X)) // 50), copy=True).fit_predict(sampled(X))


# Those of the second kind choose among the same fits of K-means, whose time counts for each.
METHODS = {
    "madbayes auto": automatic,
    "silhouette": by_silhouette,
    "BIC": by_bic,
    "Bayesian mixture": bayesian_mixture,
    "HDBSCAN": hdbscan,
    "HDBSCAN N/50": hdbscan_large,
}
OVER_K_MEANS = {by_silhouette, by_bic}


def timed(function, *arguments):
    begin = time.process_time()
    result = function(*arguments)
    return result, time.process_time() - begin


def run(data):
    """For each method the number of clusters, the agreement and the time."""
    X, y = SETS[data]
    (rows, fits), fitting = timed(k_means, X)
    found = []
    for name, method in METHODS.items():
        if method in OVER_K_MEANS:
            labels, seconds = timed(method, X, rows, fits)
            seconds += fitting
        else:
            labels, seconds = timed(method, X)
        # Noise of HDBSCAN is no cluster, but a group of its own where agreement is measured.
        truth = y if len(labels) == len(y) else sampled(y)
        k, agreement = len(np.unique(labels[labels >= 0])), adjusted_rand_score(truth, labels)
        found.append({"method": name, "classes": len(np.unique(y)), "k": k, "ari": round(agreement, 4), "seconds": round(seconds, 4)})
    return found


rows = experiment.runs([{"data": data} for data in SETS], run)
by_method = {method: some for (method,), some in group(rows, "method").items()}
experiment.say(
    f"Of {len(SETS)} labelled sets, how many have as many clusters as classes, exactly or within one; the agreement (adjusted Rand index) with the classes; and the time "
    "of the processor, as the median of its ratio to that of `DPMeans()` and in all."
)
first = column(by_method["madbayes auto"], "seconds")
table = []
for method, some in by_method.items():
    off, seconds = np.abs(column(some, "k") - column(some, "classes")), column(some, "seconds")
    ratio = np.median(seconds / first)
    table.append([method, (off == 0).sum(), (off <= 1).sum(), f"{column(some, 'ari').mean():.3f}", f"{ratio:.2g}", f"{seconds.sum():.1f}"])
experiment.table(["method", "exact", "within one", "mean agreement", "median time / auto", "processor seconds"], table)
experiment.say("Number of clusters found, and in brackets its agreement with the classes:")
table = []
for (name,), some in group(rows, "data").items():
    n, d = SETS[name][0].shape
    table.append([name, f"{n} x {d}", some[0]["classes"], *(f"{row['k']} ({row['ari']:.2f})" for row in some)])
experiment.table(["set", "rows x columns", "classes", *METHODS], table)
experiment.finish()
