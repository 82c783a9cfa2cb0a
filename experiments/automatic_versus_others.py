"""How often is the number of clusters right? The automatic choice beside silhouette, BIC, Bayesian mixtures and HDBSCAN.

    OMP_NUM_THREADS=1 python experiments/automatic_versus_others.py ../shared/data/clustering > table.md

prints the tables of docs/automatic-versus-others.md. All methods use one thread, and times are of the
processor, so that they compare.

The folder holds data sets with a column (or an array) of labels, of which only the number and the agreement are used. UCI sets
but for iris are standardised. Every method runs with its defaults but for what METHODS says; nothing is tuned to the sets.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from madbayes import DPMeans
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import BayesianGaussianMixture
from sklearn.preprocessing import StandardScaler

STANDARDISED = {"ionosphere", "sonar", "statlog", "wdbc", "wine", "yeast"}
# Silhouettes are quadratic in the rows: beyond this many a random sample of them is scored.
SILHOUETTE_ROWS = 1000
# The others than madbayes see at most this many rows, drawn at random; what can label new rows then labels all of them.
MOST_ROWS = 20_000


def data_sets(folder: Path):
    """Name, rows and labels of every labelled set; those of scikit-learn where there is no folder."""
    if not folder.is_dir():
        for name, load in {"iris": load_iris, "wine": load_wine, "wdbc": load_breast_cancer}.items():
            X, y = load(return_X_y=True)
            yield name, StandardScaler().fit_transform(X) if name in STANDARDISED else X, y
        return
    for path in sorted(folder.iterdir()):
        if path.suffix == ".npz":
            with np.load(path) as arrays:
                X, y = arrays["X"].astype(float), arrays["y"]
        elif path.suffix == ".csv" and "label" in (names := path.open().readline().strip().split(",")):
            values = np.loadtxt(path, delimiter=",", skiprows=1)
            y = values[:, names.index("label")]
            X = np.delete(values, names.index("label"), axis=1)
        else:
            continue
        if path.stem in STANDARDISED:
            X = StandardScaler().fit_transform(X)
        yield path.stem, np.ascontiguousarray(X), y


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


def run(X, y):
    """For each method the number of clusters, the agreement and the time."""
    (rows, fits), fitting = timed(k_means, X)
    found = {}
    for name, method in METHODS.items():
        if method in OVER_K_MEANS:
            labels, seconds = timed(method, X, rows, fits)
            seconds += fitting
        else:
            labels, seconds = timed(method, X)
        # Noise of HDBSCAN is no cluster, but a group of its own where agreement is measured.
        truth = y if len(labels) == len(y) else sampled(y)
        found[name] = len(np.unique(labels[labels >= 0])), adjusted_rand_score(truth, labels), seconds
    return found


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = Path(__file__).resolve().parents[2] / "shared" / "data" / "clustering"
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    parser.add_argument("--only", help="names of sets, separated by commas")
    parser.add_argument("--quick", action="store_true", help="a few small sets")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = arguments.only.split(",") if arguments.only else ["hepta", "iris", "wine"] if arguments.quick else None
    if not arguments.folder.is_dir():
        print("The sets are not here: those that scikit-learn brings along instead.\n")
    results = {}
    for name, X, y in data_sets(arguments.folder):
        if wanted is None or name in wanted:
            found = run(X, y)
            results[name] = (X.shape, len(np.unique(y)), found)
            print(name, {method: f"{k} {ari:.2f} {s:.1f} s" for method, (k, ari, s) in found.items()}, file=sys.stderr)

    sets = [
        [name, f"{n} x {d}", classes, *(f"{k} ({ari:.2f})" for k, ari, _ in found.values())]
        for name, ((n, d), classes, found) in results.items()
    ]
    summary = []
    for method in METHODS:
        off = [abs(found[method][0] - classes) for _, classes, found in results.values()]
        agreement = np.mean([found[method][1] for _, _, found in results.values()])
        ratio = np.median([found[method][2] / found["madbayes auto"][2] for _, _, found in results.values()])
        total = sum(found[method][2] for _, _, found in results.values())
        summary.append(
            [method, sum(o == 0 for o in off), sum(o <= 1 for o in off), f"{agreement:.3f}", f"{ratio:.2g}", f"{total:.1f}"]
        )
    head = ["method", "exact", "within one", "mean ARI", "median time / auto", "processor seconds"]
    print(f"Of {len(results)} labelled sets:\n")
    print(table(head, summary))
    print("\nNumber of clusters found, and in brackets its agreement with the labels (adjusted Rand index):\n")
    print(table(["set", "rows x columns", "classes", *METHODS], sets))


if __name__ == "__main__":
    main()
