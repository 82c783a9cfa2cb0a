"""Hidden states of movements and WiFi traces: mixtures and hidden Markov models, each with and without hyperplanes.

Nguyen et al. (2017), Table 2: runs of each sampler, the last five draws of each. Hidden Markov models redraw rows one
by one, as there ("direct"); as published there is nothing else ("row by row" and "paper"), by default whole states are
split and merged too. The phones' traces of the paper may not be passed on: other WiFi traces and movements stand in.
"""

import logging

import numpy as np
from common import CHAINS, MIXTURES, ROW_BY_ROW, Experiment, group, labelled_sequences, score_cells, scores
from hmmlearn.hmm import GaussianHMM, MultinomialHMM
from madbayes import DPMixture, InfiniteHMM

experiment = Experiment(__file__, "Nguyen et al. 2017, Table 2: hidden states of sequences")
logging.getLogger("hmmlearn").setLevel(logging.ERROR)
RUNS, SWEEPS = (10, 60) if not experiment.quick else (1, 14)
SETS = labelled_sequences(experiment)
OF_ROWS = {**MIXTURES, **ROW_BY_ROW}
# Starts are compared with the moves that are switched on: off under the paper's rule too, where they are never made.
ROWS_ONLY = {name: {**options, "split_merge": False} for name, options in CHAINS.items() if "paper" in name}
OF_STATES = {**CHAINS, **ROWS_ONLY, "iHMM, random start": {"init": "random"}}
# Users A, B and C: NMI / F1.
PAPER = [
    ["A", "3932 x 1114", ".275 / .473", ".253 / .526", ".246 / .466", ".305 / .441", ".254 / .480", ".276 / .483"],
    ["B", "1793 x 185", ".245 / .535", ".253 / .553", ".253 / .551", ".235 / .481", ".254 / .559", ".257 / .543"],
    ["C", "6623 x 1095", ".199 / .672", ".216 / .657", ".208 / .641", ".221 / .645", ".222 / .659", ".219 / .673"],
]


def hmmlearn(X, lengths, k, counts):
    """The best known package for hidden Markov models, with the true number of states."""
    X = X.astype(int) if counts else X
    for seed in range(RUNS):
        gaussian = GaussianHMM(k, "full", min_covar=1e-2, random_state=seed)
        model = MultinomialHMM(k, random_state=seed) if counts else gaussian
        yield [model.fit(X, lengths).predict(X, lengths)]


def run(data, method):
    X, states, lengths, likelihood = SETS[data]
    schedule = {"n_sweeps": SWEEPS, "burn_in": SWEEPS - 5, "thin": 1, "n_chains": RUNS, "likelihood": likelihood}
    if method in OF_ROWS:
        model = DPMixture(**schedule, **OF_ROWS[method]).fit(X)
        return scores(states, model.draws_, start="dp-means")
    if method in OF_STATES:
        model = InfiniteHMM(sampler="direct", sticky=True, **schedule, **OF_STATES[method]).fit(X, lengths=lengths)
        return scores(states, model.draws_, start=model.init_)
    return scores(states, hmmlearn(X, lengths, len(np.unique(states)), likelihood == "multinomial"), start="")


methods = ["hmmlearn, K given", *OF_ROWS, *OF_STATES]
rows = experiment.runs([{"data": data, "method": method} for data in SETS for method in methods], run)
experiment.say(
    f"Mean (standard deviation) over {RUNS} runs, of samplers the last 5 of {SWEEPS} sweeps. *Start*: where the chains "
    "began; by default a model of states begins at DP-means, or at random where that led clearly higher in 20 sweeps: "
    "methods with other starts compare with care. *Successive* is the adjusted Rand index of the last two draws, 1 "
    "where nothing moves any more. Whole clusters or states are split and merged but where it says *row by row* or "
    "*paper*, which is as published."
)
for (data,), of_data in group(rows, "data").items():
    X, states, lengths, likelihood = SETS[data]
    experiment.say(
        f"## {data}\n\n{X.shape[0]} rows x {X.shape[1]} columns in {len(lengths)} sequences, {len(np.unique(states))} "
        f"true states, likelihood {likelihood}."
    )
    experiment.table(
        ["method", "start", "K", "NMI", "F1", "successive"],
        [[method, some[0]["start"], *score_cells(some)] for (method,), some in group(of_data, "method").items()],
    )
experiment.say("## The paper\n\nThree users of the Mobile Data Challenge, other data than these: NMI / F1 as printed.")
experiment.table(["user", "rows x columns", "DPM", "DDPM-S", "DDPM-L", "iHMM", "DIH-S", "DIH-L"], PAPER)
experiment.finish()
