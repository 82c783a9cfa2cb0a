"""How sure are the clusters? A Dirichlet process mixture answers with a distribution."""

import numpy as np

from madbayes import DPMixture
from madbayes.simulate import gaussian_mixture

# Three clusters that touch. A small concentration expects few; left to itself it is drawn from its posterior.
X, truth, _ = gaussian_mixture(300, n_clusters=3, separation=5, random_state=2)
model = DPMixture(concentration=0.3, n_sweeps=600).fit(X)

# The distribution of the number of clusters, after the burn-in.
counts = model.n_clusters_trace_[:, model.burn_in_ :]
shares = {int(k): float((counts == k).mean().round(2)) for k in np.unique(counts)}
print(f"the answer has {model.n_clusters_} clusters; the share of draws with each number: {shares}")
print(f"do the chains agree? R-hat {model.r_hat_['log_joint']:.3f}, near 1 they do")

# Rows between two clusters are unsure, rows inside one are not.
doubtful, sure = model.certainty_.argmin(), model.certainty_.argmax()
print(f"least sure: row {doubtful} at {X[doubtful].round(1)}, {model.certainty_[doubtful]:.2f}")
print(f"most sure:  row {sure} at {X[sure].round(1)}, {model.certainty_[sure]:.2f}")
print(f"together in {model.coclustering([[doubtful, sure]])[0]:.0%} of draws")

# New rows: their cluster, and how likely such a row is at all.
new_rows = np.array([X[sure], [100.0, 100.0]])
print(f"new rows belong to clusters {model.predict(new_rows)}, log densities {model.score_samples(new_rows).round(1)}")

assert model.n_clusters_ == 3
assert model.certainty_[sure] > 0.9 > model.certainty_[doubtful]
assert model.score_samples(new_rows)[1] < model.score_samples(new_rows)[0] - 10
