"""Two lines of chained Gaussians: a Dirichlet process mixture of round clusters splits them, hyperplanes hold them together.

Nguyen et al. (2017), Figure 2. The data of the paper are not given beyond their picture: here each of two parallel lines is a chain of
Gaussians, and all mixtures have the same isotropic prior of the spread within a cluster, that of one link of the chain.
"""

import matplotlib.pyplot as plt
import numpy as np
from common import Experiment, column, group
from madbayes import DPMixture
from sklearn.metrics import adjusted_rand_score

experiment = Experiment(__file__, "Nguyen et al. 2017, Figure 2: two lines of chained Gaussians")
SEEDS, SWEEPS = (20, 1000) if not experiment.quick else (2, 100)
LINKS, ROWS, STEP, GAP = 8, 15, 1.5, 4.0
METHODS = {
    "DPM": {},
    "DDPM-S exact": {"discriminative": "svm"},
    "DDPM-L exact": {"discriminative": "logistic"},
    "DDPM-S paper": {"discriminative": "svm", "new_cluster": "paper"},
    "DDPM-L paper": {"discriminative": "logistic", "new_cluster": "paper"},
}


def two_lines(seed):
    """Links of unit variance divided by 4, STEP apart along a line; two lines, GAP apart."""
    rng = np.random.default_rng(seed)
    line, link = np.divmod(np.arange(2 * LINKS * ROWS) // ROWS, LINKS)
    return rng.normal(np.column_stack([STEP * link, GAP * line]), 0.5), line
