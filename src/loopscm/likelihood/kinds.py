"""The four kinds of parameters."""

EDGE, LOADING, COVARIANCE, VARIANCE = 0, 1, 2, 3
