"""The gene-network equations written out slowly, by the letter: the oracle of these tests."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data"
CASES = ("custom10", "dream4_size10_1")


def table(case, kind):
    """Rows of a reference file."""
    with (DATA / f"{case}_{kind}.csv").open() as stream:
        return list(csv.DictReader(stream))


def column(rows, key):
    """One column as numbers."""
    return np.array([float(row[key]) for row in rows])


def activation(gene, levels):
    """f of one gene from protein levels by name: the sum over all module states."""
    mus = []
    for module in gene.modules:
        chi = {
            j: (levels[j] / k) ** n
            for j, k, n in zip(module.inputs, module.k, module.n, strict=True)
        }
        up = np.prod([chi[j] for j in module.activators])
        down = np.prod([chi[j] for j in module.deactivators])
        if not module.binds_as_complex:
            mus.append(up / np.prod([1 + c for c in chi.values()]))
        elif module.deactivators:
            mus.append(up / (1 + up + up * down))
        else:
            mus.append(up / (1 + up))
    total = 0.0
    for state, bits in enumerate(product((0, 1), repeat=len(mus))):
        bits = bits[::-1]  # least significant bit first
        weight = np.prod([mu if bit else 1 - mu for mu, bit in zip(mus, bits, strict=True)])
        total += gene.alpha[state] * weight
    return total


def rates(genes, x, y):
    """Production and decay of mRNA and protein: V_x, D_x, V_y, D_y."""
    levels = {gene.id: level for gene, level in zip(genes, y, strict=True)}
    f = np.array([activation(gene, levels) for gene in genes])
    m, d, t, q = (
        np.array([getattr(gene, name) for gene in genes])
        for name in ("max_transcription", "delta_mrna", "max_translation", "delta_protein")
    )
    return m * f, d * x, t * x, q * y


def drift(genes, z):
    """dz/dt of the stacked state."""
    x, y = np.split(z, 2)
    made_x, lost_x, made_y, lost_y = rates(genes, x, y)
    return np.concatenate([made_x - lost_x, made_y - lost_y])


def langevin_step(genes, z, normal, h, c):
    """One Milstein step for Stratonovich noise; the new state and the support point."""

    def amplitude(state):
        made_x, lost_x, made_y, lost_y = rates(genes, *np.split(state, 2))
        return c * np.sqrt(np.concatenate([made_x + lost_x, made_y + lost_y]))

    force, spread = drift(genes, z), amplitude(z)
    support = z + force * h + spread * np.sqrt(h)
    wiener = np.sqrt(h) * normal
    correction = (amplitude(support) - spread) * wiener**2 / (2 * np.sqrt(h))
    return np.maximum(z + force * h + spread * wiener + correction, 0), support
