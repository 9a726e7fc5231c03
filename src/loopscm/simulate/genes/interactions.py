"""Edges of gene networks in every accepted form, checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from loopscm.errors import GraphError
from loopscm.graph import LatentGraph
from loopscm.simulate.genes.kinetics import Interaction

SIGNS = ("+", "-", "+-", "?")


def as_network(edges: Any, genes: Sequence[str] | None) -> tuple[list[str], list[Interaction]]:
    """Gene names and interactions from pairs, signed triples, a matrix, or a graph.

    A matrix has row = regulator, column = target, and with any -1 in it signs; its genes are
    G1, G2, ... by default. Latents of a graph become genes without regulators, listed last. A
    networkx graph may carry signs in the edge attribute `sign`.
    """
    if isinstance(edges, LatentGraph):
        return _of_graph(edges)
    if hasattr(edges, "is_directed"):
        count = edges.number_of_edges()
        return of_networkx(edges, genes, [f"edge {k}" for k in range(1, count + 1)])
    if isinstance(edges, np.ndarray) and edges.ndim == 2 and edges.dtype.kind in "biuf":
        return _of_matrix(edges, genes)
    if isinstance(edges, (str, set, frozenset)) or not isinstance(edges, Iterable):
        raise GraphError(
            f"edges must be a list of (source, target[, sign]) tuples, got {edges!r:.60}."
        )
    rows = edges.tolist() if isinstance(edges, np.ndarray) else edges
    pairs = [interaction(edge, f"edge {number}") for number, edge in enumerate(rows, 1)]
    return checked(pairs, genes, [f"edge {number}" for number in range(1, len(pairs) + 1)])


def interaction(edge: Any, place: str) -> Interaction:
    """One edge; `place` says where it stands in a refusal. Integers become texts."""
    parts = tuple(edge) if isinstance(edge, (tuple, list)) else ()
    parts = tuple(str(part) if _is_integer(part) else part for part in parts)
    if len(parts) not in (2, 3) or not all(isinstance(part, str) and part for part in parts):
        raise GraphError(f"{place}: expected (source, target[, sign]) as texts, got {edge!r:.60}.")
    source, target, sign = (*parts, "?")[:3]
    if sign not in SIGNS:
        raise GraphError(f"{place}: unknown sign {sign!r}; use one of {', '.join(SIGNS)}.")
    if source == target:
        raise GraphError(f"{place}: {source!r} regulates itself; self-loops are not allowed.")
    return Interaction(source, target, sign)


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def checked(
    edges: list[Interaction], genes: Sequence[str] | None, places: list[str]
) -> tuple[list[str], list[Interaction]]:
    """The edges with their gene names, without unknown genes or repetitions."""
    names = list(dict.fromkeys(end for edge in edges for end in edge[:2]))
    if genes is not None:
        names = _gene_names(genes)
    if not names:
        raise GraphError("the network has no genes; give edges, or names by `genes=`.")
    known, seen = set(names), set()
    for edge, place in zip(edges, places, strict=True):
        for end in edge[:2]:
            if end not in known:
                raise GraphError(f"{place}: unknown gene {end!r}; add it to `genes` or drop it.")
        if edge[:2] in seen:
            raise GraphError(f"{place}: the edge {edge[0]} -> {edge[1]} appears twice; drop one.")
        seen.add(edge[:2])
    return names, edges


def of_networkx(
    graph: Any, genes: Sequence[str] | None, places: list[str]
) -> tuple[list[str], list[Interaction]]:
    """Gene names and interactions of a directed networkx graph; one place an edge."""
    if not graph.is_directed():
        raise GraphError("the graph is undirected; regulation has a direction, use a DiGraph.")
    found = zip(graph.edges(data="sign"), places, strict=True)
    edges = [interaction((str(a), str(b), str(sign or "?")), at) for (a, b, sign), at in found]
    return checked(edges, genes or [str(node) for node in graph.nodes], places)


def _gene_names(genes: Sequence[str]) -> list[str]:
    names = [] if isinstance(genes, str) else list(genes)
    wrong = [name for name in names if not isinstance(name, str) or not name]
    if wrong or not names:
        raise GraphError(f"genes must be a list of non-empty names, got {genes!r:.60}.")
    if len(set(names)) < len(names):
        raise GraphError("genes must be distinct; drop the repeated names.")
    return names


def _of_matrix(
    matrix: np.ndarray, genes: Sequence[str] | None
) -> tuple[list[str], list[Interaction]]:
    signed = bool((matrix == -1).any()) and bool(np.isin(matrix, (-1, 0, 1)).all())
    mask = matrix != 0 if signed else matrix
    names = [f"G{j + 1}" for j in range(len(mask))] if genes is None else _gene_names(genes)
    names, pairs = _of_graph(LatentGraph(mask, names=names))
    if signed:
        pairs = [
            Interaction(names[i], names[j], "+" if matrix[i, j] > 0 else "-")
            for i, j in zip(*np.nonzero(mask), strict=True)
        ]
    return names, pairs


def _of_graph(graph: LatentGraph) -> tuple[list[str], list[Interaction]]:
    if graph.bidirected.any():
        raise GraphError("gene networks have no bidirected edges; use latents with children.")
    pairs = [Interaction(edge[0], edge[1]) for edge in graph.to_edges()]
    return [*graph.names, *graph.latent_names], pairs
