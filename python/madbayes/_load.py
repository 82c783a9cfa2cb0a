"""Estimators from model files."""

from __future__ import annotations

import os

import numpy as np

from . import _core
from ._clusters import DPMeans
from ._covariances import FullCovarianceMeans
from ._features import BPMeans, KFeatures
from ._mixture import DPMixture
from ._states import InfiniteHMM


def load(path: str | os.PathLike[str]) -> DPMeans | FullCovarianceMeans | BPMeans | KFeatures | DPMixture | InfiniteHMM:
    """Read a model file, written by ``save`` or by the program's ``--model``.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    DPMeans, FullCovarianceMeans, BPMeans, KFeatures, DPMixture or InfiniteHMM
        Fitted, without labels, allocations, draws and traces: those are not in the file. A model of ``--standardize`` takes rows and gives
        centres in the original units; its distances, penalty and objective are in standardised ones.
    """
    with open(path, "rb") as file:
        content = file.read()
    kind = _core.model_kind(content)
    if kind == "mixture":
        return _mixture(_core.Mixture.from_bytes(content))
    if kind == "states":
        return _states(_core.StatesModel.from_bytes(content))
    if kind == "features":
        return _features(_core.FeaturesModel.from_bytes(content))
    if kind == "covariance clusters":
        return _covariances(_core.CovariancesModel.from_bytes(content))
    if kind == "count clusters":
        return _counts(_core.CountsModel.from_bytes(content))
    return _clusters(_core.Model.from_bytes(content))


def _covariances(model: _core.CovariancesModel) -> FullCovarianceMeans:
    fields = model.fields()
    given = fields["penalty"] is not None
    estimator = FullCovarianceMeans(
        penalty=fields["penalty"] if given else "auto",
        n_clusters=None if given else len(fields["centres"]),
        covariance_penalty=fields["covariance_penalty"],
        random_state=fields["seed"],
    )
    estimator._model = model
    estimator._keep(fields)
    estimator._set_columns(fields["columns"])
    return estimator


def _counts(model: _core.CountsModel) -> DPMeans:
    fields = model.fields()
    tallies, given = fields["tallies"], fields["penalty"] is not None
    estimator = DPMeans(
        divergence="kullback-leibler",
        penalty=fields["penalty"] if given else "auto",
        n_clusters=None if given else len(tallies),
        random_state=fields["seed"],
    )
    estimator._model = model
    estimator._units = None
    totals = tallies.sum(axis=1, keepdims=True)
    estimator.cluster_centers_ = np.where(totals > 0, tallies / np.maximum(totals, 1e-300), 1 / tallies.shape[1])
    estimator.n_clusters_ = estimator._n_features_out = len(tallies)
    estimator.penalty_ = fields["penalty"] if given else float("nan")
    estimator.objective_ = fields["objective"]
    estimator.inertia_ = float(np.sum(fields["losses"]))
    estimator._set_columns(fields["columns"])
    return estimator


def _mixture(model: _core.Mixture) -> DPMixture:
    fields = model.fields()
    estimator = DPMixture(likelihood=fields["likelihood"], random_state=fields["seed"])
    estimator._model = model
    estimator.n_clusters_ = len(fields["sizes"])
    estimator.prior_ = fields["prior"]
    estimator._set_columns(fields["columns"])
    return estimator


def _states(model: _core.StatesModel) -> InfiniteHMM:
    fields = model.fields()
    estimator = InfiniteHMM(likelihood=fields["likelihood"], random_state=fields["seed"])
    estimator._keep(model)
    estimator._set_columns(fields["columns"])
    return estimator


def _features(model: _core.FeaturesModel) -> BPMeans | KFeatures:
    fields = model.fields()
    estimator: BPMeans | KFeatures
    if fields["penalty"] is None:
        estimator = KFeatures(n_components=max(1, len(fields["components"])), random_state=fields["seed"])
    else:
        estimator = BPMeans(penalty=fields["penalty"], random_state=fields["seed"])
        estimator.penalty_ = fields["penalty"]
    estimator._model = model
    estimator._offset = fields["offset"]
    estimator.components_ = fields["components"]
    estimator.n_components_ = estimator._n_features_out = len(fields["components"])
    estimator.reconstruction_err_ = fields["loss"]
    estimator.objective_ = fields["objective"]
    estimator._set_columns(fields["columns"])
    return estimator


def _clusters(model: _core.Model) -> DPMeans:
    fields = model.fields()
    estimator = DPMeans(
        penalty="auto" if fields["penalty"] is None else fields["penalty"],
        n_clusters=len(fields["centres"]) if fields["penalty"] is None else None,
        random_state=fields["seed"],
    )
    estimator._model = model
    estimator._units = None if fields["means"] is None else (fields["means"], fields["scales"])
    estimator.cluster_centers_ = fields["centres"]
    if estimator._units is not None:
        estimator.cluster_centers_ = fields["centres"] * fields["scales"] + fields["means"]
    estimator.n_clusters_ = len(fields["centres"])
    estimator.penalty_ = float("nan") if fields["penalty"] is None else fields["penalty"]
    estimator.objective_ = fields["objective"]
    estimator.inertia_ = float(np.sum(fields["losses"]))
    estimator._n_features_out = len(fields["centres"])
    estimator._set_columns(fields["columns"])
    return estimator
