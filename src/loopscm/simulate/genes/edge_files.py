"""Gene networks as TSV and GraphML files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError
from xml.parsers import expat

from loopscm.errors import GraphError
from loopscm.simulate.genes.interactions import checked, interaction, of_networkx
from loopscm.simulate.genes.kinetics import Interaction
from loopscm.simulate.genes.text_file import read_text


def read_network(
    path: str | Path, genes: Sequence[str] | None = None
) -> tuple[list[str], list[Interaction]]:
    """Gene names and interactions from a `.tsv` or `.graphml` file.

    TSV lines are `source target [sign]`; every line has a sign or none has. The gold-standard
    form with a third column of 1 (edge) and 0 (no edge) is read too. Lines that start with #
    are comments; names in `# observed: ...` and `# latent: ...` come first, as in the edge
    lists of the command line. Refusals name the line.
    """
    if Path(path).suffix.lower() == ".graphml":
        return _read_graphml(path, genes)
    edges: list[Interaction] = []
    places: list[str] = []
    declared: list[str] = []
    width = 0
    for number, line in enumerate(read_text(path, GraphError).splitlines(), 1):
        if line.startswith("#"):
            declared += _declared(line)
        if line.startswith("#") or not line.strip():
            continue
        cells, place = [cell.strip() for cell in line.split("\t")], f"{path}, line {number}"
        width = width or len(cells)
        if len(cells) != width or len(cells) not in (2, 3):
            raise GraphError(
                f"{place}: expected `source<TAB>target` with a sign on every line or on none, "
                f"got {len(cells)} column(s)."
            )
        if cells[2:] == ["0"]:
            continue
        edges.append(interaction(cells[:2] if cells[2:] == ["1"] else cells, place))
        places.append(place)
    if genes is None and declared:
        genes = list(dict.fromkeys([*declared, *(end for edge in edges for end in edge[:2])]))
    return checked(edges, genes, places)


def write_network(path: str | Path, names: Sequence[str], edges: Sequence[Interaction]) -> None:
    """Write interactions as `.tsv` or `.graphml`; TSV omits signs when all are unknown.

    In TSV a comment names all genes when some have no edge.
    """
    if Path(path).suffix.lower() == ".graphml":
        _write_graphml(path, names, edges)
        return
    signed = any(edge.sign != "?" for edge in edges)
    rows = ("\t".join(edge if signed else edge[:2]) for edge in edges)
    lines = [*_declaration(names, edges), *rows]
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _declaration(names: Sequence[str], edges: Sequence[Interaction]) -> list[str]:
    """The comment that `_declared` reads, where edges alone would lose a gene."""
    if set(names) <= {end for edge in edges for end in edge[:2]}:
        return []
    spaced = [name for name in names if len(name.split()) != 1]
    if spaced:
        raise GraphError(
            f"gene {spaced[0]!r} has a space in its name, which TSV cannot hold where genes "
            "without edges must be listed; write .graphml."
        )
    return [f"# observed: {' '.join(names)}"]


def _declared(comment: str) -> list[str]:
    """Names in a comment `# observed: A B` or `# latent: L`; none in other comments."""
    word, _, rest = comment.lstrip("# ").partition(":")
    return rest.split() if word.strip() in ("observed", "latent") else []


def _read_graphml(
    path: str | Path, genes: Sequence[str] | None
) -> tuple[list[str], list[Interaction]]:
    import networkx as nx

    text = read_text(path, GraphError)
    try:
        lines = _edge_lines(text, path)
        graph = nx.parse_graphml(text.encode(), force_multigraph=True)
    except (expat.ExpatError, ParseError, nx.NetworkXError, KeyError) as problem:
        raise GraphError(f"{path}: not readable as GraphML ({problem}).") from None
    repeated = {pair: iter(numbers) for pair, numbers in lines.items()}
    places = [f"{path}, line {next(repeated[a, b])}" for a, b in graph.edges()]
    return of_networkx(graph, genes, places)


def _edge_lines(text: str, path: str | Path) -> dict[tuple[str, str], list[int]]:
    """The lines of the `edge` elements between each pair of nodes."""
    lines: dict[tuple[str, str], list[int]] = {}
    parser = expat.ParserCreate(namespace_separator=" ")

    def start(tag: str, attributes: Any) -> None:
        if tag.rpartition(" ")[2] != "edge":
            return
        number = parser.CurrentLineNumber
        if not {"source", "target"} <= attributes.keys():
            raise GraphError(f"{path}, line {number}: the edge needs a source and a target.")
        lines.setdefault((attributes["source"], attributes["target"]), []).append(number)

    parser.StartElementHandler = start
    parser.Parse(text.encode(), True)
    return lines


def _write_graphml(path: str | Path, names: Sequence[str], edges: Sequence[Interaction]) -> None:
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((edge.source, edge.target, {"sign": edge.sign}) for edge in edges)
    nx.write_graphml(graph, path)
