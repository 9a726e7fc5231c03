"""Named scenarios: the worlds that experiments, benchmarks, and tests refer to by name.

A name fixes every bit: all random streams are derived from it, never from a shared seed.
Nothing is generated before it is asked for; results are kept on disk and verified on load.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_integer
from loopscm._progress import Progress
from loopscm.errors import OptionError
from loopscm.graph import LatentGraph
from loopscm.scm import LinearSCM
from loopscm.simulate import _cache
from loopscm.simulate._families import FAMILIES, Family, Runner, Streams, World, network_of
from loopscm.simulate._parallel import workers
from loopscm.simulate.genes.network import GeneNetwork
from loopscm.stats import GaussianStats

TRAINING_SHARE = 0.8  # the paper's split of gene-network data: 16,000 of 20,000
SPLIT_STREAM = 1_000_000  # first stream of the splits, far from those of the generators


class Scenario:
    """A named world: reference graph, data, statistics, metadata; made on first use."""

    def __init__(
        self,
        name: str,
        *,
        cache: str | Path | Literal[False] | None = None,
        n_jobs: int = 1,
        progress: Progress | None = None,
    ) -> None:
        self.name = name
        self.family, self._family, self._values = _parse(name)
        self._folder = _folder(cache)
        workers(n_jobs)  # refuses nonsense now, not when the data are asked for
        self._runner = Runner(n_jobs, progress)

    @property
    def graph(self) -> LatentGraph:
        """The reference graph."""
        arrays = self._arrays
        names = [str(name) for name in arrays["names"]]
        return LatentGraph(arrays["directed"], arrays["children"], names)

    @property
    def data(self) -> NDArray[np.float64]:
        """Observations, rows; closed for writing."""
        return self._arrays["data"]

    @property
    def n(self) -> int:
        """Number of observations."""
        return len(self.data)

    @cached_property
    def stats(self) -> GaussianStats:
        """Statistics of all rows: means removed for gene networks, known zero otherwise."""
        return self.statistics(slice(None))

    def statistics(self, rows: Any) -> GaussianStats:
        """Statistics of some rows, centred as `stats` are."""
        names = self.graph.names
        return GaussianStats.from_data(self.data[rows], center=self._family.centered, names=names)

    def split(self, trial: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Row numbers for training (80 %) and held out (20 %), at random for each trial."""
        trial = as_integer(trial, "trial", minimum=0)
        order = Streams(self.name).rng(SPLIT_STREAM + trial).permutation(self.n)
        train = round(TRAINING_SHARE * self.n)
        return np.sort(order[:train]), np.sort(order[train:])

    @cached_property
    def model(self) -> LinearSCM | None:
        """The generating linear model; None where the data do not come from one."""
        arrays = self._arrays
        if "coefficients" not in arrays:
            return None
        names = ("coefficients", "loadings", "noise_variances")
        B, Gamma, omega = (arrays[name].copy() for name in names)
        return LinearSCM.trusted(self.graph, B, Gamma, omega, np.zeros(B.shape))

    @cached_property
    def network(self) -> GeneNetwork | None:
        """The generating gene network, latents included; None for linear models."""
        return network_of(self.graph, self._streams) if self._family.expressed else None

    @property
    def metadata(self) -> dict[str, Any]:
        """What the scenario is, JSON values, with the SHA-256 of its content."""
        details = json.loads(str(self._arrays["details"]))
        return {
            "name": self.name,
            "family": self.family,
            "title": self._family.title,
            "centered": self._family.centered,
            "n": self.n,
            "observed": self.graph.n_observed,
            "latent": self.graph.n_latent,
            "edges": int(self.graph.directed.sum()),
            "content_sha256": _cache.content_digest(self._arrays),
            **details,
        }

    @cached_property
    def _arrays(self) -> dict[str, Any]:
        """From the cache if it holds exactly what was stored, else generated and stored."""
        path = self._path()
        arrays = _cache.load(path) if path else None
        if arrays is None:
            world = self._family.generate(self._values, self._streams, self._runner)
            arrays = _as_arrays(world)
            if path:
                self._store(path, arrays)
        for array in arrays.values():
            array.setflags(write=False)
        return arrays

    @property
    def _streams(self) -> Streams:
        return Streams(_stream_name(self.name, self._values))

    def _path(self) -> Path | None:
        if self._folder is None:
            return None
        recipe = {"name": self.name, "version": self._family.version}
        return self._folder / "scenarios" / f"{_cache.recipe_key(recipe)}.npz"

    def _store(self, path: Path, arrays: Mapping[str, Any]) -> None:
        try:
            _cache.store(path, arrays)
        except OSError as problem:
            warnings.warn(
                f"scenario {self.name!r} is not cached: {problem}. Set LOOPSCM_CACHE to a "
                "writable folder, or pass cache=False.",
                stacklevel=2,
            )

    def __repr__(self) -> str:
        return f"Scenario({self.name!r}: {self._family.title})"


def scenario(
    name: str,
    *,
    cache: str | Path | Literal[False] | None = None,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> Scenario:
    """The scenario of a name, such as `synthetic/p16-d4-r0.2/seed3` or `gnw/100-20`.

    Parameters
    ----------
    cache : folder for generated data; by default `$LOOPSCM_CACHE` or the system's cache
        folder, `False` for none.
    n_jobs : threads for the simulation; changes no bit.
    progress : told how a simulation of gene networks goes on.
    """
    return Scenario(name, cache=cache, n_jobs=n_jobs, progress=progress)


def scenario_families() -> dict[str, str]:
    """Template of the names of each family, with what it holds."""
    return {family.template: family.title for family in FAMILIES.values()}


def _folder(cache: str | Path | Literal[False] | None) -> Path | None:
    """Where to keep data: None for nowhere."""
    if cache is None:
        return _cache.default_directory()
    if cache is False:
        return None
    if not isinstance(cache, (str, Path)):
        raise OptionError(f"cache must be a folder, False, or None, got {cache!r}.")
    return Path(cache)


def _parse(name: str) -> tuple[str, Family, Mapping[str, str]]:
    for label, family in FAMILIES.items():
        found = family.pattern.fullmatch(name) if isinstance(name, str) else None
        if found:
            return label, family, found.groupdict()
    templates = "; ".join(f"{f.template} (as in {f.example})" for f in FAMILIES.values())
    raise OptionError(f"unknown scenario {name!r}; names are {templates}.")


def _stream_name(name: str, values: Mapping[str, str]) -> str:
    """The name without sample size and measurement noise, which change no graph."""
    for part in (f"-n{values.get('n')}", f"-{values.get('noise')}"):
        name = name.replace(part, "", 1) if "None" not in part else name
    return name


def _as_arrays(world: World) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "names": np.array(world.graph.names),
        "directed": world.graph.directed.copy(),
        "children": world.graph.children.copy(),
        "data": world.data,
        "details": np.array(json.dumps(dict(world.details), sort_keys=True)),
    }
    if world.model is not None:
        arrays["coefficients"] = world.model.coefficients.copy()
        arrays["loadings"] = world.model.loadings.copy()
        arrays["noise_variances"] = world.model.noise_variances.copy()
    return arrays
