"""Worlds to test in: the paper's random models, simulated gene networks, named scenarios."""

from loopscm.simulate.genes.front import expression, gene_network
from loopscm.simulate.genes.langevin import Langevin
from loopscm.simulate.genes.network import GeneNetwork
from loopscm.simulate.genes.noise import measured, normalised
from loopscm.simulate.genes.perturbations import Perturbations
from loopscm.simulate.protocol import random_graph, random_scm
from loopscm.simulate.regulation import regulatory_graph
from loopscm.simulate.scenarios import Scenario, scenario, scenario_families
from loopscm.simulate.stress import (
    dense_cycles,
    hub_latents,
    near_unit_radius,
    rescaled,
    stressed_sample,
    unequal_scales,
)

__all__ = [
    "GeneNetwork",
    "Langevin",
    "Perturbations",
    "Scenario",
    "dense_cycles",
    "expression",
    "gene_network",
    "hub_latents",
    "measured",
    "near_unit_radius",
    "normalised",
    "random_graph",
    "random_scm",
    "regulatory_graph",
    "rescaled",
    "scenario",
    "scenario_families",
    "stressed_sample",
    "unequal_scales",
]
