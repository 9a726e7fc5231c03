"""The equivalence class of an observed-only graph without fits: support rotations.

The precision matrix is QQᵀ with Q = (I − B)Ω^(−1/2), so Q is determined up to a rotation of
its columns. Column j has the support {j} ∪ parents(j). Rotating two columns whose supports
are U and U without one element moves the missing element anywhere in U, in either column;
two columns with equal supports lose an element, and regain it. These are the covered edge
reversals of acyclic graphs and their cyclic counterparts (Ghassami et al., 2020). Any
assignment of columns to variables that puts a variable in its own column reads off a graph;
different assignments of the same columns are reversals of cycles.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from loopscm._checks import as_integer
from loopscm.errors import GraphError
from loopscm.graph import LatentGraph

Columns = tuple[frozenset[int], ...]  # sorted, an unordered collection
CLASS_LIMIT = 2000


@dataclass(frozen=True, eq=False)
class RotationClass:
    """Members of an equivalence class; `complete` is False when the limit cut the search."""

    members: tuple[LatentGraph, ...]
    complete: bool


def rotation_class(graph: LatentGraph, *, limit: int = CLASS_LIMIT) -> RotationClass:
    """Graphs reached by support rotations and cycle reversals that keep the family.

    Members have at most as many edges as the graph, which is the first of them. Graphs that
    share only part of the family (quasi-equivalent, not equivalent) are not found this way.
    """
    _refuse_latents(graph)
    limit = as_integer(limit, "limit", minimum=1)
    first = _columns(graph)
    members: dict[LatentGraph, None] = {graph: None}
    seen, queue, complete = {first}, deque([first]), True
    while queue and complete:
        columns = queue.popleft()
        for directed in _readings(columns, graph.n_observed):
            members.setdefault(LatentGraph(directed, names=graph.names))
            if len(members) > limit:
                complete = False
                break
        for other in _rotated(columns, sum(map(len, first))):
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return RotationClass(tuple(members)[:limit], complete)


def reversed_cycles(graph: LatentGraph, *, limit: int = CLASS_LIMIT) -> RotationClass:
    """Graphs with the same columns: every way to reverse cycles."""
    _refuse_latents(graph)
    limit = as_integer(limit, "limit", minimum=1)
    members: dict[LatentGraph, None] = {graph: None}
    for directed in _readings(_columns(graph), graph.n_observed):
        members.setdefault(LatentGraph(directed, names=graph.names))
        if len(members) > limit:
            return RotationClass(tuple(members)[:limit], False)
    return RotationClass(tuple(members), True)


def _refuse_latents(graph: LatentGraph) -> None:
    if not isinstance(graph, LatentGraph):
        raise GraphError(f"graph must be a LatentGraph, got {type(graph).__name__}.")
    if graph.n_latent or graph.bidirected.any():
        raise GraphError(
            "support rotations describe graphs without latents and bidirected edges; use "
            "equivalence_class for small graphs that have them."
        )


def _columns(graph: LatentGraph) -> Columns:
    """The supports of I − B by column, in a fixed order."""
    supports = graph.directed | np.eye(graph.n_observed, dtype=bool)
    return _ordered([frozenset(np.flatnonzero(column).tolist()) for column in supports.T])


def _ordered(columns: list[frozenset[int]]) -> Columns:
    return tuple(sorted(columns, key=lambda column: (len(column), sorted(column))))


def _rotated(columns: Columns, largest: int) -> Iterator[Columns]:
    """Collections of at most `largest` elements, one rotation away, that have the same family."""
    grows = sum(map(len, columns)) < largest
    for j, small in enumerate(columns):
        for k, large in enumerate(columns):
            if j == k or len(large) - len(small) > 1 or not small <= large:
                continue
            rest = [column for m, column in enumerate(columns) if m not in (j, k)]
            for element in large:
                yield _ordered([*rest, large - {element}, large])
            if grows and small < large:
                yield _ordered([*rest, large, large])


def _readings(columns: Columns, p: int) -> Iterator[np.ndarray]:
    """Graphs whose columns these are: assignments of a column to every variable in it."""
    holders = [[c for c, column in enumerate(columns) if j in column] for j in range(p)]
    order = sorted(range(p), key=lambda j: len(holders[j]))
    assigned: dict[int, int] = {}
    taken: set[int] = set()

    def extend(position: int) -> Iterator[np.ndarray]:
        if position == p:
            directed = np.zeros((p, p), bool)
            for variable, column in assigned.items():
                directed[sorted(columns[column] - {variable}), variable] = True
            yield directed
            return
        variable = order[position]
        for column in holders[variable]:
            if column not in taken:
                taken.add(column)
                assigned[variable] = column
                yield from extend(position + 1)
                taken.discard(column)

    return extend(0)
