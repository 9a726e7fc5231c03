"""Experiments on a gene network: shifts of basal activation and changes of transcription."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_generator, as_integer, as_matrix, as_real, frozen, listed
from loopscm.errors import OptionError, ParameterError

if TYPE_CHECKING:
    from loopscm.simulate.genes.network import GeneNetwork

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Perturbations:
    """A batch of experiments, one a row.

    `shift[e, i]` is added to the basal activation of gene i in experiment e (and clipped),
    `transcription[e, i]` multiplies its maximal transcription rate.
    """

    shift: Floats
    transcription: Floats

    def __post_init__(self) -> None:
        shift = as_matrix(self.shift, "shift", (None, None), ParameterError)
        scale = as_matrix(self.transcription, "transcription", shift.shape, ParameterError)
        if (scale < 0).any():
            raise ParameterError("transcription factors must not be negative; 0 is a knock-out.")
        object.__setattr__(self, "shift", frozen(shift))
        object.__setattr__(self, "transcription", frozen(scale))

    def __len__(self) -> int:
        return len(self.shift)

    @classmethod
    def none(cls, network: GeneNetwork, n: int) -> Perturbations:
        """n experiments that change nothing."""
        shape = (as_integer(n, "n", minimum=1), network.n_genes)
        return cls(np.zeros(shape), np.ones(shape))

    @classmethod
    def shifts(cls, network: GeneNetwork, shift: Any) -> Perturbations:
        """Experiments with given shifts, one row each."""
        rows = as_matrix(shift, "shift", (None, network.n_genes), ParameterError)
        return cls(rows, np.ones(rows.shape))

    @classmethod
    def multifactorial(
        cls, network: GeneNetwork, n: int, rng: np.random.Generator | int, sd: float = 0.25
    ) -> Perturbations:
        """Weak perturbations of every gene: shifts from N(0, sd²)."""
        sd = as_real(sd, "sd", minimum=0.0)
        shape = (as_integer(n, "n", minimum=1), network.n_genes)
        return cls(sd * as_generator(rng).standard_normal(shape), np.ones(shape))

    @classmethod
    def strong(
        cls, network: GeneNetwork, n: int, rng: np.random.Generator | int, probability: float = 0.33
    ) -> Perturbations:
        """Strong perturbations of some genes: each, with a probability, gets a basal
        activation from U(0, 1), as in the DREAM4 time series.
        """
        probability = as_real(probability, "probability", minimum=0.0)
        if probability > 1:
            raise OptionError(f"probability must be at most 1, got {probability:g}.")
        rng = as_generator(rng)
        shape = (as_integer(n, "n", minimum=1), network.n_genes)
        hit = rng.random(shape) < probability
        shift = np.where(hit, rng.random(shape) - network.basal_activation(), 0.0)
        return cls(shift, np.ones(shape))

    @classmethod
    def knockouts(cls, network: GeneNetwork, genes: Sequence[str] | None = None) -> Perturbations:
        """One knock-out a row: transcription rate 0, decay unchanged; all genes by default."""
        return _scaled(network, genes, 0.0)

    @classmethod
    def knockdowns(cls, network: GeneNetwork, genes: Sequence[str] | None = None) -> Perturbations:
        """One knock-down a row: half the transcription rate; all genes by default."""
        return _scaled(network, genes, 0.5)


def _scaled(network: GeneNetwork, genes: Sequence[str] | None, factor: float) -> Perturbations:
    chosen = network.names if genes is None else tuple(genes)
    unknown = [gene for gene in chosen if gene not in network.names]
    if unknown or not chosen or isinstance(genes, str):
        raise ParameterError(
            f"genes must be a non-empty list of names of this network; unknown: {listed(unknown)}."
        )
    scale = np.ones((len(chosen), network.n_genes))
    for row, gene in enumerate(chosen):
        scale[row, network.names.index(gene)] = factor
    return Perturbations(np.zeros(scale.shape), scale)
