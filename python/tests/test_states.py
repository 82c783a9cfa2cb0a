"""InfiniteHMM: recovered states, several sequences, model files, and scikit-learn's conventions."""

from __future__ import annotations

import pickle
import warnings

import madbayes
import numpy as np
import pytest
from madbayes import InfiniteHMM
from madbayes.simulate import hidden_markov
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

SEQUENCE = "rows are a sequence: the state of a row depends on its neighbours"


def expected_failures(estimator):
    return {
        "check_methods_sample_order_invariance": SEQUENCE,
        "check_methods_subset_invariance": SEQUENCE,
    }


@parametrize_with_checks([InfiniteHMM(n_sweeps=60)], expected_failed_checks=expected_failures)
def test_scikit_learns_own_checks_pass(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.fixture(scope="module")
def chain():
    return hidden_markov(600, n_states=3, separation=6, random_state=2)


@pytest.fixture(scope="module")
def fitted(chain):
    return InfiniteHMM(n_sweeps=300).fit(chain[0], lengths=[400, 1, 199])


def test_the_states_and_their_transitions_are_found(chain, fitted):
    X, truth, _ = chain
    assert fitted.n_states_ == 3
    assert adjusted_rand_score(truth, fitted.states_) > 0.98
    assert fitted.certainty_.min() > 0.5
    assert np.allclose(fitted.transmat_.sum(axis=1), 1)
    assert ((np.diag(fitted.transmat_) > 0.88) & (np.diag(fitted.transmat_) < 0.99)).all()
    assert (fitted.new_state_ < 0.05).all()
    assert fitted.next_states_.shape == (3, 4)
    assert np.allclose(fitted.next_states_.sum(axis=1), 1)
    # The next row is most probably in the state of the last.
    assert fitted.next_states_[2].argmax() == fitted.states_[-1]
    assert fitted.draws_.shape == (2, 30, 600)
    assert fitted.n_states_trace_.shape == (2, 300)
    assert set(fitted.r_hat_) == {"n_states", "log_joint", "concentration", "gamma"}


@pytest.mark.parametrize("sampler", ["beam", "direct"])
@pytest.mark.parametrize("sticky", [False, True])
@pytest.mark.parametrize("likelihood", ["gaussian", "diagonal", "spherical"])
def test_every_sampler_and_likelihood_finds_them(chain, sampler, sticky, likelihood):
    X, truth, _ = chain
    model = InfiniteHMM(likelihood=likelihood, sampler=sampler, sticky=sticky, n_sweeps=150)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[:200])
    assert adjusted_rand_score(truth[:200], model.states_) > 0.95
    assert (model.stickiness_trace_ > 0).all() == sticky


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("share", [0.9, np.float32(0.5)])
def test_a_share_of_staying_that_is_given_stays(chain, share):
    X = chain[0][:200]
    model = InfiniteHMM(sticky=share, n_sweeps=30).fit(X)
    assert (model.stickiness_trace_ == float(share)).all()
    assert model.sticky is share
    drawn = InfiniteHMM(sticky=np.True_, n_sweeps=30).fit(X).stickiness_trace_
    assert (np.diff(drawn, axis=1) != 0).all()
    assert not InfiniteHMM(sticky=np.False_, n_sweeps=30).fit(X).stickiness_trace_.any()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_states_of_one_start_are_split_with_proposals_and_slowly_without(chain):
    X, truth, _ = chain
    parameters = {"init": "one", "sampler": "direct", "n_sweeps": 6, "burn_in": 5, "thin": 1, "n_chains": 1}
    with_moves = InfiniteHMM(**parameters).fit(X)
    without = InfiniteHMM(split_merge=False, **parameters).fit(X)
    assert adjusted_rand_score(truth, with_moves.states_) > 0.95
    assert adjusted_rand_score(truth, without.states_) < 0.7
    assert with_moves.init_ == without.init_ == "one"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_start_that_was_used_is_told(chain):
    assert InfiniteHMM(n_sweeps=10).fit(chain[0]).init_ == "dp-means"
    # Two states that differ in their spread alone: DP-means sees one cluster, which rows leave slowly one by one.
    spread = np.where(np.arange(200) // 10 % 2, 5.0, 0.05) * (np.arange(200) * 7919 % 101 / 50 - 1)
    model = InfiniteHMM(n_sweeps=10, split_merge=False, warm_start=True).fit(spread[:, None])
    assert (model.init, model.init_) == ("dp-means", "random")
    asked = InfiniteHMM(n_sweeps=10, split_merge=False, init="random").fit(spread[:, None])
    assert (asked.log_joint_trace_ == model.log_joint_trace_).all()
    # Chains that go on began where they did.
    again = pickle.loads(pickle.dumps(model)).set_params(n_sweeps=20).fit(spread[:, None])
    assert again.init_ == "random"


def test_new_sequences_are_read_by_forward_backward(chain, fitted):
    X, truth, means = chain
    new, states, _ = hidden_markov(300, n_states=3, separation=6, random_state=2)
    assert adjusted_rand_score(states, fitted.predict(new, lengths=[100, 200])) > 0.98
    probabilities = fitted.predict_proba(new)
    assert probabilities.shape == (300, 3)
    assert (probabilities.sum(axis=1) <= 1 + 1e-9).all()
    assert (probabilities.argmax(axis=1) == fitted.predict(new)).all()
    # A row half way between two means goes with its neighbours.
    half = (means[0] + means[1]) / 2
    for k in (0, 1):
        around = np.vstack([np.repeat(means[[k]], 5, axis=0), half[None], np.repeat(means[[k]], 5, axis=0)])
        found = fitted.predict(around)
        assert found[5] == found[0]
    assert fitted.score(new) > fitted.score(new[np.random.default_rng(0).permutation(300)])


def test_counts_may_be_sparse():
    rng = np.random.default_rng(0)
    truth = np.arange(120) // 10 % 3
    X = rng.poisson(np.where(np.arange(12) // 4 == truth[:, None], 6.0, 0.5))
    model = InfiniteHMM(likelihood="multinomial", pseudocount=1.0, n_sweeps=150)
    dense = clone(model).fit(X)
    sparse = clone(model).fit(csr_matrix(X))
    assert adjusted_rand_score(truth, dense.states_) > 0.98
    assert (dense.draws_ == sparse.draws_).all()
    assert (dense.predict(X) == sparse.predict(csr_matrix(X))).all()


def test_models_are_saved_and_pickled(tmp_path, chain, fitted):
    X = chain[0]
    fitted.save(tmp_path / "states.json")
    loaded = madbayes.load(tmp_path / "states.json")
    assert isinstance(loaded, InfiniteHMM)
    for again in (loaded, pickle.loads(pickle.dumps(fitted))):
        assert (again.predict(X) == fitted.predict(X)).all()
        assert (again.transmat_ == fitted.transmat_).all()
        assert again.n_states_ == 3


def test_the_number_of_states_can_be_bounded(chain):
    model = InfiniteHMM(max_clusters=2, n_sweeps=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(chain[0])
    assert model.n_states_trace_.max() <= 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("sampler", ["beam", "direct"])
@pytest.mark.parametrize("discriminative", ["svm", "logistic"])
def test_discriminative_states_have_hyperplanes_that_are_saved_and_predict(chain, sampler, discriminative, tmp_path):
    X, truth, _ = chain
    model = InfiniteHMM(discriminative=discriminative, sampler=sampler, n_sweeps=60).fit(X)
    assert adjusted_rand_score(truth, model.states_) > 0.95
    k = model.n_states_
    assert (model.hyperplanes_.shape, model.intercepts_.shape) == ((k, 2), (k,))
    # A state's rows lie higher over its own hyperplane than all others do in the mean.
    values = X @ model.hyperplanes_.T + model.intercepts_
    inside = [values[model.states_ == j, j].mean() > values[model.states_ != j, j].mean() for j in range(k)]
    assert np.mean(inside) > 0.5
    assert adjusted_rand_score(model.states_, model.predict(X)) > 0.95
    assert (model.predict_proba(X).argmax(axis=1) == model.predict(X)).all()
    model.save(tmp_path / "states.json")
    loaded = madbayes.load(tmp_path / "states.json")
    assert (loaded.predict(X) == model.predict(X)).all()
    assert (loaded.hyperplanes_ == model.hyperplanes_).all()
    assert not hasattr(model.set_params(discriminative=None).fit(X[:100]), "hyperplanes_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("sampler", ["beam", "direct"])
@pytest.mark.parametrize("new_cluster", ["exact", "paper"])
def test_a_discriminative_scale_of_zero_gives_the_plain_states_draw_for_draw(chain, sampler, new_cluster):
    X = chain[0][:200]
    plain = InfiniteHMM(n_sweeps=40, sampler=sampler).fit(X)
    term = {"discriminative": "logistic", "discriminative_scale": 0, "new_cluster": new_cluster}
    separated = InfiniteHMM(n_sweeps=40, sampler=sampler, **term).fit(X)
    assert (separated.draws_ == plain.draws_).all()
    assert (separated.log_joint_trace_ == plain.log_joint_trace_).all()
    assert not separated.hyperplanes_.any()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("discriminative", [None, "svm"])
def test_a_fit_gone_on_with_is_the_longer_fit(chain, discriminative):
    X, lengths = chain[0][:200], [150, 50]
    whole = InfiniteHMM(n_sweeps=100, discriminative=discriminative).fit(X, lengths=lengths)
    begun = InfiniteHMM(n_sweeps=40, discriminative=discriminative, warm_start=True).fit(X, lengths=lengths)
    resumed = pickle.loads(pickle.dumps(begun)).set_params(n_sweeps=100, n_jobs=1).fit(X, lengths=lengths)
    for name in ("draws_", "log_joint_trace_", "gamma_trace_", "states_", "transmat_", "certainty_"):
        assert (getattr(resumed, name) == getattr(whole, name)).all(), name
    with pytest.warns(UserWarning, match="100 sweeps are done already"):
        resumed.fit(X, lengths=lengths)
    with pytest.raises(ValueError, match="n_sweeps must be at least the 100 already done"):
        resumed.set_params(n_sweeps=50).fit(X, lengths=lengths)
    with pytest.raises(ValueError, match="the sequences are not those"):
        resumed.set_params(n_sweeps=120).fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"discriminative": "tree"}, "discriminative must be None, 'svm' or 'logistic'"),
        ({"discriminative": "svm", "discriminative_scale": -1}, "discriminative_scale must be a finite number of at least 0"),
        ({"new_cluster": "old"}, "new_cluster must be 'exact' or 'paper'"),
        ({"sampler": "gibbs"}, "sampler must be 'beam' or 'direct'"),
        ({"likelihood": "poisson"}, "likelihood must be one of"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"concentration": 0.0}, "concentration must be"),
        ({"sticky": 1.5}, "sticky must be True, False or a number above 0 and below 1, got 1.5"),
        ({"sticky": 0}, "sticky must be True, False or a number above 0 and below 1, got 0"),
        ({"sticky": float("nan")}, "sticky must be True, False or a number"),
        ({"sticky": "yes"}, "sticky must be True, False or a number above 0 and below 1, got 'yes'"),
        ({"max_clusters": 0}, "max_clusters must be"),
        ({"pseudocount": 1.0}, "pseudocount is no parameter of"),
    ],
)
def test_bad_parameters_are_named(chain, parameters, message):
    with pytest.raises(ValueError, match=message):
        InfiniteHMM(**parameters).fit(chain[0])


@pytest.mark.parametrize("lengths", [[10], [300, 299], [600, 0], [300.5, 299.5], [[600]]])
def test_bad_lengths_are_named(chain, fitted, lengths):
    with pytest.raises(ValueError, match="lengths must be"):
        InfiniteHMM().fit(chain[0], lengths=lengths)
    with pytest.raises(ValueError, match="lengths must be"):
        fitted.predict(chain[0], lengths=lengths)
    with pytest.raises(NotFittedError):
        InfiniteHMM().predict(chain[0])
