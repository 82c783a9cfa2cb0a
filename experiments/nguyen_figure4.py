"""How soon do hidden Markov models with and without hyperplanes find the rooms of a WiFi trace? F1 against time.

Nguyen et al. (2017), Figure 4, of a phone's trace that may not be passed on: others here. Row by row ("direct") from
random states, as there, and with splits and merges of whole states too.
"""

import time
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from common import CHAINS, Experiment, column, group, labelled_sequences
from madbayes import InfiniteHMM
from madbayes.metrics import pairwise_f1

experiment = Experiment(__file__, "Nguyen et al. 2017, Figure 4: F1 against time")
RUNS, SWEEPS = (5, 200) if not experiment.quick else (1, 14)
SETS = {name: data for name, data in labelled_sequences(experiment).items() if name != "uji_wifi 14"}
# The first ten sweeps have no hyperplanes and are the same, draw for draw: so is their time.
PLAIN = 10


def timed(data, options, sweeps):
    X, _, lengths, likelihood = SETS[data]
    model = InfiniteHMM(
        likelihood=likelihood, sampler="direct", sticky=True, init="random", n_chains=RUNS, n_sweeps=sweeps, burn_in=0,
        thin=1, n_jobs=1, random_state=experiment.seed, **options,
    )  # fmt: skip
    begin = time.process_time()
    model.fit(X, lengths=lengths)
    return model, (time.process_time() - begin) / RUNS


def run(data, method):
    options = CHAINS[method]
    moves = options.get("split_merge", "new_cluster" not in options)
    _, first = timed(data, {"split_merge": moves}, PLAIN)
    model, all_sweeps = timed(data, options, SWEEPS)
    seconds = np.interp(np.arange(1, SWEEPS + 1), [0, PLAIN, SWEEPS], [0, first, all_sweeps]).round(3)
    f1 = partial(pairwise_f1, SETS[data][1])
    return [
        {"chain": i, "sweep": j + 1, "seconds": seconds[j], "k": len(np.unique(z)), "f1": round(f1(z), 4)}
        for i, draws in enumerate(model.draws_) for j, z in enumerate(draws)
    ]  # fmt: skip


rows = experiment.runs([{"data": data, "method": method} for data in SETS for method in CHAINS], run)
experiment.say(
    "Other data than the paper's user A (3932 rows x 1114 columns), of whom it prints curves only: the forms with "
    f"hyperplanes are at a good F1 sooner. {RUNS} chains of {SWEEPS} sweeps from random states; hyperplanes come in "
    f"after {PLAIN}, and all that they cost is spread over the others. Whole states are split and merged but where it "
    "says *row by row* or *paper*, which is as published. Mean F1 after so many seconds of one processor for a chain, "
    "then at the end (standard deviation of the chains), with the number of states. Times are of a shared machine: "
    "compare them with each other."
)
figure, grid = plt.subplots(2, len(SETS), figsize=(3.4 * len(SETS) + 1, 6), squeeze=False, sharey="col", sharex="col")
for (whole, published), ((data,), of_data) in zip(grid.T, group(rows, "data").items(), strict=True):
    X, states, _, _ = SETS[data]
    experiment.say(f"{data}: {X.shape[0]} rows x {X.shape[1]} columns, {len(np.unique(states))} true states.")
    marks = [max(column(of_data, "seconds")) / part for part in (20, 5, 2)]
    table = []
    for (method,), some in group(of_data, "method").items():
        sweeps = group(some, "sweep").values()
        times, f1 = [of_sweep[0]["seconds"] for of_sweep in sweeps], [column(s, "f1").mean() for s in sweeps]
        end = [row for row in some if row["sweep"] == SWEEPS]
        at = [f"{np.interp(mark, times, f1):.3f}" if mark <= times[-1] else "" for mark in marks]
        last = f"{f1[-1]:.3f} ({column(end, 'f1').std():.3f})"
        table.append([method, *at, last, f"{times[-1]:.2g}", f"{column(end, 'k').mean():.1f}"])
        axis = published if "row by row" in method or "paper" in method else whole
        colour = "C1" if "-S" in method else "C2" if "-L" in method else "C0"
        style = "--" if "paper" in method else "-"
        axis.plot(times, f1, style, color=colour, label=method.removesuffix(", row by row"))
    experiment.table(
        ["method", *(f"F1 after {mark:.2g} s" for mark in marks), "F1 at the end", "seconds", "states"], table
    )
    whole.set(xscale="log", title=data)
    published.set(xlabel="seconds of a processor")
for axis, name in zip(grid[:, 0], ("split and merged", "row by row"), strict=True):
    axis.set_ylabel(f"F1, {name}")
for axis in grid[:, -1]:
    axis.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
figure.tight_layout()
experiment.picture(figure, "nguyen_figure4", "F1 against time, with moves of whole states and without")
experiment.finish()
