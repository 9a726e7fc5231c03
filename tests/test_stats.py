"""Sufficient statistics from tables and covariance matrices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopscm import DataError, GaussianStats


def table(n=50, p=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p)) @ np.diag([1.0, 10.0, 0.1][:p]) + 5


def test_divisor_is_n_and_centring_is_a_choice():
    X = table()
    np.testing.assert_allclose(GaussianStats.from_data(X).S, np.cov(X.T, bias=True), rtol=1e-12)
    raw = GaussianStats.from_data(X, center=False)
    np.testing.assert_allclose(raw.S, X.T @ X / len(X), rtol=1e-12)
    assert raw.n == 50 and not raw.centered and raw.names == ("X0", "X1", "X2")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_bring_their_names(frame):
    X = table()
    data = frame({name: X[:, j] for j, name in enumerate(["raf", "mek", "erk"])})
    stats = GaussianStats.from_data(data)
    assert stats.names == ("raf", "mek", "erk")
    np.testing.assert_array_equal(stats.S, GaussianStats.from_data(X).S)
    assert GaussianStats.from_data(data, names=["a", "b", "c"]).names == ("a", "b", "c")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_integer_columns_are_numbers(frame):
    rng = np.random.default_rng(0)
    data = frame({"count": rng.integers(0, 9, 30), "level": rng.standard_normal(30)})
    assert GaussianStats.from_data(data).names == ("count", "level")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_missing_values_in_frames_are_named(frame):
    data = frame({"good": [1.0, 2.0, 4.0], "holes": [1.0, None, 3.0]})
    with pytest.raises(DataError, match="'holes'"):
        GaussianStats.from_data(data)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_text_columns_are_named(frame):
    data = frame({"good": [1.0, 2.0, 4.0], "label": ["x", "y", "z"]})
    with pytest.raises(DataError, match=r"non-numeric column.*'label'"):
        GaussianStats.from_data(data)


def test_lazy_frames_are_refused_with_advice():
    with pytest.raises(DataError, match="a LazyFrame; collect lazy frames first"):
        GaussianStats.from_data(pl.LazyFrame({"a": [1.0, 2.0]}))


def test_nullable_pandas_columns():
    data = pd.DataFrame(
        {"a": pd.array([1, 2, 4], "Int64"), "b": pd.array([1.0, 0.5, 3], "Float64")}
    )
    assert GaussianStats.from_data(data).n == 3
    data.loc[1, "a"] = pd.NA
    with pytest.raises(DataError, match="'a'"):
        GaussianStats.from_data(data)


def test_covariance_frame_brings_names():
    S = np.cov(table().T)
    frame = pd.DataFrame(S, columns=list("abc"), index=list("abc"))
    stats = GaussianStats.from_covariance(frame, 50)
    assert stats.names == ("a", "b", "c") and stats.n == 50
    np.testing.assert_allclose(stats.S, S, rtol=1e-14)


def test_saturated_value_is_the_likelihood_at_sigma_equal_s():
    stats = GaussianStats.from_data(table())
    _sign, log_det = np.linalg.slogdet(stats.S)
    assert stats.saturated == pytest.approx(0.5 * (log_det + 3))
    assert stats.independent == pytest.approx(0.5 * (np.log(np.diagonal(stats.S)).sum() + 3))


@given(st.integers(-150, 150), st.integers(-150, 150))
def test_extreme_scales_survive(a, b):
    """Columns 300 orders of magnitude apart give the same correlations."""
    X = table() - 5
    scale = np.array([2.0**a, 2.0**b, 1.0])
    stats = GaussianStats.from_data(X * scale)
    np.testing.assert_allclose(
        stats.correlation, GaussianStats.from_data(X).correlation, rtol=1e-12
    )


def test_fewer_observations_than_variables_is_allowed():
    stats = GaussianStats.from_data(np.random.default_rng(0).standard_normal((5, 8)))
    assert stats.is_singular and stats.saturated == -np.inf
    assert not GaussianStats.from_data(table()).is_singular


def test_collinear_columns_are_named_with_their_partners():
    X = np.random.default_rng(0).standard_normal((40, 4))
    X = np.column_stack([X, X[:, 0] - 2 * X[:, 2]])
    with pytest.raises(DataError, match=r"'e' is a linear combination of 'a', 'c'"):
        GaussianStats.from_data(X, names=list("abcde"))


def test_callers_array_is_untouched():
    X = table()
    copy = X.copy()
    stats = GaussianStats.from_data(X)
    np.testing.assert_array_equal(X, copy)
    S = stats.S.copy()
    again = GaussianStats.from_covariance(S, 50)
    assert again.S is not S and S.flags.writeable and not again.S.flags.writeable


def test_permuted():
    stats = GaussianStats.from_data(table(), names=list("abc"))
    moved = stats.permuted([2, 0, 1])
    assert moved.names == ("c", "a", "b") and moved.S[0, 1] == stats.S[2, 0]


def test_repr():
    text = repr(GaussianStats.from_data(table(), names=list("abc")))
    assert text == "GaussianStats(3 variables, n = 50, means removed: 'a', 'b', 'c')"
