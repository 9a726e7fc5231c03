"""Random kinetics: ranges, module laws, activation rules; JSON and its refusals."""

from __future__ import annotations

import copy
import json
import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from gene_oracle import CASES, DATA
from scipy.stats import chisquare, kstest, truncnorm

from loopscm.errors import LoopscmError, ParameterError
from loopscm.simulate import GeneNetwork
from loopscm.simulate.genes import random_kinetics as laws
from loopscm.simulate.genes.kinetics import Interaction

ALPHA = 1e-4


def many_genes(signs, count, seed=0):
    """Genes that all have the same inputs with the given signs."""
    rng = np.random.default_rng(seed)
    edges = [Interaction(f"R{i}", "T", sign) for i, sign in enumerate(signs)]
    names = [f"R{i}" for i in range(len(signs))] + ["T"]
    return [laws.random_genes(names, edges, rng)[-1] for _ in range(count)]


def law_of(name):
    mean, sd, low, high = getattr(laws, name)
    return truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd).cdf


def test_rates_and_constants_follow_their_laws():
    genes = many_genes("++--", 1500)
    half_life = [math.log(2) / gene.delta_mrna for gene in genes]
    assert kstest(half_life, law_of("HALF_LIFE")).pvalue > ALPHA
    half_life = [math.log(2) / gene.delta_protein for gene in genes]
    assert kstest(half_life, law_of("HALF_LIFE")).pvalue > ALPHA
    modules = [module for gene in genes for module in gene.modules]
    k = [value for module in modules for value in module.k]
    assert kstest(k, "uniform", (0.01, 0.99)).pvalue > ALPHA
    n = [value for module in modules for value in module.n]
    assert kstest(n, law_of("HILL_EXPONENT")).pvalue > ALPHA
    complexes = sum(module.binds_as_complex for module in modules)
    assert chisquare([complexes, len(modules) - complexes]).pvalue > ALPHA
    for gene in genes:
        assert gene.max_transcription == gene.delta_mrna
        assert gene.max_translation == gene.delta_protein


def test_module_sizes_follow_the_sequential_law():
    """Three inputs: {0..K} uniform gives sizes 3, 21 or 12 (see the tree), 111."""
    sizes = Counter(
        tuple(sorted(len(m.inputs) for m in gene.modules)) for gene in many_genes("+++", 4000)
    )
    # Two inputs join with 1/2; the third joins one module with 1/2, or one of two with 2/3.
    expected = {(3,): 1 / 4, (1, 2): 1 / 4 + 1 / 3, (1, 1, 1): 1 / 6}
    assert set(sizes) == set(expected)
    observed = [sizes[key] for key in expected]
    assert chisquare(observed, [4000 * v for v in expected.values()]).pvalue > ALPHA


def test_inputs_fill_modules_at_random():
    first = Counter(gene.modules[0].inputs[0] for gene in many_genes("+++", 3000))
    assert chisquare([first[f"R{i}"] for i in range(3)]).pvalue > ALPHA


@pytest.mark.parametrize(
    ("signs", "expected"), [("+", "+"), ("-", "-"), ("++-", "++-"), ("+-+-", "+-+-")]
)
def test_signed_edges_keep_their_signs(signs, expected):
    for gene in many_genes(signs, 200):
        by_source = {edge.source: edge.sign for edge in gene.interactions()}
        assert [by_source[f"R{i}"] for i in range(len(signs))] == list(expected)


def test_unsigned_modules_start_with_activators():
    for gene in many_genes("????", 300):
        for module in gene.modules:
            assert len(module.activators) >= math.ceil(len(module.inputs) / 2)


def test_unknown_signs_in_a_signed_network():
    """A module of unknowns gets one certain activator; known signs keep their role."""
    genes = many_genes("+???", 500)
    roles = Counter()
    for gene in genes:
        for b, module in enumerate(gene.modules):
            assert module.activators
            if "R0" in module.inputs:
                assert gene.is_enhancer(b)
                assert "R0" in module.activators
            elif len(module.inputs) == 2:
                roles[len(module.activators)] += 1
    assert chisquare([roles[1], roles[2]]).pvalue > ALPHA


@pytest.mark.parametrize("signs", ["+", "-", "+-", "++", "--", "++--", "??????"])
def test_activation_rules(signs):
    for gene in many_genes(signs, 300, seed=5):
        alpha = np.array(gene.alpha)
        kinds = [gene.is_enhancer(b) for b in range(len(gene.modules))]
        assert ((alpha >= 0) & (alpha <= 1)).all()
        lowest, highest = {
            (True, False): (0.0, 0.25),
            (False, True): (1.0, 1.0),
            (True, True): (0.25, 0.75),
        }[any(kinds), not all(kinds)]
        assert lowest <= alpha[0] <= highest
        up = sum(1 << b for b, enhancer in enumerate(kinds) if enhancer)
        down = sum(1 << b for b, enhancer in enumerate(kinds) if not enhancer)
        if up:
            assert alpha[up] == pytest.approx(1.0, abs=1e-12)
        if down:
            assert alpha[down] <= 0.25 + 1e-12
        for state in range(len(alpha)):
            for b, enhancer in enumerate(kinds):
                if not state >> b & 1:
                    change = alpha[state | 1 << b] - alpha[state]
                    assert change >= -1e-12 if enhancer else change <= 1e-12


def test_genes_without_inputs_are_fully_active():
    network = GeneNetwork.random([("A", "B")], 0, genes=["A", "B", "C"])
    for gene in (network.genes[0], network.genes[2]):
        assert gene.alpha == (1.0,)
    mrna, protein = network.unregulated()
    assert mrna[0] == protein[0] == 1.0


def test_same_seed_same_kinetics():
    edges = [("A", "B"), ("B", "C"), ("C", "A")]
    assert GeneNetwork.random(edges, 3) == GeneNetwork.random(edges, np.random.default_rng(3))
    assert GeneNetwork.random(edges, 3) != GeneNetwork.random(edges, 4)


# ---- JSON -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_json_round_trip(case, tmp_path):
    network = GeneNetwork.from_json(DATA / f"{case}_kinetics.json")
    network.to_json(tmp_path / "copy.json")
    assert GeneNetwork.from_json(tmp_path / "copy.json") == network
    original = json.loads((DATA / f"{case}_kinetics.json").read_text())
    original.pop("source", None)
    assert json.loads((tmp_path / "copy.json").read_text()) == original


def set_in(document, path, value):
    *parents, last = path
    for key in parents:
        document = document[key]
    if value is None:
        del document[last]
    else:
        document[last] = value


BAD = [
    (("genes", 0, "modules", 0, "activators", 0), "G99", "unknown gene 'G99'"),
    (("genes", 0, "modules", 0, "activators", 0), "G1", "self-loops"),
    (("genes", 4, "modules", 0, "deactivators", 0), "G4", "exactly one module"),
    (("genes", 0, "modules", 0, "activators"), [], "no activator"),
    (("genes", 2, "max_transcription"), -0.5, "rates must be finite"),
    (("genes", 2, "delta_mrna"), 0.0, "finite and positive"),
    (("genes", 2, "delta_protein"), float("nan"), "finite and positive"),
    (("genes", 3, "max_translation"), "fast", "must be a number"),
    (("genes", 3, "max_translation"), True, "must be a number"),
    (("genes", 3, "max_translation"), 10**400, "too large"),
    (("genes", 1, "modules", 0, "k", 0), 0.0, "finite and positive"),
    (("genes", 1, "modules", 0, "n", 0), -2.0, "finite and positive"),
    (("genes", 1, "modules", 0, "n"), [1.0, 2.0], "2 values for 1 inputs"),
    (("genes", 1, "alpha"), [0.1], "2 on/off states"),
    (("genes", 1, "alpha", 1), 1.5, r"lie in \[0, 1\]"),
    (("genes", 1, "id"), "G1", "appears twice"),
    (("genes", 1, "id"), "", "non-empty id"),
    (("genes", 1, "modules", 0, "binds_as_complex"), 1, "true or false"),
    (("genes", 1, "modules"), {}, "must be a list"),
    (("genes", 1, "alpha"), None, "'alpha' is missing"),
    (("genes", 1), 5, "object in braces"),
    (("genes",), [], "no genes"),
]


@pytest.mark.parametrize(("path", "value", "reason"), BAD)
@pytest.mark.parametrize("indent", [None, 1, 4])
def test_bad_kinetics_are_refused_with_line_and_reason(path, value, reason, indent, tmp_path):
    document = json.loads((DATA / "custom10_kinetics.json").read_text())
    changed = copy.deepcopy(document)
    set_in(changed, path, value)
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(changed, indent=indent))
    with pytest.raises(ParameterError, match=reason) as refusal:
        GeneNetwork.from_json(file)
    line = int(str(refusal.value).split("line ")[1].split(":")[0])
    assert str(refusal.value).startswith(f"{file}, line {line}: ")
    if value is not None:  # the culprit starts there, or a list starts one line above
        expected = line_of_change(document, changed, indent)
        assert expected - isinstance(value, list) * bool(indent) <= line <= expected


def line_of_change(before, after, indent):
    """First line in which the two documents differ."""
    old, new = (json.dumps(d, indent=indent).splitlines() for d in (before, after))
    return next((n for n, (a, b) in enumerate(zip(old, new, strict=False), 1) if a != b), len(new))


def test_text_that_is_no_json_is_refused_with_its_line(tmp_path):
    (tmp_path / "bad.json").write_text('{\n "genes": [\n  {,}\n ]\n}')
    with pytest.raises(LoopscmError, match="line 3: not valid JSON"):
        GeneNetwork.from_json(tmp_path / "bad.json")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"genes": [],\n"genes": []}', "line 1: the field 'genes' appears twice"),
        (b'{\n"network": "\xe9"}', "line 2: not text in UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"genes": [' + b"1" * 10_000 + b"]}", "digits"),
    ],
)
def test_hostile_text_is_refused(content, reason, tmp_path):
    (tmp_path / "bad.json").write_bytes(content)
    with pytest.raises(LoopscmError, match=reason):
        GeneNetwork.from_json(tmp_path / "bad.json")


def test_a_byte_order_mark_does_no_harm(tmp_path):
    text = (DATA / "custom10_kinetics.json").read_text()
    (tmp_path / "bom.json").write_text(text, encoding="utf-8-sig")
    expected = GeneNetwork.from_json(DATA / "custom10_kinetics.json")
    assert GeneNetwork.from_json(tmp_path / "bom.json") == expected


def test_braces_and_escapes_inside_strings_do_not_confuse_the_line_count(tmp_path):
    gene = '{"x": [1, {"y": "]"}],\n"id": 7, "modules": []}'
    text = '{\n"network": "a }]\\"{ b",\n"genes": [\n' + gene + "]\n}"
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(LoopscmError, match="line 5: id must be a text"):
        GeneNetwork.from_json(tmp_path / "bad.json")


def test_repr_shows_the_signed_regulators():
    network = GeneNetwork.from_json(DATA / "custom10_kinetics.json")
    lines = repr(network).splitlines()
    assert (
        lines[0] == f"GeneNetwork(custom10: 10 genes, {len(network.interactions())} interactions)"
    )
    assert "  G1 <- -G3" in lines
    assert all(a != b for a, b in pairwise(lines))
