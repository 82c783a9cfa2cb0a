"""Hidden states of movements and WiFi traces: mixtures and hidden Markov models, each with and without hyperplanes.

Nguyen et al. (2017), Table 2: ten runs of each sampler, the last five draws of each. Hidden Markov models row by row, as there ("direct");
all else by default. The phones' traces of the paper may not be passed on: other WiFi traces and movements stand in for them.
"""

import logging

import numpy as np
from common import Experiment, column, group, labelled_sequences, mean_and_spread
from hmmlearn.hmm import GaussianHMM, MultinomialHMM
from madbayes import DPMixture, InfiniteHMM
from madbayes.metrics import pairwise_f1
from sklearn.metrics import normalized_mutual_info_score

experiment = Experiment(__file__, "Nguyen et al. 2017, Table 2: hidden states of sequences")
logging.getLogger("hmmlearn").setLevel(logging.ERROR)
RUNS, SWEEPS = (10, 60) if not experiment.quick else (1, 14)
SETS = labelled_sequences(experiment)
SVM, LOGISTIC = {"discriminative": "svm"}, {"discriminative": "logistic"}
MIXTURES = {"DPM": {}, "DDPM-S": SVM, "DDPM-L": LOGISTIC}
CHAINS = {"iHMM": {}, "iHMM, random start": {"init": "random"}, "DIH-S": SVM, "DIH-L": LOGISTIC}
# Users A, B and C: NMI / F1.
PAPER = [
    ["A", "3932 x 1114", ".275 / .473", ".253 / .526", ".246 / .466", ".305 / .441", ".254 / .480", ".276 / .483"],
    ["B", "1793 x 185", ".245 / .535", ".253 / .553", ".253 / .551", ".235 / .481", ".254 / .559", ".257 / .543"],
    ["C", "6623 x 1095", ".199 / .672", ".216 / .657", ".208 / .641", ".221 / .645", ".222 / .659", ".219 / .673"],
]


def hmmlearn(X, lengths, k, counts):
    """The best known package for hidden Markov models, with the true number of states."""
    for seed in range(RUNS):
        model = MultinomialHMM(k, random_state=seed) if counts else GaussianHMM(k, "full", min_covar=1e-2, random_state=seed)
        rows = X.astype(int) if counts else X
        yield [model.fit(rows, lengths).predict(rows, lengths)]


def run(data, method):
    X, states, lengths, likelihood = SETS[data]
    schedule = {"n_sweeps": SWEEPS, "burn_in": SWEEPS - 5, "thin": 1, "n_chains": RUNS, "likelihood": likelihood}
    if method in MIXTURES:
        drawn = DPMixture(**schedule, **MIXTURES[method]).fit(X).draws_
    elif method in CHAINS:
        drawn = InfiniteHMM(**schedule, sampler="direct", sticky=True, **CHAINS[method]).fit(X, lengths=lengths).draws_
    else:
        drawn = hmmlearn(X, lengths, len(np.unique(states)), likelihood == "multinomial")
    return [
        {"run": i, "draw": j, "k": len(np.unique(found)), "nmi": normalized_mutual_info_score(states, found), "f1": pairwise_f1(states, found)}
        for i, draws in enumerate(drawn) for j, found in enumerate(draws)
    ]  # fmt: skip


cases = [{"data": data, "method": method} for data in SETS for method in ["hmmlearn, K given", *MIXTURES, *CHAINS]]
rows = experiment.runs(cases, run)
for (data,), of_data in group(rows, "data").items():
    X, states, lengths, likelihood = SETS[data]
    experiment.say(
        f"## {data}\n\n{X.shape[0]} rows x {X.shape[1]} columns in {len(lengths)} sequences, {len(np.unique(states))} true states, "
        f"likelihood {likelihood}. Mean (standard deviation) over {RUNS} runs, of samplers the last 5 of {SWEEPS} sweeps."
    )
    experiment.table(
        ["method", "K", "NMI", "F1"],
        [
            [method, f"{column(some, 'k').mean():.1f}", mean_and_spread(column(some, "nmi")), mean_and_spread(column(some, "f1"))]
            for (method,), some in group(of_data, "method").items()
        ],
    )
experiment.say("## The paper\n\nThree users of the Mobile Data Challenge, other data than these: NMI / F1 as printed there.")
experiment.table(["user", "rows x columns", *MIXTURES, "iHMM", "DIH-S", "DIH-L"], PAPER)
experiment.finish()
