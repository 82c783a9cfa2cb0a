"""First clusters: how many are there, and which row is in which?"""

import numpy as np

from madbayes import DPMeans
from madbayes.metrics import pairwise_f1
from madbayes.simulate import gaussian_mixture

# 500 points around 4 centres; the number 4 is not told to anybody below.
X, truth, _ = gaussian_mixture(500, n_clusters=4, separation=6, random_state=1)

# By default the penalty, the price of one more cluster, is the one under which the most stable number is best.
clusters = DPMeans().fit(X)
print(f"{clusters.n_clusters_} clusters of sizes {np.bincount(clusters.labels_)}, penalty {clusters.penalty_:.0f}")
print(f"agreement with the truth: {pairwise_f1(truth, clusters.labels_):.3f} (1 is perfect)")

# New rows go to the nearest cluster.
new_rows = clusters.cluster_centers_ + 0.5
print(f"new rows beside the centres: {clusters.predict(new_rows)}")

# A low price buys many clusters, a high price few.
counts = [DPMeans(penalty=penalty).fit(X).n_clusters_ for penalty in (20, 300, 20_000)]
print(f"clusters at penalties 20, 300 and 20,000: {counts}")

assert clusters.n_clusters_ == 4
assert pairwise_f1(truth, clusters.labels_) > 0.98
assert list(clusters.predict(new_rows)) == [0, 1, 2, 3]
assert counts[0] > counts[1] > counts[2]
