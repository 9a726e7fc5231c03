"""The flat arrays on which the compiled kernels run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loopscm.simulate.genes.kinetics import Gene, Module

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Wiring(NamedTuple):
    """Who regulates whom, as compressed rows.

    Gene i has modules `gene_start[i]:gene_start[i+1]` and activations from `alpha_start[i]`;
    module b has terms `module_start[b]:module_start[b+1]`; term e is the exponential of
    Σ slope·log y − offset over the inputs `term_start[e]:term_start[e+1]`. With chi = (y/k)^n
    a complex has at most two terms, 1/Π chi over its activators and Π chi over its
    deactivators, and mu = 1/(1 + their sum); a module of separate inputs has a term 1/chi or
    chi each, and mu = 1/Π(1 + term).
    """

    gene_start: Integers
    alpha_start: Integers
    module_start: Integers
    is_complex: NDArray[np.bool_]
    term_start: Integers
    offset: Floats
    inputs: Integers
    slope: Floats
    regulators: Integers
    max_states: int


class Rates(NamedTuple):
    """Production and decay rates of mRNA (m, d) and protein (t, q), and all activations."""

    m: Floats
    d: Floats
    t: Floats
    q: Floats
    alpha: Floats


def wire(genes: Sequence[Gene]) -> tuple[Wiring, Rates]:
    """The arrays of a valid network."""
    index = {gene.id: i for i, gene in enumerate(genes)}
    modules = [module for gene in genes for module in gene.modules]
    terms = [_terms(module) for module in modules]
    flat = [term for group in terms for term in group]
    inputs = np.array([index[source] for term in flat for source, _, _ in term], dtype=np.int64)
    wiring = Wiring(
        gene_start=_starts([len(gene.modules) for gene in genes]),
        alpha_start=_starts([len(gene.alpha) for gene in genes]),
        module_start=_starts([len(group) for group in terms]),
        is_complex=np.array([module.binds_as_complex for module in modules], dtype=bool),
        term_start=_starts([len(term) for term in flat]),
        offset=np.array([sum(n * math.log(k) for _, n, k in term) for term in flat], float),
        inputs=inputs,
        slope=np.array([n for term in flat for _, n, _ in term], float),
        regulators=np.unique(inputs),
        max_states=max(len(gene.alpha) for gene in genes),
    )
    fields = ("max_transcription", "delta_mrna", "max_translation", "delta_protein")
    m, d, t, q = (np.array([getattr(gene, field) for gene in genes], float) for field in fields)
    alpha = np.array([value for gene in genes for value in gene.alpha], float)
    return wiring, Rates(m, d, t, q, alpha)


def _terms(module: Module) -> list[list[tuple[str, float, float]]]:
    """The terms of a module, each a list of (regulator, signed exponent, k)."""
    split = len(module.activators)
    entries = [
        (source, -n if i < split else n, k)
        for i, (source, n, k) in enumerate(zip(module.inputs, module.n, module.k, strict=True))
    ]
    if not module.binds_as_complex:
        return [[entry] for entry in entries]
    return [entries[:split], entries[split:]] if module.deactivators else [entries]


def shifted(wiring: Wiring, alpha: Floats, shift: Floats) -> Floats:
    """Activations under a shift of the basal one, clipped to [0, 1] as the original does.

    The shift itself is clipped so that alpha[0] + shift stays in [0, 1]; then it moves every
    activation of the gene, each clipped on its own.
    """
    first = wiring.alpha_start[:-1]
    basal = np.clip(alpha[first] + shift, 0.0, 1.0)
    moved = np.repeat(basal - alpha[first], np.diff(wiring.alpha_start))
    return np.clip(alpha + moved, 0.0, 1.0)


def _starts(sizes: Sequence[int]) -> Integers:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
