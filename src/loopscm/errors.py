"""The errors of the library: each says what is wrong and what to do next."""

from __future__ import annotations


class LoopscmError(ValueError):
    """Anything that loopscm refuses; a `ValueError`, so generic handlers catch it."""


class DataError(LoopscmError):
    """A table or covariance matrix that cannot be turned into statistics."""


class GraphError(LoopscmError):
    """A structure that is not a causal graph of the model class."""


class ParameterError(LoopscmError):
    """Coefficients, variances, or starting values that do not belong to a graph."""


class OptionError(LoopscmError):
    """An option outside its documented range."""


class UnboundedLikelihoodError(LoopscmError):
    """A graph whose likelihood has no upper bound for these data."""
