"""Does the infinite hidden Markov model find five simulated states? All is by default, concentrations drawn."""

from common import Experiment, column, group
from madbayes import InfiniteHMM
from madbayes.simulate import hidden_markov
from sklearn.metrics import adjusted_rand_score

experiment = Experiment(__file__, "Simulated chains of five states")
SEEDS, SWEEPS, LENGTHS = (10, 200, (2_000, 10_000)) if not experiment.quick else (2, 20, (200,))


def run(length, sampler):
    found = []
    for seed in range(SEEDS):
        X, states, _ = hidden_markov(length, n_states=5, random_state=seed)
        model = InfiniteHMM(sampler=sampler, n_sweeps=SWEEPS, n_chains=1, random_state=seed).fit(X)
        agreement = adjusted_rand_score(states, model.states_)
        answer = {"k": model.n_states_, "ari": agreement, "certainty": model.certainty_.mean()}
        found.append({"seed": seed, "start": model.init_, **answer})
    return found


cases = [{"length": length, "sampler": sampler} for length in LENGTHS for sampler in ("beam", "direct")]
rows = experiment.runs(cases, run)
experiment.say(
    "Rows of five round states of unit variance in two columns, the closest 4 apart, staying with probability 0.95; "
    f"{SEEDS} sequences, one chain of {SWEEPS} sweeps each. Chains begin at DP-means, or at random where that led "
    "clearly higher. Agreement is the adjusted Rand index with the true states, certainty the mean of `certainty_`."
)
table = []
for (length, sampler), some in group(rows, "length", "sampler").items():
    agreement = column(some, "ari")
    right = f"{sum(column(some, 'k') == 5)} of {SEEDS}"
    at_random = f"{sum(column(some, 'start') == 'random')} of {SEEDS}"
    means = (f"{value:.4f}" for value in (agreement.mean(), agreement.min(), column(some, "certainty").mean()))
    table.append([length, sampler, at_random, right, *means])
experiment.table(["rows", "sampler", "began at random", "5 states", "mean agreement", "least", "certainty"], table)
experiment.finish()
