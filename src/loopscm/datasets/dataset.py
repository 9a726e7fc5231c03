"""A data set: numbers or a covariance matrix, reference graphs, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import listed
from loopscm.errors import DataError, OptionError
from loopscm.graph import LatentGraph
from loopscm.stats import GaussianStats

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Reference:
    """A published graph for a data set; published graphs disagree, so always say which."""

    graph: LatentGraph
    source: str
    note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Data with their references; arrays are closed for writing.

    `data` (rows are observations) or `covariance` is None when the source has none.
    `conditions` labels each row by its experimental condition; `condition_columns` holds the
    0/1 indicator columns of the source.
    """

    name: str
    title: str
    variables: tuple[str, ...]
    source: str
    licence: str
    notes: str
    n: int = 0
    data: Matrix | None = None
    covariance: Matrix | None = None
    conditions: NDArray[np.str_] | None = None
    condition_columns: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    references: Mapping[str, Reference] = field(default_factory=dict)

    def stats(
        self, *, condition: str | Sequence[str] | None = None, center: bool = True
    ) -> GaussianStats:
        """Sufficient statistics of all rows, or of the rows of some conditions."""
        if self.covariance is not None:
            if condition is not None:
                raise OptionError(f"{self.name} is a covariance matrix; it has no conditions.")
            return GaussianStats.from_covariance(self.covariance, self.n, names=self.variables)
        rows = self.observations(condition)
        return GaussianStats.from_data(rows, center=center, names=self.variables)

    def observations(self, condition: str | Sequence[str] | None = None) -> Matrix:
        """All rows, or the rows of some conditions."""
        if self.data is None:
            what = "reference graphs only" if self.covariance is None else "a covariance only"
            raise DataError(
                f"{self.name} holds {what}, no observations; simulate some, for example by "
                "loopscm.simulate.scenario."
            )
        return self.data if condition is None else self.data[self._rows(condition)]

    def _rows(self, condition: str | Sequence[str]) -> NDArray[np.bool_]:
        chosen = [condition] if isinstance(condition, str) else list(condition)
        known = [] if self.conditions is None else sorted(set(self.conditions.tolist()))
        unknown = [label for label in chosen if label not in known]
        if unknown or not chosen or self.conditions is None:
            raise OptionError(
                f"{self.name} has no condition {listed(unknown)}; choose from {listed(known, 20)}."
            )
        return np.isin(self.conditions, chosen)

    def __repr__(self) -> str:
        lines = [
            f"Dataset({self.name}: {self.title}; {len(self.variables)} variables, n = {self.n})"
        ]
        lines += [
            f"  reference {key!r}: {ref.graph.n_edges} edges, {ref.source}"
            for key, ref in self.references.items()
        ]
        return "\n".join(lines)
