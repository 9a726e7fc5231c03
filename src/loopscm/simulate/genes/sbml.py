"""The deterministic equations of a gene network as an SBML Level 3 model.

Written by libsbml, which is optional. Transcription, translation, and the two decays of a gene
are reactions; the activation of each module is a parameter with an assignment rule. The Langevin
noise has no place in SBML core and is not written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from loopscm.errors import OptionError
from loopscm.simulate.genes.kinetics import Gene, Module
from loopscm.simulate.genes.states import State

LEVEL, VERSION = 3, 1
CELL = "cell"


def as_sbml(name: str, genes: Sequence[Gene], start: State) -> str:
    """The text of an SBML file whose initial levels are `start`."""
    library = _library()
    document = library.SBMLDocument(LEVEL, VERSION)
    model = document.createModel()
    model.setName(name)
    compartment = model.createCompartment()
    compartment.setId(CELL)
    compartment.setConstant(True)
    compartment.setSize(1.0)
    label = _identifiers([gene.id for gene in genes])
    for gene, x, y in zip(genes, start.mrna.tolist(), start.protein.tolist(), strict=True):
        _add_species(model, f"mrna_{label[gene.id]}", f"mRNA of {gene.id}", x)
        _add_species(model, f"protein_{label[gene.id]}", f"protein of {gene.id}", y)
    for gene in genes:
        _add_gene(model, library, gene, label)
    return str(library.writeSBMLToString(document))


def _library() -> Any:
    try:
        return import_module("libsbml")
    except ImportError:
        raise OptionError(
            "SBML is written by libsbml; install it with `pip install 'loopscm[sbml]'`."
        ) from None


def _identifiers(names: Sequence[str]) -> dict[str, str]:
    """Distinct SBML identifiers, as close to the names as the standard allows."""
    result: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        result[name] = plain if plain == name else f"{plain}__{number}"
    return result


def _add_gene(model: Any, library: Any, gene: Gene, label: dict[str, str]) -> None:
    """The parameters, rules, and reactions of one gene."""
    own = label[gene.id]
    mrna, protein = f"mrna_{own}", f"protein_{own}"
    for short, value in (
        ("m", gene.max_transcription),
        ("d", gene.delta_mrna),
        ("t", gene.max_translation),
        ("q", gene.delta_protein),
        *((f"alpha{s}", value) for s, value in enumerate(gene.alpha)),
    ):
        _add_parameter(model, f"{short}_{own}", value)
    for b, module in enumerate(gene.modules):
        _add_module(model, library, module, f"{own}_{b}", label)
    activation = _mixture([f"alpha{s}_{own}" for s in range(len(gene.alpha))], own, 0)
    regulators = [f"protein_{label[source]}" for m in gene.modules for source in m.inputs]
    for reaction, product, reactant, modifiers, law in (
        (f"transcription_{own}", mrna, None, regulators, f"m_{own} * ({activation})"),
        (f"mrna_decay_{own}", None, mrna, [], f"d_{own} * {mrna}"),
        (f"translation_{own}", protein, None, [mrna], f"t_{own} * {mrna}"),
        (f"protein_decay_{own}", None, protein, [], f"q_{own} * {protein}"),
    ):
        _add_reaction(model, library, reaction, (reactant, product), modifiers, law)


def _add_module(
    model: Any, library: Any, module: Module, place: str, label: dict[str, str]
) -> None:
    """k and n of the inputs, and mu by its rule."""
    for i, (k, n) in enumerate(zip(module.k, module.n, strict=True)):
        _add_parameter(model, f"k_{place}_{i}", k)
        _add_parameter(model, f"n_{place}_{i}", n)
    _add_parameter(model, f"mu_{place}", None)
    rule = model.createAssignmentRule()
    rule.setVariable(f"mu_{place}")
    rule.setMath(library.parseL3Formula(_module_formula(module, place, label)))


def _module_formula(module: Module, place: str, label: dict[str, str]) -> str:
    chi = [
        f"(protein_{label[source]} / k_{place}_{i})^n_{place}_{i}"
        for i, source in enumerate(module.inputs)
    ]
    up, down = chi[: len(module.activators)], chi[len(module.activators) :]
    bound = " * ".join(up)
    if not module.binds_as_complex:
        return f"{bound} / ({' * '.join(f'(1 + {c})' for c in chi)})"
    if not down:
        return f"{bound} / (1 + {bound})"
    return f"{bound} / (1 + {bound} + {bound} * {' * '.join(down)})"


def _mixture(states: list[str], own: str, first: int) -> str:
    """The mean activation over on/off modules, of which `first` is the fastest index."""
    if len(states) == 1:
        return states[0]
    mu = f"mu_{own}_{first}"
    pairs: Iterator[str] = iter(states)
    folded = [f"((1 - {mu}) * {off} + {mu} * {on})" for off, on in zip(pairs, pairs, strict=True)]
    return _mixture(folded, own, first + 1)


def _add_species(model: Any, key: str, name: str, level: float) -> None:
    species = model.createSpecies()
    species.setId(key)
    species.setName(name)
    species.setCompartment(CELL)
    species.setInitialAmount(level)
    species.setHasOnlySubstanceUnits(True)
    species.setBoundaryCondition(False)
    species.setConstant(False)


def _add_parameter(model: Any, key: str, value: float | None) -> None:
    """A constant, or without a value a quantity that follows a rule."""
    parameter = model.createParameter()
    parameter.setId(key)
    parameter.setConstant(value is not None)
    if value is not None:
        parameter.setValue(value)


def _add_reaction(
    model: Any,
    library: Any,
    key: str,
    ends: tuple[str | None, str | None],
    modifiers: Sequence[str],
    law: str,
) -> None:
    reaction = model.createReaction()
    reaction.setId(key)
    reaction.setReversible(False)
    reaction.setFast(False)
    for end, create in zip(ends, (reaction.createReactant, reaction.createProduct), strict=True):
        if end is not None:
            reference = create()
            reference.setSpecies(end)
            reference.setStoichiometry(1.0)
            reference.setConstant(True)
    for modifier in modifiers:
        reaction.createModifier().setSpecies(modifier)
    reaction.createKineticLaw().setMath(library.parseL3Formula(law))
