"""Every kind of bad input: the error class, a message that says what to do, nothing touched."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from loopscm import (
    DataError,
    GaussianStats,
    GraphError,
    LatentGraph,
    LinearSCM,
    LoopscmError,
    OptionError,
    ParameterError,
    UnboundedLikelihoodError,
    compatibility,
    family_dimension,
    fit,
    learn,
    score,
    simulate,
)
from loopscm.equivalence import heldout_log_likelihood
from loopscm.search import Knowledge, SearchSettings

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3))
S = np.cov(X.T)
GRAPH = LatentGraph([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
MODEL = LinearSCM(GRAPH, GRAPH.directed * 0.5, None, np.ones(3))
NAMED = LinearSCM(
    LatentGraph(GRAPH.directed, None, list("abc")), GRAPH.directed * 0.5, None, [1] * 3
)
STATS = GaussianStats.from_data(X)
NAMED_STATS = GaussianStats.from_data(X, names=list("abc"))
FEW = GaussianStats.from_data(RNG.standard_normal((3, 5)), center=False)


def with_(array: Any, index: Any, value: Any) -> Any:
    result = np.array(array, dtype=float)
    result[index] = value
    return result


def column(array: Any, values: Any) -> Any:
    return np.column_stack([array, values])


data, cov = GaussianStats.from_data, GaussianStats.from_covariance

# (what is wrong, call, its arguments, its options, error class, part of the message)
CASES: list[tuple[str, Callable[..., Any], tuple, dict, type[LoopscmError], str]] = [
    # ---- tables
    ("NaN", data, (with_(X, (3, 1), np.nan),), {}, DataError, r"'X1'; drop those rows"),
    ("infinity", data, (with_(X, (3, 2), np.inf),), {}, DataError, r"'X2'; drop those rows"),
    ("constant column", data, (column(X, np.full(30, 4.2)),), {}, DataError,
     r"constant column\(s\) 'X3'; remove"),
    ("constant uncentred", data, (column(X, np.zeros(30)),), {"center": False}, DataError,
     r"constant column\(s\) 'X3'"),
    ("duplicated column", data, (column(X, X[:, 0]),), {}, DataError,
     r"'X0' and 'X3' are multiples .* remove one"),
    ("negated multiple", data, (column(X, -3 * X[:, 1]),), {}, DataError,
     r"'X1' and 'X3' are multiples"),
    ("collinear columns", data, (column(X, X @ [1, 2, 3]),), {}, DataError,
     r"'X3' is a linear combination of 'X0', 'X1', 'X2'; remove one"),
    ("text array", data, ([["a", "b"], ["c", "d"]],), {}, DataError, "real numbers or drop"),
    ("mixed objects", data, (np.array([[1, "x"], [2, "y"]], dtype=object),), {}, DataError,
     r"column\(s\) 'X1'"),
    ("complex numbers", data, (X + 1j,), {}, DataError, "complex numbers"),
    ("booleans", data, (X > 0,), {}, DataError, "bool values"),
    ("text column in a frame", data, (pd.DataFrame({"u": [1.0, 2, 3], "v": list("abc")}),), {},
     DataError, r"non-numeric column\(s\) 'v'; encode"),
    ("dates in a frame", data,
     (pd.DataFrame({"u": [1.0, 2], "t": pd.to_datetime(["2020-01-01", "2020-01-02"])}),), {},
     DataError, r"non-numeric column\(s\) 't'"),
    ("one dimension", data, (X[:, 0],), {}, DataError, r"table .* got shape \(30,\)"),
    ("three dimensions", data, (X[None],), {}, DataError, r"got shape \(1, 30, 3\)"),
    ("masked values", data, (np.ma.masked_greater(X, 1.5),), {}, DataError,
     "missing or infinite values"),
    ("repeated columns of a frame", data, (pd.DataFrame(X, columns=list("aba")),), {}, DataError,
     "rename 'a'"),
    ("values too large to square", data, (X * [1, 1e160, 1],), {}, DataError,
     "deviation of 'X1' .* change its units"),
    ("values too small to square", data, (X * [1, 1, 1e-160],), {}, DataError,
     "deviation of 'X2' .* change its units"),
    ("centring by word", data, (X,), {"center": "no"}, OptionError, "center must be True or False"),
    ("a file name", data, ("data.csv",), {}, DataError, "got a str; pass an array or a pandas"),
    ("a dictionary", data, ({"a": [1.0, 2.0]},), {}, DataError, "got a dict; pass an array"),
    ("ragged rows", data, ([[1, 2], [3]],), {}, DataError, "rows differ in length"),
    ("no rows", data, (np.zeros((0, 3)),), {}, DataError, "non-empty table"),
    ("no columns", data, (np.zeros((5, 0)),), {}, DataError, "non-empty table"),
    ("one row", data, (X[:1],), {}, DataError, "at least 2 observations"),
    ("too few names", data, (X,), {"names": ["a", "b"]}, DataError, "2 names for 3 variables"),
    ("repeated names", data, (X,), {"names": ["a", "b", "a"]}, DataError, "rename 'a'"),
    ("names that are no text", data, (X,), {"names": [1, 2, 3]}, DataError, "change .* to text"),
    ("names as one string", data, (X,), {"names": "abc"}, DataError, "sequence of 3 strings"),
    # ---- covariance matrices
    ("S not square", cov, (S[:2], 30), {}, DataError, "S must be square"),
    ("S not symmetric", cov, (with_(S, (0, 2), 0.5), 30), {}, DataError,
     r"not symmetric at \('X0', 'X2'\)"),
    ("S indefinite", cov, (with_(with_(np.eye(3), (0, 1), 2), (1, 0), 2), 30), {}, DataError,
     "indefinite .* pairwise deletion"),
    ("negative variance", cov, (with_(S, (1, 1), -1), 30), {}, DataError,
     "positive; S has none for 'X1'"),
    ("NaN in S", cov, (with_(S, (0, 1), np.nan), 30), {}, DataError, r"S\[0, 1\] is nan"),
    ("rows of S in another order", cov,
     (pd.DataFrame(S, columns=list("abc"), index=list("cab")), 30), {}, DataError,
     "rows of S are 'c', 'a', 'b', its columns 'a', 'b', 'c'; bring both to one order"),
    ("S of text", cov, ([["a"]], 30), {}, DataError, "real numbers only"),
    ("complex S", cov, (np.eye(3) * 1j, 30), {}, DataError, "real numbers only"),
    ("order with repeats", STATS.permuted, ([0, 0, 1],), {}, DataError, "once each"),
    ("singular S, large n", cov, (np.ones((2, 2)), 30), {}, DataError, "multiples of each other"),
    ("n of zero", cov, (S, 0), {}, DataError, "n_samples must be at least 2"),
    ("n not an integer", cov, (S, 30.5), {}, DataError, "n_samples must be an integer"),
    # ---- graphs
    ("directed not square", LatentGraph, (np.zeros((2, 3)),), {}, GraphError, "square"),
    ("no variables at all", LatentGraph.from_edges, ([],), {}, GraphError, "at least one observed"),
    ("self-loop", LatentGraph, (np.eye(2),), {}, GraphError, "remove them from 'X0', 'X1'"),
    ("weights for edges", LatentGraph, ([[0, 0.5], [0, 0]],), {}, GraphError, "weights != 0"),
    ("children of wrong width", LatentGraph, (np.zeros((3, 3)), [[1, 1]]), {}, GraphError,
     "children must have 3 columns"),
    ("one-sided bidirected edge", LatentGraph, (np.zeros((2, 2)),),
     {"bidirected": [[0, 1], [0, 0]]}, GraphError, r"set both \[i, j\] and \[j, i\]"),
    ("bidirected of wrong size", LatentGraph, (np.zeros((2, 2)),),
     {"bidirected": np.zeros((3, 2))}, GraphError, "symmetric matrix"),
    ("repeated variable names", LatentGraph, (np.zeros((2, 2)), None, ["a", "a"]), {},
     GraphError, "rename 'a'"),
    ("unknown name in an edge", LatentGraph.from_edges, ([("a", "z")],), {"names": ["a", "b"]},
     GraphError, r"names 'z', not in names"),
    ("edge into a latent", LatentGraph.from_edges, ([("a", "L")],), {"latents": ["L"]},
     GraphError, "'L' cannot have parents"),
    ("latents as one string", LatentGraph.from_edges, ([("L1", "a")],), {"latents": "L1"},
     GraphError, "latents must be a sequence of strings"),
    ("repeated latents", LatentGraph.from_edges, ([("L", "a")],), {"latents": ["L", "L"]},
     GraphError, "rename 'L'"),
    ("variable that is also latent", LatentGraph.from_edges, ([("a", "b")],),
     {"names": ["a", "b"], "latents": ["a"]}, GraphError, "both observed and latent; rename"),
    ("no edge list", LatentGraph.from_edges, (None,), {}, GraphError, "list of .* pairs"),
    ("dimension of no graph", family_dimension, (np.zeros((2, 2)),), {}, GraphError,
     "must be a LatentGraph"),
    ("undirected networkx graph", LatentGraph.from_networkx, (pd.DataFrame(),), {}, GraphError,
     "expected a directed networkx graph"),
    ("order is no permutation", GRAPH.permuted, ([0, 0, 1],), {}, GraphError, "once each"),
    # ---- parameters
    ("coefficient outside the graph", LinearSCM, (GRAPH, with_(S * 0, (2, 0), 1), None, [1] * 3),
     {}, ParameterError, r"coefficients\[2, 0\] .* add the edge or set it to zero"),
    ("zero noise variance", LinearSCM, (GRAPH, S * 0, None, [1, 0, 1]), {}, ParameterError,
     "positive; raise those of 'X1'"),
    ("too few variances", LinearSCM, (GRAPH, S * 0, None, [1, 1]), {}, ParameterError,
     "vector of length 3"),
    ("loadings without latents", LinearSCM, (GRAPH, S * 0, [[1, 1, 1]], [1] * 3), {},
     ParameterError, r"loadings must be a matrix of shape \(0, 3\)"),
    ("singular I - B", LinearSCM,
     (LatentGraph([[0, 1], [1, 0]]), [[0, 2], [0.5, 0]], None, [1, 1]), {}, ParameterError,
     "I - B is singular"),
    ("indefinite noise", LinearSCM,
     (LatentGraph([[0, 0], [0, 0]], bidirected=[[0, 1], [1, 0]]), np.zeros((2, 2)), None, [1, 1],
      [[0, 2], [2, 0]]), {}, ParameterError, "shrink the covariances"),
    ("asymmetric noise covariances", LinearSCM,
     (LatentGraph([[0, 0], [0, 0]], bidirected=[[0, 1], [1, 0]]), np.zeros((2, 2)), None, [1, 1],
      [[0, 0.2], [0.1, 0]]), {}, ParameterError, r"set both"),
    ("graph is no graph", LinearSCM, ("a -> b", S * 0, None, [1] * 3), {}, ParameterError,
     "must be a LatentGraph"),
    ("do on an unknown variable", MODEL.do, ({"z": 1},), {}, ParameterError,
     "unknown variable 'z'; choose from 'X0'"),
    ("do with a missing value", MODEL.do, ({"X0": np.nan},), {}, OptionError, "finite number"),
    ("do with nothing", MODEL.do, ({},), {}, ParameterError, "non-empty mapping"),
    ("do twice on one variable", MODEL.do, ({"X0": 1, 0: 2},), {}, ParameterError, "twice"),
    ("negative sample size", MODEL.sample, (-1, 0), {}, OptionError, "n must be at least 1"),
    ("global randomness", MODEL.sample, (5, None), {}, OptionError, "Generator or a non-negative"),
    ("likelihood of other columns", MODEL.log_likelihood, (X[:, :2],), {}, DataError,
     "pass the columns 'X0', 'X1', 'X2'"),
    ("likelihood of columns in another order", NAMED.log_likelihood,
     (pd.DataFrame(X, columns=list("cba")),), {}, DataError, "pass them in the model's order"),
    ("likelihood of default names in another order", MODEL.log_likelihood,
     (pd.DataFrame(X, columns=["X1", "X0", "X2"]),), {}, DataError, "the model's order"),
    # ---- fits
    ("raw data instead of statistics", fit, (X, GRAPH), {}, DataError, "from_data"),
    ("matrix instead of graph", fit, (STATS, GRAPH.directed), {}, GraphError, "LatentGraph"),
    ("graph of other size", fit, (STATS, LatentGraph(np.zeros((4, 4)))), {}, GraphError,
     "4 variables, the data 3; give a graph over all variables"),
    ("graph with other names", fit, (STATS, LatentGraph(np.zeros((3, 3)), None, list("abc"))), {},
     GraphError, "variable 0 is 'a' in the graph but 'X0'"),
    ("default names in another order", fit,
     (GaussianStats.from_data(X, names=["X1", "X0", "X2"]), GRAPH), {}, GraphError,
     "variable 0 is 'X0' in the graph but 'X1'"),
    ("unknown objective", fit, (STATS, GRAPH), {"objective": "bayes"}, OptionError,
     "'likelihood', 'divergence'"),
    ("no iterations", fit, (STATS, GRAPH), {"max_iterations": 0}, OptionError, "at least 1"),
    ("negative tolerance", fit, (STATS, GRAPH), {"tolerance": -1e-3}, OptionError, "tolerance"),
    ("noise floor above one", fit, (STATS, GRAPH), {"noise_floor": 2}, OptionError, "below 1"),
    ("no starts", fit, (STATS, GRAPH), {"starts": 0}, OptionError, "starts must be at least 1"),
    ("start is no model", fit, (STATS, GRAPH), {"start": S}, ParameterError, "LinearSCM"),
    ("start with other latents", fit, (STATS, LatentGraph(np.zeros((3, 3)), [[1, 1, 1]])),
     {"start": MODEL}, ParameterError, "3 variables and 0 latents"),
    ("start in another order", fit, (NAMED_STATS, NAMED.graph),
     {"start": LinearSCM(LatentGraph(GRAPH.directed, None, list("cba")), S * 0, None, [1] * 3)},
     ParameterError, "start are 'c', 'b', 'a', .*; bring both to one order"),
    ("start over other variables", fit, (STATS, GRAPH), {"start": NAMED}, ParameterError,
     "start are 'a', 'b', 'c', .*; bring both to one order"),
    ("unbounded likelihood", fit, (FEW, LatentGraph(np.triu(np.ones((5, 5)), 1))), {},
     UnboundedLikelihoodError, "Remove parents or add observations"),
    ("divergence from a singular S", fit, (FEW, LatentGraph(np.zeros((5, 5)))),
     {"objective": "divergence"}, DataError, "positive definite"),
    ("unknown penalty", score, (STATS, GRAPH), {"penalty": "aic"}, OptionError, "'structural'"),
    # ---- learning
    ("negative number of latents", learn, (STATS,), {"max_latents": -1}, OptionError,
     "max_latents must be at least 0"),
    ("unknown cost of a graph", learn, (STATS,), {"penalty": "bic"}, OptionError,
     "'structural', 'dimension'; got 'bic'"),
    ("seed of text", learn, (STATS,), {"seed": "a"}, OptionError, "seed must be a .* integer seed"),
    ("unknown weight", SearchSettings, (), {"weight": "aic"}, OptionError,
     "a weight that is no number must be one of 'paper', 'bic', 'ebic'"),
    ("contradictory knowledge", learn, (NAMED_STATS,),
     {"settings": SearchSettings(knowledge=Knowledge(GRAPH.directed, GRAPH.directed))}, GraphError,
     "the edge a -> b is both required and forbidden; drop one"),
    ("ragged knowledge", learn, (STATS,),
     {"settings": SearchSettings(knowledge=Knowledge([[True], [True, False]]))}, GraphError,
     "rows of required differ in length; it must be 3 x 3"),
    ("knowledge in another order", learn, (NAMED_STATS,),
     {"settings": SearchSettings(knowledge=Knowledge(
         None, pd.DataFrame(GRAPH.directed, columns=list("cba"), index=list("cba"))))}, GraphError,
     "rows of forbidden are 'c', 'b', 'a', the variables 'a', 'b', 'c'; bring both to one order"),
    ("start of a search over other variables", learn, (STATS,),
     {"settings": SearchSettings(start=NAMED.graph)}, GraphError, "variable 0 is 'a' in the graph"),
    # ---- evaluation
    ("a result instead of its graph", compatibility, (GRAPH, MODEL), {}, GraphError,
     "recovered must be a LatentGraph, got LinearSCM; pass its `graph`"),
    ("held-out likelihood of a graph", heldout_log_likelihood, (GRAPH, X), {}, ParameterError,
     "must be a LinearSCM, got LatentGraph; pass the `scm` of a fit"),
    # ---- simulation
    ("no variables", simulate.random_graph, (0, 2, 0.1, 0), {}, OptionError, "p must be at least"),
    ("negative latent ratio", simulate.random_graph, (5, 2, -0.1, 0), {}, OptionError,
     "latent_ratio"),
    ("fractional degree", simulate.random_graph, (5, 2.5, 0, 0), {}, OptionError, "max_degree"),
    ("parameters of a mixed graph", simulate.random_scm,
     (LatentGraph(np.zeros((2, 2)), bidirected=[[0, 1], [1, 0]]), 0), {}, GraphError,
     "bidirected"),
]  # fmt: skip


def test_there_are_at_least_forty_kinds():
    assert len({case[0] for case in CASES}) == len(CASES) >= 40


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_bad_input(case):
    _, call, arguments, options, error, message = case
    before = copy.deepcopy((arguments, options))
    with pytest.raises(error, match=message) as caught:
        call(*arguments, **options)
    text = str(caught.value)
    assert type(caught.value) is error
    assert 20 < len(text) < 400 and text[-1] in ".)", text
    assert same((arguments, options), before), "the caller's arguments changed"


def same(first: Any, second: Any) -> bool:
    if isinstance(first, (tuple, list)):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if isinstance(first, np.ma.MaskedArray):
        return np.array_equal(first.mask, second.mask) and same(first.data, second.data)
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(
            first, second, equal_nan=first.dtype.kind in "fc"
        )
    if isinstance(first, pd.DataFrame):
        return first.equals(second)
    if isinstance(first, GaussianStats):
        return np.array_equal(first.S, second.S)
    if isinstance(first, SearchSettings):
        return same(vars(first.knowledge), vars(second.knowledge))
    if isinstance(first, LinearSCM):
        return np.array_equal(first.coefficients, second.coefficients)
    return first == second or first is second
