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


def matrices(n, k):
    """All n x k matrices of bits."""
    for bits in itertools.product([False, True], repeat=n * k):
        yield np.array(bits, dtype=bool).reshape(n, k)


def test_beta_bernoulli_sums_to_one_over_all_matrices_and_draws_follow_it():
    prior = priors.BetaBernoulli(n_features=2, gamma=0.6)
    exact = {matrix.tobytes(): math.exp(prior.log_prob(matrix)) for matrix in matrices(2, 2)}
    assert sum(exact.values()) == pytest.approx(1)
    draws = [prior.sample(2, random_state=seed) for seed in range(4000)]
    assert draws[0].shape == (2, 2) and draws[0].dtype == bool
    counts = [draw.tobytes() for draw in draws]
    for matrix, probability in exact.items():
        assert counts.count(matrix) / 4000 == pytest.approx(probability, abs=4 * 0.5 / math.sqrt(4000))
    assert prior.log_prob([[1], [0]]) == prior.log_prob([[1, 0], [0, 0]])
    assert prior.log_prob([[1, 1, 1]]) == -math.inf


def test_ibp_has_a_poisson_number_of_features_and_draws_follow_it():
    prior = priors.IBP(mass=1.3)
    mean = prior.expected_features(2)
    assert mean == pytest.approx(1.3 * 1.5)
    # Features as multisets of nonempty columns.
    exact = {}
    for k in range(4):
        total = 0.0
        for columns in itertools.combinations_with_replacement([(0, 1), (1, 0), (1, 1)], k):
            probability = math.exp(prior.log_prob(np.array(columns, dtype=int).reshape(k, 2).T))
            exact[columns] = probability
            total += probability
        assert total == pytest.approx(math.exp(-mean) * mean**k / math.factorial(k))
    draws = [prior.sample(2, random_state=seed) for seed in range(4000)]
    assert all(draw.any(axis=0).all() and draw.dtype == bool for draw in draws)
    drawn = [tuple(sorted(map(tuple, draw.T.astype(int).tolist()))) for draw in draws]
    for columns, probability in exact.items():
        assert drawn.count(columns) / 4000 == pytest.approx(probability, abs=4 * 0.5 / math.sqrt(4000))
    np.testing.assert_array_equal(prior.sample(50, random_state=3), prior.sample(50, random_state=3))


def test_features_that_are_none_are_refused():
    with pytest.raises(ValueError, match="structure must be two-dimensional, got 1"):
        priors.IBP().log_prob([1, 0])
    with pytest.raises(ValueError, match="structure must be 0 and 1"):
        priors.IBP().log_prob([[0.5]])
    with pytest.raises(ValueError, match="structure must be 0 and 1"):
        priors.BetaBernoulli().log_prob([["a"]])
    with pytest.raises(ValueError, match="mass must be a positive finite number, got -1"):
        priors.IBP(mass=-1.0).sample(3)
    with pytest.raises(ValueError, match="mass must be small enough"):
        priors.IBP(mass=1e9).sample(3)
    with pytest.raises(ValueError, match="features must be between 1"):
        priors.BetaBernoulli(n_features=0).sample(3)
    assert priors.IBP(mass=2.0).log_prob(np.zeros((3, 0))) == pytest.approx(-2 * (1 + 1 / 2 + 1 / 3))


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


def test_feature_simulators_give_what_they_say():
    X, allocation, components = simulate.feature_mixture(
        400, n_features=30, n_components=3, noise=0.2, scale=2.0, base_feature=True, random_state=1
    )
    assert X.shape == (400, 30) and allocation.dtype == bool and allocation[:, 0].all()
    assert (X - allocation @ components).std() == pytest.approx(0.2, abs=0.01)
    assert components.std() == pytest.approx(2, abs=0.7)
    Y, buffet, added = simulate.ibp_mixture(100, mass=3.0, noise=0.5, random_state=2)
    assert buffet.any(axis=0).all() and added.shape == (buffet.shape[1], 10)
    assert (Y - buffet @ added).std() == pytest.approx(0.5, abs=0.05)
    assert simulate.ibp_mixture(5, mass=1e-9)[2].shape == (0, 10)
    with pytest.raises(ValueError, match="probability must be above 0"):
        simulate.feature_mixture(probability=0.0)


@pytest.mark.parametrize("colour", [False, True])
def test_pictures_of_the_table_are_sums_of_a_table_and_its_objects(colour):
    still = {"jitter": 0.0, "lighting": 0.0, "noise": 0.0, "colour": colour}
    images, allocation, names = simulate.tabletop(60, **still)
    assert images.shape == ((60, 30, 40, 3) if colour else (60, 30, 40)) and len(names) == 4
    flat = images.reshape(60, -1)
    design = np.column_stack([np.ones(60), allocation])
    solution = np.linalg.lstsq(design, flat, rcond=None)[0]
    np.testing.assert_allclose(design @ solution, flat, atol=1e-12)
    np.testing.assert_array_equal(images, simulate.tabletop(60, **still, random_state=0)[0])
    # With everything on, table and objects still explain nearly all of what varies.
    images, allocation, _ = simulate.tabletop(100, colour=colour)
    flat = images.reshape(100, -1)
    design = np.column_stack([np.ones(100), allocation])
    residual = flat - design @ np.linalg.lstsq(design, flat, rcond=None)[0]
    assert (residual**2).sum() < 0.25 * ((flat - flat.mean(0)) ** 2).sum()


@pytest.mark.parametrize("complements", [False, True])
@pytest.mark.parametrize(("n_true", "n_pred"), [(3, 3), (2, 4), (4, 2), (0, 2), (5, 5)])
def test_features_are_matched_as_scipy_matches_them(n_true, n_pred, complements):
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(n_true + 10 * n_pred)
    truth, found = rng.random((20, n_true)) < 0.5, rng.random((20, n_pred)) < 0.5
    costs = (truth[:, :, None] != found[:, None, :]).sum(0)
    if complements:
        costs = np.minimum(costs, 20 - costs)
    least = costs[linear_sum_assignment(costs)].sum()
    matching = metrics.match_features(truth.astype(int), found, complements=complements)
    assert matching.distance.sum() == least
    assert matching.equal_bits == pytest.approx((20 * len(matching.truth) - least) / (20 * max(n_true, n_pred)))
    for t, f, distance, complement in zip(matching.truth, matching.found, matching.distance, matching.complement):
        assert ((truth[:, t] != found[:, f]) ^ complement).sum() == distance
    assert matching.n_exact == (matching.distance == 0).sum()


def test_shuffled_features_are_recovered_exactly():
    rng = np.random.default_rng(0)
    truth = rng.random((50, 6)) < 0.4
    order = rng.permutation(6)
    matching = metrics.match_features(truth, truth[:, order])
    assert matching.equal_bits == 1 and matching.n_exact == 6
    np.testing.assert_array_equal(order[matching.found], matching.truth)
    with pytest.raises(ValueError, match="found must be an allocation of 50 rows"):
        metrics.match_features(truth, truth[:10])


@pytest.mark.parametrize("prior", [getattr(priors, name)() for name in priors.__all__])
@pytest.mark.parametrize("n", [-1, 2.5, "3", True])
def test_a_number_of_rows_is_a_whole_number(prior, n):
    with pytest.raises(ValueError, match="n must be a whole number of at least 0, got"):
        prior.sample(n)
