"""What is known beforehand about the edges among observed variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

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

    def masks(self, p: int) -> tuple[BoolMatrix, BoolMatrix]:
        """(edges that may be added, edges that may not be removed)."""
        required = _mask(self.required, "required", p)
        forbidden = _mask(self.forbidden, "forbidden", p)
        if np.diagonal(required).any():
            raise GraphError("required holds self-loops; clear its diagonal.")
        both = np.argwhere(required & forbidden)
        if len(both):
            i, j = both[0]
            raise GraphError(f"the edge {i} -> {j} is both required and forbidden; drop one.")
        return ~forbidden & ~np.eye(p, dtype=bool), required


def _mask(value: ArrayLike | None, name: str, p: int) -> BoolMatrix:
    if value is None:
        return np.zeros((p, p), bool)
    mask = np.array(value)
    if mask.dtype != bool or mask.shape != (p, p):
        raise GraphError(
            f"{name} must be a {p} x {p} matrix of booleans, got {mask.dtype} {mask.shape}."
        )
    return mask
