"""SBML files, read back by libsbml and evaluated term by term."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from gene_oracle import CASES, DATA, drift

from loopscm.errors import OptionError
from loopscm.simulate import GeneNetwork
from loopscm.simulate.genes.kinetics import Gene

libsbml = pytest.importorskip("libsbml")


def value(node, known):
    """The number an expression tree stands for."""
    if node.isName():
        return known[node.getName()]
    if node.isNumber():
        return node.getValue()
    parts = [value(node.getChild(i), known) for i in range(node.getNumChildren())]
    kind = node.getType()
    if kind == libsbml.AST_PLUS:
        return sum(parts)
    if kind == libsbml.AST_TIMES:
        return math.prod(parts)
    if kind == libsbml.AST_MINUS:
        return parts[0] - parts[1]
    if kind == libsbml.AST_DIVIDE:
        return parts[0] / parts[1]
    assert kind in (libsbml.AST_POWER, libsbml.AST_FUNCTION_POWER)
    return parts[0] ** parts[1]


def change(model, levels):
    """d/dt of every species by its reactions."""
    known = dict(levels)
    for i in range(model.getNumParameters()):
        parameter = model.getParameter(i)
        if parameter.getConstant():
            known[parameter.getId()] = parameter.getValue()
    for i in range(model.getNumRules()):
        rule = model.getRule(i)
        known[rule.getVariable()] = value(rule.getMath(), known)
    total = dict.fromkeys(levels, 0.0)
    for i in range(model.getNumReactions()):
        reaction = model.getReaction(i)
        speed = value(reaction.getKineticLaw().getMath(), known)
        for j in range(reaction.getNumReactants()):
            total[reaction.getReactant(j).getSpecies()] -= speed
        for j in range(reaction.getNumProducts()):
            total[reaction.getProduct(j).getSpecies()] += speed
    return np.array(list(total.values()))


def read(network, tmp_path):
    network.to_sbml(tmp_path / "net.xml")
    document = libsbml.readSBMLFromFile(str(tmp_path / "net.xml"))
    document.setConsistencyChecks(libsbml.LIBSBML_CAT_UNITS_CONSISTENCY, False)
    document.setConsistencyChecks(libsbml.LIBSBML_CAT_MODELING_PRACTICE, False)
    assert document.checkConsistency() == 0, document.getErrorLog().toString()
    return document


def networks():
    many = [(f"R{j}", "T") for j in range(7)] + [("T", "R0"), ("R1", "R0")]
    return [
        *(GeneNetwork.from_json(DATA / f"{case}_kinetics.json") for case in CASES),
        *(GeneNetwork.random(many, seed, name="seven inputs") for seed in range(3)),
    ]


@pytest.mark.parametrize("network", networks(), ids=lambda network: network.name)
def test_reactions_are_the_equations(network, tmp_path):
    document = read(network, tmp_path)
    model, p = document.getModel(), network.n_genes
    species = [model.getSpecies(i) for i in range(model.getNumSpecies())]
    keys = [entry.getId() for entry in species]
    started = np.array([entry.getInitialAmount() for entry in species])
    unregulated = network.unregulated()
    np.testing.assert_allclose(started[0::2], unregulated.mrna, rtol=1e-14)  # 15 digits
    np.testing.assert_allclose(started[1::2], unregulated.protein, rtol=1e-14)
    rng = np.random.default_rng(0)
    for _ in range(5):
        z = rng.uniform(0, 1.5, 2 * p)
        levels = dict(zip(keys, z.reshape(2, p).T.ravel(), strict=True))
        found = change(model, levels).reshape(p, 2).T.ravel()
        np.testing.assert_allclose(found, drift(network.genes, z), rtol=1e-12, atol=1e-14)


def test_names_that_are_no_identifiers(tmp_path):
    genes = tuple(
        Gene(name, 1.0, 1.0, 1.0, 1.0, (1.0,), ()) for name in ("lac I", "lac_I", "β-1", "1")
    )
    model = read(GeneNetwork(genes), tmp_path).getModel()
    names = [model.getSpecies(i).getName() for i in range(model.getNumSpecies())]
    assert names == [f"{kind} of {gene.id}" for gene in genes for kind in ("mRNA", "protein")]
    assert len({model.getSpecies(i).getId() for i in range(8)}) == 8


def test_without_the_library_the_answer_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "libsbml", None)
    with pytest.raises(OptionError, match=r"loopscm\[sbml\]"):
        GeneNetwork.random([("A", "B")], 0).to_sbml(tmp_path / "net.xml")
