"""Clusters of digits and scenes as counts: mixtures with and without hyperplanes, K-means, Gaussian mixtures and DP-means.

Nguyen et al. (2017), Table 1: ten runs of each sampler, the last five draws of each. As there, rows move one by one
only; at first they are in clusters at random.
"""

import time

import numpy as np
from common import MIXTURES, Experiment, column, counted_pictures, group, mean_and_spread
from madbayes import DPMeans, DPMixture
from madbayes.metrics import pairwise_f1
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.mixture import GaussianMixture

experiment = Experiment(__file__, "Nguyen et al. 2017, Table 1: clusters of pictures")
RUNS, SWEEPS = (10, 30) if not experiment.quick else (1, 14)
# A random start has about START log(1 + N / START) clusters: 17 of 1,000 rows. Where the concentration is drawn it has 7, and no other is ever
# opened on digits, since their rows say too much: the answer would be the start's.
START = 3.0
SETS = counted_pictures(experiment)
OTHERS = {
    "K-means, K given": lambda X, k, run: KMeans(k, n_init=1, random_state=run).fit_predict(X),
    "GMM, K given": lambda X, k, run: GaussianMixture(k, covariance_type="diag", reg_covar=1e-3, random_state=run).fit_predict(X),
    "DP-means": lambda X, k, run: DPMeans(penalty="farthest-first:17", random_state=run).fit(X).labels_,
}
# K, NMI and F1 as printed there; of other samples of MNIST and of Fifteen Scenes (2,245 of its pictures), with K from 10 to 25 given.
PAPER = {
    "mnist": {"K-means, K given": (".56 (.02)", ".40 (.03)"), "GMM, K given": (".52 (.03)", ".38 (.02)"),
              "DP-means": (".518 (K 17)", ".379"), "DPM": (".603 (.02) (K 20)", ".395 (.01)"),
              "DDPM-S paper": (".597 (.04) (K 14)", ".457 (.03)"), "DDPM-L paper": (".617 (.02) (K 16)", ".481 (.02)")},
    "scene15": {"K-means, K given": (".16 (.02)", ".13 (.01)"), "GMM, K given": (".17 (.02)", ".12 (.01)"),
                "DP-means": (".155 (K 17)", ".148"), "DPM": (".208 (.006) (K 12)", ".172 (.006)"),
                "DDPM-S paper": (".217 (.02) (K 12)", ".176 (.02)"), "DDPM-L paper": (".218 (.01) (K 11)", ".178 (.01)")},
}  # fmt: skip


def run(data, method):
    X, y = SETS[data]
    begin = time.process_time()
    if method in OTHERS:
        drawn = [[OTHERS[method](X, len(np.unique(y)), i)] for i in range(RUNS)]
    else:
        model = DPMixture(
            likelihood="multinomial", pseudocount=0.01, concentration=START, init="random", split_merge=False,
            n_chains=RUNS, n_sweeps=SWEEPS, burn_in=SWEEPS - 5, thin=1, **MIXTURES[method],
        )  # fmt: skip
        drawn = model.fit(X).draws_
    seconds = (time.process_time() - begin) / RUNS
    return [
        {
            "run": i, "draw": j, "k": len(np.unique(labels)), "nmi": normalized_mutual_info_score(y, labels),
            "f1": pairwise_f1(y, labels), "successive": adjusted_rand_score(*draws[-2:]) if len(draws) > 1 else "",
            "seconds": round(seconds, 2),
        }
        for i, draws in enumerate(drawn) for j, labels in enumerate(draws)
    ]  # fmt: skip


cases = [{"data": data, "method": method} for data in SETS for method in [*OTHERS, *MIXTURES]]
rows = experiment.runs(cases, run)
for (data,), of_data in group(rows, "data").items():
    X, y = SETS[data]
    experiment.say(
        f"## {data}\n\n{X.shape[0]} rows x {X.shape[1]} columns, {len(np.unique(y))} classes. Mean (standard deviation) over {RUNS} runs, "
        f"of samplers the last 5 of {SWEEPS} sweeps from random clusters (`concentration={START:g}`); *successive* is the adjusted Rand index of the last two draws, 1 where nothing "
        "moves any more; seconds of processors for a run."
    )
    table = []
    for (method,), some in group(of_data, "method").items():
        nmi, f1 = PAPER.get(data, {}).get(method, ("", ""))
        table.append([
            method, f"{column(some, 'k').mean():.1f}", mean_and_spread(column(some, "nmi")), mean_and_spread(column(some, "f1")),
            f"{column(some, 'successive').mean():.2f}" if method in MIXTURES else "", f"{column(some, 'seconds').mean():.1f}", nmi, f1,
        ])  # fmt: skip
    experiment.table(["method", "K", "NMI", "F1", "successive", "seconds", "paper: NMI", "paper: F1"], table)
experiment.finish()
