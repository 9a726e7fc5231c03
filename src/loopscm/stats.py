"""Sufficient statistics: the only thing that learners see of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_flag, as_integer, as_matrix, as_names, frozen, listed
from loopscm.errors import DataError

# A variable whose variance given the others is below this share of its own variance is
# numerically a linear combination of them: float64 leaves no digits for its noise.
COLLINEAR_SHARE = 1e-10
# Variances are squares of scales, and float64 ends near 1e308.
LARGEST_SCALE = 1e150


@dataclass(frozen=True, eq=False, repr=False)
class GaussianStats:
    """The second-moment matrix S (divisor n), the sample size, and the variables' names.

    Build it with `from_data` or `from_covariance`, which check their input. `S` is closed
    for writing. `centered` tells whether column means were removed; the paper's model has
    known mean zero and uses S = X'X/n uncentred.
    """

    S: NDArray[np.float64]
    n: int
    names: tuple[str, ...]
    centered: bool = True

    @classmethod
    def from_data(
        cls, X: Any, *, center: bool = True, names: Sequence[str] | None = None
    ) -> GaussianStats:
        """Statistics of a table: rows are observations, columns variables.

        X is a 2-D array or a pandas or polars frame, whose column names are used unless
        `names` is given. With `center=False` the mean is taken to be known and zero.
        """
        center = as_flag(center, "center")
        values, labels = read_table(X, names)
        n, p = values.shape
        if n < 2:
            raise DataError(f"need at least 2 observations, got {n} row(s).")
        constant = [labels[j] for j in range(p) if (values[:, j] == values[0, j]).all()]
        if constant:
            raise DataError(f"constant column(s) {listed(constant)}; remove them.")
        # Powers of two keep the arithmetic exact and every scale representable.
        scale = np.exp2(np.ceil(np.log2(np.abs(values).max(axis=0))))
        values = values / scale
        if center:
            values = values - values.mean(axis=0)
        S = values.T @ values / n
        _refuse_collinear(S, n - 1 if center else n, labels)
        _refuse_extreme(np.sqrt(np.diagonal(S)) * scale, labels)
        return cls(frozen(_symmetric(S * np.outer(scale, scale))), n, labels, center)

    @classmethod
    def from_covariance(
        cls, S: Any, n_samples: int, names: Sequence[str] | None = None, *, centered: bool = True
    ) -> GaussianStats:
        """Statistics from a covariance matrix and the number of observations behind it.

        A pandas or polars frame brings its column names along.
        """
        columns = _frame_columns(S)
        matrix = as_matrix(_frame_values(S), "S", (None, None), DataError)
        p = matrix.shape[0]
        if matrix.shape != (p, p) or p == 0:
            raise DataError(f"S must be square, got shape {matrix.shape}.")
        labels = as_names(columns if names is None else names, p, DataError)
        centered = as_flag(centered, "centered")
        try:
            n = as_integer(n_samples, "n_samples", minimum=2)
        except ValueError as problem:
            raise DataError(str(problem)) from None
        bad = [labels[j] for j in np.flatnonzero(np.diagonal(matrix) <= 0)]
        if bad:
            raise DataError(f"variances must be positive; S has none for {listed(bad)}.")
        scale = np.sqrt(np.diagonal(matrix))
        _refuse_extreme(scale, labels)
        correlation = matrix / scale / scale[:, None]
        i, j = np.unravel_index(np.abs(correlation - correlation.T).argmax(), (p, p))
        if abs(correlation[i, j] - correlation[j, i]) > 1e-8:
            raise DataError(
                f"S is not symmetric at ({labels[i]!r}, {labels[j]!r}): {matrix[i, j]:g} and "
                f"{matrix[j, i]:g}. Pass a full symmetric matrix, or (S + S.T) / 2 if the "
                "difference is rounding."
            )
        correlation = _symmetric(correlation)
        smallest = float(np.linalg.eigvalsh(correlation)[0])
        if smallest < -1e-8:
            raise DataError(
                f"S is indefinite (smallest eigenvalue of its correlations {smallest:.3g}); a "
                "covariance from pairwise deletion often is. Use complete rows or shrink it."
            )
        _refuse_collinear(correlation, n - 1 if centered else n, labels)
        return cls(frozen(_symmetric(matrix)), n, labels, centered)

    @property
    def p(self) -> int:
        """Number of variables."""
        return self.S.shape[0]

    @cached_property
    def scale(self) -> NDArray[np.float64]:
        """Root mean squares of the variables, the units in which fits are computed."""
        return frozen(np.sqrt(np.diagonal(self.S)))

    @cached_property
    def correlation(self) -> NDArray[np.float64]:
        """S in units of `scale`."""
        return frozen(_symmetric(self.S / self.scale / self.scale[:, None]))

    @cached_property
    def is_singular(self) -> bool:
        """Whether S has no inverse, so that some graphs have unbounded likelihood."""
        return _dependent_columns(self.correlation).size > 0

    @cached_property
    def saturated(self) -> float:
        """f_S = ½(log det S + p), the per-sample objective of the saturated model.

        Minus infinity when S is singular.
        """
        if self.is_singular:
            return -np.inf
        log_det = np.linalg.slogdet(self.correlation)[1] + 2 * np.log(self.scale).sum()
        return 0.5 * (float(log_det) + self.p)

    @cached_property
    def independent(self) -> float:
        """½ Σ (log S_jj + 1), the per-sample objective of the graph without edges."""
        return float(np.log(self.scale).sum() + 0.5 * self.p)

    def permuted(self, order: Sequence[int]) -> GaussianStats:
        """The same statistics with the variables in another order."""
        index = np.asarray(order)
        if sorted(index.tolist()) != list(range(self.p)):
            raise DataError(f"order must list 0..{self.p - 1} once each, got {order!r}.")
        names = tuple(self.names[j] for j in index)
        return GaussianStats(frozen(self.S[np.ix_(index, index)]), self.n, names, self.centered)

    def __repr__(self) -> str:
        mean = "means removed" if self.centered else "mean zero"
        return f"GaussianStats({self.p} variables, n = {self.n}, {mean}: {listed(self.names, 8)})"


def _symmetric(S: NDArray[np.float64]) -> NDArray[np.float64]:
    return (S + S.T) / 2


def _frame_columns(table: Any) -> list[str] | None:
    """The column names of a frame as text; None for anything else."""
    if hasattr(table, "collect"):
        raise DataError(f"cannot read a {type(table).__name__}; collect lazy frames first.")
    columns = getattr(table, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def _frame_values(table: Any) -> Any:
    """The matrix of a covariance frame, whose rows must not name another order than its columns."""
    rows, columns = getattr(table, "index", None), _frame_columns(table)
    if rows is not None and columns is not None and not callable(rows):
        labels = [str(name) for name in rows]
        if labels != columns and sorted(labels) == sorted(columns):
            raise DataError(
                f"the rows of S are {listed(labels)}, its columns {listed(columns)}; bring both to "
                "one order, as in S.loc[S.columns]."
            )
    return table.to_numpy() if hasattr(table, "to_numpy") else table


def read_table(
    X: Any, names: Sequence[str] | None = None
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The finite values of a table as float64, and its names."""
    columns = _frame_columns(X)
    if columns is not None:
        labels = as_names(columns, len(columns), DataError)  # readers refuse repeated ones
        values = _read_frame(X)
        labels = labels if names is None else as_names(names, values.shape[1], DataError)
    else:
        values, labels = _read_array(X, names)
    _refuse_non_finite(values, labels)
    return values, labels


def _read_array(X: Any, names: Sequence[str] | None) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The values of anything that NumPy reads as a table; masked entries are missing."""
    try:
        array = np.asarray(X)
    except ValueError:
        raise DataError("X must be a rectangular table; its rows differ in length.") from None
    if array.ndim == 0:
        raise DataError(
            f"X must be a table (observations x variables), got a {type(X).__name__}; pass an "
            "array or a pandas or polars frame."
        )
    if array.ndim != 2 or 0 in array.shape:
        raise DataError(
            f"X must be a non-empty table (observations x variables), got shape {array.shape}."
        )
    labels = as_names(names, array.shape[1], DataError)
    if array.dtype.kind not in "fiu":
        wrong = [labels[j] for j in range(array.shape[1]) if not _is_real(array[:, j].tolist())]
        kind = "complex numbers" if array.dtype.kind == "c" else f"{array.dtype} values"
        raise DataError(
            f"X holds {kind}; make column(s) {listed(wrong or labels)} real numbers or drop them."
        )
    values = array.astype(np.float64)
    values[np.ma.getmaskarray(X)] = np.nan
    return values, labels


def _is_real(values: list[Any]) -> bool:
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def _read_frame(table: Any) -> NDArray[np.float64]:
    """The values of a pandas or polars frame, through narwhals."""
    import narwhals as nw

    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise DataError(
            f"cannot read a {type(table).__name__}; pass an array or a pandas or polars frame."
        ) from None
    wrong = [str(name) for name, dtype in frame.schema.items() if not dtype.is_numeric()]
    if wrong:
        raise DataError(f"non-numeric column(s) {listed(wrong)}; encode them as numbers or drop.")
    if 0 in frame.shape:
        raise DataError(f"X must be a non-empty table, got shape {frame.shape}.")
    columns = [frame[:, j].to_numpy() for j in range(frame.shape[1])]
    return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])


def _refuse_extreme(scale: NDArray[np.float64], names: tuple[str, ...]) -> None:
    """Refuse standard deviations whose squares and products leave the floating-point range."""
    bad = [names[j] for j in np.flatnonzero((scale > LARGEST_SCALE) | (scale < 1 / LARGEST_SCALE))]
    if bad:
        raise DataError(
            f"the standard deviation of {listed(bad)} is not between {1 / LARGEST_SCALE:.0e} and "
            f"{LARGEST_SCALE:.0e}; change its units."
        )


def _refuse_non_finite(values: NDArray[np.float64], names: tuple[str, ...]) -> None:
    counts = (~np.isfinite(values)).sum(axis=0)
    bad = [names[j] for j in np.flatnonzero(counts)]
    if bad:
        raise DataError(
            f"missing or infinite values ({int(counts.sum())} in all) in column(s) {listed(bad)}; "
            "drop those rows or impute them."
        )


def _has_full_rank(correlation: NDArray[np.float64]) -> bool:
    try:
        pivots = np.diagonal(np.linalg.cholesky(correlation)) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool(pivots.min() >= COLLINEAR_SHARE)


def _dependent_columns(correlation: NDArray[np.float64]) -> NDArray[np.intp]:
    """Columns that are linear combinations of those before them."""
    if _has_full_rank(correlation):
        return np.array([], dtype=np.intp)
    residual, dependent = correlation.copy(), []
    for j in range(len(residual)):
        if residual[j, j] < COLLINEAR_SHARE:
            dependent.append(j)
            continue
        row = residual[j] / np.sqrt(residual[j, j])
        residual -= np.outer(row, row)
    return np.array(dependent, dtype=np.intp)


def _refuse_collinear(S: NDArray[np.float64], rank: int, names: tuple[str, ...]) -> None:
    """Refuse dependence among columns beyond what `rank` observations force.

    With fewer observations than variables S is singular without any fault of a column;
    then only duplicates are refused.
    """
    scale = np.sqrt(np.diagonal(S))
    correlation = S / scale / scale[:, None]
    close = np.abs(np.triu(correlation, 1)) > 1 - COLLINEAR_SHARE / 2
    if rank >= 2 and close.any():
        i, j = np.argwhere(close)[0]
        raise DataError(
            f"columns {names[i]!r} and {names[j]!r} are multiples of each other; remove one."
        )
    dependent = _dependent_columns(correlation)
    if len(names) - dependent.size >= min(rank, len(names)) or not dependent.size:
        return
    j = int(dependent[0])
    others = np.setdiff1d(np.arange(len(names)), dependent)
    weights = np.linalg.lstsq(correlation[np.ix_(others, others)], correlation[others, j])[0]
    partners = [names[i] for i in others[np.abs(weights) > 1e-6]]
    raise DataError(
        f"column {names[j]!r} is a linear combination of {listed(partners)}; remove one of them."
    )
