"""The data sets that come with the library."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from loopscm._checks import frozen
from loopscm.datasets.covariance_file import parse_covariance
from loopscm.datasets.dataset import Dataset, Reference
from loopscm.graph import LatentGraph

CMU = "github.com/cmu-phil/example-causal-datasets at a23adc3"
DREAM4_SIZES = {"10": ("1", "2", "3", "4", "5"), "100": ("1", "2")}
COVARIANCES = {
    "spartina": "biomass of Spartina grass and 14 soil properties; n = 45, correlations, ill "
    "conditioned",
    "goldberg": "6 attitude and background measures of voters; n = 645, correlations",
    "lead": "7 measures of lead exposure and of children's and parents' ability; n = 221",
}


def sachs() -> Dataset:
    """Flow cytometry of 11 proteins in 7,466 cells under nine conditions."""
    with (_folder() / "sachs.npz").open("rb") as stream, np.load(stream) as archive:
        levels = archive["levels"] / 10_000
        proteins = tuple(str(name) for name in archive["proteins"])
        labels = [str(name) for name in archive["condition_names"]]
        indicators = archive["conditions"]
    return Dataset(
        name="sachs",
        title="protein signalling in human T cells (Sachs et al. 2005)",
        variables=proteins,
        source=f"{CMU}; Sachs et al., Science 308:523 (2005)",
        licence="CC0-1.0 (repository); no licence stated for the article's supporting data",
        notes=(
            "Values are natural logarithms of intensity + 10. Pooled rows mix nine experimental "
            "conditions, eight of them interventions; indicator columns come before proteins in "
            "any causal order. Published reference graphs disagree (17, 18, 20, or 21 edges in "
            "different packages); two are given here: always report which one."
        ),
        n=len(levels),
        data=frozen(levels),
        conditions=frozen(_condition_labels(labels, indicators)),
        condition_columns={name: frozen(indicators[:, c]) for c, name in enumerate(labels)},
        references={
            "tetrad-20": Reference(
                _graph("sachs-tetrad", proteins), f"{CMU}, ground.truth", "acyclic"
            ),
            "cdt-18": Reference(
                _graph("sachs-cdt", proteins),
                "cdt 0.6.0, cyto_full_target.csv",
                "cyclic: plc -> pip2 -> pip3 -> plc",
            ),
        },
    )


def dream4(size: str, number: str) -> Dataset:
    """A DREAM4 in-silico topology; the challenge's expression data are not included."""
    genes = tuple(f"G{j + 1}" for j in range(int(size)))
    name = f"dream4-size{size}-{number}"
    return Dataset(
        name=name,
        title=f"DREAM4 in-silico gold standard, {size} genes, network {number}",
        variables=genes,
        source="github.com/tschaffter/gnw at 32ad19c",
        licence="MIT",
        notes="Directed regulatory edges with feedback loops; no self-loops, no signs, no data.",
        references={"gold-standard": Reference(_graph(name, genes), "DREAM4 challenge 2")},
    )


def covariance_example(name: str) -> Dataset:
    """A published covariance or correlation matrix with its sample size."""
    text = (_folder() / f"{name}.cov.txt").read_text(encoding="utf-8")
    matrix, n, names = parse_covariance(text, name)
    return Dataset(
        name=name,
        title=COVARIANCES[name],
        variables=names,
        source=CMU,
        licence="CC0-1.0",
        notes="Covariance matrix only; there is no reference graph.",
        n=n,
        covariance=frozen(matrix),
    )


def _condition_labels(labels: list[str], indicators: np.ndarray) -> np.ndarray:
    """The label of a row: its specific stimulus, or the general one when it stands alone."""
    general = labels.index("cd3_cd28")
    specific = indicators.copy()
    specific[:, general] = indicators.sum(axis=1) == 1
    specific[:, general] &= indicators[:, general]
    return np.array(labels)[specific.argmax(axis=1)]


def _graph(stem: str, names: tuple[str, ...]) -> LatentGraph:
    lines = (_folder() / f"{stem}.tsv").read_text(encoding="utf-8").splitlines()
    edges = [(tail, head) for tail, head in (line.split("\t") for line in lines if line)]
    return LatentGraph.from_edges(edges, names=names)


def _folder():
    return files("loopscm.datasets") / "data"
