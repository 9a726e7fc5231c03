"""The kinetics of a gene network: genes, regulatory modules, and what makes them valid.

A gene's transcription is driven by modules, each a set of regulators that bind together. Every
on/off state of the modules has a relative activation `alpha[state]`; bit b of the state says
whether module b is on, the first module being the least significant bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from loopscm.errors import ParameterError

MAX_MODULES = 20  # of one gene: 2^20 activation states
Path = tuple[str | int, ...]
Sign = Literal["+", "-", "+-", "?"]


class KineticsError(ParameterError):
    """A network that is refused; `path` leads to the culprit inside the document."""

    def __init__(self, reason: str, path: Path = ()) -> None:
        super().__init__(reason)
        self.path = path


class Interaction(NamedTuple):
    """A regulatory edge: `+` enhancing, `-` inhibiting, `+-` both, `?` unknown."""

    source: str
    target: str
    sign: Sign = "?"


@dataclass(frozen=True)
class Module:
    """Regulators that act together on one gene.

    `k` (dissociation constants) and `n` (Hill exponents) list the activators first, then the
    deactivators. A complex binds as a whole, otherwise the regulators bind one by one.
    """

    activators: tuple[str, ...]
    deactivators: tuple[str, ...]
    k: tuple[float, ...]
    n: tuple[float, ...]
    binds_as_complex: bool

    @property
    def inputs(self) -> tuple[str, ...]:
        """Activators, then deactivators."""
        return self.activators + self.deactivators


@dataclass(frozen=True)
class Gene:
    """One gene: rates of mRNA and protein, activation states, modules."""

    id: str
    max_transcription: float
    delta_mrna: float
    max_translation: float
    delta_protein: float
    alpha: tuple[float, ...]
    modules: tuple[Module, ...]

    def is_enhancer(self, b: int) -> bool:
        """Whether module b alone activates the gene at least as much as no module."""
        return self.alpha[1 << b] >= self.alpha[0]

    def interactions(self) -> Iterator[Interaction]:
        """The signed edges into this gene, in the order of its inputs."""
        for b, module in enumerate(self.modules):
            plus, minus = ("+", "-") if self.is_enhancer(b) else ("-", "+")
            for source in module.activators:
                yield Interaction(source, self.id, plus)
            for source in module.deactivators:
                yield Interaction(source, self.id, minus)


def check_genes(genes: Sequence[Gene]) -> None:
    """Raise `KineticsError` for the first thing that makes the network meaningless."""
    if not genes:
        raise KineticsError("the network has no genes; give at least one.", ("genes",))
    known: set[str] = set()
    for g, gene in enumerate(genes):
        if not isinstance(gene, Gene):
            raise KineticsError(f"expected a Gene, got {gene!r:.60}.", ("genes", g))
        if not gene.id:
            raise KineticsError("a gene needs a non-empty id.", ("genes", g, "id"))
        if gene.id in known:
            raise KineticsError(
                f"gene {gene.id!r} appears twice; ids must be distinct.", ("genes", g, "id")
            )
        known.add(gene.id)
    for g, gene in enumerate(genes):
        _check_rates(gene, ("genes", g))
        _check_alpha(gene, ("genes", g))
        _check_modules(gene, known, ("genes", g))


def _check_rates(gene: Gene, path: Path) -> None:
    for field, may_vanish in (
        ("max_transcription", True),
        ("delta_mrna", False),
        ("max_translation", True),
        ("delta_protein", False),
    ):
        value = getattr(gene, field)
        if not math.isfinite(value) or value < 0 or (value == 0 and not may_vanish):
            bound = "zero or more" if may_vanish else "positive"
            raise KineticsError(
                f"{field} of gene {gene.id!r} is {value:g}; rates must be finite and {bound}.",
                (*path, field),
            )


def _check_alpha(gene: Gene, path: Path) -> None:
    states = 1 << len(gene.modules)
    if len(gene.modules) > MAX_MODULES:
        raise KineticsError(
            f"gene {gene.id!r} has {len(gene.modules)} modules; at most {MAX_MODULES} are allowed.",
            (*path, "modules"),
        )
    if len(gene.alpha) != states:
        raise KineticsError(
            f"alpha of gene {gene.id!r} has {len(gene.alpha)} values; {len(gene.modules)} "
            f"module(s) have {states} on/off states.",
            (*path, "alpha"),
        )
    for s, value in enumerate(gene.alpha):
        if not 0 <= value <= 1:
            raise KineticsError(
                f"alpha[{s}] of gene {gene.id!r} is {value:g}; relative activations lie in [0, 1].",
                (*path, "alpha", s),
            )


def _check_modules(gene: Gene, known: set[str], path: Path) -> None:
    seen: set[str] = set()
    for b, module in enumerate(gene.modules):
        here = (*path, "modules", b)
        if not module.activators:
            raise KineticsError(
                f"module {b} of gene {gene.id!r} has no activator; every module needs one.",
                (*here, "activators"),
            )
        for role in ("activators", "deactivators"):
            for i, source in enumerate(getattr(module, role)):
                _check_input(gene, b, source, known, seen, (*here, role, i))
        for field in ("k", "n"):
            _check_constants(gene, b, module, field, here)


def _check_input(
    gene: Gene, b: int, source: str, known: set[str], seen: set[str], path: Path
) -> None:
    where = f"module {b} of gene {gene.id!r}"
    if source not in known:
        raise KineticsError(
            f"{where} is regulated by the unknown gene {source!r}; add that gene or drop it.", path
        )
    if source == gene.id:
        raise KineticsError(
            f"{where} is regulated by the gene itself; self-loops are not allowed.", path
        )
    if source in seen:
        raise KineticsError(
            f"{where} lists {source!r} again; an input belongs to exactly one module.", path
        )
    seen.add(source)


def _check_constants(gene: Gene, b: int, module: Module, field: str, path: Path) -> None:
    values: tuple[float, ...] = getattr(module, field)
    where = f"{field} of module {b} of gene {gene.id!r}"
    if len(values) != len(module.inputs):
        raise KineticsError(
            f"{where} has {len(values)} values for {len(module.inputs)} inputs; give one each, "
            "activators first.",
            (*path, field),
        )
    for i, value in enumerate(values):
        if not math.isfinite(value) or value <= 0:
            raise KineticsError(
                f"{where} holds {value:g}; constants must be finite and positive.",
                (*path, field, i),
            )
