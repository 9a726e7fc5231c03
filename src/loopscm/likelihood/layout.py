"""The flat parameter vector of a graph and its division into blocks.

Parameters are grouped by component and, within one, ordered as edges, loadings, free
covariances, variances. `Layout` translates between this vector and an SCM's matrices, and
holds the index tables the compiled kernels work on.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from loopscm.graph import LatentGraph
from loopscm.likelihood.kinds import COVARIANCE, EDGE, LOADING, VARIANCE

IntVector = NDArray[np.int64]
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Layout:
    """Where each parameter of a graph stands; block b has parameters `par_ptr[b]:par_ptr[b+1]`.

    `kind`, `row`, `head` describe a parameter in the graph's numbering: `row` is the tail of
    an edge, the latent of a loading, the partner of a covariance, the variable of a variance.
    `local_row` and `local_head` are the same in the block's numbering: its heads first
    (`n_heads[b]` of them), then the parents outside it, all listed in
    `nodes[node_ptr[b]:node_ptr[b+1]]`; its latents are counted by `n_latents[b]`.
    """

    graph: LatentGraph
    kind: IntVector
    row: IntVector
    head: IntVector
    par_ptr: IntVector
    local_row: IntVector
    local_head: IntVector
    nodes: IntVector
    node_ptr: IntVector
    n_heads: IntVector
    n_latents: IntVector

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.kind)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.n_heads)

    def labels(self) -> list[str]:
        """A readable name of every parameter, as in an edge list."""
        names, latents = self.graph.names, self.graph.latent_names
        formats = {
            EDGE: lambda i, j: f"{names[i]} -> {names[j]}",
            LOADING: lambda h, j: f"{latents[h]} -> {names[j]}",
            COVARIANCE: lambda i, j: f"{names[i]} <-> {names[j]}",
            VARIANCE: lambda _, j: f"var {names[j]}",
        }
        rows = zip(self.kind.tolist(), self.row.tolist(), self.head.tolist(), strict=True)
        return [formats[kind](i, j) for kind, i, j in rows]

    def gather(self, B: Matrix, Gamma: Matrix, variances: Vector, covariances: Matrix) -> Vector:
        """The parameter vector of the given matrices."""
        theta = np.empty(self.size)
        for kind, source in ((EDGE, B), (LOADING, Gamma), (COVARIANCE, covariances)):
            where = self.kind == kind
            theta[where] = source[self.row[where], self.head[where]]
        where = self.kind == VARIANCE
        theta[where] = variances[self.head[where]]
        return theta

    def scatter(self, theta: Vector) -> tuple[Matrix, Matrix, Vector, Matrix]:
        """(B, Γ, variances, covariances) of a parameter vector."""
        p, n_latent = self.graph.n_observed, self.graph.n_latent
        matrices = np.zeros((p, p)), np.zeros((n_latent, p)), np.zeros((p, p))
        for kind, target in zip((EDGE, LOADING, COVARIANCE), matrices, strict=True):
            where = self.kind == kind
            target[self.row[where], self.head[where]] = theta[where]
        B, Gamma, covariances = matrices
        variances = np.zeros(p)
        where = self.kind == VARIANCE
        variances[self.head[where]] = theta[where]
        return B, Gamma, variances, covariances + covariances.T

    def units(self, scale: Vector) -> Vector:
        """Factors that take parameters from standardised to original units.

        A coefficient of i → j has the unit of j over that of i; latents have no unit.
        """
        top, tail = scale[self.head], np.where(self.kind == LOADING, 0, self.row)
        factors = np.where(self.kind == EDGE, top / scale[tail], top)
        return np.where(self.kind >= COVARIANCE, top * scale[tail], factors)


@lru_cache(maxsize=64)
def layout_of(graph: LatentGraph, *, whole: bool = False) -> Layout:
    """The layout of a graph by components, or with all variables in one block."""
    p = graph.n_observed
    blocks = (tuple(range(p)),) if whole else graph.components()
    block_of, position = [0] * p, [0] * p
    for b, members in enumerate(blocks):
        for k, node in enumerate(members):
            block_of[node], position[node] = b, k
    table = _Table(len(blocks))
    outside: list[dict[int, int]] = [{} for _ in blocks]
    for i, j in np.argwhere(graph.directed).tolist():
        b = block_of[j]
        if block_of[i] == b:
            local = position[i]
        else:
            local = len(blocks[b]) + outside[b].setdefault(i, len(outside[b]))
        table.add(b, EDGE, i, j, local, position[j])
    latents = [0] * len(blocks)
    for h in graph.latent_order():  # so that fits do not depend on the latents' numbers
        members = np.flatnonzero(graph.children[h]).tolist()
        for j in members:
            table.add(block_of[j], LOADING, h, j, latents[block_of[j]], position[j])
        if members:
            latents[block_of[members[0]]] += 1
    for i, j in np.argwhere(np.triu(graph.bidirected)).tolist():
        table.add(block_of[j], COVARIANCE, i, j, position[i], position[j])
    for j in range(p):
        table.add(block_of[j], VARIANCE, j, j, position[j], position[j])
    nodes = [[*members, *outside[b]] for b, members in enumerate(blocks)]
    return Layout(
        graph,
        *table.columns(),
        nodes=np.array([node for members in nodes for node in members], dtype=np.int64),
        node_ptr=np.cumsum([0, *map(len, nodes)], dtype=np.int64),
        n_heads=np.array([len(members) for members in blocks], dtype=np.int64),
        n_latents=np.array(latents, dtype=np.int64),
    )


class _Table:
    """Parameter records collected by block."""

    def __init__(self, n_blocks: int) -> None:
        self._records: list[list[tuple[int, int, int, int, int]]] = [[] for _ in range(n_blocks)]

    def add(self, block: int, kind: int, row: int, head: int, local_row: int, local_head: int):
        self._records[block].append((kind, row, head, local_row, local_head))

    def columns(self) -> tuple[IntVector, ...]:
        """(kind, row, head, par_ptr, local_row, local_head) with blocks one after another."""
        flat = np.array([record for records in self._records for record in records], np.int64)
        ends = np.cumsum([0, *map(len, self._records)], dtype=np.int64)
        kind, row, head, local_row, local_head = np.ascontiguousarray(flat.T)
        return kind, row, head, ends, local_row, local_head
