"""Causal graphs with directed cycles and latent common causes.

The index convention of the whole library: row is tail, column is head.
`directed[i, j]` is the edge i → j among observed variables, `children[h, j]` the edge from
latent h to observed j, and `bidirected[i, j]` a free covariance between the noises of i and j
(none in the paper's model class; mixed graphs of other methods have them).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loopscm._checks import as_names, frozen, listed
from loopscm.errors import GraphError

BoolMatrix = NDArray[np.bool_]
Edge = tuple[str, str] | tuple[str, str, str]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class LatentGraph:
    """An immutable, hashable causal graph over named observed variables and latents.

    Parameters
    ----------
    directed : (p, p) booleans, `directed[i, j]` for i → j; the diagonal is empty.
    children : (l, p) booleans, `children[h, j]` for latent h → j; none by default.
    names : p distinct names of the observed variables; X0, X1, ... by default.
    bidirected : symmetric (p, p) booleans, free noise covariances; none by default.

    Two graphs are equal when all four fields are; latents carry no names, so compare
    `canonical()` graphs when the order of latents must not matter.
    """

    directed: BoolMatrix
    children: BoolMatrix
    names: tuple[str, ...]
    bidirected: BoolMatrix

    def __init__(
        self,
        directed: ArrayLike,
        children: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        bidirected: ArrayLike | None = None,
    ) -> None:
        edges = _as_mask(directed, "directed", None)
        p = edges.shape[0]
        if edges.shape != (p, p):
            raise GraphError(f"directed must be a square matrix, got shape {edges.shape}.")
        if p == 0:
            raise GraphError("a graph needs at least one observed variable; give it names.")
        labels = as_names(names, p, GraphError)
        loops = [labels[j] for j in np.flatnonzero(np.diagonal(edges))]
        if loops:
            raise GraphError(f"self-loops are not allowed; remove them from {listed(loops)}.")
        loadings = np.zeros((0, p), bool) if children is None else _as_mask(children, "children", p)
        arcs = (
            np.zeros((p, p), bool) if bidirected is None else _as_mask(bidirected, "bidirected", p)
        )
        if arcs.shape != (p, p) or (arcs != arcs.T).any() or np.diagonal(arcs).any():
            raise GraphError(
                "bidirected must be a symmetric matrix with an empty diagonal; "
                "set both [i, j] and [j, i]."
            )
        vars(self).update(
            directed=frozen(edges),
            children=frozen(loadings),
            names=labels,
            bidirected=frozen(arcs),
        )

    # ---- counts -------------------------------------------------------------------------

    @property
    def n_observed(self) -> int:
        """Number of observed variables, p."""
        return self.directed.shape[0]

    @property
    def n_latent(self) -> int:
        """Number of latent variables, l."""
        return self.children.shape[0]

    @cached_property
    def n_edges(self) -> int:
        """Directed edges among observed, edges from latents, and bidirected edges."""
        return int(self.directed.sum() + self.children.sum() + self.bidirected.sum() // 2)

    @property
    def complexity(self) -> int:
        """The paper's c(G) = edges + latents (Eq. complexity)."""
        return self.n_edges + self.n_latent

    @property
    def latent_names(self) -> tuple[str, ...]:
        """Names of the latents for display and edge lists: L1, L2, ... (never an observed name)."""
        prefix = "L"
        while any(name.startswith(prefix) for name in self.names):
            prefix = f"_{prefix}"
        return tuple(f"{prefix}{h + 1}" for h in range(self.n_latent))

    # ---- structure ----------------------------------------------------------------------

    def pruned(self) -> LatentGraph:
        """Without latents of fewer than two children, the paper's conversion to its class.

        The variance of a one-child latent belongs to that child's noise;
        `LinearSCM.pruned` moves it there.
        """
        kept = self.children.sum(axis=1) >= 2
        return LatentGraph(self.directed, self.children[kept], self.names, self.bidirected)

    def latent_order(self) -> list[int]:
        """The latents in lexicographic order of their children."""
        members = [tuple(np.flatnonzero(row).tolist()) for row in self.children]
        return sorted(range(self.n_latent), key=members.__getitem__)

    def canonical(self) -> LatentGraph:
        """The same graph with latents in lexicographic order of their children."""
        children = self.children[self.latent_order()]
        return LatentGraph(self.directed, children, self.names, self.bidirected)

    def permuted(self, order: Sequence[int]) -> LatentGraph:
        """The same graph with its observed variables listed in another order."""
        index = np.asarray(order)
        if sorted(index.tolist()) != list(range(self.n_observed)):
            raise GraphError(f"order must list 0..{self.n_observed - 1} once each, got {order!r}.")
        return LatentGraph(
            self.directed[np.ix_(index, index)],
            self.children[:, index],
            [self.names[j] for j in index],
            self.bidirected[np.ix_(index, index)],
        )

    def strongly_connected_components(self) -> tuple[tuple[int, ...], ...]:
        """Sets of observed variables on common directed cycles, ordered by first member."""
        return _strong_components(self.directed)

    def components(self) -> tuple[tuple[int, ...], ...]:
        """The blocks over which the likelihood factorises, ordered by first member.

        Variables on a common directed cycle share log|det A|, siblings (children of one
        latent, ends of a bidirected edge) share Ψ; both relations are merged transitively.
        """
        return self._components

    @cached_property
    def _components(self) -> tuple[tuple[int, ...], ...]:
        linked = self.bidirected.copy()
        for members in self.strongly_connected_components():
            linked[members[:-1], members[1:]] = linked[members[1:], members[:-1]] = True
        for row in self.children:
            members = np.flatnonzero(row)
            linked[members[:-1], members[1:]] = linked[members[1:], members[:-1]] = True
        return _strong_components(linked)

    @cached_property
    def is_acyclic(self) -> bool:
        """Whether the observed variables lie on no directed cycle."""
        return len(self.strongly_connected_components()) == self.n_observed

    # ---- edge lists and networkx --------------------------------------------------------

    def to_edges(self) -> list[Edge]:
        """Edges by name: (tail, head), with latent tails, and (a, b, "<->") for bidirected."""
        names, latents = self.names, self.latent_names
        edges: list[Edge] = [(names[i], names[j]) for i, j in np.argwhere(self.directed)]
        edges += [(latents[h], names[j]) for h, j in np.argwhere(self.children)]
        arcs = np.argwhere(np.triu(self.bidirected))
        return edges + [(names[i], names[j], "<->") for i, j in arcs]

    @classmethod
    def from_edges(
        cls,
        edges: Iterable[Edge],
        *,
        names: Sequence[str] | None = None,
        latents: Sequence[str] = (),
    ) -> LatentGraph:
        """A graph from (tail, head) pairs; (a, b, "<->") is a bidirected edge.

        Tails listed in `latents` are latent. Without `names` the observed variables are
        those of the edges, in order of appearance.
        """
        if not isinstance(edges, Iterable):
            raise GraphError(f"edges must be a list of (tail, head) pairs, got {edges!r}.")
        rows = [_as_edge(edge) for edge in edges]
        hidden = {name: h for h, name in enumerate(_as_labels(latents, "latents"))}
        if names is None:
            ends = (end for tail, head, _ in rows for end in (tail, head))
            names = [end for end in dict.fromkeys(ends) if end not in hidden]
        index = {name: j for j, name in enumerate(_as_labels(names, "names"))}
        both = sorted(hidden.keys() & index.keys())
        if both:
            raise GraphError(f"{listed(both)} cannot be both observed and latent; rename one.")
        p = len(index)
        directed, children, arcs = (np.zeros((k, p), bool) for k in (p, len(hidden), p))
        for tail, head, mark in rows:
            if head in hidden:
                raise GraphError(f"latent {head!r} cannot have parents; drop {tail!r} -> {head!r}.")
            unknown = [end for end in (tail, head) if end not in index and end not in hidden]
            if unknown:
                raise GraphError(
                    f"edge ({tail!r}, {head!r}) names {listed(unknown)}, not in names; "
                    "add it there, or to latents."
                )
            if mark == "<->":
                if tail in hidden:
                    raise GraphError(f"latent {tail!r} cannot have a bidirected edge; use '->'.")
                arcs[index[tail], index[head]] = arcs[index[head], index[tail]] = True
            elif tail in hidden:
                children[hidden[tail], index[head]] = True
            else:
                directed[index[tail], index[head]] = True
        return cls(directed, children, tuple(index), arcs)

    def to_networkx(self) -> Any:
        """A `networkx.DiGraph`; latents have `latent=True`, pairs in `graph["bidirected"]`."""
        import networkx as nx

        result = nx.DiGraph()
        result.add_nodes_from(self.names, latent=False)
        result.add_nodes_from(self.latent_names, latent=True)
        result.add_edges_from(edge for edge in self.to_edges() if len(edge) == 2)
        pairs = [edge[:2] for edge in self.to_edges() if len(edge) == 3]
        if pairs:
            result.graph["bidirected"] = pairs
        return result

    @classmethod
    def from_networkx(cls, g: Any) -> LatentGraph:
        """The inverse of `to_networkx`; nodes with `latent=True` become latents."""
        if not hasattr(g, "nodes") or not g.is_directed():
            raise GraphError(f"expected a directed networkx graph, got {type(g).__name__}.")
        label = {node: str(node) for node in g.nodes}
        as_names(label.values(), len(label), GraphError)  # 1 and "1" read the same
        latents = [label[node] for node, hidden in g.nodes(data="latent") if hidden]
        names = [label[node] for node, hidden in g.nodes(data="latent") if not hidden]
        edges: list[Edge] = [(label[i], label[j]) for i, j in g.edges()]
        pairs = g.graph.get("bidirected", ())
        arcs = [(label.get(i, str(i)), label.get(j, str(j)), "<->") for i, j in pairs]
        return cls.from_edges([*edges, *arcs], names=names, latents=latents)

    # ---- value semantics ----------------------------------------------------------------

    def _key(self) -> tuple[Any, ...]:
        masks = (self.directed, self.children, self.bidirected)
        return (self.names, self.n_latent, *(np.packbits(mask).tobytes() for mask in masks))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LatentGraph) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return LatentGraph, (self.directed, self.children, self.names, self.bidirected)

    def __repr__(self) -> str:
        """The counts on one line, then what points at each variable (at most 12 lines)."""
        arcs = int(self.bidirected.sum() // 2)
        counts = f"{self.n_observed} observed, {self.n_latent} latent, {self.n_edges} edges"
        head = f"LatentGraph({counts}{f' ({arcs} bidirected)' if arcs else ''})"
        lines = [
            f"  {self.names[j]} <- {', '.join(sources)}"
            for j in range(self.n_observed)
            if (sources := self._sources(j))
        ]
        more = [f"  ... and {len(lines) - 12} more variables"] if len(lines) > 12 else []
        return "\n".join([head, *lines[:12], *more])

    def _sources(self, j: int) -> list[str]:
        return (
            [self.names[i] for i in np.flatnonzero(self.directed[:, j])]
            + [self.latent_names[h] for h in np.flatnonzero(self.children[:, j])]
            + [f"({self.names[i]} <->)" for i in np.flatnonzero(self.bidirected[:, j])]
        )


def _as_mask(value: ArrayLike, name: str, width: int | None) -> BoolMatrix:
    """A new boolean matrix; numbers are accepted when they are all 0 or 1."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise GraphError(f"{name} must be a rectangular matrix of booleans.") from None
    if array.size == 0 and width is not None and array.ndim < 2:
        array = array.reshape(0, width)
    if array.ndim != 2 or (width is not None and array.shape[1] != width):
        columns = "p" if width is None else width
        raise GraphError(f"{name} must have {columns} columns (2-D), got shape {array.shape}.")
    if array.dtype != bool and not (
        np.issubdtype(array.dtype, np.number) and np.isin(array, (0, 1)).all()
    ):
        raise GraphError(
            f"{name} must hold booleans (or 0 and 1); pass `weights != 0` for weights."
        )
    return np.array(array, dtype=bool)


def _as_labels(value: Any, what: str) -> tuple[str, ...]:
    """A tuple of distinct names, from any iterable but a string."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise GraphError(f"{what} must be a sequence of strings, got {value!r}.")
    labels = tuple(value)
    return as_names(labels, len(labels), GraphError)


def _as_edge(edge: Any) -> tuple[str, str, str]:
    parts = tuple(edge) if isinstance(edge, (tuple, list)) else ()
    if len(parts) not in (2, 3) or not all(isinstance(part, str) for part in parts):
        raise GraphError(f"an edge is (tail, head) or (a, b, '<->') by name, got {edge!r}.")
    tail, head, mark = (*parts, "->")[:3]
    if mark not in ("->", "<->"):
        raise GraphError(f"the mark of an edge is '->' or '<->', got {mark!r}.")
    if tail == head:
        raise GraphError(f"self-loops are not allowed; remove {tail!r} {mark} {head!r}.")
    return tail, head, mark


def _strong_components(adjacency: BoolMatrix) -> tuple[tuple[int, ...], ...]:
    """Strongly connected components, each sorted, ordered by first member.

    Tarjan's algorithm with an explicit stack; importing a library for it would take
    longer than everything else a fit does.
    """
    p = adjacency.shape[0]
    heads: list[list[int]] = [[] for _ in range(p)]
    for i, j in np.argwhere(adjacency).tolist():
        heads[i].append(j)
    number, low, on_stack = [-1] * p, [0] * p, [False] * p
    stack: list[int] = []
    found: list[tuple[int, ...]] = []
    count = 0
    for root in range(p):
        if number[root] >= 0:
            continue
        path = [(root, iter(heads[root]))]
        while path:
            node, successors = path[-1]
            if number[node] < 0:
                number[node] = low[node] = count
                count += 1
                stack.append(node)
                on_stack[node] = True
            for head in successors:
                if number[head] < 0:
                    path.append((head, iter(heads[head])))
                    break
                if on_stack[head]:
                    low[node] = min(low[node], number[head])
            else:
                path.pop()
                if path:
                    parent = path[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == number[node]:
                    start = stack.index(node)
                    members = stack[start:]
                    del stack[start:]
                    for member in members:
                        on_stack[member] = False
                    found.append(tuple(sorted(members)))
    return tuple(sorted(found))
