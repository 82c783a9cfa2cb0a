"""How much does the prior scale w of the hyperplanes matter? Scenes and digits as counts, w over nine powers of ten.

Nguyen et al. (2017), Figure 3, which has NUS-WIDE instead, whose counts could not be had. w is in our units (inputs of variance 1): the paper's w, of
inputs as they are, times the mean variance of the columns.
"""

import matplotlib.pyplot as plt
import numpy as np
from common import Experiment, column, counted_pictures, group, mean_and_spread
from madbayes import DPMixture
from madbayes.metrics import pairwise_f1
from sklearn.metrics import normalized_mutual_info_score

experiment = Experiment(__file__, "Nguyen et al. 2017, Figure 3: sensitivity to the scale of hyperplanes")
RUNS, SWEEPS = (3, 30) if not experiment.quick else (1, 14)
SCALES = {"scene15": [0, 1e-6, 1e-4, 1e-2, 1, 100], "mnist": [0, 1e-6, 1e-3, 1, 100]}
SETS = counted_pictures(experiment)
if experiment.quick:
    SETS, SCALES = {name: (X[::4], y[::4]) for name, (X, y) in SETS.items()}, {name: [0, 1] for name in ("scene15", "mnist")}


def run(data, rule, w):
    X, y = SETS[data]
    model = DPMixture(
        likelihood="multinomial", discriminative="logistic", discriminative_scale=w, new_cluster=rule, split_merge=False,
        concentration=3.0, init="random", n_chains=RUNS, n_sweeps=SWEEPS, burn_in=SWEEPS - 5, thin=1,
    ).fit(X)  # fmt: skip
    return [
        {"run": i, "draw": j, "k": len(np.unique(z)), "nmi": normalized_mutual_info_score(y, z), "f1": pairwise_f1(y, z)}
        for i, draws in enumerate(model.draws_) for j, z in enumerate(draws)
    ]  # fmt: skip


cases = [
    {"data": data, "rule": rule, "w": w}
    for data in SETS for rule in ("exact", "paper") for w in SCALES.get(data, SCALES["mnist"])
]  # fmt: skip
rows = experiment.runs(cases, run)
experiment.say(
    f"Logistic hyperplanes, both rules for new clusters; mean (standard deviation) over {RUNS} runs, the last 5 of {SWEEPS} sweeps each. "
    "w = 0 is the plain mixture."
)
figure, axes = plt.subplots(1, 2, figsize=(9, 3))
for (data, rule), of_rule in group(rows, "data", "rule").items():
    by_scale = group(of_rule, "w")
    table = [
        [f"{w:g}", f"{column(c, 'k').mean():.1f}", mean_and_spread(column(c, "nmi")), mean_and_spread(column(c, "f1"))]
        for (w,), c in by_scale.items()
    ]
    experiment.say(f"{data}, {rule}:")
    experiment.table(["w", "K", "NMI", "F1"], table)
    scales = [max(w, 1e-8) for (w,) in by_scale]
    for axis, name in zip(axes, ("nmi", "k"), strict=True):
        values = [column(c, name).mean() for c in by_scale.values()]
        axis.semilogx(scales, values, "-o" if rule == "exact" else "--s", label=f"{data}, {rule}", color=f"C{list(SETS).index(data)}")
axes[0].set(xlabel="w (leftmost: 0)", ylabel="NMI")
axes[1].set(xlabel="w (leftmost: 0)", ylabel="mean number of clusters")
axes[0].legend()
experiment.picture(figure, "nguyen_figure3", "NMI and number of clusters against w")
experiment.finish()
