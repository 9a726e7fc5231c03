"""The condition number rule on sparse I − B, decided exactly and fast."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopscm.graph import LatentGraph

Matrix = NDArray[np.float64]
# Below this size one dense singular value decomposition is the fastest way (measured).
DENSE_UP_TO = 400
# Relative slack of the certificates; inside it the dense decomposition decides.
SLACK = 1e-6


@dataclass(frozen=True)
class ConditionRule:
    """Decides cond(I − B) ≤ limit (spectral norm) for one graph and many coefficient vectors.

    `order` lists the variables so that edges between strong components point forwards: in
    that order I − B is nearly triangular and its sparse factors have almost no fill.
    """

    p: int
    tails: NDArray[np.intp]
    heads: NDArray[np.intp]
    order: NDArray[np.intp]
    limit: float

    @classmethod
    def of(cls, graph: LatentGraph, limit: float) -> ConditionRule:
        """The rule for the edges of a graph, in row-major order."""
        tails, heads = np.nonzero(graph.directed)
        order = np.arange(graph.n_observed)
        if graph.n_observed > DENSE_UP_TO:
            order = causal_order(graph)
        return cls(graph.n_observed, tails, heads, order, limit)

    def accepts(self, values: NDArray[np.float64]) -> bool:
        """Whether the coefficients `values` (one an edge) satisfy the rule.

        Large matrices: Lanczos bounds the condition number from below, which proves a
        rejection; two Cholesky factorisations prove an acceptance. Cases within `SLACK` of
        the limit go to the dense decomposition, so the answer is always the dense one.
        """
        if self.p > DENSE_UP_TO:
            verdict = self._certified(values)
            if verdict is not None:
                return verdict
        B = np.zeros((self.p, self.p))
        B[self.tails, self.heads] = values
        return bool(np.linalg.cond(np.eye(self.p) - B) <= self.limit)

    def _certified(self, values: NDArray[np.float64]) -> bool | None:
        """True or False when proved, None when too close to call (or Lanczos failed)."""
        from scipy.sparse import coo_array, csc_array, eye_array
        from scipy.sparse.linalg import ArpackError, splu

        place = np.empty(self.p, np.intp)
        place[self.order] = np.arange(self.p)
        edges = (place[self.tails], place[self.heads])
        M = csc_array(eye_array(self.p) - coo_array((values, edges), shape=(self.p, self.p)))
        gram = csc_array(M.T @ M)
        try:
            inverse = _inverse_gram(splu(M, permc_spec="NATURAL"), self.p)
            for tolerance in (1e-2, 1e-8):
                largest = _top_eigenvalue(gram, tolerance)
                smallest = 1 / _top_eigenvalue(inverse, tolerance)
                if np.sqrt(largest / smallest) > self.limit * (1 + SLACK):
                    return False
        except (ArpackError, RuntimeError):
            return None
        return self._proves(gram.toarray(), largest * (1 + SLACK) ** 2)

    def _proves(self, gram: Matrix, ceiling: float) -> bool | None:
        """True when `ceiling` bounds the squared singular values and their ratio is allowed."""
        identity = np.eye(self.p)
        above = _is_positive_definite(ceiling * identity - gram)
        below = _is_positive_definite(gram - ceiling / self.limit**2 * identity)
        return True if above and below else None


def causal_order(graph: LatentGraph) -> NDArray[np.intp]:
    """The variables with causes before effects, up to the order within strong components."""
    components = graph.strongly_connected_components()
    label = {j: c for c, members in enumerate(components) for j in members}
    followers: dict[int, list[int]] = defaultdict(list)
    waiting = [0] * len(components)
    for i, j in zip(*(ends.tolist() for ends in np.nonzero(graph.directed)), strict=True):
        if label[i] != label[j]:
            followers[label[i]].append(label[j])
            waiting[label[j]] += 1
    ready = [c for c, count in enumerate(waiting) if count == 0]
    order: list[int] = []
    while ready:
        component = ready.pop()
        order.extend(components[component])
        for follower in followers[component]:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                ready.append(follower)
    return np.array(order, dtype=np.intp)


def _inverse_gram(factor: Any, p: int) -> Any:
    """(MᵀM)⁻¹ as an operator, from the sparse factors of M."""
    from scipy.sparse.linalg import LinearOperator

    class InverseGram(LinearOperator):
        def _matvec(self, x: Any) -> Any:
            return factor.solve(factor.solve(x, trans="T"))

    return InverseGram(np.dtype(np.float64), (p, p))


def _top_eigenvalue(operator: Any, tolerance: float) -> float:
    """Largest eigenvalue of a symmetric operator, from below, with a fixed start vector."""
    from scipy.sparse.linalg import eigsh

    start = np.random.default_rng(0).standard_normal(operator.shape[0])
    options: dict[str, Any] = {"tol": tolerance, "return_eigenvectors": False}
    top = eigsh(operator, k=1, which="LA", v0=start, **options)
    return float(top[0])


def _is_positive_definite(matrix: Matrix) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
