"""Edge lists: accepted forms, TSV and GraphML files, refusals."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from loopscm.errors import GraphError
from loopscm.graph import LatentGraph
from loopscm.simulate import gene_network

SIGNED = [("A", "B", "+"), ("B", "C", "-"), ("C", "A", "+-"), ("A", "C", "?")]


def pairs(network):
    return {(edge.source, edge.target) for edge in network.interactions()}


def test_every_form_of_edges_gives_the_same_network(tmp_path):
    matrix = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], bool)
    genes = ["G1", "G2", "G3"]
    edges = [("G1", "G2"), ("G2", "G3"), ("G3", "G1")]
    file = tmp_path / "net.tsv"
    file.write_text("".join(f"{a}\t{b}\n" for a, b in edges))
    forms = [edges, matrix, LatentGraph(matrix, names=genes), file, str(file)]
    networks = [gene_network(form, 7) for form in forms]
    assert all(network == networks[0] for network in networks)
    assert networks[0].names == tuple(genes)
    assert (networks[0].graph().directed == matrix).all()


def test_rows_of_text_arrays_and_numbered_genes_are_edges():
    expected = gene_network([("0", "1"), ("1", "2")], 3)
    for form in (
        [(0, 1), (1, 2)],
        np.array([["0", "1"], ["1", "2"]]),
        np.argwhere(np.eye(3, k=1)).tolist(),
    ):
        assert gene_network(form, 3) == expected


def test_latents_become_regulators_without_regulators():
    graph = LatentGraph([[0, 1], [0, 0]], [[1, 1]], ["A", "B"])
    network = gene_network(graph, 8)
    assert network.names == ("A", "B", "L1")
    assert pairs(network) == {("A", "B"), ("L1", "A"), ("L1", "B")}
    assert network.genes[2].modules == ()


@pytest.mark.parametrize("suffix", ["tsv", "graphml"])
@pytest.mark.parametrize("signed", [True, False])
def test_files_round_trip(suffix, signed, tmp_path):
    """Known signs survive; unknown ones are settled when kinetics are drawn."""
    edges = SIGNED if signed else [edge[:2] for edge in SIGNED]
    network = gene_network(edges, 9, genes=["C", "B", "A"])
    file = tmp_path / f"net.{suffix}"
    network.write_edges(file)
    again = gene_network(file, 9, genes=["C", "B", "A"])
    assert set(again.interactions()) == set(network.interactions())
    if signed:
        signs = {edge[:2]: edge.sign for edge in network.interactions()}
        assert signs["A", "B"] == "+"
        assert signs["B", "C"] == "-"


@pytest.mark.parametrize("suffix", ["tsv", "graphml"])
def test_genes_without_edges_survive_files(suffix, tmp_path):
    network = gene_network([("B", "A", "-")], 9, genes=["C", "B", "A"])
    network.write_edges(tmp_path / f"net.{suffix}")
    assert gene_network(tmp_path / f"net.{suffix}", 9) == network


def test_names_with_spaces_are_refused_where_tsv_cannot_hold_them(tmp_path):
    network = gene_network([("B", "A")], 9, genes=["gene C", "B", "A"])
    with pytest.raises(GraphError, match=r"'gene C'.*write \.graphml"):
        network.write_edges(tmp_path / "net.tsv")


def test_gold_standard_form_and_blank_lines_are_read(tmp_path):
    file = tmp_path / "gold.tsv"
    file.write_text("G1\tG2\t1\n\nG2\tG1\t0\nG3\tG1\t1\n")
    assert pairs(gene_network(file, 0)) == {("G1", "G2"), ("G3", "G1")}


def test_comments_declare_genes_and_byte_order_marks_are_ignored(tmp_path):
    """The edge lists that `loopscm datasets --edges` and `loopscm simulate` write."""
    file = tmp_path / "net.tsv"
    file.write_text("\ufeff# observed: C A B\n# latent: L\n# note: x y\nA\tB\nL\tA\n", "utf8")
    network = gene_network(file, 0)
    assert network.names == ("C", "A", "B", "L")
    assert pairs(network) == {("A", "B"), ("L", "A")}


def test_signed_matrices_and_networkx_graphs():
    matrix = np.array([[0, 1, 0], [0, 0, -1], [1, 0, 0]])
    graph = nx.DiGraph()
    graph.add_nodes_from(["G1", "G2", "G3"])
    for i, j in np.argwhere(matrix):
        graph.add_edge(f"G{i + 1}", f"G{j + 1}", sign="+" if matrix[i, j] > 0 else "-")
    network = gene_network(matrix, 1)
    assert network == gene_network(graph, 1)
    signs = {edge[:2]: edge.sign for edge in network.interactions()}
    assert signs == {("G1", "G2"): "+", ("G2", "G3"): "-", ("G3", "G1"): "+"}


GRAPHML = """<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
 <graph edgedefault="directed">
  <node id="A"/><node id="B"/>
  <edge source="A"
        target="B"/>
  {edge}
 </graph>
</graphml>
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (GRAPHML.format(edge='<edge source="B" target="B"/>'), "line 7: 'B' regulates itself"),
        (GRAPHML.format(edge='<edge source="A" target="B"/>'), "line 7: the edge A -> B appears"),
        (GRAPHML.format(edge='<edge source="A" target="Z"/>'), "line 7: unknown gene 'Z'"),
        (GRAPHML.replace('"directed"', '"undirected"').format(edge=""), "undirected"),
        (GRAPHML.format(edge="<nodes>"), "not readable as GraphML"),
        (GRAPHML.format(edge='<edge source="A"/>'), "line 7: the edge needs a source"),
        ("A\tB\n", "not readable as GraphML"),
    ],
)
def test_bad_graphml_is_refused(text, reason, tmp_path):
    file = tmp_path / "bad.graphml"
    file.write_text(text)
    with pytest.raises(GraphError, match=reason):
        gene_network(file, 0, genes=["A", "B"])


def test_text_in_another_encoding_is_refused_with_its_line(tmp_path):
    file = tmp_path / "net.tsv"
    file.write_bytes(b"A\tB\nA\t\xe9\n")
    with pytest.raises(GraphError, match="line 2: not text in UTF-8"):
        gene_network(file, 0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A\tB\nB\tB\n", "line 2: 'B' regulates itself"),
        ("A\tB\t+\nB\tC\n", "line 2: expected"),
        ("A\tB\t*\n", "line 1: unknown sign"),
        ("A\tB\n\nA\tB\n", "line 3: the edge A -> B appears twice"),
        ("A\tB\nA\tZ\n", "line 2: unknown gene 'Z'"),
        ("A B\n", "line 1: expected"),
        ("\tB\n", "line 1: expected"),
    ],
)
def test_bad_lines_are_refused(text, reason, tmp_path):
    file = tmp_path / "bad.tsv"
    file.write_text(text)
    with pytest.raises(GraphError, match=reason):
        gene_network(file, 0, genes=["A", "B", "C"])


@pytest.mark.parametrize(
    ("edges", "reason"),
    [
        ([("A", "A")], "edge 1: 'A' regulates itself"),
        ([(0.5, 2)], "edge 1: expected"),
        ([(1, 1)], "edge 1: '1' regulates itself"),
        ({("A", "B")}, "edges must be a list"),
        ([[False, True], [False, False]], "edge 1: expected"),
        (3, "edges must be"),
        ([], "no genes"),
        ([("A", "B"), ("A", "B", "-")], "edge 2: the edge A -> B appears twice"),
        (LatentGraph(np.zeros((2, 2)), bidirected=[[0, 1], [1, 0]]), "no bidirected"),
        (np.array([[0, 0.5], [0, 0]]), "booleans"),
        (np.array([[0, -1], [0, 1]]), "self-loops"),
        (nx.Graph([("A", "B")]), "undirected"),
    ],
)
def test_bad_edges_are_refused(edges, reason):
    with pytest.raises(GraphError, match=reason):
        gene_network(edges, 0)


@pytest.mark.parametrize(
    ("genes", "reason"),
    [(["A", "B", "A"], "distinct"), ("AB", "list of non-empty names"), ([], "non-empty")],
)
def test_bad_gene_names_are_refused(genes, reason):
    with pytest.raises(GraphError, match=reason):
        gene_network([("A", "B")], 0, genes=genes)
