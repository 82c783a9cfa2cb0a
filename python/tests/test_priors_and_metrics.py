"""Priors, metrics and simulators against independent computations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from madbayes import metrics, priors, simulate


def partitions(n):
    """All partitions of n rows as labels in order of first appearance."""
    for labels in itertools.product(range(n), repeat=n):
        firsts = list(dict.fromkeys(labels))
        if firsts == sorted(firsts) and firsts == list(range(len(firsts))):
            yield labels


@pytest.mark.parametrize(
    "prior", [priors.CRP(concentration=0.7), priors.DirichletMultinomial(n_components=3, theta=0.4)]
)
def test_probabilities_sum_to_one_and_draws_follow_them(prior):
    exact = {p: math.exp(prior.log_prob(p)) for p in partitions(4)}
    assert sum(exact.values()) == pytest.approx(1)
    draws = [tuple(prior.sample(4, random_state=seed)) for seed in range(4000)]
    for partition, probability in exact.items():
        assert draws.count(partition) / 4000 == pytest.approx(probability, abs=4 * 0.5 / math.sqrt(4000))


def test_crp_by_hand():
    assert math.exp(priors.CRP(concentration=2.0).log_prob(["a", "b", "a"])) == pytest.approx(2 / 3 * 1 / 4)
    assert priors.CRP(concentration=2.0).expected_groups(3) == pytest.approx(1 + 2 / 3 + 2 / 4)
    with pytest.raises(ValueError, match="concentration must be"):
        priors.CRP(concentration=-1.0).sample(3)


def test_polya_urn_repeats_its_colours():
    colours = priors.PolyaUrn(concentration=1.0).sample(200, random_state=5)
    assert 1 < len(np.unique(colours)) < 50
    one = priors.PolyaUrn(concentration=1.0, base="uniform", parameters=(0.0, 2.0))
    assert one.log_prob([0.5, 0.5]) == pytest.approx(math.log(0.5 * 0.5))


def test_metrics_against_all_pairs():
    rng = np.random.default_rng(0)
    truth, found = rng.integers(0, 3, 30), rng.integers(0, 4, 30)
    pairs = list(itertools.combinations(range(30), 2))
    together = [(truth[i] == truth[j], found[i] == found[j]) for i, j in pairs]
    both = sum(a and b for a, b in together)
    precision, recall = both / sum(b for _, b in together), both / sum(a for a, _ in together)
    assert metrics.pairwise_f1(truth, found) == pytest.approx(2 * precision * recall / (precision + recall))
    assert metrics.purity(truth, found) == pytest.approx(
        sum(np.bincount(truth[found == k]).max() for k in np.unique(found)) / 30
    )
    joint = np.zeros((3, 4))
    np.add.at(joint, (truth, found), 1 / 30)
    rows, columns = joint.sum(1), joint.sum(0)
    entropy = lambda p: -sum(x * math.log(x) for x in p if x > 0)  # noqa: E731
    expected = 2 * entropy(joint.ravel()) - entropy(rows) - entropy(columns)
    assert metrics.variation_of_information(truth, found) == pytest.approx(expected)
    with pytest.raises(ValueError, match="one-dimensional"):
        metrics.purity([[0]], [0])


def test_simulators_give_what_they_say():
    X, labels, centres = simulate.gaussian_mixture(500, n_features=3, n_clusters=4, separation=6)
    gaps = [np.linalg.norm(a - b) for a, b in itertools.combinations(centres, 2)]
    assert min(gaps) >= 6 and X.shape == (500, 3)
    assert (X - centres[labels]).var() == pytest.approx(1, abs=0.1)
    Y, partition, means = simulate.crp_mixture(300, concentration=2.0, variance=0.25, random_state=4)
    assert (Y - means[partition]).var() == pytest.approx(0.25, abs=0.05)
    np.testing.assert_array_equal(Y, simulate.crp_mixture(300, concentration=2.0, variance=0.25, random_state=4)[0])
