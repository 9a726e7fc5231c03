"""What a fit returns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from loopscm.likelihood.gaussian import fisher_information
from loopscm.likelihood.layout import layout_of
from loopscm.scm import LinearSCM


class Status(Enum):
    """How a fit ended; the value is a sentence that says what to do about it."""

    CONVERGED = "Converged."
    AT_NOISE_FLOOR = (
        "Converged with a noise variance at its floor (a Heywood case): the best fit explains "
        "that variable without noise. Drop a latent or an edge into it, or collect more data."
    )
    UNBOUNDED = (
        "The likelihood has no maximum for so few observations: a noise variance ran to its "
        "floor. Use a sparser graph or more observations."
    )
    ITERATION_LIMIT = (
        "Stopped at max_iterations before convergence; raise it, or continue with start=result.scm."
    )
    STALLED = (
        "No step improves the objective although it is not stationary, as happens next to a "
        "singular I - B. Try another start."
    )

    @property
    def is_success(self) -> bool:
        """Whether the parameters are an optimum (possibly on the noise floor)."""
        return self in (Status.CONVERGED, Status.AT_NOISE_FLOOR)


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """A fitted model.

    `nll` is n·f, the negative log-likelihood without the constant ½ n p log 2π, whichever
    objective was minimised; `value` is the minimised objective per sample (f or J). `trace`
    holds that objective by iteration, summed over components; `at_floor` names the variables
    whose noise variance ended on its floor.
    """

    scm: LinearSCM
    nll: float
    status: Status
    n_iterations: int
    objective: str
    value: float
    trace: NDArray[np.float64]
    at_floor: tuple[str, ...]
    n: int

    def standard_errors(self) -> dict[str, float]:
        """Standard error of every parameter, by label, from the expected information.

        Not-a-number marks parameters that the covariance does not identify on its own, such
        as the loadings of a latent with two children.
        """
        layout = layout_of(self.scm.graph)
        information = self.n * fisher_information(self.scm)
        scale = np.sqrt(np.diagonal(information))
        values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
        null = values < 1e-9 * values[-1]
        inverse = (vectors[:, ~null] / values[~null]) @ vectors[:, ~null].T
        errors = np.sqrt(np.diagonal(inverse)) / scale
        free = (vectors[:, null] ** 2).sum(axis=1) > 1e-9
        errors = np.where(free, np.nan, errors)
        return dict(zip(layout.labels(), errors.tolist(), strict=True))

    def __repr__(self) -> str:
        floor = f", at floor: {', '.join(self.at_floor)}" if self.at_floor else ""
        return (
            f"Fit({self.status.name}, {self.objective} {self.value:.6g}, nll {self.nll:.6g}, "
            f"{self.n_iterations} iterations{floor})\n{self.scm!r}"
        )
