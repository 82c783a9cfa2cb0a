"""Discriminative mixtures: hyperplanes that are learned, used to predict, and turned off."""

from __future__ import annotations

import madbayes
import numpy as np
import pytest
from madbayes import DPMixture
from madbayes.simulate import gaussian_mixture
from sklearn.metrics import adjusted_rand_score

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def blobs():
    return gaussian_mixture(300, n_clusters=4, separation=6, random_state=2)


@pytest.mark.parametrize("discriminative", ["svm", "logistic"])
def test_hyperplanes_are_learned_and_used_to_predict(blobs, discriminative, tmp_path):
    X, truth, _ = blobs
    model = DPMixture(discriminative=discriminative, n_sweeps=60).fit(X)
    assert adjusted_rand_score(truth, model.labels_) > 0.95
    k, d = model.n_clusters_, X.shape[1]
    assert model.hyperplanes_.shape == (k, d)
    assert model.intercepts_.shape == (k,)
    # A cluster's rows lie higher over its own hyperplane than all others do in the mean.
    values = X @ model.hyperplanes_.T + model.intercepts_
    inside = [values[model.labels_ == j, j].mean() > values[model.labels_ != j, j].mean() for j in range(k)]
    assert np.mean(inside) > 0.5
    assert adjusted_rand_score(model.labels_, model.predict(X)) > 0.95
    path = tmp_path / "model.json"
    model.save(path)
    np.testing.assert_array_equal(madbayes.load(path).predict(X), model.predict(X))


@pytest.mark.parametrize("new_cluster", ["exact", "paper"])
def test_a_discriminative_scale_of_zero_is_the_plain_mixture_draw_for_draw(blobs, new_cluster):
    X = blobs[0]
    plain = DPMixture(n_sweeps=40, split_merge=False).fit(X)
    parameters = {"discriminative": "svm", "discriminative_scale": 0, "new_cluster": new_cluster}
    separated = DPMixture(n_sweeps=40, split_merge=False, **parameters).fit(X)
    np.testing.assert_array_equal(separated.draws_, plain.draws_)
    np.testing.assert_array_equal(separated.log_joint_trace_, plain.log_joint_trace_)
    assert not separated.hyperplanes_.any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"discriminative": "tree"}, "discriminative must be None, 'svm' or 'logistic'"),
        ({"discriminative": "svm", "discriminative_scale": -1}, "discriminative_scale must be a finite number of at least 0"),
        ({"discriminative": "svm", "new_cluster": "old"}, "new_cluster must be 'exact' or 'paper'"),
    ],
)
def test_bad_separations_are_named(blobs, parameters, message):
    with pytest.raises(ValueError, match=message):
        DPMixture(n_sweeps=20, **parameters).fit(blobs[0])
