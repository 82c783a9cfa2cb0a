"""How soon do hidden Markov models with and without hyperplanes find the rooms of a WiFi trace? F1 against time of the processor.

Nguyen et al. (2017), Figure 4, of a phone's trace that may not be passed on: another one here. Row by row ("direct") from random states, as there.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from common import MIXTURES, Experiment, column, group, labelled_sequences
from madbayes import InfiniteHMM
from madbayes.metrics import pairwise_f1

experiment = Experiment(__file__, "Nguyen et al. 2017, Figure 4: F1 against time")
CHAINS, SWEEPS = (5, 200) if not experiment.quick else (1, 14)
SETS = {name: data for name, data in labelled_sequences(experiment).items() if name != "uji_wifi 14"}
if experiment.quick:
    SETS = {name: (X[:200], states[:200], [200], law) for name, (X, states, _, law) in list(SETS.items())[:1]}
# The first ten sweeps have no hyperplanes and are the same, draw for draw: so is their time.
PLAIN = 10
METHODS = {name.replace("DDPM", "DIH").replace("DPM", "iHMM"): options for name, options in MIXTURES.items()}


def timed(data, method, sweeps):
    X, _, lengths, likelihood = SETS[data]
    model = InfiniteHMM(
        likelihood=likelihood, sampler="direct", sticky=True, init="random", n_chains=CHAINS, n_sweeps=sweeps, burn_in=0, thin=1, n_jobs=1,
        random_state=experiment.seed, **METHODS[method],
    )  # fmt: skip
    begin = time.process_time()
    model.fit(X, lengths=lengths)
    return model, (time.process_time() - begin) / CHAINS


def run(data, method):
    _, first = timed(data, "iHMM", PLAIN)
    model, all_sweeps = timed(data, method, SWEEPS)
    seconds = np.interp(np.arange(1, SWEEPS + 1), [0, PLAIN, SWEEPS], [0, first, all_sweeps])
    return [
        {"chain": i, "sweep": j + 1, "seconds": round(seconds[j], 3), "k": len(np.unique(z)), "f1": pairwise_f1(SETS[data][1], z)}
        for i, draws in enumerate(model.draws_) for j, z in enumerate(draws)
    ]  # fmt: skip


rows = experiment.runs([{"data": data, "method": method} for data in SETS for method in METHODS], run)
experiment.say(
    f"{CHAINS} chains of {SWEEPS} sweeps from random states; hyperplanes come in after {PLAIN}, and all that they cost is spread over the others. Mean F1 after so many seconds of one processor for a chain, "
    "then at the end, with the number of states. Times are of a shared machine: compare them with each other."
)
figure, axes = plt.subplots(1, len(SETS), figsize=(3.6 * len(SETS), 3.2), squeeze=False)
for axis, ((data,), of_data) in zip(axes[0], group(rows, "data").items(), strict=True):
    table = []
    whole = max(column(of_data, "seconds"))
    marks = [whole / 20, whole / 5, whole / 2]
    for (method,), some in group(of_data, "method").items():
        by_sweep = [(chains[0]["seconds"], column(chains, "f1").mean()) for chains in group(some, "sweep").values()]
        times, f1 = zip(*by_sweep, strict=True)
        end = [row for row in some if row["sweep"] == SWEEPS]
        at = [f"{np.interp(mark, times, f1):.3f}" if mark <= times[-1] else "" for mark in marks]
        table.append([method, *at, f"{f1[-1]:.3f}", f"{times[-1]:.1f}", f"{column(end, 'k').mean():.1f}"])
        axis.plot(times, f1, "--" if "paper" in method else "-", label=method)
    X, states, lengths, _ = SETS[data]
    experiment.say(f"{data}: {X.shape[0]} rows x {X.shape[1]} columns, {len(np.unique(states))} true states.")
    experiment.table(["method", *(f"F1 after {mark:.2g} s" for mark in marks), "F1 at the end", "seconds", "states"], table)
    axis.set(xscale="log", xlabel="seconds of a processor", title=data)
axes[0, 0].set_ylabel("F1")
axes[0, -1].legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
experiment.picture(figure, "nguyen_figure4", "F1 against time")
experiment.finish()
