"""Random kinetics for a given set of regulatory edges, by the laws of GeneNetWeaver."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from loopscm.simulate.genes.kinetics import Gene, Interaction, Module, Sign

# (mean, standard deviation, lowest, highest) of normals truncated by rejection.
Law = tuple[float, float, float, float]
HALF_LIFE: Law = (27.5, 7.5, 5.0, 50.0)
HILL_EXPONENT: Law = (2.0, 2.0, 1.0, 10.0)
MODULE_EFFECT: Law = (0.625, 0.125, 0.25, 1.0)
LOW_BASAL_RATE: Law = (0.0, 0.05, 0.0, 0.25)
MEDIUM_BASAL_RATE: Law = (0.5, 1 / 12, 0.25, 0.75)
DISSOCIATION = (0.01, 1.0)  # uniform


def random_genes(
    names: Sequence[str], edges: Sequence[Interaction], rng: np.random.Generator
) -> tuple[Gene, ...]:
    """Genes in the order of `names`; per gene half-lives, then modules, then activations."""
    signed = any(edge.sign in "+-" for edge in edges)
    inputs: dict[str, list[Interaction]] = {name: [] for name in names}
    for edge in edges:
        inputs[edge.target].append(edge)
    return tuple(_gene(name, inputs[name], signed, rng) for name in names)


def truncated_normal(law: Law, rng: np.random.Generator) -> float:
    """One draw, by rejection."""
    mean, sd, lowest, highest = law
    while True:
        value = rng.normal(mean, sd)
        if lowest <= value <= highest:
            return float(value)


def _gene(name: str, inputs: list[Interaction], signed: bool, rng: np.random.Generator) -> Gene:
    delta_mrna = math.log(2) / truncated_normal(HALF_LIFE, rng)
    delta_protein = math.log(2) / truncated_normal(HALF_LIFE, rng)
    drawn = [_module(group, signed, rng) for group in _partition(inputs, rng)]
    modules = tuple(module for module, _ in drawn)
    alpha = _activations([enhancer for _, enhancer in drawn], rng)
    return Gene(name, delta_mrna, delta_mrna, delta_protein, delta_protein, alpha, modules)


def _partition(inputs: list[Interaction], rng: np.random.Generator) -> list[list[Interaction]]:
    """Modules: each input opens a new one or joins one, all K + 1 choices equally likely.

    That fixes the sizes only; the inputs then fill the modules in random order.
    """
    sizes: list[int] = []
    for _ in inputs:
        choice = int(rng.integers(len(sizes) + 1))
        if choice == len(sizes):
            sizes.append(0)
        sizes[choice] += 1
    shuffled = iter([inputs[i] for i in rng.permutation(len(inputs))])
    return [[next(shuffled) for _ in range(size)] for size in sizes]


def _module(
    inputs: list[Interaction], signed: bool, rng: np.random.Generator
) -> tuple[Module, bool]:
    """A module with random type, roles, and constants, and whether it is an enhancer."""
    balance = sum({"+": 1, "-": -1}.get(edge.sign, 0) for edge in inputs)
    enhancer = balance > 0 or (balance == 0 and _coin(rng))
    as_complex = _coin(rng)
    activating = _roles([edge.sign for edge in inputs], "+" if enhancer else "-", signed, rng)
    roles = list(zip(inputs, activating, strict=True))
    activators = tuple(edge.source for edge, active in roles if active)
    deactivators = tuple(edge.source for edge, active in roles if not active)
    k = tuple(float(rng.uniform(*DISSOCIATION)) for _ in inputs)
    n = tuple(truncated_normal(HILL_EXPONENT, rng) for _ in inputs)
    return Module(activators, deactivators, k, n, as_complex), enhancer


def _roles(signs: list[Sign], own: str, signed: bool, rng: np.random.Generator) -> list[bool]:
    """Which inputs are activators; `own` is the sign that activates this type of module."""
    if not signed:
        certain = math.ceil(len(signs) / 2)
        return [i < certain or _coin(rng) for i in range(len(signs))]
    active = [sign == own for sign in signs]
    unknown = [i for i, sign in enumerate(signs) if sign not in ("+", "-")]
    if not any(active):
        active[unknown.pop(0)] = True
    for i in unknown:
        active[i] = _coin(rng)
    return active


def _activations(enhancers: list[bool], rng: np.random.Generator) -> tuple[float, ...]:
    """Relative activation of every on/off state of the modules."""
    effects = [(1 if e else -1) * truncated_normal(MODULE_EFFECT, rng) for e in enhancers]
    basal = 1.0
    if any(enhancers):
        basal = truncated_normal(LOW_BASAL_RATE if all(enhancers) else MEDIUM_BASAL_RATE, rng)
    _adjust(effects, basal, rng)
    total = np.full(1 << len(effects), basal)
    for state in range(len(total)):
        total[state] += sum(e for b, e in enumerate(effects) if state >> b & 1)
    return tuple(np.clip(total, 0.0, 1.0).tolist())


def _adjust(effects: list[float], basal: float, rng: np.random.Generator) -> None:
    """Make full activation reach 1 and full repression a low rate, by the weakest effect."""
    rising = [b for b, effect in enumerate(effects) if effect > 0]
    falling = [b for b, effect in enumerate(effects) if effect < 0]
    top = basal + sum(effects[b] for b in rising)
    if rising and top < 1:
        effects[min(rising, key=lambda b: effects[b])] += 1 - top
    bottom = basal + sum(effects[b] for b in falling)
    if falling and bottom > LOW_BASAL_RATE[3]:
        target = truncated_normal(LOW_BASAL_RATE, rng)
        effects[max(falling, key=lambda b: effects[b])] += target - bottom


def _coin(rng: np.random.Generator) -> bool:
    return bool(rng.random() < 0.5)
