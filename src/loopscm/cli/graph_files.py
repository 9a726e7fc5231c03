"""Reading graphs: edge lists, JSON, GraphML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from loopscm.cli.files import read_text
from loopscm.errors import GraphError
from loopscm.graph import Edge, LatentGraph

FORMATS = "an edge list (.tsv, .txt: tail, head, optional '<->'), .json, or .graphml"


def read_graph(path: Path) -> LatentGraph:
    """A graph from an edge list, a JSON object, or GraphML, by the file's ending."""
    if not path.is_file():
        raise GraphError(f"{path} is not a file; give a graph: {FORMATS}.")
    readers = {".graphml": _from_graphml, ".json": _from_json}
    try:
        return readers.get(path.suffix.lower(), _from_lines)(path)
    except GraphError as problem:
        raise GraphError(f"{path}: {problem}") from None


def _from_graphml(path: Path) -> LatentGraph:
    from xml.etree.ElementTree import ParseError

    import networkx as nx

    try:
        graph = nx.read_graphml(path)
    except (ParseError, nx.NetworkXError, KeyError, ValueError) as problem:
        raise GraphError(f"not GraphML ({problem}); write it with networkx, or use .tsv.") from None
    return LatentGraph.from_networkx(graph)


def _from_json(path: Path) -> LatentGraph:
    expected = "expected an object with lists 'edges', and optionally 'observed' and 'latents'"
    try:
        content = json.loads(read_text(path))
    except json.JSONDecodeError as problem:
        raise GraphError(f"not JSON ({problem}); {expected}.") from None
    parts = content if isinstance(content, dict) else {}
    lists = [parts.get("edges"), parts.get("observed", []), parts.get("latents", [])]
    if not all(isinstance(part, list) for part in lists):
        raise GraphError(f"not a graph; {expected}.")
    return _from_parts(*lists)


def _from_lines(path: Path) -> LatentGraph:
    """A graph from lines of an edge list; blanks or tabs separate the fields."""
    edges: list[Edge] = []
    special: dict[str, list[str]] = {"latent": [], "observed": []}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        word, _, rest = line.lstrip("# ").partition(":")
        if line.startswith("#") and word.strip() in special:
            special[word.strip()] += rest.split()
        elif line.strip() and not line.startswith("#"):
            edges.append(_edge_of(line, number))
    return _from_parts(edges, special["observed"], special["latent"])


def _edge_of(line: str, number: int) -> Edge:
    """`tail head`, with a mark behind them or between them."""
    fields = line.split()
    if len(fields) == 3 and fields[1] in ("->", "<->"):
        fields = [fields[0], fields[2], fields[1]]
    if len(fields) == 2:
        return fields[0], fields[1]
    if len(fields) == 3 and fields[2] in ("->", "<->"):
        return fields[0], fields[1], fields[2]
    raise GraphError(
        f"line {number} is not an edge: {line.strip()[:60]!r}; write 'tail<TAB>head', or "
        "'tail<TAB>head<TAB><->' for a bidirected edge."
    )


def _from_parts(edges: list[Any], observed: list[str], latents: list[str]) -> LatentGraph:
    """Variables are those listed as observed, then the other ends of edges."""
    pairs = [edge[:2] for edge in edges if isinstance(edge, (list, tuple))]
    ends = [end for pair in pairs for end in pair if isinstance(end, str) and end not in latents]
    return LatentGraph.from_edges(
        edges, names=list(dict.fromkeys([*observed, *ends])), latents=latents
    )
