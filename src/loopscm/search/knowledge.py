"""What is known beforehand about the edges among observed variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loopscm._checks import listed
from loopscm.errors import GraphError

BoolMatrix = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Edges that must be in the graph and edges that must not.

    Both are (p, p) booleans in the library's convention, `[i, j]` for i → j; None for none.
    Latents are not restricted.
    """

    required: ArrayLike | None = None
    forbidden: ArrayLike | None = None

    def masks(self, names: tuple[str, ...]) -> tuple[BoolMatrix, BoolMatrix]:
        """(edges that may be added, edges that may not be removed) among these variables."""
        required = _mask(self.required, "required", names)
        forbidden = _mask(self.forbidden, "forbidden", names)
        if np.diagonal(required).any():
            raise GraphError("required holds self-loops; clear its diagonal.")
        both = np.argwhere(required & forbidden)
        if len(both):
            i, j = both[0]
            raise GraphError(
                f"the edge {names[i]} -> {names[j]} is both required and forbidden; drop one."
            )
        return ~forbidden & ~np.eye(len(names), dtype=bool), required


def _mask(value: ArrayLike | None, name: str, names: tuple[str, ...]) -> BoolMatrix:
    p = len(names)
    if value is None:
        return np.zeros((p, p), bool)
    try:
        mask = np.array(value)
    except ValueError:
        raise GraphError(f"the rows of {name} differ in length; it must be {p} x {p}.") from None
    if mask.dtype != bool or mask.shape != (p, p):
        raise GraphError(
            f"{name} must be a {p} x {p} matrix of booleans, got {mask.dtype} {mask.shape}; its "
            "entry [i, j] stands for the edge i -> j."
        )
    _check_labels(value, name, names)
    return mask


def _check_labels(value: ArrayLike, name: str, names: tuple[str, ...]) -> None:
    """The labels of a data frame must be the variables; those of other matrices mean nothing."""
    for axis in ("index", "columns"):
        labels = getattr(value, axis, None)
        if (
            labels is None
            or callable(labels)
            or list(labels) in (list(range(len(names))), [*names])
        ):
            continue
        what = "rows" if axis == "index" else "columns"
        raise GraphError(
            f"the {what} of {name} are {listed([str(label) for label in labels])}, the variables "
            f"{listed(names)}; bring both to one order."
        )
