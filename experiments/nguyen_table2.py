"""Hidden states of movements and WiFi traces: mixtures and hidden Markov models, each with and without hyperplanes.

Nguyen et al. (2017), Table 2: ten runs of each sampler, the last five draws of each. Row by row as there ("direct"), states at random at
first. The phones' traces of the paper may not be passed on: other WiFi traces and movements stand in for them.
"""

import numpy as np
from common import Experiment, column, group, labelled_sequences, mean_and_spread
from hmmlearn.hmm import GaussianHMM, MultinomialHMM
from madbayes import DPMixture, InfiniteHMM
from madbayes.metrics import pairwise_f1
from madbayes.simulate import hidden_markov
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

experiment = Experiment(__file__, "Nguyen et al. 2017, Table 2: hidden states of sequences")
RUNS, SWEEPS = (10, 100) if not experiment.quick else (1, 14)
SETS = labelled_sequences(experiment)
SVM, LOGISTIC = {"discriminative": "svm"}, {"discriminative": "logistic"}
MIXTURES = {"DPM": {}, "DDPM-S": SVM, "DDPM-L": LOGISTIC}
CHAINS = {"iHMM": {}, "DIH-S": SVM, "DIH-L": LOGISTIC}


def hmmlearn(X, lengths, k, counts):
    """The best known package for hidden Markov models, with the true number of states."""
    drawn = []
    for i in range(RUNS):
        model = MultinomialHMM(k, random_state=i) if counts else GaussianHMM(k, "full", min_covar=1e-2, random_state=i)
        drawn.append(model.fit(X.astype(int) if counts else X, lengths).predict(X.astype(int) if counts else X, lengths))
    return [drawn]


def run(data, method):
    X, states, lengths, likelihood = SETS[data]
    schedule = {"n_sweeps": SWEEPS, "burn_in": SWEEPS - 5, "thin": 1, "n_chains": RUNS, "init": "random", "likelihood": likelihood}
    if method in MIXTURES:
        drawn = DPMixture(**schedule, split_merge=False, **MIXTURES[method]).fit(X).draws_
    elif method in CHAINS:
        drawn = InfiniteHMM(**schedule, sampler="direct", sticky=True, **CHAINS[method]).fit(X, lengths=lengths).draws_
    else:
        drawn = hmmlearn(X, lengths, len(np.unique(states)), likelihood == "multinomial")
    return [
        {"run": i, "draw": j, "k": len(np.unique(found)), "nmi": normalized_mutual_info_score(states, found), "f1": pairwise_f1(states, found)}
        for i, draws in enumerate(drawn) for j, found in enumerate(draws)
    ]  # fmt: skip


def simulated(rows):
    """A simulated chain of 5 states, all concentrations drawn, everything else by default."""
    found = []
    for seed in range(RUNS):
        X, states, _ = hidden_markov(rows, n_states=5, random_state=seed)
        model = InfiniteHMM(n_sweeps=20 * SWEEPS // 10, n_chains=1, random_state=seed).fit(X)
        agreement = adjusted_rand_score(states, model.states_)
        found.append({"seed": seed, "k": model.n_states_, "ari": agreement})
    return found
