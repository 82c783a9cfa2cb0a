"""How often is the number of clusters right? The automatic choice beside what people use instead.

Of labelled sets only the number of classes and the agreement with them are used. UCI sets but for iris and digits are
standardised. Every method runs with its defaults but for what is said here, in one thread; nothing is tuned to them.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from common import Experiment, column, group
from madbayes import DPMeans
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.preprocessing import StandardScaler

experiment = Experiment(__file__, "The automatic choice and others")
warnings.simplefilter("ignore")
STANDARDISED = {"ionosphere", "sonar", "statlog", "wdbc", "wine", "yeast"}
QUICK = ("hepta", "iris", "wine")
# Silhouettes are quadratic in the rows: beyond this many a random sample of them is scored.
SILHOUETTE_ROWS = 1000
# The others than madbayes see at most this many rows, drawn at random, Gaussian mixtures fewer; what can label new rows
# then labels all of them.
MOST_ROWS, GAUSSIAN_ROWS = 20_000, 2_000
# So many numbers of components in a row without a lower BIC, and larger ones are not tried.
PATIENCE = 5


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
    for name, file, every in (("optdigits", "counts/optdigits_1797x64", 1), ("fashion", "mnist/fashion_10k", 10)):
        with np.load(experiment.data(f"{file}.npz", "")) as arrays:
            yield name, arrays["X"][::every].astype(float), arrays["y"][::every]
    digits = experiment.data("mnist/mnist_1000_X.npy", "")
    yield "mnist", np.load(digits).astype(float), np.load(digits.with_name("mnist_1000_y.npy"))


SETS = {
    name: (StandardScaler().fit_transform(X) if name in STANDARDISED else X, y)
    for name, X, y in data_sets() if not experiment.quick or name in QUICK
}  # fmt: skip


def largest(X):
    """The largest number of clusters that is tried: that of madbayes' own path."""
    return min(int(np.clip(1.5 * np.sqrt(len(X)), 12, 120)), len(X) - 1)


def sampled(X, most=MOST_ROWS):
    """At most so many rows."""
    return X if len(X) <= most else X[np.random.default_rng(0).choice(len(X), most, replace=False)]


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


def kind(X):
    """Covariances, as far as there are rows for them."""
    return "full" if X.shape[1] <= 10 else "diag"


def gaussian_mixture(X):
    """scikit-learn's mixture with the lowest BIC."""
    rows, best, since = sampled(X, GAUSSIAN_ROWS), (np.inf, None), 0
    for k in range(1, largest(X) + 1):
        fit = GaussianMixture(k, covariance_type=kind(X), random_state=0).fit(rows)
        bic = fit.bic(rows)
        best, since = ((bic, fit), 0) if bic < best[0] else (best, since + 1)
        if since == PATIENCE:
            break
    return best[1].predict(X)


def bayesian_mixture(X):
    mixture = BayesianGaussianMixture(n_components=largest(X), covariance_type=kind(X), max_iter=300, random_state=0)
    return mixture.fit(sampled(X)).predict(X)


# Those of the second kind choose among the same fits of K-means, whose time counts for each.
METHODS = {
    "madbayes auto": lambda X: DPMeans(n_jobs=1).fit(X).labels_,
    "silhouette": by_silhouette,
    "BIC": by_bic,
    "GMM, BIC": gaussian_mixture,
    "Bayesian mixture": bayesian_mixture,
    "HDBSCAN": lambda X: HDBSCAN(copy=True).fit_predict(sampled(X)),
    "HDBSCAN N/50": lambda X: HDBSCAN(max(5, len(sampled(X)) // 50), copy=True).fit_predict(sampled(X)),
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
        given = (rows, fits) if method in OVER_K_MEANS else ()
        labels, seconds = timed(method, X, *given)
        seconds += fitting if given else 0
        # Noise of HDBSCAN is no cluster, but a group of its own where agreement is measured.
        truth = y if len(labels) == len(y) else sampled(y)
        k, agreement = len(np.unique(labels[labels >= 0])), round(adjusted_rand_score(truth, labels), 4)
        sizes = {"classes": len(np.unique(y)), "k": k}
        found.append({"method": name, **sizes, "ari": agreement, "seconds": round(seconds, 4)})
    return found


rows = experiment.runs([{"data": data} for data in SETS], run)
by_method = {method: some for (method,), some in group(rows, "method").items()}
experiment.say(
    f"Of {len(SETS)} labelled sets, how many have as many clusters as classes, exactly or within one; the agreement "
    "(adjusted Rand index) with the classes; and the time of the processor, as the median of its ratio to that of "
    "`DPMeans()` and in all. Of fashion every tenth picture."
)
first = column(by_method["madbayes auto"], "seconds")
table = []
for method, some in by_method.items():
    off, seconds = np.abs(column(some, "k") - column(some, "classes")), column(some, "seconds")
    times = f"{np.median(seconds / first):.2g}", f"{seconds.sum():.1f}"
    table.append([method, (off == 0).sum(), (off <= 1).sum(), f"{column(some, 'ari').mean():.3f}", *times])
head = ["method", "exact", "within one", "mean agreement", "median time / auto", "processor seconds"]
experiment.table(head, table)
experiment.say("Number of clusters found, and in brackets its agreement with the classes:")
by_set = {name: some for (name,), some in group(rows, "data").items()}
table = []
for name, some in by_set.items():
    n, d = SETS[name][0].shape
    table.append([name, f"{n} x {d}", some[0]["classes"], *(f"{row['k']} ({row['ari']:.2f})" for row in some)])
experiment.table(["set", "rows x columns", "classes", *METHODS], table)
figure, axes = plt.subplots(2, 1, figsize=(11, 6.4), sharex=True)
for i, (method, some) in enumerate(by_method.items()):
    places = np.arange(len(SETS)) + 0.11 * (i - 3)
    style = {"linestyle": "", "marker": "osDv^<>"[i], "markersize": 5, "label": method}
    # No cluster at all, all rows being noise, is at the bottom.
    axes[0].semilogy(places, np.maximum(column(some, "k") / column(some, "classes"), 0.07), **style)
    axes[1].plot(places, column(some, "ari"), **style)
axes[0].axhline(1, color="grey", linewidth=0.8)
axes[0].set_ylabel("clusters found / classes")
axes[1].set(ylabel="adjusted Rand index", xticks=range(len(SETS)))
axes[1].set_xticklabels(by_set, rotation=60, ha="right")
axes[0].legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
for axis in axes:
    for place in range(len(SETS) - 1):
        axis.axvline(place + 0.5, color="lightgrey", linewidth=0.5)
experiment.picture(figure, "automatic_versus_others", "Clusters found as a share of the classes, and their agreement")
experiment.finish()
