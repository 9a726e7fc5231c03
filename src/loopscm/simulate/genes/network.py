"""Gene regulatory networks with GeneNetWeaver's dynamics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loopscm._checks import as_choice, as_generator, as_real, as_vector, listed
from loopscm._progress import Progress
from loopscm.errors import OptionError, ParameterError
from loopscm.graph import LatentGraph
from loopscm.simulate._parallel import run_blocks
from loopscm.simulate.genes.edge_files import read_network, write_network
from loopscm.simulate.genes.interactions import as_network
from loopscm.simulate.genes.json_format import format_kinetics, read_kinetics
from loopscm.simulate.genes.kinetics import Gene, Interaction, check_genes
from loopscm.simulate.genes.langevin import (
    RECORDS,
    Langevin,
    Record,
    Runs,
    as_settings,
    run_many,
)
from loopscm.simulate.genes.perturbations import Perturbations
from loopscm.simulate.genes.random_kinetics import random_genes
from loopscm.simulate.genes.states import State, SteadyStates, TimeSeries, stack, unstack
from loopscm.simulate.genes.wiring import Rates, Wiring, shifted, wire

Floats = NDArray[np.float64]
GeneVector = ArrayLike | Mapping[str, float]


@dataclass(frozen=True, repr=False)
class GeneNetwork:
    """Genes that regulate each other through their proteins; see the user page on worlds.

    Deterministic methods return the exact solution of the equations; "recorded" states follow
    the original's stopping rule on that exact trajectory. All experiments start from the
    recorded wild type.
    """

    genes: tuple[Gene, ...]
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "genes", tuple(self.genes))
        check_genes(self.genes)

    # ---- construction and files ---------------------------------------------------------

    @classmethod
    def from_json(cls, path: str | Path) -> GeneNetwork:
        """Read kinetics; a bad file is refused with the line and the reason."""
        name, genes = read_kinetics(path)
        return cls(genes, name)

    def to_json(self, path: str | Path) -> None:
        """Write the kinetics; `from_json` reads back an equal network."""
        Path(path).write_text(self.to_text(), encoding="utf-8")

    def to_text(self) -> str:
        """The text of the kinetics file."""
        return format_kinetics(self.name, self.genes)

    @classmethod
    def random(
        cls,
        edges: Any,
        rng: np.random.Generator | int,
        *,
        genes: Sequence[str] | None = None,
        name: str = "",
    ) -> GeneNetwork:
        """Random kinetics for regulatory edges.

        Parameters
        ----------
        edges : list of (source, target) or (source, target, sign) with sign `+ - +- ?`, a
            matrix of 0 and 1, or of -1, 0, and 1 (row regulates column), a LatentGraph (latents
            become genes without regulators), a networkx DiGraph, or the path of a `.tsv` or
            `.graphml` file.
        rng : generator or seed.
        genes : names in state order, needed for genes without any edge; by default the order
            of appearance.
        """
        read = read_network if isinstance(edges, (str, Path)) else as_network
        names, interactions = read(edges, genes)
        return cls(random_genes(names, interactions, as_generator(rng)), name)

    def to_sbml(self, path: str | Path) -> None:
        """Write the deterministic equations as SBML, from the unregulated state.

        Needs libsbml (`pip install 'loopscm[sbml]'`).
        """
        from loopscm.simulate.genes.sbml import as_sbml

        text = as_sbml(self.name, self.genes, self.unregulated())
        Path(path).write_text(text, encoding="utf-8")

    def write_edges(self, path: str | Path) -> None:
        """Write the signed edges as `.tsv` or `.graphml`."""
        write_network(path, self.names, self.interactions())

    # ---- structure ----------------------------------------------------------------------

    @property
    def n_genes(self) -> int:
        """Number of genes."""
        return len(self.genes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the genes, in state order."""
        return tuple(gene.id for gene in self.genes)

    def interactions(self) -> list[Interaction]:
        """Signed edges, grouped by target."""
        return [edge for gene in self.genes for edge in gene.interactions()]

    def graph(self) -> LatentGraph:
        """The regulatory graph, all genes observed."""
        index = {name: i for i, name in enumerate(self.names)}
        directed = np.zeros((self.n_genes, self.n_genes), bool)
        for edge in self.interactions():
            directed[index[edge.source], index[edge.target]] = True
        return LatentGraph(directed, names=self.names)

    def basal_activation(self) -> Floats:
        """Relative activation of each gene with all modules off."""
        return np.array([gene.alpha[0] for gene in self.genes])

    @cached_property
    def _wired(self) -> tuple[Wiring, Rates]:
        return wire(self.genes)

    # ---- deterministic dynamics ---------------------------------------------------------

    def unregulated(self) -> State:
        """Levels with all modules off, where the wild-type run starts."""
        _, rates = self._wired
        mrna = rates.m * self.basal_activation() / rates.d
        return State(mrna, rates.t * mrna / rates.q)

    def wild_type(self) -> State:
        """The recorded wild type: the state when the original's stopping rule first passes."""
        return unstack(self._wild_type.copy())

    @cached_property
    def _wild_type(self) -> Floats:
        return self._settle(stack(self.unregulated()), self._wired[1])[0]

    def fixed_point(
        self, shift: GeneVector | None = None, *, transcription: GeneVector | None = None
    ) -> State:
        """The exact root that the trajectory from the wild type runs into.

        `shift` moves basal activations, `transcription` multiplies maximal rates. A network
        that oscillates has no such root and is refused.
        """
        from loopscm.simulate.genes.equilibrium import fixed_point

        wiring, _ = self._wired
        return unstack(fixed_point(self._wild_type, wiring, self._rates(shift, transcription)))

    def trajectory(
        self,
        times: ArrayLike,
        shift: GeneVector | None = None,
        start: Sequence[ArrayLike] | None = None,
        *,
        transcription: GeneVector | None = None,
    ) -> State:
        """Exact levels at non-decreasing times, rows of the returned mRNA and protein.

        `start` is (mRNA, protein) at time 0, the recorded wild type by default. A shift may
        be a vector, or a mapping from names of genes to numbers.
        """
        from loopscm.simulate.genes.equilibrium import follow

        at = _as_times(times)
        z = self._wild_type.copy() if start is None else self._as_start(start)
        return unstack(follow(z, at, self._wired[0], self._rates(shift, transcription)))

    def steady_states(
        self,
        perturbations: Perturbations,
        *,
        n_jobs: int = 1,
        progress: Progress | None = None,
    ) -> SteadyStates:
        """Recorded steady states of experiments, by the original's stopping rule."""
        self._check_width(perturbations)
        z = np.empty((len(perturbations), 2 * self.n_genes))
        times, settled = np.empty(len(z)), np.empty(len(z), bool)

        def task(e: int) -> int:
            rates = self._rates(perturbations.shift[e], perturbations.transcription[e])
            z[e], times[e], settled[e] = self._settle(self._wild_type, rates)
            return 1

        run_blocks(task, len(z), len(z), "steady states", n_jobs, progress)
        return SteadyStates(*unstack(z), times, settled)

    # ---- stochastic dynamics ------------------------------------------------------------

    def sample(
        self,
        n: int,
        rng: np.random.Generator | int,
        record: Record = "state",
        n_jobs: int = 1,
        *,
        settings: Langevin | None = None,
        progress: Progress | None = None,
    ) -> Floats:
        """mRNA of n independent unperturbed cells, shape (n, genes)."""
        none = Perturbations.none(self, n)
        options: dict[str, Any] = {"settings": settings, "n_jobs": n_jobs, "progress": progress}
        return self.stochastic_states(none, rng, record, **options).mrna

    def stochastic_states(
        self,
        perturbations: Perturbations,
        rng: np.random.Generator | int,
        record: Record = "state",
        *,
        settings: Langevin | None = None,
        n_jobs: int = 1,
        progress: Progress | None = None,
    ) -> State:
        """End states of stochastic experiments, each a new run from the wild type.

        `record="state"` returns the state of the equations, `"support"` the support point of
        the last step, which is what GeneNetWeaver records (a small upward shift).
        """
        as_choice(record, "record", RECORDS)
        self._check_width(perturbations)
        generator, options = as_generator(rng), as_settings(settings)
        runs = self._runs(perturbations, options, n_jobs)
        z = run_many(
            runs,
            *self._wired,
            generator,
            settings=options,
            record=record,
            n_jobs=n_jobs,
            progress=progress,
        )
        return unstack(z)

    def time_series(
        self,
        shift: GeneVector | None = None,
        rng: np.random.Generator | int | None = None,
        *,
        duration: float = 1000.0,
        every: float = 50.0,
        until: float = 500.0,
        record: Record = "state",
        settings: Langevin | None = None,
    ) -> TimeSeries:
        """One series from the wild type with `shift` present up to `until`, then removed.

        Deterministic without `rng`. Stochastic series follow a burn-in; with
        `record="support"` their first row is, as in the original, a wild-type sample that
        does not lie on the series.
        """
        from loopscm.simulate.genes.time_series import deterministic_series, stochastic_series

        as_choice(record, "record", RECORDS)
        plan = _series_plan(duration, every, until)
        shift = self._as_gene_vector(shift, "shift", 0.0)
        if rng is None:
            return deterministic_series(self, shift, *plan)
        return stochastic_series(
            self, shift, *plan, as_generator(rng), record, as_settings(settings)
        )

    # ---- helpers ------------------------------------------------------------------------

    def _rates(self, shift: GeneVector | None, transcription: GeneVector | None = None) -> Rates:
        wiring, rates = self._wired
        moved = shifted(wiring, rates.alpha, self._as_gene_vector(shift, "shift", 0.0))
        scale = self._as_gene_vector(transcription, "transcription", 1.0)
        if (scale < 0).any():
            raise ParameterError("transcription factors must not be negative; 0 is a knock-out.")
        return rates._replace(m=rates.m * scale, alpha=moved)

    def _settle(self, start: Floats, rates: Rates) -> tuple[Floats, float, bool]:
        from loopscm.simulate.genes.equilibrium import settle

        return settle(start, self._wired[0], rates)

    def _runs(self, perturbations: Perturbations, settings: Langevin, n_jobs: int) -> Runs:
        """The parameters of every run; identical experiments share one row."""
        rows = perturbations
        if not rows.shift.any() and (rows.transcription == 1).all():
            rows = Perturbations.none(self, 1)
        times = self.steady_states(rows, n_jobs=n_jobs).times
        rates = [self._rates(*row) for row in zip(rows.shift, rows.transcription, strict=True)]
        durations = settings.durations(times)
        if len(rows) < len(perturbations):
            durations = np.repeat(durations, len(perturbations))
        m, alpha = np.stack([r.m for r in rates], 1), np.stack([r.alpha for r in rates], 1)
        return Runs(self._wild_type, durations, m, alpha)

    def _as_gene_vector(self, value: GeneVector | None, name: str, default: float) -> Floats:
        """One number a gene, from a vector or from a mapping of some genes' names."""
        if value is None:
            return np.full(self.n_genes, default)
        if isinstance(value, Mapping):
            unknown = [str(gene) for gene in value if gene not in self.names]
            if unknown:
                raise ParameterError(f"{name} names unknown genes: {listed(unknown)}.")
            value = [value.get(gene, default) for gene in self.names]
        return as_vector(value, name, self.n_genes, ParameterError)

    def _as_start(self, start: Sequence[ArrayLike]) -> Floats:
        if not isinstance(start, (tuple, list, np.ndarray)) or len(start) != 2:
            raise ParameterError("start must be a pair (mrna, protein).")
        pair = [self._as_gene_vector(v, n, 0.0) for v, n in zip(start, State._fields, strict=True)]
        if min(level.min() for level in pair) < 0:
            raise ParameterError("start levels must not be negative.")
        return np.concatenate(pair)

    def _check_width(self, perturbations: Perturbations) -> None:
        width = perturbations.shift.shape[1]
        if width != self.n_genes:
            raise ParameterError(f"perturbations of {width} genes, the network has {self.n_genes}.")

    def __repr__(self) -> str:
        """Name and counts, then what regulates each gene (at most 12 lines)."""
        edges = self.interactions()
        title = f"GeneNetwork({self.name + ': ' if self.name else ''}{self.n_genes} genes"
        rows = [f"  {gene.id} <- {text}" for gene in self.genes if (text := _regulators(gene))]
        more = [f"  ... and {len(rows) - 12} more genes"] if len(rows) > 12 else []
        return "\n".join([f"{title}, {len(edges)} interactions)", *rows[:12], *more])


def _regulators(gene: Gene) -> str:
    return ", ".join(f"{edge.sign}{edge.source}" for edge in gene.interactions())


def _as_times(times: ArrayLike) -> Floats:
    try:
        at = np.atleast_1d(np.array(times, dtype=np.float64))
    except (TypeError, ValueError):
        raise OptionError(f"times must be numbers, got {times!r:.60}.") from None
    if at.ndim != 1 or not np.isfinite(at).all() or (np.diff(at, prepend=0.0) < 0).any():
        raise OptionError("times must be finite, not negative, and non-decreasing.")
    return at


def _series_plan(duration: float, every: float, until: float) -> tuple[Floats, float]:
    """Print times and the end of the perturbation."""
    duration = as_real(duration, "duration", minimum=0.0, strict=True)
    every = as_real(every, "every", minimum=0.0, strict=True)
    if every > duration:
        raise OptionError(f"every must be at most duration = {duration:g}, got {every:g}.")
    return np.arange(0.0, duration + every / 2, every), as_real(until, "until", minimum=0.0)
